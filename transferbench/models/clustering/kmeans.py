"""k-means: each task by itself, or all tasks' documents together.

    min over (means μ_j, assignment a)  Σ_i ‖x_i − μ_a(i)‖²

x_i (d,) the documents; Lloyd's iterations of scikit-learn from documents drawn as means. The
paper's Kmeans, and with `together` its All Kmeans (Gu, Li, Han, AAAI 2011).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from transferbench.core.kmeans import by_task
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    together: bool = False,
    starts: Count = 1,
    max_iter: Count = 300,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Negative distances (n, c) to the means; starts: the best of so many is kept."""
    views = [sp.csr_array(domain.X) for domain in problem.domains]
    scores = []
    for X in [sp.vstack(views, format="csr")] if together else views:
        kmeans = KMeans(
            len(problem.classes),
            init="random",
            n_init=starts,
            max_iter=max_iter,
            random_state=np.random.RandomState(seed),
        )
        scores.append(-kmeans.fit(X).transform(X))
    return Fit(by_task(problem, np.vstack(scores)), columns="clusters")
