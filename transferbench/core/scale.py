"""Scaling, norms and inner products of sparse or dense matrices, without dense copies."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core.device import is_dense, namespace, on_host
from transferbench.core.parallel import threads
from transferbench.core.subnormal import share_work
from transferbench.problem import Matrix, Problem

Normalize = Literal["columns", "rows"]
#: When a factor is normalised: right after its own update, or after all updates of its domain.
NormalizeAt = Literal["update", "domain"]

#: Range of the largest entry of a view in which squares and sums fit into float32.
SAFE_ENTRIES = 2.0**-40, 2.0**40
#: Root mean square lengths of documents that fixed penalties and kernel widths are meant for.
USUAL_LENGTHS = 1e-3, 1e4
#: Largest number of columns for which a product is faster column by column.
FEW_COLUMNS = 3
REMEDY = "scale your data, for instance each document to length one."


def scale_to_one(F: np.ndarray, axis: Normalize, *, fill: bool = False) -> np.ndarray:
    """Scale columns or rows of F to sum one, in place, and return F."""
    # `fill`: Make columns or rows of zeros uniform; else they stay zero.
    # Shapes: F (n, c).
    along, xp = 0 if axis == "columns" else 1, namespace(F)
    # A product with ones is much faster than F.sum.
    ones = xp.ones(F.shape[along], F.dtype)
    total = (ones @ F)[None] if axis == "columns" else (F @ ones)[:, None]
    F *= 1 / xp.where(total > 0, total, 1)
    if fill:
        lines = F.T if axis == "columns" else F
        lines[total.ravel() == 0] = 1 / F.shape[along]
    return F


def scale_columns(F: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Scale each column of F to the sum n · share, in place, and return F."""
    # `F`: (n, c) nonnegative. A column of zeros stays zero.
    # `shares`: (c,) share of each column.
    total = np.ones(len(F), F.dtype) @ F
    F *= (len(F) * shares / np.where(total > 0, total, 1)).astype(F.dtype)
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


def unit_rows(X: Matrix) -> sp.csr_array:
    """Return X (n, d) with rows scaled to Euclidean length one; zero rows stay zero."""
    X = sp.csr_array(X, copy=True)
    if not np.issubdtype(X.dtype, np.floating):
        X = X.astype(np.float64)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data *= np.repeat(1 / np.where(length > 0, length, 1), np.diff(X.indptr)).astype(X.dtype)
    return X


#: Ways to scale X, by name.
SCALES: dict[str, Callable[[Matrix], Matrix]] = {
    "frobenius": frobenius_one,
    "sum": sum_one,
    "none": lambda X: X,
}


#: Multiplications for which a thread is worth its start.
LEAST_OPERATIONS = 2_000_000


def product(X: Matrix, B: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return X B (n, c), in the memory order of B."""
    # Threads share the columns of a sparse product. With few columns it is computed column by
    # column, which is faster.
    # `X`: (n, m), sparse or dense.
    # `out`: An array (n, c) that may be overwritten with the product and returned.
    # Shapes: B (m, c).
    c, sparse = B.shape[1], sp.issparse(X)
    few = c <= FEW_COLUMNS
    order: Literal["C", "F"] = "F" if few or not sparse or B.flags.f_contiguous else "C"
    if sparse and not few and threads() == 1:
        return np.asarray(X @ B, order=order)
    XB = np.empty((X.shape[0], c), B.dtype, order) if out is None else out
    if not sparse and not few:
        return np.matmul(X, B, out=XB)
    width = 1 if few else -(-c // threads())

    def work(starts: Iterator[int]) -> None:
        for start in starts:
            columns = start if few else slice(start, start + width)
            XB[:, columns] = X @ B[:, columns].copy()

    operations = width * entries(X).size
    share_work(work, range(0, c, width), least=max(1, LEAST_OPERATIONS // max(1, operations)))
    return XB


def nonempty_columns(X: Matrix) -> np.ndarray:
    """Return the indices of the columns of X (n, m) with a nonzero entry, ascending."""
    return np.flatnonzero(np.asarray(abs(X).sum(axis=0)).ravel())


def drop_empty_columns(X: Matrix) -> Matrix:
    """Return the columns of X (n, m) with a nonzero entry: the features that occur in a domain."""
    return X[:, nonempty_columns(X)]


def entries(X: Matrix) -> np.ndarray:
    """Return the entries of a dense X or the stored entries of a sparse X, without a copy."""
    values: np.ndarray = X if is_dense(X) else X.data
    return values


def norm2(X: Matrix) -> float:
    """Return the squared Frobenius norm."""
    return inner(entries(X), entries(X))


def inner(A: np.ndarray, B: np.ndarray) -> float:
    """Return ⟨A, B⟩."""
    # Blocks are summed in the type of the arrays, and their sums in float64. On a GPU everything is
    # summed in float64.
    if not on_host(A):
        return float((A * B).sum(dtype=np.float64))
    order: Literal["C", "F"] = "F" if A.flags.f_contiguous else "C"
    a, b = A.ravel(order), B.ravel(order)
    step = 1 << 14
    return float(sum(float(a[i : i + step] @ b[i : i + step]) for i in range(0, a.size, step)))


def warn_unusual_scale(problem: Problem, stacklevel: int = 2) -> Problem:
    """Return the problem with views that fit into float32; warn of unusual scales."""
    # Views with too large or too small entries are scaled, see `safe_scale`. Other views are
    # unchanged, because the results of many models depend on the scale: by a penalty, or the width
    # of a kernel.
    for j in range(len(problem.domains[0].views)):
        views = [domain.views[j] for domain in problem.domains]
        name = f"{problem.name}: view {j}"
        safe = safe_scale(views, name, stacklevel + 1)
        if safe is not views:
            domains = (
                replace(domain, views=(*domain.views[:j], view, *domain.views[j + 1 :]))
                for domain, view in zip(problem.domains, safe, strict=True)
            )
            problem = replace(problem, domains=tuple(domains))
            continue
        length = math.sqrt(sum(map(norm2, views)) / sum(view.shape[0] for view in views))
        if length and not USUAL_LENGTHS[0] <= length <= USUAL_LENGTHS[1]:
            text = f"documents have lengths of about {length:.3g}, parameters expect about 1"
            warnings.warn(f"{name}: {text}; {REMEDY}", stacklevel=stacklevel + 1)
    return problem


def safe_scale(views: list[Matrix], name: str, stacklevel: int = 2) -> list[Matrix]:
    """Return views divided by one power of two if their largest entry is outside `SAFE_ENTRIES`."""
    # The largest entry is then between ½ and 1. Division by a power of two changes no digit.
    ends = [
        float(end(initial=0)) for view in views for end in (entries(view).max, entries(view).min)
    ]
    largest = max(map(abs, ends))
    if not largest or SAFE_ENTRIES[0] <= largest <= SAFE_ENTRIES[1]:
        return views
    exponent = math.frexp(largest)[1]
    text = f"the largest number is {largest:.3g}, so all were divided by 2**{exponent}"
    warnings.warn(f"{name}: {text}; {REMEDY}", stacklevel=stacklevel + 1)
    # 2**exponent itself may be too large for a number.
    return [
        sp.csr_array((np.ldexp(X.data, -exponent), X.indices, X.indptr), shape=X.shape)
        if isinstance(X, sp.csr_array)
        else np.ldexp(X, -exponent)
        for X in views
    ]
