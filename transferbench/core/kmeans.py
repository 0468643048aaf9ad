"""Kernel k-means on the rows of a small matrix, and rows by task."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from transferbench.problem import Problem


def kernel_kmeans(Z: np.ndarray, clusters: int, starts: int, seed: int) -> np.ndarray:
    """Negative distances (n, clusters) to the means of kernel k-means with the kernel ZZᵀ.

    Z (n, k): it is k-means on the rows of Z. Documents start with random labels, `starts` times;
    the run of least within-cluster distance is kept.
    """
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(starts):
        label = rng.integers(clusters, size=len(Z))
        size = np.bincount(label, minlength=clusters)[:, None]
        means = np.array([Z[label == c].sum(axis=0) for c in range(clusters)]) / np.maximum(size, 1)
        runs.append(KMeans(clusters, init=means, n_init=1, tol=0).fit(Z))
    best = min(runs, key=lambda run: run.inertia_)
    return np.asarray(-best.transform(Z))


def by_task(problem: Problem, together: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows of an array over all documents, one array for each task."""
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])
    return tuple(np.split(together, ends[:-1]))
