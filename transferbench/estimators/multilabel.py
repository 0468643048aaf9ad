"""A multi-label model as a classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, column_or_1d

from transferbench.estimators._base import (
    MASKED,
    SOURCE,
    TransductiveClassifier,
    by_domain,
    checked_domains,
    classes_of,
)
from transferbench.measures import THRESHOLD, normalize_scores
from transferbench.userdata.multilabel import fit_in_tasks

#: Nearest fitted documents that decide about a new one.
NEIGHBOURS = 10


class MultiLabelClassifier(TransductiveClassifier):
    """A multi-label model as a classifier of documents with several labels, in several tasks.

    model: name of the model (`transferbench list models`). random_state: its seed. params:
    parameters of the model, such as ensure_one_label; the defaults are the paper's.

    Attributes, for the fitted documents by position: transduction_ (n, c) their labels, 0 or 1, and
    label_distributions_ (n, c) the confidence in each, cut to 0 … 1, at least ½ for a label that is
    given; labelled documents have the given labels. classes_ (c,) the column names of a DataFrame
    Y, else 0, 1, …; of a Y (n,) its classes. Then a document has the one with the best confidence.

    `predict` looks up a fitted document by its features (to seven digits). A new document has the
    mean confidences of the 10 nearest fitted ones by cosine, and of one at ½; no paper describes
    this step. To label new documents by the model itself, fit it with them as unlabelled ones.
    """

    def __init__(self, model: str = "himls", *, random_state: Any = 0, **params: Any) -> None:
        self.model = model
        self.random_state = random_state
        self._params = params

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Label the unlabelled documents.

        X (n, d): nonnegative. y (n, c): 0 or 1 for each label, sparse, dense or a DataFrame; a row
        of −1 is an unlabelled document. Or y (n,): the one label of each document; without
        sample_domain the integer −1 is an unlabelled one. sample_domain (n,): integers, the task of
        each document, by default one task for all. Documents of a negative domain are unlabelled,
        whatever their y, as in `TransferClassifier`; those of a domain without any labelled
        document join the task with the most similar mean. Warn if every document is labelled. Raise
        ValueError for invalid input, UserError for an unknown model or parameter.
        """
        X = self._validated(X, reset=True)
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        names = getattr(y, "columns", None)
        if not sp.issparse(y):
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        n = y.shape[0]
        given = np.full(n, SOURCE) if sample_domain is None else sample_domain
        domain = checked_domains(given, X.shape[0], range(n))
        masked = sample_domain is None
        self._single = y.ndim == 1 or (y.shape[1] == 1 and not _is_indicator(y))
        known, Y = (
            self._one_label(y, domain, masked) if self._single else self._labels(y, domain, names)
        )
        if not known.any():
            raise ValueError("no labelled document: expected rows of 0 and 1 in a source")
        confidence = Y
        if known.all():
            self._warn_of_no_target("fit the documents to label, too, with rows of −1 in y")
        else:
            confidence = self._labelled(X, domain, Y, known)
        self.label_distributions_ = confidence
        self.transduction_ = self._decide(confidence)
        self._remember(X, known)
        self._index_of_neighbours(X)
        return self

    def _one_label(self, y: Any, domain: np.ndarray, masked: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return known (n,) and Y (n, c) of one class a document; set classes_.

        masked: an integer −1 is no class, but an unlabelled document.
        """
        y = column_or_1d(y, warn=True)
        known = domain >= 0
        if masked and y.dtype.kind in "iu":
            known = known & (y != MASKED)
        if not known.any():
            raise ValueError("no labelled document: expected a class in a source")
        self.classes_, Y = classes_of(y, known)
        return known, Y

    def _labels(self, y: Any, domain: np.ndarray, names: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return known (n,) and Y (n, c) of label indicators; set classes_."""
        Y = np.asarray(y.toarray() if sp.issparse(y) else y)
        known = (domain >= 0) & ~(Y == MASKED).all(axis=1)
        Y = np.where(known[:, None], Y, 0)
        if not np.isin(Y, (0, 1)).all():
            raise ValueError("expected 0 or 1 for each label in y, or a row of −1")
        self.classes_ = np.arange(Y.shape[1]) if names is None else np.asarray(names)
        return known, Y.astype(np.float64)

    def _labelled(
        self, X: sp.csr_array, domain: np.ndarray, Y: np.ndarray, known: np.ndarray
    ) -> np.ndarray:
        """Return the confidences (n, c), for labelled documents their labels Y (n, c)."""
        problem = self._problem("multilabel", X, domain, Y, known)
        fit = fit_in_tasks(problem, self._fit_model)
        confidence = np.zeros_like(Y)
        for (_, rows), scores in zip(by_domain(domain), fit.scores, strict=True):
            confidence[rows] = normalize_scores(scores) if self._single else np.clip(scores, 0, 1)
        confidence[known] = Y[known]
        return confidence

    def _index_of_neighbours(self, X: sp.csr_array) -> None:
        from sklearn.neighbors import NearestNeighbors

        count = min(NEIGHBOURS, X.shape[0])
        self._neighbours = NearestNeighbors(n_neighbors=count, metric="cosine").fit(X)

    def _confidence_of_new(self, X: sp.csr_array) -> np.ndarray:
        """Return the mean confidences (n, c) of the nearest fitted documents and of one at ½."""
        nearest = self._neighbours.kneighbors(X, return_distance=False)
        total = self.label_distributions_[nearest].sum(axis=1) + THRESHOLD
        return normalize_scores(total) if self._single else total / (nearest.shape[1] + 1)

    def _decide(self, confidence: np.ndarray) -> np.ndarray:
        """Return labels (n, c) 0/1, or classes (n,) if `fit` was given those."""
        if self._single:
            return super()._decide(confidence)
        return (confidence >= THRESHOLD).astype(np.int64)


def _is_indicator(y: Any) -> bool:
    values = y.data if sp.issparse(y) else y
    return bool(np.isin(values, (MASKED, 0, 1)).all())
