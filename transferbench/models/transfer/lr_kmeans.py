"""LR → k-means: k-means on each target, started at class means found by logistic regression.

    min over (means μ, assignment a)  Σ_i ‖x_i − μ_a(i)‖²,  i over the documents of one target

x_i (d,) documents, μ_j (d,) means. A simple control without any factorisation.
"""

from __future__ import annotations

import numpy as np

from transferbench.core.init import label_start
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(problem: Problem, *, C: Positive = 1.0, max_iter: Count = 300) -> Fit:
    """Return negative distances (n, c) to the class means of every target; labels of every source.

    C: inverse regularisation of the logistic regression. max_iter: iterations of k-means.
    """
    from sklearn.cluster import KMeans

    scores = []
    for domain, P in zip(problem.domains, label_start(problem, C), strict=True):
        if domain.seen.all():
            scores.append(P)
            continue
        decided = np.eye(P.shape[1])[P.argmax(axis=1)]
        size = decided.sum(axis=0)[:, None]
        # A class without documents starts at the mean weighted by its probabilities.
        means = np.where(size > 0, (domain.X.T @ decided).T, (domain.X.T @ P).T)
        means /= np.where(size > 0, size, P.sum(axis=0)[:, None].clip(1e-12))
        kmeans = KMeans(len(problem.classes), init=means, n_init=1, max_iter=max_iter)
        scores.append(-kmeans.fit(domain.X).transform(domain.X))
    return Fit(scores=tuple(scores))
