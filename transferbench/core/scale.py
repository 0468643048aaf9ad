"""Matrices brought to scale: sums, norms and inner products that form nothing dense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Matrix

Normalize = Literal["columns", "rows"]


def scale_to_one(F: np.ndarray, axis: Normalize) -> np.ndarray:
    """F (changed in place) with columns or rows of sum one; those that sum to zero stay zero."""
    total = F.sum(axis=0 if axis == "columns" else 1, keepdims=True)
    F *= 1 / np.where(total > 0, total, 1)
    return F


def frobenius_one(X: Matrix) -> Matrix:
    """X / ‖X‖_F, so that weights of other terms mean the same on data of any size."""
    return X / np.sqrt(norm2(X) or 1.0)


def sum_one(X: Matrix) -> Matrix:
    """X / Σ X, a joint distribution of documents and features."""
    return X / (X.sum() or 1.0)


#: Ways to bring X to a common scale.
SCALES: dict[str, Callable[[Matrix], Matrix]] = {
    "frobenius": frobenius_one,
    "sum": sum_one,
    "none": lambda X: X,
}


def present(X: Matrix) -> Matrix:
    """The columns of X (n, m) that are not all zero: the features that occur in a domain."""
    return X[:, np.flatnonzero(np.asarray(abs(X).sum(axis=0)).ravel())]


def entries(X: Matrix) -> np.ndarray:
    """The entries of a dense X, the stored ones of a sparse X; not a copy."""
    return np.asarray(X.data if sp.issparse(X) else X)


def norm2(X: Matrix) -> float:
    """Squared Frobenius norm."""
    return inner(entries(X), entries(X))


def inner(A: np.ndarray, B: np.ndarray) -> float:
    """⟨A, B⟩: short sums in the arrays' own type, their total in float64."""
    a, b = A.reshape(-1), B.reshape(-1)
    step = 1 << 14
    return float(sum(float(a[i : i + step] @ b[i : i + step]) for i in range(0, a.size, step)))
