"""LNKMTC: learning a nonparametric kernel for multi-task clustering (Gu, Li, Han, AAAI 2011).

    min over K  tr(LK) + C·tr(SK)    s.t. 0 ⪯ K ⪯ I, tr(K) = b

K (n, n) kernel over the n documents of all tasks; L their graphs' normalised Laplacian (eqs. 8, 9),
S the distances between the tasks' means (eq. 6); then kernel k-means on K. Eq. 10, solved by
Theorem 0.2: K is the projector on the b smallest eigenvectors of L + C·S (a fraction of the last,
where b is not whole). C = 0 is the paper's LNKMTC0.

The paper does not say how k-means starts nor whether tasks are clustered together: documents start
with random labels, and all tasks share their clusters; `joint` false clusters each task by itself.
"""

from __future__ import annotations

import math

import numpy as np

from transferbench.core.kmeans import cluster
from transferbench.core.spectral import affinity, mean_matching, smallest, trace_weights
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    p: Count = 10,
    C: Weight = 500.0,
    b: Positive = 30.0,
    starts: Count = 1,
    joint: bool = True,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Negative distances (n, c) to the cluster means of K's feature space.

    p: neighbours in the document graphs. C: weight of S; the paper picks among .1, 1, 10, 100, 500
    and 1000 by accuracy, and from 500 on nothing changes. b: trace of the kernel.
    """
    W = affinity([domain.X for domain in problem.domains], p)
    G = mean_matching([len(domain.seen) for domain in problem.domains])
    spectrum = smallest(W, math.ceil(b), G=G, C=C)
    Z = spectrum.vectors * np.sqrt(trace_weights(spectrum.values, b))
    return cluster(problem, Z, starts, joint, seed)
