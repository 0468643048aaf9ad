"""LSSMTC: learning the shared subspace for multi-task clustering (Gu, Zhou, ICDM 2009).

    min over M_k, M, P_k ≥ 0, W  λ Σ_k ‖X_k − P_k M_kᵀ‖² + (1 − λ) Σ_k ‖X_k W − P_k Mᵀ‖²,  WᵀW = I

X_k (n_k, d) holds the documents of task k, and P_k (n_k, c) holds clusters. M_k (d, c) holds the
means of the task. M (l, c) holds the means that all tasks share in the subspace W (d, l). Each
sweep finds M by least squares. Then it finds M_k for each task by least squares, and P_k by the
multiplicative update of semi-nonnegative factorisation. P_k starts uniformly at random. The
objective never rises.

The authors also require W ≥ 0, and W starts at the first l unit vectors. With the Lagrangian of
WᵀW = I, C = Σ_k X_kᵀX_k and D = Σ_k X_kᵀP_kMᵀ, their multiplicative update is
W ← W · [(D⁺ + WWᵀ(CW + D⁻)) / (CW + D⁻ + WWᵀD⁺)]^½. It leaves this start unchanged: entries of
zero stay zero, and for the others the fraction is one. So W is not computed. The "subspace" is the
first l features, nothing is learned about it, and the order of features matters. The tasks share no
more than the means of these features.

The paper was not available. The objective, settings and order of updates are those of the code that
the authors published. They use counts. There is one departure from that code: a pseudo-inverse
replaces the inverse.
"""

from typing import Annotated, Literal

import numpy as np
import scipy.sparse as sp
from annotated_types import Ge, Le

from transferbench.core.documents import split_rows
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem, Watch

#: Form of W: the authors', which stays at its start.
Subspace = Literal["nonnegative"]

TINY = 1e-12


def fit(
    problem: Problem,
    *,
    subspace: Subspace = "nonnegative",
    l: Count = 2,  # noqa: E741 (the paper's letter)
    lam: Annotated[float, Ge(0), Le(1)] = 0.75,
    max_iter: Count = 20,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit LSSMTC.

    Parameters
    ----------
    subspace
        Form of W. "nonnegative" is the form of the authors' code, which uses the first l features.
    l
        Number of dimensions of the shared subspace.
    lam
        λ: weight of the term of each task's own means.
    max_iter
        Number of iterations.

    Returns
    -------
    Fit
        P_k (n_k, c) of every task, and the objective after each iteration.
    """
    Xs = [sp.csr_array(domain.X, dtype=np.float64) for domain in problem.domains]
    X, c = sp.vstack(Xs, format="csr"), len(problem.classes)
    Z = X[:, :l].toarray()
    P = np.random.default_rng(seed).random((X.shape[0], c))
    Ps = split_rows(problem, P)  # views: updating P_k updates P
    X_norm2, trace = float((X.data**2).sum()), []
    for iteration in range(max_iter):
        M = (Z.T @ P) @ np.linalg.pinv(P.T @ P)
        A, Bs = (1 - lam) * (Z @ M), []
        As = split_rows(problem, A)
        for X_k, P_k, A_k in zip(Xs, Ps, As, strict=True):
            M_k = X_k.T @ P_k @ np.linalg.pinv(P_k.T @ P_k)
            A_k += lam * (X_k @ M_k)
            Bs.append(lam * M_k.T @ M_k + (1 - lam) * M.T @ M)
        for P_k, A_k, B in zip(Ps, As, Bs, strict=True):
            num = np.maximum(A_k, 0) + P_k @ np.maximum(-B, 0)
            den = np.maximum(-A_k, 0) + P_k @ np.maximum(B, 0)
            P_k *= np.sqrt(num / np.maximum(den, TINY))
        fitted = sum(np.sum((P_k @ B) * P_k) for P_k, B in zip(Ps, Bs, strict=True))
        data_norm2 = lam * X_norm2 + (1 - lam) * float((Z**2).sum())
        trace.append(float(data_norm2 - 2 * np.sum(A * P) + fitted))
        if watch:
            watch(iteration + 1, max_iter, Ps)
    return Fit(Ps, tuple(trace), columns="clusters")
