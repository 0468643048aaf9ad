"""Nearest mean: give a document the class with the nearest mean; no transfer.

    min over c  ‖x_i − μ_c‖²

x_i (d,) is document i. μ_c (d,) is the mean of the labelled documents of class c, by their weights.
"""

import numpy as np

from transferbench.parameters import Weight
from transferbench.problem import Domain, Fit, Problem


def weighted_labels(domain: Domain) -> np.ndarray:
    """Return the labels (n, c), each times its weight; zero where a label is hidden."""
    weights = domain.label_weights
    return domain.Y if weights is None else domain.Y * weights[:, None]


def fit(problem: Problem, *, shrinkage: Weight = 0.0) -> Fit:
    """Return negative squared distances (n, c), up to a constant for each document.

    Parameters
    ----------
    shrinkage
        Number of documents at the origin that are added to every class.
    """
    sums = sum(np.asarray(domain.X.T @ weighted_labels(domain)) for domain in problem.domains)
    size = sum(weighted_labels(domain).sum(axis=0) for domain in problem.domains) + shrinkage
    means = sums / np.maximum(size, 1)
    scores = []
    for domain in problem.domains:
        distances = np.asarray(2 * domain.X @ means - (means**2).sum(axis=0))
        scores.append(np.where(domain.seen[:, None], domain.Y, distances))  # a label decides
    return Fit(tuple(scores))
