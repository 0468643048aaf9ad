"""Products with the matrices that have a row for each document, the largest arrays of a fit."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from transferbench.core.scale import norm2
from transferbench.problem import Matrix

#: Up to this number of columns, a sparse product is faster column by column.
FEW_COLUMNS = 3


class Products:
    """Products with a matrix X (n, m).

    X and Xᵀ are both stored by rows, because a product with a matrix stored by columns is slow. Xᵀ
    is made when it is first needed.
    """

    def __init__(self, X: Matrix, dtype: np.dtype) -> None:
        self._X = by_rows(X, dtype)

    @cached_property
    def norm2(self) -> float:
        """‖X‖²."""
        return norm2(self._X)

    @cached_property
    def _Xt(self) -> Matrix:
        return by_rows(self._X.T, self._X.dtype)

    def times(self, A: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return X A (n, c) for A (m, c); `out` may be written over and returned."""
        return _times(self._X, A, out)

    def transposed_times(self, V: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return Xᵀ V (m, c) for V (n, c); `out` may be written over and returned."""
        return _times(self._Xt, V, out)


def by_rows(X: Matrix, dtype: np.dtype) -> Matrix:
    """Return X stored by rows: dense in C order, or sparse CSR with 32-bit indices if they fit."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=dtype)
    X = sp.csr_array(X, dtype=dtype)
    index = sp.get_index_dtype(maxval=max(X.nnz, X.shape[1]))
    parts = X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    return sp.csr_array(parts, shape=X.shape)


def _times(X: Matrix, B: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """Return X B; with few columns column by column, which is faster and gives the same sums."""
    if not sp.issparse(X) or B.shape[1] > FEW_COLUMNS:
        return np.asarray(X @ B)
    product = np.empty((X.shape[0], B.shape[1]), B.dtype) if out is None else out
    for j, column in enumerate(B.T.copy()):
        product[:, j] = X @ column
    return product
