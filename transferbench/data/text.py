"""Turn texts into weighted matrices: count tokens, select features, weight by tf-idf."""

import itertools
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

import numpy as np
import scipy.sparse as sp

#: Weights of term counts; see `weight`.
Weighting = Literal["tf", "log-tf", "tf-idf", "log-tf-idf"]
StopWords = Literal["english", "none"]
#: Letters of scripts that are written without spaces between words: Thai, Lao, Tibetan, Burmese,
#: Khmer, Chinese and Japanese.
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)
#: A character that is no space and no punctuation; vowel signs, which are not in \w, are such.
_CHARACTER = (
    r"[^\s!-/:-@\[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u3004\u3006-\u303f"
    r"\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)
#: Token pattern of pairs of neighbouring characters, which overlap.
PAIRS = f"(?=({_CHARACTER}{{2}}))"
#: Numbers of characters of an n-gram.
NGRAMS = range(3, 6)
#: Rows that are weighted at a time.
BLOCK_ROWS = 4096


def count(texts: Iterable[str], token_pattern: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return token counts of texts, and the tokens.

    Tokens are those of scikit-learn's CountVectorizer, which needs a third more time.

    Parameters
    ----------
    texts
        Texts, read once, one at a time, and lower-cased.
    token_pattern
        Regular expression of a token, with at most one group.

    Returns
    -------
    counts
        (n, d) int32.
    tokens
        (d,) in alphabetical order.

    Raises
    ------
    ValueError
        If the pattern is not a regular expression, has several groups or matches nothing.
    """
    try:
        pattern = re.compile(token_pattern)
    except re.error as error:
        raise ValueError(f"token_pattern {token_pattern!r}: {error}") from None
    if pattern.groups > 1:
        raise ValueError(f"token_pattern {token_pattern!r}: several groups, expected one at most")
    number: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    token_numbers, ends = array("i"), [0]
    for text in texts:
        token_numbers.extend(map(number.__getitem__, pattern.findall(text.lower())))
        ends.append(len(token_numbers))
    if not number:
        raise ValueError(f"token_pattern {token_pattern!r} matches nothing")
    starts = np.array(ends, sp.get_index_dtype(maxval=ends[-1]))
    ones = np.ones(len(token_numbers), np.int32)
    counts = sp.csr_array(
        (ones, np.asarray(token_numbers), starts), shape=(len(ends) - 1, len(number))
    )
    counts.sum_duplicates()
    tokens = sorted(number)
    column = np.empty(len(tokens), np.int32)
    column[[number[token] for token in tokens]] = np.arange(len(tokens))
    counts = sp.csr_array((counts.data, column[counts.indices], counts.indptr), counts.shape)
    return counts, np.array(tokens, dtype=object)


def character_ngrams(
    counts: sp.csr_array, tokens: np.ndarray, sizes: range, max_features: int, min_df: int = 2
) -> tuple[sp.csr_array, np.ndarray]:
    """Return counts of the n-grams of characters inside tokens, and the n-grams."""
    # A token has a space before and after it; a token that is shorter than n characters with them
    # counts once. The n-grams are those of scikit-learn's analyzer "char_wb" if tokens are what is
    # between spaces. Each different token is cut once, which takes less than half the time.
    # `counts`: (n, d) of the tokens.
    # Shapes: tokens (d,), counts (n, e), ngrams (e,).
    number: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    ngram_numbers, ends = array("i"), [0]
    for token in tokens:
        padded = f" {token} "
        for size in sizes:
            starts = range(max(len(padded) - size, 0) + 1)
            ngram_numbers.extend(number[padded[start : start + size]] for start in starts)
            if len(padded) <= size:
                break
        ends.append(len(ngram_numbers))
    ngrams = np.array(sorted(number), object)
    column = np.empty(len(ngrams), np.int32)
    column[[number[ngram] for ngram in ngrams]] = np.arange(len(ngrams))
    ones = np.ones(len(ngram_numbers), counts.dtype)
    in_token = sp.csr_array(
        (ones, column[np.asarray(ngram_numbers)], np.array(ends)), (len(tokens), len(ngrams))
    )
    in_token.sum_duplicates()
    # Block by block: the counts of all n-grams would be the largest array.
    starts = range(0, counts.shape[0], BLOCK_ROWS)
    blocks = (counts[start : start + BLOCK_ROWS] @ in_token for start in starts)
    df = np.sum([document_frequency(block) for block in blocks], axis=0)
    columns = _most_frequent(df, df >= min_df, max_features)
    return sp.csr_array(counts @ in_token[:, columns]), ngrams[columns]


def character_view(
    texts: Iterable[str], max_features: int, weighting: Weighting, unit_length: bool
) -> sp.csr_array:
    """Return weighted n-grams of 3 to 5 characters inside words (n, d) of texts."""
    # They find parts of words: endings, stems, parts of compounds and names. There are no columns
    # if no n-gram occurs in two texts.
    counts, ngrams = character_ngrams(*count(texts, r"\S+"), NGRAMS, max_features)
    return weight(counts, weighting, unit_length) if len(ngrams) else counts


def has_spaces(texts: Iterable[str]) -> bool:
    """Return False if most letters of the texts are of scripts without spaces between words."""
    other, unspaced = UNSPACED.subn("", "".join(texts))
    return unspaced <= sum(map(str.isalpha, other))


def document_frequency(counts: sp.csr_array) -> np.ndarray:
    """Return (d,) the number of documents (rows) that contain each feature."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def select(
    counts: sp.csr_array,
    vocabulary: np.ndarray,
    *,
    stop_words: StopWords,
    min_df: int,
    max_features: int | None = None,
) -> np.ndarray:
    """Return the indices of the features to keep, ascending."""
    # `vocabulary`: (d,) the feature of each column.
    # `max_features`: Keep this number of features, those of highest document frequency; ties are
    # resolved alphabetically. None keeps all.
    # Shapes: counts (n, d).
    df = document_frequency(counts)
    keep = df >= max(min_df, 1)
    if stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        is_other = (token not in ENGLISH_STOP_WORDS for token in vocabulary)
        keep &= np.fromiter(is_other, bool, len(vocabulary))
    return _most_frequent(df, keep, max_features)


def _most_frequent(df: np.ndarray, keep: np.ndarray, max_features: int | None) -> np.ndarray:
    """Return the ascending indices of features to keep (d,) with the largest df (d,)."""
    columns = np.flatnonzero(keep)
    return np.sort(columns[np.argsort(-df[columns], kind="stable")][:max_features])


def weight(counts: sp.csr_array, weighting: Weighting, unit_length: bool) -> sp.csr_array:
    """Return the weighted counts (n, d), float32.

    Parameters
    ----------
    counts
        (n, d).
    weighting
        "tf" the counts, "log-tf" 1 + ln count, "tf-idf" count · idf with idf =
        ln((1 + n)/(1 + df)) + 1 over these n documents, "log-tf-idf" (1 + ln count) · idf.
    unit_length
        Divide each row by its Euclidean length.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer(
        norm="l2" if unit_length else None,
        use_idf=weighting.endswith("tf-idf"),
        sublinear_tf=weighting.startswith("log-tf"),
    ).fit(counts)
    # Block by block: a float64 copy of all counts would be the largest array.
    starts = range(0, counts.shape[0], BLOCK_ROWS)
    blocks = (counts[start : start + BLOCK_ROWS].astype(np.float64) for start in starts)
    weighted = [transformer.transform(block).astype(np.float32) for block in blocks]
    return sp.csr_array(sp.vstack(weighted, format="csr"))
