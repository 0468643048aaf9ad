"""Kernel k-means on the rows of a small matrix."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from transferbench.core.views import apart
from transferbench.problem import Fit, Problem


def cluster(problem: Problem, Z: np.ndarray, starts: int, joint: bool, seed: int) -> Fit:
    """Kernel k-means on ZZᵀ, Z (n, k) over the documents of all tasks.

    The tasks share their clusters, or with `joint` false each is clustered by itself.
    """
    parts = [Z] if joint else apart(problem, Z)
    found = [kernel_kmeans(part, len(problem.classes), starts, seed) for part in parts]
    return Fit(apart(problem, np.vstack(found)), columns="clusters")


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
