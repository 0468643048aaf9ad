"""LNKMTC: learning a nonparametric kernel for multi-task clustering (Gu, Li, Han, AAAI 2011).

    min over K  tr(LK) + C·tr(SK)    s.t. 0 ⪯ K ⪯ I, tr(K) = b

K (n, n) is a kernel over the n documents of all tasks. L (n, n) is the normalised Laplacian of
their graphs (eqs. 8, 9). S (n, n) measures the distances between the means of the tasks (eq. 6).
Theorem 0.2 solves eq. 10: K is the projector on the b smallest eigenvectors of L + C·S. If b is not
a whole number, the last eigenvector counts in part. Clusters come from kernel k-means on K. C = 0
is the paper's LNKMTC0.

L has an eigenvalue of zero for each task, and C·S raises all of these but one. λ_{b+1} is the next
eigenvalue after the b smallest. While C·‖S‖ < λ_{b+1}, the raised eigenvalues remain among the b
smallest. Then the kernel and the distances of the means are nearly those of C = 0.

The paper does not say how k-means starts, or if tasks are clustered together. Here documents start
at random labels, and all tasks share their clusters. pool_tasks = false clusters each task alone.
"""

import math

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
    b: Positive = 30.0,
    n_init: Count = 1,
    pool_tasks: bool = True,
    search: Search = "auto",
    seed: int,
) -> Fit:
    """Fit LNKMTC.

    Parameters
    ----------
    p
        Number of neighbours in the document graphs.
    C
        Weight of S. The paper chooses it from .1 to 1000 by accuracy. Above 500 nothing changes.
    b
        Trace of the kernel.
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
    G = spectral.mean_matching([len(domain.seen) for domain in problem.domains])
    values, vectors = spectral.smallest_eigenpairs(graph.W, math.ceil(b), G=G, C=C)
    Z = vectors * np.sqrt(spectral.trace_weights(values, b))
    return cluster_kernel(problem, Z, graph, n_init, pool_tasks, seed)
