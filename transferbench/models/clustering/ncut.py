"""NCut: normalised cut of a document graph (Shi, Malik, PAMI 2000), each task's or all tasks'.

    min over partitions A_1 … A_c  Σ_j cut(A_j, rest) / volume(A_j)

Volumes, cuts: in the cosine graph of the p nearest documents. Relaxed to the smallest eigenvectors
of its normalised Laplacian and made discrete by rotation (Yu, Shi, ICCV 2003), by scikit-learn's
SpectralClustering. The paper's NCut, and with `together`, where the graph joins documents of
different tasks, too, its All NCut (Gu, Li, Han, AAAI 2011); it does not say which graph it took.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering

from transferbench.core.graph import cosine_graph
from transferbench.core.kmeans import by_task
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    p: Count = 10,
    together: bool = False,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """One-hot clusters (n, c); p: neighbours in the graph."""
    c = len(problem.classes)
    views = [sp.csr_array(domain.X) for domain in problem.domains]
    scores = []
    for X in [sp.vstack(views, format="csr")] if together else views:
        cut = SpectralClustering(
            c, affinity="precomputed", assign_labels="discretize", random_state=seed
        )
        with warnings.catch_warnings():
            # A graph in several pieces is a fact of the data; a cut of nothing is a good cut.
            warnings.filterwarnings("ignore", message="Graph is not fully connected")
            W = sp.csr_matrix(cosine_graph(X, p).W)  # scikit-learn takes the older class alone
            scores.append(np.eye(c)[cut.fit(W).labels_])
    return Fit(by_task(problem, np.vstack(scores)), columns="clusters")
