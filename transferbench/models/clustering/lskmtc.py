"""LSKMTC: learning a spectral kernel for multi-task clustering (Gu, Li, Han, AAAI 2011).

    min over μ  Σ_t μ_t (λ_t + C·v_tᵀ S v_t)    s.t. 1 ≥ μ_1 ≥ … ≥ μ_r ≥ 0, Σ_t μ_t = b

λ_t, v_t (n,) the r smallest eigenpairs of L, the normalised Laplacian of the tasks' document graphs
(eqs. 8, 9), S the distances between the tasks' means (eq. 6); then kernel k-means on the kernel
K = Σ_t μ_t v_t v_tᵀ. Eqs. 13 and 15. C = 0 is the paper's LSKMTC0.

L has an eigenvalue of zero for each connected component, at least one for each task, so the paper's
v_t are not unique. Here they are the components' own, task by task: another basis of the same space
would give another kernel. The order of eq. 13 gives the smoothest eigenvectors, which cannot tell
the clusters of a task apart, the largest weights; `order` "descending" turns the r eigenvectors
round, μ_t then falling with smoothness, which is not the paper's. Starts and joint clusters as in
LNKMTC.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from transferbench.core.kmeans import cluster
from transferbench.core.spectral import affinity, mean_matching, smallest, spectral_weights
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    p: Count = 10,
    C: Weight = 500.0,
    b: Positive = 1.0,
    r: Count = 30,
    order: Literal["ascending", "descending"] = "ascending",
    starts: Count = 1,
    joint: bool = True,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Negative distances (n, c) to the cluster means of K's feature space.

    p: neighbours in the document graphs. C: weight of S; the paper picks among .1, 1, 10, 100, 500
    and 1000 by accuracy. b: trace of the kernel. r: eigenvectors retained.
    """
    spectrum = smallest(affinity([domain.X for domain in problem.domains], p), r)
    G = mean_matching([len(domain.seen) for domain in problem.domains])
    turn = slice(None, None, 1 if order == "ascending" else -1)
    vectors = spectrum.vectors[:, turn]
    cost = spectrum.values[turn] + C * ((G.T @ vectors) ** 2).sum(axis=0)
    Z = vectors * np.sqrt(spectral_weights(cost, b))
    return cluster(problem, Z, starts, joint, seed)
