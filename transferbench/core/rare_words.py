"""Approximate nearest rows by cosine, in time linear in the number of rows.

The nearest rows of a text share rare words with it. Each step does a bounded amount of work a row:

1. The postings of a word are the rows that contain it, at most `POSTINGS`: those in which it has
   the largest weights.
2. A row reads at most `READS` entries of postings, those of the words with the largest squared
   weight for an entry. The rows with the largest sums over these words are its candidates.
3. Cosines with the candidates are computed on all words, and the p nearest are chosen.
4. The nearest of the nearest are candidates too (NN-descent: Dong, Moses, Li, WWW 2011), once.

A row without a rare word reads the truncated postings of its frequent ones. A row and its exact
duplicates have equal candidates. Only ties depend on the order of the rows.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from sparse_dot_topn import sp_matmul_topn

from transferbench.core.parallel import threads

#: Rows, their neighbours and the cosines, each (edges,); by row, the nearest first.
Edges: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

#: Largest number of rows in the postings of a word.
POSTINGS = 1000
#: Largest number of entries of postings that a row reads.
READS = 10_000
#: Candidates of a row; five for each neighbour if these are more.
CANDIDATES = 50
#: Nearest rows whose nearest become candidates.
HOPS = 10
#: Rows whose words are chosen at a time.
BLOCK = 4096
#: Entries of dense rows, and of the candidates' sparse rows, that are held at a time.
BLOCK_ENTRIES = 1 << 22


def neighbours(X: sp.csr_matrix, words: sp.csr_matrix, p: int) -> Edges:
    """Return about the p nearest rows of each row of X, by exact cosines."""
    # `X`: (n, d) nonnegative rows of length one or zero.
    # `words`: (d, n) the transpose of X, which is truncated in place.

    # Of a frequent word, keep the largest weights, of ties those of the first rows.
    words.sort_indices()
    for word in np.flatnonzero(np.diff(words.indptr) > POSTINGS):
        weights = words.data[words.indptr[word] : words.indptr[word + 1]]
        weights[np.argsort(-weights, kind="stable")[POSTINGS:]] = 0
    words.eliminate_zeros()
    edges = merged(_first(X, words, p))
    return merged(_second(X, edges, p))


def nearest(rows: np.ndarray, cols: np.ndarray, values: np.ndarray, p: int) -> Edges:
    """Return the p edges of largest value of each row, of ties those with the smaller column."""
    # `cols`: (edges,) the neighbour of each.
    # `values`: (edges,) the cosine of each.
    # Shapes: rows (edges,).
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    size = np.diff(starts, append=rows.size)
    # A table with a line for each row: many short sorts are ten times as fast as a long one.
    filled = np.arange(size.max(initial=0)) < size[:, None]
    by_value, by_column = np.full(filled.shape, np.inf, values.dtype), np.zeros(filled.shape, int)
    by_value[filled], by_column[filled] = -values, cols
    order = np.lexsort((by_column, by_value))[:, :p]
    first = (starts[:, None] + order)[filled[:, :p]]
    return rows[first], cols[first], values[first]


def merged(parts: Iterable[Edges]) -> Edges:
    """Return the edges of all parts, one part after the other."""
    none = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    rows, cols, values = (np.concatenate(part) for part in zip(none, *parts, strict=True))
    return rows, cols, values


def _first(X: sp.csr_matrix, words: sp.csr_matrix, p: int) -> Iterator[Edges]:
    """Yield the nearest of the candidates that share the chosen words of a row, by blocks."""
    length = np.diff(words.indptr)
    count = max(CANDIDATES, 5 * p) + 1  # a row is a candidate of itself
    for start in range(0, X.shape[0], BLOCK):
        chosen = _chosen_words(X[start : start + BLOCK], length)
        top = sp_matmul_topn(chosen, words, count, n_threads=threads())
        rows = start + np.repeat(np.arange(top.shape[0]), np.diff(top.indptr))
        yield from _nearest_candidates(X, rows, top.indices, p)


def _chosen_words(X: sp.csr_matrix, length: np.ndarray) -> sp.csr_matrix:
    """Return X with only the words whose postings each row reads; `length` (d,) of postings."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    reads = length[X.indices]
    order = np.lexsort((-(X.data**2) / np.maximum(reads, 1), rows))
    total = np.cumsum(reads[order], dtype=np.int64)
    before = np.concatenate([[0], total])[X.indptr[:-1]]
    chosen = np.zeros(X.nnz, bool)
    chosen[order] = total - np.repeat(before, np.diff(X.indptr)) <= READS
    weights = np.where(chosen, X.data, 0)
    X = sp.csr_matrix((weights, X.indices.copy(), X.indptr.copy()), shape=X.shape)
    X.eliminate_zeros()
    return X


def _second(X: sp.csr_matrix, edges: Edges, p: int) -> Iterator[Edges]:
    """Yield the nearest of the neighbours and of the neighbours' neighbours, by blocks of rows."""
    n = X.shape[0]
    rows, cols, _ = edges
    near = np.arange(rows.size) - np.searchsorted(rows, rows) < HOPS  # ranks in each row
    every = _links(rows, cols, n)
    hop = _links(rows[near], cols[near], n)
    for start in range(0, n, BLOCK):
        block = slice(start, start + BLOCK)
        links = sp.csr_array(hop[block] @ hop + every[block])
        links.sort_indices()
        owner = start + np.repeat(np.arange(links.shape[0]), np.diff(links.indptr))
        yield from _nearest_candidates(X, owner, links.indices, p)


def _links(rows: np.ndarray, cols: np.ndarray, n: int) -> sp.csr_array:
    return sp.csr_array((np.ones(rows.size, np.float32), (rows, cols)), shape=(n, n))


def _nearest_candidates(
    X: sp.csr_matrix, rows: np.ndarray, cols: np.ndarray, p: int
) -> Iterator[Edges]:
    """Yield the p nearest of the candidates of some rows."""
    # A few rows at a time are made dense, and the candidates' sparse rows are read against them.
    # `X`: (n, d) rows of length one or zero.
    # `cols`: (pairs,) a candidate of each.
    # Shapes: rows (pairs,).
    other = rows != cols
    rows, cols = rows[other], cols[other]
    dense_rows = max(1, BLOCK_ENTRIES // X.shape[1])
    entries = np.cumsum(np.diff(X.indptr)[cols], dtype=np.int64)
    start = 0
    while start < rows.size:
        end = int(np.searchsorted(rows, rows[start] + dense_rows))
        values = np.empty(end - start, X.dtype)
        a = start
        while a < end:
            limit = entries[a] + BLOCK_ENTRIES
            b = min(end, int(np.searchsorted(entries, limit, side="right")))
            values[a - start : b - start] = _cosines(X, rows[a:b], cols[a:b])
            a = b
        keep = values > 0
        yield nearest(rows[start:end][keep], cols[start:end][keep], values[keep], p)
        start = end


def _cosines(X: sp.csr_matrix, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Return the products (pairs,) of the rows `rows`, sorted and near each other, and `cols`."""
    first, d = rows[0], X.shape[1]
    dense = X[first : rows[-1] + 1].toarray().ravel()
    other = X[cols]
    pair = np.repeat(np.arange(rows.size), np.diff(other.indptr))
    products = dense[((rows - first) * d)[pair] + other.indices] * other.data
    # Sums in float64, in the order of the words: equal rows have equal cosines.
    return np.bincount(pair, products, rows.size).astype(X.dtype)
