"""Eigenpairs of the document graphs of several tasks, and weights of kernels made of them.

L (n, n) is the normalised Laplacian of a graph without edges between tasks; S = GGᵀ (n, n) is the
matrix of kernel mean matching, of rank (tasks − 1). Gu, Li, Han, AAAI 2011. None of these matrices
is formed: L + C·S is applied to vectors, and a kernel is ZZᵀ with Z of few columns.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.linalg import helmert
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from transferbench.artefacts import artefact
from transferbench.core.graph import Graph, Search, cosine_graph
from transferbench.problem import Matrix


def affinity(views: Sequence[Matrix], p: int, search: Search = "exact") -> Graph:
    """Return the graph of eq. 9: W (n, n) block-diagonal, with a cosine graph for each task."""
    # `views`: Documents (n_i, d) of each task.
    # `p`: Number of nearest documents to which a document of the task is joined.
    # `search`: The recall is the least of the tasks'.
    graphs = [cosine_graph(X, p, search=search) for X in views]
    W = sp.csr_array(sp.block_diag([graph.W for graph in graphs]), dtype=np.float64)
    return Graph(W, min(graph.recall for graph in graphs))


def mean_matching(sizes: Sequence[int]) -> np.ndarray:
    """Return G (n, m − 1) with GGᵀ = S of eq. 6."""
    # S sums the squared distances between the means of two tasks over unordered pairs; eq. 5 counts
    # each pair twice. S = E (mI − 11ᵀ) Eᵀ with E (n, m) the indicators of the tasks divided by
    # their sizes.
    # `sizes`: Number of documents of each of the m tasks.
    m = len(sizes)
    rows = np.sqrt(m) * helmert(m).T / np.asarray(sizes, float)[:, None]
    return np.repeat(rows, sizes, axis=0)


@artefact
def smallest_eigenpairs(
    W: sp.csr_array, count: int, *, G: np.ndarray | None = None, C: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenpairs of L + C·GGᵀ, L = I − D^(−½) W D^(−½)."""
    # The basis of the null space is computed directly, because that of a Lanczos method depends on
    # its start: D^½1 on each connected component, in the order of the components' first documents,
    # made orthogonal to G if C > 0. The other pairs come from Lanczos iterations on 2I − (L +
    # C·GGᵀ), deflated by the null space.
    # `G`: (n, m − 1), see `mean_matching`.
    # `vectors`: Eigenvectors (n, count) of length one.
    # Shapes: W (n, n), values (count,).
    n = W.shape[0]
    if not 1 <= count < n:
        raise ValueError(f"expected fewer eigenvectors than the {n} documents, got {count}")
    degree = np.asarray(W.sum(axis=1)).ravel()
    scale = sp.diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1)))
    M = sp.csr_array(scale @ W @ scale)
    G = np.zeros((n, 1)) if G is None else np.sqrt(C) * G
    null = _null_space(W, degree, G)
    null_vectors = null[:, :count]
    if null_vectors.shape[1] == count:
        return np.zeros(count), null_vectors

    def apply(v: np.ndarray) -> np.ndarray:
        return np.asarray(v + M @ v - G @ (G.T @ v) - 2 * (null @ (null.T @ v)))

    operator = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(operator, count - null_vectors.shape[1], which="LA", v0=start)
    values, vectors = 2 - values[::-1], vectors[:, ::-1]
    return np.r_[np.zeros(null_vectors.shape[1]), values], np.hstack([null_vectors, vectors])


def _null_space(W: sp.csr_array, degree: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, q) of the null space of L and Gᵀ."""
    # It is zero on documents without a neighbour: by eq. 8 each has an eigenvalue of one.
    _, component = connected_components(W, directed=False)
    labels, component = np.unique(component[degree > 0], return_inverse=True)
    N: np.ndarray = np.zeros((len(degree), len(labels)))
    N[degree > 0, component] = np.sqrt(degree[degree > 0])
    N /= np.sqrt((N**2).sum(axis=0))
    B = G.T @ N
    if not B.any():
        return N
    # Gram–Schmidt on the projected vectors of the components, in their order.
    Q, R = np.linalg.qr(np.eye(len(labels)) - np.linalg.pinv(B) @ B)
    return np.asarray(N @ Q[:, np.abs(np.diag(R)) > 1e-9])


def trace_weights(values: np.ndarray, b: float) -> np.ndarray:
    """Return γ (k,) that minimises Σ γ_i σ_i with 0 ≤ γ ≤ 1 and Σ γ = b, eq. 12."""
    # γ is one for the smallest eigenvalues.
    # `values`: The k ≥ b smallest, ascending.
    return np.asarray(np.clip(b - np.arange(len(values)), 0.0, 1.0))


def spectral_weights(cost: np.ndarray, b: float) -> np.ndarray:
    """Return μ (r,) that minimises Σ μ_t cost_t with 1 ≥ μ_1 ≥ … ≥ μ_r ≥ 0 and Σ μ = b, eq. 15."""
    # Every such μ is a mixture of prefixes 1…j of the eigenvectors. The optimum is the value at b
    # of the lower convex hull of the points (j, cost of prefix j), a mixture of at most two
    # prefixes. For b ≤ 1 it is the prefix with the least mean cost.
    # `cost`: (r,) the cost of each eigenvector.
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
    fraction = (b - left) / (right - left)
    index = np.arange(r)
    return np.where(index < left, 1.0, np.where(index < right, fraction, 0.0))
