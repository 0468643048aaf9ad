"""LSKMTC: learning a spectral kernel for multi-task clustering (Gu, Li, Han, AAAI 2011).

    min over μ  Σ_t μ_t (λ_t + C·v_tᵀ S v_t)    s.t. 1 ≥ μ_1 ≥ … ≥ μ_r ≥ 0, Σ_t μ_t = b

λ_t and v_t (n,) are the r smallest eigenpairs of L (n, n), the normalised Laplacian of the document
graphs (eqs. 8, 9). S (n, n) measures the distances between the means of the tasks (eq. 6). Clusters
come from kernel k-means on K = Σ_t μ_t v_t v_tᵀ. See eqs. 13 and 15. C = 0 is the paper's LSKMTC0.
Starts and joint clusters are as in LNKMTC.

L has an eigenvalue of zero for each connected component, so at least one for each task. The paper's
v_t are therefore not unique, and another basis of the same space gives another kernel. Here each of
these v_t is nonzero on one component, in the order of the tasks.

The order of eq. 13 gives the largest weights to the smoothest eigenvectors, which do not separate
the clusters within a task. order = "descending", which is not in the paper, reverses the order of
the r eigenvectors, so that μ_t falls with smoothness.
"""

from typing import Literal

import numpy as np

from transferbench.core import spectral
from transferbench.core.graph import Search
from transferbench.models.clustering._shared import cluster_kernel
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    p: Count = 10,
    C: Weight = 500.0,
    b: Positive = 1.0,
    r: Count = 30,
    order: Literal["ascending", "descending"] = "ascending",
    n_init: Count = 1,
    pool_tasks: bool = True,
    search: Search = "auto",
    seed: int,
) -> Fit:
    """Fit LSKMTC.

    Parameters
    ----------
    p
        Number of neighbours in the document graphs.
    C
        Weight of S. The paper chooses it from .1 to 1000 by accuracy.
    b
        Trace of the kernel.
    r
        Number of eigenvectors.
    order
        Order of the weights of the eigenvectors; the paper has "ascending".
    n_init
        Number of starts of k-means; the best one is returned.
    pool_tasks
        Cluster all tasks together, or each alone.
    search
        How nearest documents are found; "auto" is exact up to 50,000 documents.

    Returns
    -------
    Fit
        Negative distances (n, c) to the cluster means in K's feature space.
    """
    graph = spectral.affinity([domain.X for domain in problem.domains], p, search)
    values, vectors = spectral.smallest_eigenpairs(graph.W, r)
    G = spectral.mean_matching([len(domain.seen) for domain in problem.domains])
    step = slice(None, None, 1 if order == "ascending" else -1)
    values, vectors = values[step], vectors[:, step]
    cost = values + C * ((G.T @ vectors) ** 2).sum(axis=0)
    Z = vectors * np.sqrt(spectral.spectral_weights(cost, b))
    return cluster_kernel(problem, Z, graph, n_init, pool_tasks, seed)
