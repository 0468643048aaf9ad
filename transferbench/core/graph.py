"""Exact cosine k-nearest-neighbour graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sparse_dot_topn import sp_matmul_topn

from transferbench.problem import Matrix

SPARE = 6  # neighbours asked for beyond p, so that most ties at the p-th place are seen whole


@dataclass(frozen=True)
class Graph:
    """W (n, n) symmetric nonnegative with an empty diagonal; degree (n,) its row sums."""

    W: sp.csr_array
    degree: np.ndarray

    @classmethod
    def of(cls, W: sp.csr_array) -> Graph:
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
    Xt = sp.csr_array(X.T)
    # One more than p for the row itself; the library takes SciPy's older matrix classes alone.
    A, B = sp.csr_matrix(X), sp.csr_matrix(Xt)
    top = sp.csr_array(sp_matmul_topn(A, B, p + 1 + SPARE, sort=True, n_threads=threads))
    rows, cols, values = _nearest(top, p)
    cut = _tie_cut_short(top, p, SPARE)
    if cut.size:
        keep = ~np.isin(rows, cut)
        parts = [(rows[keep], cols[keep], values[keep])]
        for start in range(0, cut.size, 256):
            block = cut[start : start + 256]
            r, c, v = _nearest(sp.csr_array(X[block] @ Xt), p, owner=block)
            parts.append((r, c, v))
        rows, cols, values = (np.concatenate(part) for part in zip(*parts, strict=True))
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


def _nearest(
    S: sp.csr_array, p: int, owner: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the p largest entries of each row, its owner left out."""
    owner = np.arange(S.shape[0]) if owner is None else owner
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    other = (S.indices != owner[rows]) & (S.data > 0)
    rows, cols, values = rows[other], S.indices[other], S.data[other]
    order = np.lexsort((cols, -values, rows))
    rows, cols, values = rows[order], cols[order], values[order]
    rank = np.arange(rows.size) - np.searchsorted(rows, rows)
    first = rank < p
    return owner[rows[first]], cols[first], values[first]


def _tie_cut_short(top: sp.csr_array, p: int, spare: int) -> np.ndarray:
    """Rows where the p-th nearest ties with the last one returned: more equals may lie beyond."""
    full = np.flatnonzero(np.diff(top.indptr) >= p + 1 + spare)
    last = top.indptr[full + 1] - 1
    # Sorted by value, the p-th neighbour is at place p or p − 1, as the row itself may be out.
    return full[top.data[last] >= top.data[top.indptr[full] + p]]
