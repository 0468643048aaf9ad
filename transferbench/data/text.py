"""Turn texts into weighted matrices: count tokens, select features, weight by tf-idf."""

from __future__ import annotations

import re
import signal
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from transferbench.data.options import StopWords, Weighting

#: Characters of texts that are counted, and entries of a matrix that are converted, at a time.
BLOCK_SIZE = 2**21
#: Rows that are weighted at a time.
BLOCK_ROWS = 1024
#: Counts of some texts: their distinct tokens; index of a token and count for each entry; entries
#: of each text.
Block: TypeAlias = tuple[list[str], np.ndarray, np.ndarray, np.ndarray]


def count(
    texts: Iterable[str], token_pattern: str, jobs: int = 1
) -> tuple[sp.csr_array, np.ndarray]:
    """Return token counts (n, d) of the lower-cased texts, and the d tokens in alphabetical order.

    Tokens are those of scikit-learn's CountVectorizer, counts are int32. The texts are read once, a
    block at a time. jobs: processes that count; the result does not depend on it. Raises ValueError
    if the pattern is not a regular expression, has several groups or matches nothing.
    """
    try:
        groups = re.compile(token_pattern).groups
    except re.error as error:
        raise ValueError(f"token_pattern {token_pattern!r}: {error}") from None
    if groups > 1:
        raise ValueError(f"token_pattern {token_pattern!r}: more than one capturing group")
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    columns, data, ends = array("i"), array("i"), array("q", [0])
    for tokens, block_columns, block_data, sizes in _map(
        partial(_count_block, token_pattern), _blocks(texts), jobs
    ):
        number = np.fromiter(map(vocabulary.__getitem__, tokens), np.intc, len(tokens))
        columns.frombytes(number[block_columns].tobytes())
        data.frombytes(block_data.tobytes())
        ends.frombytes((ends[-1] + np.cumsum(sizes)).tobytes())
    if not vocabulary:
        raise ValueError(f"token_pattern {token_pattern!r} matches nothing in the texts")
    indptr = np.asarray(ends)
    if indptr[-1] <= np.iinfo(np.int32).max:  # some solvers need 32-bit indices
        indptr = indptr.astype(np.int32)
    alphabetical = sorted(vocabulary)
    position = np.empty(len(vocabulary), np.intc)
    position[[vocabulary[token] for token in alphabetical]] = np.arange(len(vocabulary))
    indices = np.frombuffer(columns, np.intc)
    for start in range(0, len(indices), BLOCK_SIZE):
        indices[start : start + BLOCK_SIZE] = position[indices[start : start + BLOCK_SIZE]]
    parts = np.frombuffer(data, np.intc), indices, indptr
    counts = sp.csr_array(parts, shape=(len(ends) - 1, len(vocabulary)))
    counts.sort_indices()
    return counts, np.array(alphabetical, object)


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of about BLOCK_SIZE characters."""
    block, size = [], 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= BLOCK_SIZE:
            yield block
            block, size = [], 0
    if block:
        yield block


def _count_block(token_pattern: str, texts: list[str]) -> Block:
    """Count the tokens of some texts."""
    findall = re.compile(token_pattern).findall
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    columns, data, sizes = array("i"), array("i"), array("q")
    for text in texts:
        occurrences = Counter(findall(text.lower()))
        columns.extend(map(vocabulary.__getitem__, occurrences))
        data.extend(occurrences.values())
        sizes.append(len(occurrences))
    return list(vocabulary), np.asarray(columns), np.asarray(data), np.asarray(sizes)


def _map(
    function: Callable[[list[str]], Block], blocks: Iterator[list[str]], jobs: int
) -> Iterator[Block]:
    """Yield the results in order; few blocks are in memory at a time."""
    if jobs == 1:
        yield from map(function, blocks)
        return
    interrupts_ignored = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=signal.signal, initargs=interrupts_ignored
    ) as pool:
        waiting = deque(pool.submit(function, block) for block in islice(blocks, 2 * jobs))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(function, block) for block in islice(blocks, 1))


def document_frequency(counts: sp.csr_array) -> np.ndarray:
    """Return (d,) the number of documents (rows) that contain each feature."""
    df = np.zeros(counts.shape[1], np.int64)
    step = max(BLOCK_SIZE, len(df))
    for start in range(0, counts.nnz, step):
        df += np.bincount(counts.indices[start : start + step], minlength=len(df))
    return df


def select(
    counts: sp.csr_array,
    vocabulary: np.ndarray,
    *,
    stop_words: StopWords,
    min_df: int,
    max_features: int | None = None,
) -> np.ndarray:
    """Return the indices of the features to keep, ascending.

    These are no stop words and occur in at least min_df documents. With max_features, those of
    highest document frequency among them are kept; ties are resolved alphabetically.
    """
    df = document_frequency(counts)
    keep = df >= max(min_df, 1)
    if stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        is_other = (token not in ENGLISH_STOP_WORDS for token in vocabulary)
        keep &= np.fromiter(is_other, bool, len(vocabulary))
    columns = np.flatnonzero(keep)
    if max_features is not None:
        columns = np.sort(columns[np.argsort(-df[columns], kind="stable")][:max_features])
    return columns


def weight(counts: sp.csr_array, weighting: Weighting, unit_length: bool) -> sp.csr_array:
    """Return the weighted counts (n, d), float32.

    weighting: "tf" the counts, "log-tf" 1 + ln count, "tf-idf" count · idf with idf =
    ln((1 + n)/(1 + df)) + 1 over these n documents. unit_length: divide each row by its Euclidean
    length.
    """
    from sklearn.preprocessing import normalize

    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    idf = np.log((1 + counts.shape[0]) / (1 + document_frequency(counts))) + 1
    weights = np.empty(counts.nnz, np.float32)
    for start in range(0, counts.shape[0], BLOCK_ROWS):
        block = counts[start : start + BLOCK_ROWS].astype(np.float64)
        if weighting == "log-tf":
            block.data = np.log(block.data) + 1
        elif weighting == "tf-idf":
            block.data *= idf[block.indices]
        if unit_length:
            block = normalize(block, copy=False)
        first = counts.indptr[start]
        weights[first : first + block.nnz] = block.data
    parts = weights, counts.indices.copy(), counts.indptr.copy()
    return sp.csr_array(parts, shape=counts.shape)
