"""LR → k-means: k-means on each target, started at class means found by logistic regression.

    min over (means μ, assignment a)  Σ_i ‖x_i − μ_a(i)‖²,  i over the documents of one target

x_i (d,) are documents, and μ_j (d,) are means. This model is a simple control without any
factorisation. If prior is not "equal", each step assigns documents so that the classes have their
shares of them (`core.priors`). Offsets of the classes are then added to the scores.

An extension: labelled documents of a target stay in the cluster of their label. They count in its
mean with the weight of the label.
"""

import numpy as np

from transferbench.core.documents import score_targets
from transferbench.core.logistic import label_start
from transferbench.core.priors import class_priors, count_offsets, remaining_shares
from transferbench.parameters import Count, Positive, Prior
from transferbench.problem import Domain, Fit, Problem


def fit(
    problem: Problem, *, C: Positive = 1.0, max_iter: Count = 300, prior: Prior = "equal"
) -> Fit:
    """Fit LR → k-means.

    Parameters
    ----------
    C
        Inverse regularisation of the logistic regression.
    max_iter
        Iterations of k-means.
    prior
        Shares of the classes in the targets; see `class_priors`.

    Returns
    -------
    Fit
        Negative distances (n, c) to the class means of every target; labels of every source.
    """
    from sklearn.cluster import KMeans

    priors, starts = class_priors(problem, prior, C), label_start(problem, C)

    def score(i: int, domain: Domain) -> np.ndarray:
        P, shares = starts[i], priors.by_domain[i]
        decided = np.eye(P.shape[1])[P.argmax(axis=1)]
        if domain.label_weights is not None and domain.seen.any():
            decided *= np.where(domain.seen, domain.label_weights, 1)[:, None]
        size = decided.sum(axis=0)[:, None]
        # A class without documents starts at the mean weighted by its probabilities.
        means = np.where(size > 0, (domain.X.T @ decided).T, (domain.X.T @ P).T)
        means /= np.where(size > 0, size, P.sum(axis=0)[:, None].clip(1e-12))
        if shares is not None or domain.seen.any():
            return _constrained(domain, means, shares, max_iter)
        kmeans = KMeans(len(problem.classes), init=means, n_init=1, max_iter=max_iter)
        return np.asarray(-kmeans.fit(domain.X).transform(domain.X))

    return Fit(score_targets(problem, score), diagnostics=priors.diagnostics)


def _constrained(
    domain: Domain, means: np.ndarray, shares: np.ndarray | None, max_iter: int
) -> np.ndarray:
    """Return the scores (n, c) of k-means with labels or shares of the classes."""
    # `domain`: Documents X (n, d). The labelled ones stay in the cluster of their label.
    # `means`: (c, d) the start. A class without documents keeps its mean.
    # `shares`: (c,) shares of the classes among the documents, None if free.
    # `scores`: Minus half the squared distances to the means, plus offsets. Without shares they are
    # minus the distances.
    X, seen, labels = domain.X, domain.seen, domain.Y.argmax(axis=1)
    weights = np.ones(len(seen))
    if domain.label_weights is not None:
        weights[seen] = domain.label_weights[seen]
    if shares is not None:
        shares = remaining_shares(domain, shares)
    half = np.asarray((X * X).sum(axis=1)) / 2
    decided = np.full(X.shape[0], -1)
    for _ in range(max_iter):
        near = np.asarray(X @ means.T) - (means**2).sum(axis=1) / 2 - half.reshape(-1, 1)
        scores = near if shares is None else near + count_offsets(near[~seen], shares)
        before, decided = decided, np.where(seen, labels, scores.argmax(axis=1))
        if (before == decided).all():
            break
        members = np.eye(len(means))[decided] * weights[:, None]
        size = members.sum(axis=0)[:, None]
        means = np.where(size > 0, (X.T @ members).T / np.where(size > 0, size, 1), means)
    return np.asarray(scores if shares is not None else -np.sqrt(np.maximum(-2 * scores, 0)))
