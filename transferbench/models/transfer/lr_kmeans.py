"""LR → k-means: k-means on each target, started at class means found by logistic regression.

    min over (means μ, assignment a)  Σ_i ‖x_i − μ_a(i)‖²,  i over the documents of one target

x_i (d,) documents, μ_j (d,) means. A simple control without any factorisation.
Unless prior is "equal", each step assigns documents so that the classes have their shares of them
(`core.priors`), and offsets of the classes are added to the scores.
"""

import numpy as np

from transferbench.core.documents import score_targets
from transferbench.core.logistic import label_start
from transferbench.core.priors import class_priors, count_offsets
from transferbench.parameters import Count, Positive, Prior
from transferbench.problem import Domain, Fit, Matrix, Problem


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
        Shares of the classes in the targets, see `class_priors`.

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
        size = decided.sum(axis=0)[:, None]
        # A class without documents starts at the mean weighted by its probabilities.
        means = np.where(size > 0, (domain.X.T @ decided).T, (domain.X.T @ P).T)
        means /= np.where(size > 0, size, P.sum(axis=0)[:, None].clip(1e-12))
        if shares is not None:
            return _with_counts(domain.X, means, shares, max_iter)
        kmeans = KMeans(len(problem.classes), init=means, n_init=1, max_iter=max_iter)
        return np.asarray(-kmeans.fit(domain.X).transform(domain.X))

    return Fit(score_targets(problem, score), diagnostics=priors.diagnostics)


def _with_counts(X: Matrix, means: np.ndarray, shares: np.ndarray, max_iter: int) -> np.ndarray:
    """Return minus half squared distances to the means, with offsets (n, c).

    Parameters
    ----------
    X
        Documents (n, d).
    means
        (c, d) the start. A class without documents keeps its mean.
    shares
        (c,) shares of the classes among the documents.
    max_iter
        Iterations.
    """
    half = np.asarray((X * X).sum(axis=1)) / 2
    decided = np.full(X.shape[0], -1)
    for _ in range(max_iter):
        near = np.asarray(X @ means.T) - (means**2).sum(axis=1) / 2 - half.reshape(-1, 1)
        scores = near + count_offsets(near, shares)
        before, decided = decided, scores.argmax(axis=1)
        if (before == decided).all():
            break
        members = np.eye(len(means))[decided]
        size = members.sum(axis=0)[:, None]
        means = np.where(size > 0, (X.T @ members).T / size.clip(1), means)
    return np.asarray(scores)
