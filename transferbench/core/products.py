"""Products with the documents × features matrix of a term, the only array of that size."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from transferbench.core.scale import norm2
from transferbench.problem import Matrix

#: Up to this number of columns, a sparse product is faster column by column.
FEW_COLUMNS = 3


class Held:
    """X (n, m), held for products.

    X and Xᵀ are both stored by rows, because a product with a matrix stored by columns is slow.
    `norm2` is ‖X‖².
    """

    def __init__(self, X: Matrix, dtype: np.dtype) -> None:
        self._X = by_rows(X, dtype)
        self._Xt = by_rows(X.T, dtype)
        self.norm2 = norm2(self._X)

    def times(self, A: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return X A (n, c) for A (m, c); `out` may be written over and returned."""
        return _times(self._X, A, out)

    def transposed_times(self, V: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return Xᵀ V (m, c) for V (n, c); `out` may be written over and returned."""
        return _times(self._Xt, V, out)


def by_rows(X: Matrix, dtype: np.dtype) -> Matrix:
    """Return X stored by rows: sparse CSR, or dense in C order."""
    return sp.csr_array(X, dtype=dtype) if sp.issparse(X) else np.ascontiguousarray(X, dtype=dtype)


def _times(X: Matrix, B: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """Return X B; with few columns column by column, which is faster and gives the same sums."""
    if not sp.issparse(X) or B.shape[1] > FEW_COLUMNS:
        return np.asarray(X @ B)
    product = np.empty((X.shape[0], B.shape[1]), B.dtype) if out is None else out
    for j, column in enumerate(B.T.copy()):
        product[:, j] = X @ column
    return product
