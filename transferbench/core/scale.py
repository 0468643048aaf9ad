"""Scaling, norms and inner products of sparse or dense matrices, without dense copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Matrix

Normalize = Literal["columns", "rows"]


def scale_to_one(F: np.ndarray, axis: Normalize, *, fill: bool = False) -> np.ndarray:
    """Scale columns or rows of F to sum one, in place, and return F.

    A column or row of zeros stays zero or, with fill, becomes uniform.
    """
    along = 0 if axis == "columns" else 1
    # A product with ones is much faster than F.sum.
    ones = np.ones(F.shape[along], F.dtype)
    total = (ones @ F)[None] if axis == "columns" else (F @ ones)[:, None]
    F *= 1 / np.where(total > 0, total, 1)
    if fill:
        lines = F.T if axis == "columns" else F
        lines[total.ravel() == 0] = 1 / F.shape[along]
    return F


def frobenius_one(X: Matrix) -> Matrix:
    """Return X / ‖X‖_F, so that weights of other terms do not depend on the size of the data."""
    return X / np.sqrt(norm2(X) or 1.0)


def sum_one(X: Matrix) -> Matrix:
    """Return X / Σ X, a joint distribution of documents and features."""
    return X / (X.sum() or 1.0)


def rows_sum_one(X: Matrix) -> Matrix:
    """Return X (n, m) with rows of sum one; rows of zeros stay zero."""
    total = np.asarray(X.sum(axis=1)).ravel()
    return sp.diags_array(1 / np.where(total > 0, total, 1)) @ X


#: Ways to scale X, by name.
SCALES: dict[str, Callable[[Matrix], Matrix]] = {
    "frobenius": frobenius_one,
    "sum": sum_one,
    "none": lambda X: X,
}


def drop_empty_columns(X: Matrix) -> Matrix:
    """Return the columns of X (n, m) with a nonzero entry: the features that occur in a domain."""
    return X[:, np.flatnonzero(np.asarray(abs(X).sum(axis=0)).ravel())]


def entries(X: Matrix) -> np.ndarray:
    """Return the entries of a dense X or the stored entries of a sparse X, without a copy."""
    return np.asarray(X.data if sp.issparse(X) else X)


def norm2(X: Matrix) -> float:
    """Return the squared Frobenius norm."""
    return inner(entries(X), entries(X))


def inner(A: np.ndarray, B: np.ndarray) -> float:
    """Return ⟨A, B⟩: blocks are summed in the type of the arrays, their total in float64."""
    a, b = A.reshape(-1), B.reshape(-1)
    step = 1 << 14
    return float(sum(float(a[i : i + step] @ b[i : i + step]) for i in range(0, a.size, step)))


def tall_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return Aᵀ B (k, l) for A (n, k) and B (n, l), by blocks of rows: twice as fast if n ≫ k."""
    step = 2048
    product: np.ndarray = A[:step].T @ B[:step]
    for i in range(step, len(A), step):
        product += A[i : i + step].T @ B[i : i + step]
    return product
