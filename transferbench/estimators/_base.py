"""What the estimators share: parameters, validated input, domains, and results by document."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from transferbench import api
from transferbench.problem import Domain, Family, Fit, Problem, canonical

if TYPE_CHECKING:
    import pandas as pd

#: skada's values: the label of an unlabelled document, the domain of a source, that of a target.
MASKED, SOURCE, TARGET = -1, 1, -2


class ModelEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator around a model; its parameters are its own and those of the model."""

    #: With metadata routing, a Pipeline passes sample_domain on by default.
    __metadata_request__fit: ClassVar = {"sample_domain": True}

    model: str
    random_state: Any
    _params: dict[str, Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the estimator's parameters and the given parameters of the model."""
        return {**super().get_params(deep), **self._params}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator or of the model; `fit` checks those of the model."""
        own = super().get_params(deep=False)
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self._params |= {name: value for name, value in params.items() if name not in own}
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _validated(self, X: Any, reset: bool) -> sp.csr_array:
        """Return X as canonical CSR. Raise ValueError for invalid input."""
        if reset:
            self._index = getattr(X, "index", None) if hasattr(X, "columns") else None
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_non_negative=True,
            ensure_min_samples=2 if reset else 1,
            reset=reset,
        )
        return canonical(sp.csr_array(X))

    def _problem(
        self, family: Family, X: sp.csr_array, domain: np.ndarray, Y: np.ndarray, seen: np.ndarray
    ) -> Problem:
        """Return the problem; its domains are those of domain (n,), in the order of `by_domain`."""
        domains = tuple(
            Domain(str(d), (X[rows],), Y[rows], seen[rows]) for d, rows in by_domain(domain)
        )
        classes = tuple(map(str, range(Y.shape[1])))
        return Problem(type(self).__name__, family, classes, domains)

    def _fit_model(self, problem: Problem) -> Fit:
        """Fit the model by its parameters and the seed."""
        state = self.random_state
        if not isinstance(state, Integral):
            state = check_random_state(state).randint(2**31)
        return api.fit(self.model, problem, seed=int(state), **self._params)


class TransductiveClassifier(ClassifierMixin, ModelEstimator):  # type: ignore[misc]
    """A classifier that labels its fitted documents, and others by a rule of its own.

    A subclass sets classes_, label_distributions_ (n, c) and transduction_ in `fit`, then calls
    `_remember`, and defines `_confidence_of_new` and `_decide`.
    """

    # skada's scorers pass these arguments.
    __metadata_request__predict: ClassVar = {"sample_domain": True, "allow_source": True}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": True, "allow_source": True}
    __metadata_request__score: ClassVar = {
        **{"sample_domain": True, "allow_source": True},
        "sample_weight": True,  # of the importance weighted scorer
    }

    classes_: np.ndarray
    label_distributions_: np.ndarray
    transduction_: np.ndarray

    def predict_proba(
        self, X: Any, sample_domain: Any = None, allow_source: bool = True
    ) -> np.ndarray:
        """Return the confidence in each class (n, c).

        Confidences are scores of the model, brought to 0 … 1. They rank classes and documents as
        the scores do. They are not calibrated: of documents with a confidence of .9 not
        nine in ten need be right. sample_domain and allow_source are accepted for skada's scorers
        and not used.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        known = [self._fitted_rows.get(digest, -1) for digest in row_digests(X)]
        rows = np.array(known, np.intp)
        confidence = np.asarray(self.label_distributions_[rows], np.float64)
        if (new := np.flatnonzero(rows < 0)).size:
            confidence[new] = self._confidence_of_new(X[new])
        return confidence

    def predict(self, X: Any, sample_domain: Any = None, allow_source: bool = True) -> np.ndarray:
        """Return the classes (n,); see `predict_proba` for the other arguments."""
        return self._decide(self.predict_proba(X))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sample_domain: Any = None,
        allow_source: bool = True,
    ) -> float:
        """Return the accuracy of `predict` (of several labels: of whole label sets)."""
        return float(super().score(X, y, sample_weight))

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of the fitted documents: `label`, and the confidence in each class.

        It has the index of the DataFrame that was fitted, else 0, 1, …. Several labels are columns
        of 0 and 1 under `label`; columns have two levels, "label" or "confidence", and the class.
        """
        import pandas as pd

        check_is_fitted(self)
        decided, classes = self.transduction_, list(self.classes_)
        names = [("label", "")] if decided.ndim == 1 else [("label", name) for name in classes]
        columns = [*names, *(("confidence", name) for name in classes)]
        values = [*np.atleast_2d(decided.T), *self.label_distributions_.T]
        frame = pd.DataFrame(dict(enumerate(values)), index=self._index)
        frame.columns = pd.MultiIndex.from_tuples(columns)
        return frame

    def _remember(self, X: sp.csr_array, seen: np.ndarray) -> None:
        """Store digests of the fitted documents; of equal ones the last unseen one counts."""
        order = np.concatenate([np.flatnonzero(seen), np.flatnonzero(~seen)])
        digests = list(row_digests(X))
        self._fitted_rows = {digests[i]: i for i in order}

    def _warn_of_no_target(self, remedy: str) -> None:
        name = type(self).__name__
        message = f"{name}: every document has a label, so nothing is transferred and {self.model}"
        warnings.warn(f"{message} is not fitted; {remedy}.", UserWarning, stacklevel=3)

    def _confidence_of_new(self, X: sp.csr_array) -> np.ndarray:
        raise NotImplementedError

    def _decide(self, confidence: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[confidence.argmax(axis=1)])


def checked_domains(given: Any, n: int, y: Any = None) -> np.ndarray:
    """Return sample_domain as an array (n,). Raise ValueError unless it holds n integers."""
    domain = np.asarray(column_or_1d(given))
    if len(domain) != n or (y is not None and len(y) != n):
        sizes = [n, len(domain)] if y is None else [n, len(y), len(domain)]
        raise ValueError(f"inconsistent numbers of samples: {sizes}")
    if domain.dtype.kind not in "iu":
        raise ValueError(f"expected integers in sample_domain, got {domain.dtype}")
    return domain


def classes_of(y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes (c,) of the labelled documents, and Y (n, c) with a 1 at each one's class.

    y (n,): classes. known (n,): which documents are labelled; rows of the others are zero. Raise
    ValueError for values that are no classes, or fewer than two classes.
    """
    check_classification_targets(y[known])
    classes, codes = np.unique(y[known], return_inverse=True)
    if len(classes) < 2:
        raise ValueError("the sources have one class; expected two classes or more")
    Y = np.zeros((len(y), len(classes)))
    Y[np.flatnonzero(known), codes] = 1
    return classes, Y


def by_domain(domain: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each domain and its rows: sources first, then by absolute value."""
    for d in sorted({*domain.tolist()}, key=lambda d: (d < 0, abs(d))):
        yield d, np.flatnonzero(domain == d)


def row_digests(X: sp.csr_array) -> Iterator[bytes]:
    """Yield a digest of each row, in single precision, so that the last digits do not count."""
    data, indices = X.data.astype(np.float32), X.indices.astype(np.int64)
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        row = indices[start:end].tobytes() + data[start:end].tobytes()
        yield hashlib.blake2b(row, digest_size=16).digest()
