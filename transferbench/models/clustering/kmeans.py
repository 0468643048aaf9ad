"""k-means of each task alone, or of all tasks together.

    min over (means μ_j, assignment a)  Σ_i ‖x_i − μ_a(i)‖²

x_i (d,) are documents, and μ_j (d,) are means. scikit-learn's Lloyd iterations start at random
documents. This is Kmeans of Gu, Li, Han, AAAI 2011. With `pool_tasks` it is their All Kmeans.
"""

import numpy as np

from transferbench.models.clustering._shared import clusters_fit, document_groups
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    pool_tasks: bool = False,
    n_init: Count = 1,
    max_iter: Count = 300,
    seed: int,
) -> Fit:
    """Fit k-means.

    Parameters
    ----------
    pool_tasks
        Cluster the documents of all tasks as those of one task.
    n_init
        Number of starts; the best one is returned.
    max_iter
        Number of iterations.

    Returns
    -------
    Fit
        Negative distances (n, c) to the means.
    """
    from sklearn.cluster import KMeans

    scores = []
    for X in document_groups(problem, pool_tasks):
        kmeans = KMeans(
            len(problem.classes),
            init="random",
            n_init=n_init,
            max_iter=max_iter,
            random_state=np.random.RandomState(seed),
        )
        scores.append(-kmeans.fit(X).transform(X))
    return clusters_fit(problem, scores)
