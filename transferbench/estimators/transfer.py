"""A transfer model as a classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d

from transferbench.estimators._base import (
    MASKED,
    SOURCE,
    TARGET,
    TransductiveClassifier,
    by_domain,
    checked_domains,
    classes_of,
)
from transferbench.measures import normalize_scores


class TransferClassifier(TransductiveClassifier):
    """A transfer model as a classifier.

    model: name of the model (`transferbench list models`). random_state: its seed. params:
    parameters of the model; the defaults are the paper's.

    Attributes, for the fitted documents by position: transduction_ (n,) their classes, and
    label_distributions_ (n, c) the confidence in each class, which is not a calibrated probability;
    sources have the given classes. classes_ (c,) the classes.

    `predict` looks up a fitted document by its features (to seven digits). If fitted documents are
    equal, the last one counts, targets after sources. A new document gets the class with the
    nearest mean by cosine, over the targets' documents and their predicted classes; no paper
    describes this step. To label new documents by the model itself, fit it with them as a target.
    Without a target no model is fitted, a warning is given, and the means are those of the sources.
    """

    def __init__(self, model: str = "gcmf", *, random_state: Any = 0, **params: Any) -> None:
        self.model = model
        self.random_state = random_state
        self._params = params

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Label the targets' documents.

        X (n, d): nonnegative. y (n,): classes; those of targets are ignored. sample_domain (n,):
        the domain of each document, 0 or more for sources, negative for targets. Without it, a
        document with the integer label −1 belongs to a single target. Warn if there is no target.
        Raise ValueError for invalid input, UserError for an unknown model or parameter.
        """
        X = self._validated(X, reset=True)
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        if sample_domain is None:
            sample_domain = np.full(len(y), SOURCE)
            if y.dtype.kind in "iu":
                sample_domain[y == MASKED] = TARGET
        domain = checked_domains(sample_domain, X.shape[0], y)
        seen = domain >= 0
        if not seen.any():
            raise ValueError("no source: expected a domain of 0 or more for some documents")
        self.classes_, Y = classes_of(y, seen)
        confidence = Y
        if seen.all():
            self._warn_of_no_target("fit the documents to label, too, with a negative domain")
        else:
            confidence = self._labelled(X, domain, Y, seen)
        self.label_distributions_ = confidence
        self.transduction_ = self._decide(self.label_distributions_)
        self._remember(X, seen)
        self._means = _class_means(X, confidence, seen)
        return self

    def _labelled(
        self, X: sp.csr_array, domain: np.ndarray, Y: np.ndarray, seen: np.ndarray
    ) -> np.ndarray:
        """Return the confidences (n, c), for sources their labels Y (n, c)."""
        fit = self._fit_model(self._problem("transfer", X, domain, Y, seen))
        if fit.columns == "clusters":
            raise ValueError(f"{self.model} finds clusters, not classes; choose another model")
        confidence = np.zeros_like(Y)
        for (_, rows), scores in zip(by_domain(domain), fit.scores, strict=True):
            confidence[rows] = normalize_scores(scores)
        confidence[seen] = Y[seen]
        return confidence

    def _confidence_of_new(self, X: sp.csr_array) -> np.ndarray:
        """Return the normalised cosines (n, c) with the means of the classes."""
        return normalize_scores(np.asarray(X @ self._means))


def _class_means(X: sp.csr_array, confidence: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return unit means (d, c) of the classes over the targets' documents.

    For a class without documents there, use the sources' documents.
    """
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    unit = sp.diags_array(1 / np.where(length > 0, length, 1)) @ X
    decided = np.eye(confidence.shape[1])[confidence.argmax(axis=1)]
    targets = np.where(seen[:, None], 0, decided)
    weights = np.where(targets.any(axis=0), targets, decided)
    means = np.asarray(unit.T @ weights)
    size = np.sqrt((means**2).sum(axis=0))
    return np.asarray(means / np.where(size > 0, size, 1))
