"""Spectra of several tasks' document graphs, and the kernels learned from them.

L (n, n) is the normalised Laplacian of a graph without edges between tasks, and S = GGᵀ (n, n) the
matrix of kernel mean matching, of rank (tasks − 1). Gu, Li, Han, AAAI 2011. Neither they nor a
kernel is ever formed: L + C·S is applied to vectors, and a kernel is the inner products of the rows
of a small matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import helmert
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from transferbench.core.graph import cosine_graph
from transferbench.problem import Matrix


@dataclass(frozen=True)
class Spectrum:
    """The smallest eigenvalues of L + C·S, ascending (k,), and their unit eigenvectors (n, k)."""

    values: np.ndarray
    vectors: np.ndarray


def affinity(views: Sequence[Matrix], p: int) -> sp.csr_array:
    """W (n, n) with each task's cosine graph of the p nearest documents as a block, eq. 9."""
    return sp.csr_array(sp.block_diag([cosine_graph(X, p).W for X in views]), dtype=np.float64)


def mean_matching(sizes: Sequence[int]) -> np.ndarray:
    """G (n, m − 1) with GGᵀ = S of eq. 6, for m tasks with these numbers of documents.

    S adds the squared distances between the tasks' means over the unordered pairs of tasks; eq. 5
    adds each twice. With E (n, m) the tasks' indicators over their sizes, S = E (mI − 11ᵀ) Eᵀ.
    """
    m = len(sizes)
    rows = np.sqrt(m) * helmert(m).T / np.asarray(sizes, float)[:, None]
    return np.repeat(rows, sizes, axis=0)


def smallest(
    W: sp.csr_array,
    count: int,
    *,
    G: np.ndarray | None = None,
    C: float = 0.0,
    start: np.ndarray | None = None,
) -> Spectrum:
    """The `count` smallest eigenpairs of L + C·GGᵀ, L = I − D^(−½) W D^(−½).

    W (n, n) symmetric, nonnegative; G (n, m − 1). The null space, whose basis a Lanczos method
    would leave to chance, is written down: a vector D^½1 on each connected component, in the order
    of the components' first documents, made orthogonal to G where C > 0. The other pairs come from
    Lanczos iterations on 2I − (L + C·GGᵀ) with the null space taken out; `start` (n,) is their
    first vector. Raises ValueError unless 1 ≤ count < n.
    """
    n = W.shape[0]
    if not 1 <= count < n:
        raise ValueError(f"expected fewer eigenvectors than the {n} documents, got {count}")
    degree = np.asarray(W.sum(axis=1)).ravel()
    scale = sp.diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1)))
    M = sp.csr_array(scale @ W @ scale)
    G = np.zeros((n, 1)) if G is None else np.sqrt(C) * G
    null = _null_space(W, degree, G)
    flat = null[:, :count]
    if flat.shape[1] == count:
        return Spectrum(np.zeros(count), flat)

    def apply(v: np.ndarray) -> np.ndarray:
        return np.asarray(v + M @ v - G @ (G.T @ v) - 2 * (null @ (null.T @ v)))

    operator = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
    if start is None:
        start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(operator, count - flat.shape[1], which="LA", v0=start)
    values, vectors = 2 - values[::-1], vectors[:, ::-1]
    return Spectrum(np.r_[np.zeros(flat.shape[1]), values], np.hstack([flat, vectors]))


def _null_space(W: sp.csr_array, degree: np.ndarray, G: np.ndarray) -> np.ndarray:
    """An orthonormal basis (n, q) of the vectors that L and Gᵀ both take to zero.

    Documents without a neighbour are in none of them: eq. 8 gives each an eigenvalue of one.
    """
    _, component = connected_components(W, directed=False)
    found, component = np.unique(component[degree > 0], return_inverse=True)
    N: np.ndarray = np.zeros((len(degree), len(found)))
    N[degree > 0, component] = np.sqrt(degree[degree > 0])
    N /= np.sqrt((N**2).sum(axis=0))
    B = G.T @ N
    if not B.any():
        return N
    # Gram–Schmidt on the projections of the components' own vectors, in their order.
    Q, R = np.linalg.qr(np.eye(len(found)) - np.linalg.pinv(B) @ B)
    return np.asarray(N @ Q[:, np.abs(np.diag(R)) > 1e-9])


def trace_weights(values: np.ndarray, b: float) -> np.ndarray:
    """γ (k,) minimising Σ γ_i σ_i with 0 ≤ γ ≤ 1 and Σ γ = b: one on the smallest, eq. 12.

    values: the k smallest eigenvalues, ascending. Raises ValueError for b > k.
    """
    if b > len(values):
        raise ValueError(f"expected b ≤ {len(values)} eigenvectors, got {b}")
    return np.asarray(np.clip(b - np.arange(len(values)), 0.0, 1.0))


def spectral_weights(cost: np.ndarray, b: float) -> np.ndarray:
    """μ (r,) minimising Σ μ_t cost_t with 1 ≥ μ_1 ≥ … ≥ μ_r ≥ 0 and Σ μ = b, eq. 15.

    Such μ are mixtures of prefixes 1…j of the eigenvectors, so the optimum is the value at b of the
    lower convex hull of the points (j, cost of prefix j): at most two prefixes mix. For b ≤ 1 one
    does, the one of least mean cost. Raises ValueError for b > r.
    """
    r = len(cost)
    if b > r:
        raise ValueError(f"expected b ≤ {r} eigenvectors, got {b}")
    total = np.r_[0.0, np.cumsum(cost)]
    left = 0
    while True:
        slopes = (total[left + 1 :] - total[left]) / np.arange(1, r + 1 - left)
        right = left + 1 + int(np.argmin(slopes))
        if b <= right:
            break
        left = right
    share = (b - left) / (right - left)
    place = np.arange(r)
    return np.where(place < left, 1.0, np.where(place < right, share, 0.0))
