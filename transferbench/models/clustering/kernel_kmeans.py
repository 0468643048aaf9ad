"""KKM: kernel k-means with a Gaussian kernel, each task by itself or all tasks together.

    min over assignments a  Σ_i ‖φ(x_i) − μ_a(i)‖²,   φ(x)·φ(y) = exp(−‖x − y‖² / 2σ²)

μ_j the mean of φ over cluster j. Lloyd's iterations from random labels. The paper's KKM, and with
`together` its All KKM (Gu, Li, Han, AAAI 2011), which picks σ by accuracy. The (n, n) kernel is
never held: its products with the (n, c) assignment are kept up to date from the columns of the
documents that changed cluster.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from transferbench.core.kmeans import by_task
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem, Watch

BLOCK = 512  # columns of the kernel made at a time


def fit(
    problem: Problem,
    *,
    sigma: Positive = 1.0,
    together: bool = False,
    max_iter: Count = 100,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Negative squared distances (n, c) to the clusters' means; sigma: the kernel's width."""
    views = [sp.csr_array(domain.X, dtype=np.float64) for domain in problem.domains]
    groups = [sp.vstack(views, format="csr")] if together else views
    scores = [_cluster(X, len(problem.classes), sigma, max_iter, seed) for X in groups]
    return Fit(by_task(problem, np.vstack(scores)), columns="clusters")


def _cluster(X: sp.csr_array, c: int, sigma: float, max_iter: int, seed: int) -> np.ndarray:
    """Negative squared distances (n, c); a cluster that is left empty stays so."""
    n = X.shape[0]
    label = np.random.default_rng(seed).integers(c, size=n)
    H = np.eye(c)[label]
    KH = _times(X, np.arange(n), H, sigma)
    for _ in range(max_iter):
        distance = _distances(KH, H)
        new = distance.argmin(axis=1)
        changed = np.flatnonzero(new != label)
        if not changed.size:
            break
        label, old, H = new, H, np.eye(c)[new]
        KH += _times(X, changed, (H - old)[changed], sigma)
    return -_distances(KH, H)


def _distances(KH: np.ndarray, H: np.ndarray) -> np.ndarray:
    """‖φ(x_i) − μ_j‖² (n, c) from KH (n, c) and the one-hot assignment H (n, c)."""
    size = H.sum(axis=0)
    within = (H * KH).sum(axis=0) / np.maximum(size, 1) ** 2
    return np.where(size > 0, 1 - 2 * KH / np.maximum(size, 1) + within, np.inf)


def _times(X: sp.csr_array, columns: np.ndarray, weights: np.ndarray, sigma: float) -> np.ndarray:
    """Columns of the kernel times weights (columns, c): (n, c), block by block."""
    square = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    out = np.zeros((X.shape[0], weights.shape[1]))
    for first in range(0, columns.size, BLOCK):
        part = columns[first : first + BLOCK]
        distance = square[:, None] + square[part] - 2 * (X @ X[part].T).toarray()
        out += np.exp(-np.maximum(distance, 0) / (2 * sigma**2)) @ weights[first : first + BLOCK]
    return out
