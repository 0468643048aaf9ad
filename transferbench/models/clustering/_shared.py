"""Functions that clustering models share: stacked documents, kernel k-means, fits from scores."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.core.documents import split_rows
from transferbench.core.graph import Graph, graph_diagnostics
from transferbench.problem import Fit, Problem


def document_groups(problem: Problem, pool_tasks: bool) -> list[sp.csr_array]:
    """Return the documents to cluster (n, d): one matrix of all tasks, or one for each task."""
    views = [sp.csr_array(domain.X) for domain in problem.domains]
    return [sp.vstack(views, format="csr")] if pool_tasks else views


def gaussian_kernel(X: sp.csr_array, columns: np.ndarray | slice, sigma: float) -> np.ndarray:
    """Return columns of K with K_ij = exp(−‖x_i − x_j‖² / 2σ²) for the rows of X."""
    square = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    distance = square[:, None] + square[columns] - 2 * (X @ X[columns].T).toarray()
    return np.asarray(np.exp(-np.maximum(distance, 0) / (2 * sigma**2)))


def clusters_fit(
    problem: Problem, scores: Sequence[np.ndarray], graphs: Sequence[Graph] = ()
) -> Fit:
    """Return the fit of stacked scores, split by task; the columns of the scores are clusters."""
    # `scores`: (n, c) of all tasks together, or of each task.
    by_task = split_rows(problem, np.vstack(scores))
    return Fit(by_task, columns="clusters", diagnostics=graph_diagnostics(graphs))


def cluster_kernel(
    problem: Problem, Z: np.ndarray, graph: Graph, n_init: int, pool_tasks: bool, seed: int
) -> Fit:
    """Return the fit of kernel k-means with the kernel ZZᵀ."""
    # `Z`: (n, k), the documents of all tasks.
    # `n_init`: Number of starts; the best one is returned.
    # `pool_tasks`: True if all tasks share their clusters; otherwise each task is clustered alone.
    groups = [Z] if pool_tasks else split_rows(problem, Z)
    c = len(problem.classes)
    scores = [kernel_kmeans(group, c, n_init, seed) for group in groups]
    return clusters_fit(problem, scores, [graph])


def kernel_kmeans(Z: np.ndarray, clusters: int, n_init: int, seed: int) -> np.ndarray:
    """Return negative distances (n, clusters) to the means of kernel k-means with kernel ZZᵀ."""
    # This is k-means on the rows of Z. Random labels are drawn row by row. So another order of the
    # documents acts like another seed.
    # `n_init`: Number of runs from random labels. The run with the smallest within-cluster distance
    # is returned.
    # Shapes: Z (n, k).
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(n_init):
        label = rng.integers(clusters, size=len(Z))
        size = np.bincount(label, minlength=clusters)[:, None]
        means = np.array([Z[label == c].sum(axis=0) for c in range(clusters)]) / np.maximum(size, 1)
        runs.append(KMeans(clusters, init=means, n_init=1, tol=0).fit(Z))
    best = min(runs, key=lambda run: run.inertia_)
    return np.asarray(-best.transform(Z))
