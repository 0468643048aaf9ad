"""LSSMTC: learning the shared subspace for multi-task clustering (Gu, Zhou, ICDM 2009).

    min over M_k, M, P_k ≥ 0, W  λ Σ_k ‖X_k − P_k M_kᵀ‖² + (1 − λ) Σ_k ‖X_k W − P_k Mᵀ‖²,  WᵀW = I

X_k (n_k, d) documents of task k; P_k (n_k, c) clusters; M_k (d, c) the task's own means, M (l, c)
the means all tasks share in the subspace W (d, l). Alternately: M_k and M by least squares, W the l
smallest eigenvectors of Xᵀ(I − P(PᵀP)⁻¹Pᵀ)X with all tasks stacked, P_k by the multiplicative
update of semi-nonnegative factorisation.

Reconstructed: the paper is not at hand; the objective follows its title's other uses. Directions in
which every document is zero would solve for W whatever the clusters, so W is sought among those the
documents span. P_k starts at random labels, plus .2. Takes a dense (d, d) matrix.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import scipy.sparse as sp
from annotated_types import Ge, Le
from scipy.sparse.linalg import LinearOperator, eigsh

from transferbench.core.kmeans import by_task
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem, Watch

TINY = 1e-12
SHIFT = 1e-4


def fit(
    problem: Problem,
    *,
    l: Count = 2,  # noqa: E741 (the paper's letter)
    lam: Annotated[float, Ge(0), Le(1)] = 0.5,
    max_iter: Count = 100,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """P_k (n_k, c) of every task; l: dimensions shared, lam: λ, the weight of the tasks' own."""
    X = sp.vstack([sp.csr_array(domain.X) for domain in problem.domains], format="csr")
    X = X.astype(np.float64)
    c = len(problem.classes)
    own = [
        slice(end - len(d.seen), end)
        for d, end in zip(
            problem.domains, np.cumsum([len(d.seen) for d in problem.domains]), strict=True
        )
    ]
    values, basis = np.linalg.eigh((X.T @ X).toarray())
    spanned = values > 1e-10 * values[-1]
    values, basis = values[spanned], basis[:, spanned]
    P = 0.2 + np.eye(c)[np.random.default_rng(seed).integers(c, size=X.shape[0])]
    square, trace = float((X.data**2).sum()), []
    for iteration in range(max_iter):
        XP = X.T @ P
        W = basis @ _tightest(values, basis.T @ XP, P, l)
        Z = X @ W
        M = (Z.T @ P) @ np.linalg.pinv(P.T @ P)
        A, B = (1 - lam) * (Z @ M), np.empty((len(own), c, c))
        for k, rows in enumerate(own):
            means = X[rows].T @ P[rows] @ np.linalg.pinv(P[rows].T @ P[rows])
            A[rows] += lam * (X[rows] @ means)
            B[k] = lam * means.T @ means + (1 - lam) * M.T @ M
        for k, rows in enumerate(own):
            up = np.maximum(A[rows], 0) + P[rows] @ np.maximum(-B[k], 0)
            down = np.maximum(-A[rows], 0) + P[rows] @ np.maximum(B[k], 0)
            P[rows] *= np.sqrt(up / np.maximum(down, TINY))
        fitted = sum(np.sum((P[rows] @ B[k]) * P[rows]) for k, rows in enumerate(own))
        whole = lam * square + (1 - lam) * float((Z**2).sum())
        trace.append(float(whole - 2 * np.sum(A * P) + fitted))
        if watch:
            watch(iteration + 1, max_iter, by_task(problem, P))
    return Fit(by_task(problem, P), tuple(trace), columns="clusters")


def _tightest(values: np.ndarray, U: np.ndarray, P: np.ndarray, l: int) -> np.ndarray:  # noqa: E741
    """The l smallest eigenvectors (r, l) of diag(values) − U (PᵀP)⁻¹ Uᵀ.

    values (r,) positive, U (r, c). By Lanczos iterations with the inverse (Woodbury) of that matrix
    plus a small multiple of I, which moves no eigenvector: with fewer documents than features some
    directions fit exactly.
    """
    r, shifted = len(values), values + SHIFT * values[-1]
    scaled = U / shifted[:, None]
    middle = np.linalg.inv(P.T @ P - U.T @ scaled)

    def invert(v: np.ndarray) -> np.ndarray:
        inverse = shifted if v.ndim == 1 else shifted[:, None]
        return np.asarray(v / inverse + scaled @ (middle @ (scaled.T @ v)))

    operator = LinearOperator((r, r), matvec=invert, matmat=invert, dtype=np.float64)
    _, vectors = eigsh(operator, min(l, r - 1), which="LA", v0=np.ones(r))
    return np.asarray(vectors[:, ::-1])
