"""Where the factors of a transfer model start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Domain, Matrix, Problem

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression


def stack(matrices: list[Matrix]) -> Matrix:
    """Rows of several matrices over the same features, one below the other."""
    if any(sp.issparse(matrix) for matrix in matrices):
        return sp.csr_array(sp.vstack([sp.csr_array(matrix) for matrix in matrices]))
    return np.vstack(matrices)


def seen_rows(problem: Problem) -> tuple[Matrix, np.ndarray]:
    """All labelled documents X (n, d) and their classes y (n,), over all domains.

    Raises ValueError where fewer than two classes are seen.
    """
    labelled = [domain for domain in problem.domains if domain.seen.any()]
    y = np.concatenate([np.asarray(d.Y[d.seen]).argmax(axis=1) for d in labelled] or [np.empty(0)])
    if len(np.unique(y)) < 2:
        raise ValueError(f"{problem.name}: labelled documents of at least two classes are needed")
    return stack([domain.X[np.flatnonzero(domain.seen)] for domain in labelled]), y


def logistic_regression(problem: Problem, C: float = 1.0) -> LogisticRegression:
    """L2-regularised logistic regression trained on every labelled document."""
    from sklearn.linear_model import LogisticRegression

    X, y = seen_rows(problem)
    return LogisticRegression(C=C, max_iter=1000).fit(X, y)


def class_probabilities(classifier: LogisticRegression, domain: Domain, classes: int) -> np.ndarray:
    """(n, c): a classifier's probabilities, with 0 for classes it has never seen."""
    P = np.zeros((len(domain.seen), classes))
    P[:, classifier.classes_] = classifier.predict_proba(domain.X)
    return P


def label_start(problem: Problem, C: float = 1.0) -> tuple[np.ndarray, ...]:
    """(n, c) for each domain: its labels where seen, elsewhere logistic regression's probabilities.

    Probabilities, not hard labels: multiplicative updates cannot leave zero.
    """
    classifier = logistic_regression(problem, C)
    c = len(problem.classes)
    return tuple(
        np.where(d.seen[:, None], d.Y, class_probabilities(classifier, d, c))
        for d in problem.domains
    )
