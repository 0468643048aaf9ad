"""Exact cosine k-nearest-neighbour graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sparse_dot_topn import sp_matmul_topn

from transferbench.problem import Matrix

#: Neighbours asked for beyond p, so that most ties at the p-th place are seen whole.
SPARE = 6
#: Cosines up to this are left out at first, which spares most of the search.
LOW = 0.1


@dataclass(frozen=True)
class Graph:
    """W (n, n) symmetric nonnegative with an empty diagonal; degree (n,) its row sums."""

    W: sp.csr_array
    degree: np.ndarray

    @classmethod
    def of(cls, W: sp.csr_array) -> Graph:
        """The graph of a symmetric W."""
        return cls(W, np.asarray(W.sum(axis=1)).ravel())


def cosine_graph(X: Matrix, p: int, *, threads: int = 1) -> Graph:
    """W_ij = cos(x_i, x_j) if x_i is among the p nearest of x_j or the other way round, else 0.

    X (n, d), rows to be joined, sparse or dense, nonnegative; a row of zeros has no neighbour, and
    neither does a row orthogonal to all others. Ties at the p-th place go to the smaller index.
    GTL, eqs. 3 and 5. Exact: each row's products with all others are made and thrown away block by
    block, never an (n, n) array. Raises ValueError for p < 1.
    """
    if p < 1:
        raise ValueError(f"p must be at least 1, got {p}")
    X = unit_rows(X)
    n = X.shape[0]
    # The library takes SciPy's older matrix classes alone.
    A, B = sp.csr_matrix(X), sp.csr_matrix(X.T)
    found = []
    todo, wanted, low = np.arange(n), p + 1 + SPARE, LOW  # one more than p for the row itself
    while todo.size:
        top = sp_matmul_topn(A[todo], B, wanted, sort=True, threshold=low, n_threads=threads)
        again = _unsettled(top, p, wanted, low) if wanted < n or low else np.zeros(todo.size, bool)
        found.append(_nearest(top[~again], todo[~again], p))
        todo, wanted, low = todo[again], 8 * wanted, 0.0
    rows, cols, values = (np.concatenate(part) for part in zip(*found, strict=True))
    S = sp.csr_array((values, (rows, cols)), shape=(n, n))
    return Graph.of(sp.csr_array(S.maximum(S.T)))


def unit_rows(X: Matrix) -> sp.csr_array:
    """Rows of X (n, d) scaled to Euclidean length one; zero rows stay zero."""
    X = sp.csr_array(X, copy=True)
    if not np.issubdtype(X.dtype, np.floating):
        X = X.astype(np.float64)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data *= np.repeat(1 / np.where(length > 0, length, 1), np.diff(X.indptr)).astype(X.dtype)
    return X


def _unsettled(top: sp.csr_matrix, p: int, wanted: int, low: float) -> np.ndarray:
    """Rows whose p nearest may not all be among the `wanted` largest above `low` that were found.

    Either too few were found above `low`, or the p-th ties with the last, beyond which equals may
    have been cut off.
    """
    count = np.diff(top.indptr)
    short = count <= p if low else np.zeros(count.size, bool)
    full = np.flatnonzero(count == wanted)
    # Sorted by value, the p-th neighbour is at place p or p − 1, as the row itself may be missing.
    tied = full[top.data[top.indptr[full + 1] - 1] >= top.data[top.indptr[full] + p]]
    short[tied] = True
    return np.asarray(short)


def _nearest(
    top: sp.csr_matrix, owner: np.ndarray, p: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Owners, columns and values of the p largest of each row, the owner itself left out."""
    rows = np.repeat(np.arange(owner.size), np.diff(top.indptr))
    other = (top.indices != owner[rows]) & (top.data > 0)
    rows, cols, values = rows[other], top.indices[other], top.data[other]
    order = np.lexsort((cols, -values, rows))
    rows, cols, values = rows[order], cols[order], values[order]
    first = np.arange(rows.size) - np.searchsorted(rows, rows) < p
    return owner[rows[first]], cols[first], values[first]
