"""Dense document vectors, and estimators of skada for each target."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from transferbench.core.documents import (
    score_targets,
    seen_rows,
    seen_weights,
    split_rows,
    stack_matrices,
    with_view,
)
from transferbench.core.logistic import class_scores, logistic_regression
from transferbench.errors import Unavailable
from transferbench.problem import Domain, Fit, Problem

#: Document vectors: truncated SVD of the first view, or the embeddings in the last view.
Features = Literal["svd", "embedding"]

#: Values of `sample_domain`, and the label of a target's documents, as skada defines them.
SOURCE, TARGET, MASKED = 1, -2, -1


def dense(problem: Problem, features: Features, components: int) -> Problem:
    """Return the problem with one dense view (n, r) in every domain, rows of length one."""
    # `problem`: The problem; domains keep their labels.
    # `features`: "svd": coordinates of the truncated SVD of the first view, computed for the
    # documents of all domains together, without labels. "embedding": the last view, if there are
    # several and it is dense.
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    if features == "svd":
        X = stack_matrices([domain.X for domain in problem.domains]).astype(np.float64)
        rank = min(components, min(X.shape) - 1)  # the maximum of ARPACK
        if not rank or not X.sum():
            raise ValueError(f"{problem.name}: no SVD of one document, one feature or zeros alone.")
        svd = TruncatedSVD(rank, algorithm="arpack", random_state=0)
        views = split_rows(problem, svd.fit_transform(X))
    elif all(
        len(domain.views) > 1 and isinstance(domain.views[-1], np.ndarray)
        for domain in problem.domains
    ):
        views = tuple(np.asarray(domain.views[-1], np.float64) for domain in problem.domains)
    else:
        raise Unavailable(f"{problem.name} has no embeddings of its documents")
    return with_view(problem, map(normalize, views))


def adapt(
    problem: Problem, C: float, adapter: Callable[[Any], Any], *, weighted: bool = True
) -> Fit:
    """Return the scores (n, c) of every target from a skada estimator, and labels of sources."""
    # `adapter`: Makes the estimator from a logistic regression. A new one is fitted for each
    # target, on the labelled documents (SOURCE) and those of the target (TARGET), whose labels are
    # MASKED. So a labelled document of a target is in both.
    # `weighted`: The estimator takes weights of documents: those of the labels, 1 for TARGET. It
    # gets none if every label weighs 1.
    from sklearn import config_context, set_config

    X_source, y_source = seen_rows(problem)
    weights = seen_weights(problem) if weighted else None

    def score(i: int, domain: Domain) -> np.ndarray:
        n = len(domain.seen)
        target, passed = np.full(n, TARGET), dict[str, Any]()
        with config_context():  # importing skada changes the settings of scikit-learn
            classifier = logistic_regression(X_source, C)
            if weights is not None:
                set_config(enable_metadata_routing=True)
                classifier.set_fit_request(sample_weight=True)
                passed["sample_weight"] = np.append(weights, np.ones(n))
            model = adapter(classifier)
            model.fit(
                np.vstack([X_source, domain.X]),
                np.concatenate([y_source, np.full(n, MASKED)]),
                sample_domain=np.concatenate([np.full(len(y_source), SOURCE), target]),
                **passed,
            )
            return class_scores(
                model, domain.X, np.unique(y_source), len(problem.classes), sample_domain=target
            )

    return Fit(score_targets(problem, score))
