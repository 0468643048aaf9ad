"""ML-kNN: each label by Bayes' rule from how many neighbours have it (Zhang and Zhou, 2007).

    min over d_l ∈ {0, 1}  P(H_l ≠ d_l | C_l),  label by label

H_l says whether a document has label l and C_l, 0 to k, how many of its k nearest labelled
documents have it. With the n labelled documents of all domains, m_l of them with label l, and
c_l[j] of those having j neighbours with label l (c'_l[j] of those without it),

    P(H_l = 1) = (s + m_l) / (2s + n),  P(C_l = j | H_l = 1) = (s + c_l[j]) / (s (k + 1) + m_l)

and likewise for H_l = 0; scores are P(H_l = 1 | C_l), whose ½ is the decision. Pattern Recognition
40(7), reconstructed: the paper is not at hand.

A labelled document is not its own neighbour. Nearest in cosine, which ranks as the distance between
documents of length one does; documents orthogonal to one another are no neighbours.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from transferbench.core.views import View, hstack_views, join, split_by_domain
from transferbench.metrics import ensure_one_label
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem, Watch

#: Of distances held at a time.
MEBIBYTES = 64


def fit(
    problem: Problem,
    *,
    k: Count = 10,
    s: Positive = 1.0,
    view: View = "all",
    top1: bool = False,
    watch: Watch | None = None,
) -> Fit:
    """Posterior probabilities (n, m) of every domain.

    k neighbours; s smoothing; view: the first or all, side by side; top1: a document without a
    label takes its best.
    """
    views, Y, seen = join(problem, view)
    label = Y[seen] > 0
    C = neighbours(hstack_views(views), seen, k) @ label.astype(int)
    n, m = label.shape
    joint = []
    for has in (label, ~label):
        counts = np.array([np.sum(has & (C[seen] == j), axis=0) for j in range(k + 1)])
        likelihood = (s + counts) / (s * (k + 1) + has.sum(axis=0))
        prior = (s + has.sum(axis=0)) / (2 * s + n)
        joint.append(prior * likelihood[C, np.arange(m)])
    scores = joint[0] / (joint[0] + joint[1])
    return Fit(scores=split_by_domain(problem, ensure_one_label(scores) if top1 else scores))


def neighbours(X: sp.csr_array, seen: np.ndarray, k: int) -> sp.csr_array:
    """(N, n) 1 where a seen document is among the k nearest of a document of X (N, d), else 0."""
    labelled, others = np.flatnonzero(seen), np.flatnonzero(~seen)
    search = NearestNeighbors(n_neighbors=min(k, labelled.size - 1), metric="cosine")
    search.fit(X[labelled])
    with config_context(working_memory=MEBIBYTES):
        found = [search.kneighbors_graph(mode="distance")]  # each but itself
        if others.size:
            found.append(search.kneighbors_graph(X[others], mode="distance"))
    graph = sp.csr_array(sp.vstack(found))[np.argsort(np.r_[labelled, others])]
    graph.data = (graph.data < 1).astype(int)
    return graph
