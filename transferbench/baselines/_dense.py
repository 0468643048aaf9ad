"""What the models here share: documents as short dense vectors, one target at a time for skada."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn import config_context
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from transferbench.core.init import seen_rows, stack
from transferbench.core.views import split_by_domain
from transferbench.errors import Unavailable
from transferbench.problem import Domain, Fit, Problem

#: Vectors of documents: of words, by truncated SVD, or the task's embeddings, its second view.
Features = Literal["svd", "embedding"]


def dense(problem: Problem, features: Features, components: int) -> Problem:
    """The problem with one dense view (n, r) of rows of length one in every domain.

    Of words, r = `components` coordinates of the truncated SVD of the documents of all domains
    together, whose labels it does not see. Raises Unavailable where a task has no embeddings.
    """
    if features == "svd":
        X = stack([domain.X for domain in problem.domains]).astype(np.float64)
        rank = min(components, min(X.shape) - 1)  # ARPACK's most
        svd = TruncatedSVD(rank, algorithm="arpack", random_state=0)
        views = split_by_domain(problem, svd.fit_transform(X))
    elif all(len(domain.views) > 1 for domain in problem.domains):
        views = tuple(np.asarray(domain.views[1], np.float64) for domain in problem.domains)
    else:
        raise Unavailable(f"{problem.name} has no embeddings of its documents")
    domains = (
        Domain(domain.name, (normalize(view),), domain.Y, domain.seen)
        for domain, view in zip(problem.domains, views, strict=True)
    )
    return Problem(problem.name, problem.family, problem.classes, tuple(domains))


def adapt(problem: Problem, estimator: Callable[[], Any]) -> Fit:
    """Probabilities (n, c) of every target by an estimator of skada's; a source keeps its labels.

    A new estimator for each target, fitted on the labelled documents (domain 1) and the target's
    (domain −2), whose label is −1, skada's mark for one that is not known.
    """
    Xs, ys = seen_rows(problem)
    scores = []
    for domain in problem.domains:
        if domain.seen.all():
            scores.append(domain.Y)
            continue
        n = len(domain.seen)
        P = np.zeros((n, len(problem.classes)))
        with config_context():  # skada changes scikit-learn's settings when it is imported
            model = estimator()
            model.fit(
                np.vstack([Xs, domain.X]),
                np.concatenate([ys, np.full(n, -1)]),
                sample_domain=np.concatenate([np.full(len(ys), 1), np.full(n, -2)]),
            )
            P[:, np.unique(ys)] = model.predict_proba(domain.X, sample_domain=np.full(n, -2))
        scores.append(P)
    return Fit(tuple(scores))
