"""Logistic regression on documents of any length, and the starts of models that it gives."""

from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench.artefacts import artefact
from transferbench.core.documents import seen_rows, seen_weights
from transferbench.core.scale import norm2
from transferbench.problem import Matrix, Problem

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

#: Largest gradient of logistic regression on documents of length one; the default of scikit-learn.
TOLERANCE = 1e-4


def logistic_regression(
    X: Matrix, C: float = 1.0, *, intercept: bool = True
) -> "LogisticRegression":
    """Return a logistic regression, to be fitted."""
    # The gradient may be `TOLERANCE` divided by the length of the documents (root mean square): an
    # error of the weights changes log-odds by as much as documents are long. At raw length the
    # tolerance of length one would change the accuracy with the path of the solver, by up to two
    # points.
    # `X`: Documents (n, d) of the fit.
    from sklearn.linear_model import LogisticRegression

    length = max(1.0, round(np.sqrt(norm2(X) / X.shape[0]), 2))
    return LogisticRegression(C=C, fit_intercept=intercept, max_iter=1000, tol=TOLERANCE / length)


def label_start(
    problem: Problem, C: float = 1.0, *, intercept: bool = True
) -> tuple[np.ndarray, ...]:
    """Return (n, c) for each domain: labels of seen rows, class probabilities of the others."""
    # The probabilities are those of logistic regression trained on every labelled document, with
    # the weight of its label; a class without labels has probability 0. Decisions would contain
    # zeros, which multiplicative updates cannot change.
    pairs = zip(problem.domains, probabilities(problem, C, intercept=intercept), strict=True)
    return tuple(np.where(domain.seen[:, None], domain.Y, P) for domain, P in pairs)


def probabilities(
    problem: Problem, C: float = 1.0, *, intercept: bool = True
) -> tuple[np.ndarray, ...]:
    """Return the class probabilities (n, c) of all rows of each domain; see `label_start`."""
    X, y = seen_rows(problem)
    classifier = logistic_regression(X, C)
    classifier.coef_, classifier.intercept_, classifier.classes_ = _train(
        X, y, C, intercept, seen_weights(problem)
    )
    c = len(problem.classes)
    return tuple(class_scores(classifier, d.X, classifier.classes_, c) for d in problem.domains)


@artefact
def _train(
    X: Matrix, y: np.ndarray, C: float, intercept: bool, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients, intercepts and classes of logistic regression on X (n, d), y (n,)."""
    # The weights (n,) multiply the losses of the documents; None stands for 1.
    classifier = logistic_regression(X, C, intercept=intercept).fit(X, y, sample_weight=weights)
    coef, intercepts = map(np.ascontiguousarray, (classifier.coef_, classifier.intercept_))
    return coef, intercepts, classifier.classes_


def class_scores(
    model: Any, X: Any, labelled_classes: np.ndarray, classes: int, **passed: Any
) -> np.ndarray:
    """Return the scores (n, classes) of a fitted estimator; those of unknown classes are least."""
    # They are probabilities, or decision values, or else 1 for the decision.
    # `labelled_classes`: The classes that the estimator was trained on, sorted.
    # Shapes: X (n, d).
    if hasattr(model, "predict_proba"):
        values = np.asarray(model.predict_proba(X, **passed))
    elif hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X, **passed))
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
    else:
        decided = np.asarray(model.predict(X, **passed))
        decided = decided.argmax(axis=1) if decided.ndim == 2 else decided
        values = (decided[:, None] == labelled_classes).astype(float)
    scores = np.full((len(values), classes), min(0.0, values.min()))
    scores[:, labelled_classes] = values
    return scores
