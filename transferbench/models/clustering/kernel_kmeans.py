"""KKM: kernel k-means with a Gaussian kernel, for each task alone or for all tasks together.

    min over assignments a  Σ_i ‖φ(x_i) − μ_a(i)‖²,   φ(x)·φ(y) = exp(−‖x − y‖² / 2σ²)

x_i (d,) are documents, and μ_j is the mean of φ over cluster j. Lloyd's iterations start from
random labels. This is KKM of Gu, Li, Han, AAAI 2011. With `pool_tasks` it is their All KKM. They
choose σ by accuracy. The (n, n) kernel is never stored. When documents change cluster, only the
kernel's columns of these documents are computed. They update the products of the kernel with the
(n, c) assignment.
"""

import numpy as np
import scipy.sparse as sp

from transferbench.models.clustering._shared import clusters_fit, document_groups, gaussian_kernel
from transferbench.parameters import Count, Width
from transferbench.problem import Fit, Problem

#: Largest squared distance of two vectors φ(x), whose length is one.
MAX_DISTANCE = 4.0
BLOCK_COLUMNS = 512  # columns of the kernel computed at a time


def fit(
    problem: Problem,
    *,
    sigma: Width = 1.0,
    pool_tasks: bool = False,
    max_iter: Count = 100,
    seed: int,
) -> Fit:
    """Fit KKM.

    Parameters
    ----------
    sigma
        σ: width of the kernel.
    pool_tasks
        Cluster the documents of all tasks as those of one task.
    max_iter
        Number of iterations.

    Returns
    -------
    Fit
        Negative squared distances (n, c) to the means of the clusters.
    """
    c = len(problem.classes)
    groups = [X.astype(np.float64) for X in document_groups(problem, pool_tasks)]
    return clusters_fit(problem, [_cluster(X, c, sigma, max_iter, seed) for X in groups])


def _cluster(X: sp.csr_array, c: int, sigma: float, max_iter: int, seed: int) -> np.ndarray:
    """Return negative squared distances (n, c)."""
    # An empty cluster stays empty, and every document has the squared distance 4 to it.
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
    return np.asarray(-np.minimum(_distances(KH, H), MAX_DISTANCE))


def _distances(KH: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return ‖φ(x_i) − μ_j‖² (n, c), given KH (n, c) and the one-hot assignment H (n, c)."""
    size = H.sum(axis=0)
    within = (H * KH).sum(axis=0) / np.maximum(size, 1) ** 2
    return np.where(size > 0, 1 - 2 * KH / np.maximum(size, 1) + within, np.inf)


def _times(X: sp.csr_array, columns: np.ndarray, weights: np.ndarray, sigma: float) -> np.ndarray:
    """Return the columns of the kernel times weights (columns, c), an array (n, c)."""
    # The columns are computed block by block.
    out = np.zeros((X.shape[0], weights.shape[1]))
    for start in range(0, columns.size, BLOCK_COLUMNS):
        block = slice(start, start + BLOCK_COLUMNS)
        out += gaussian_kernel(X, columns[block], sigma) @ weights[block]
    return out
