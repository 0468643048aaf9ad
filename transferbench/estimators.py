"""The models as scikit-learn estimators; domains are given by `sample_domain`, as in skada.

    classifier = TransferClassifier("gcmf", k=32)
    classifier.fit(X, y, sample_domain=domain)     # y of targets (domain < 0) is ignored
    classifier.transduction_[domain < 0]

The models are transductive: they label only the documents they are fitted on. X (n, d) is
nonnegative, sparse or dense, documents × features. Each integer in `sample_domain` is a domain: 0
and above are sources, negative ones are targets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from transferbench import api
from transferbench.metrics import normalize_scores
from transferbench.problem import Domain, Family, Fit, Problem, canonical

#: skada's values: the label of an unlabelled document, the domain of a source, that of a target.
MASKED, SOURCE, TARGET = -1, 1, -2


class _Wrapper(BaseEstimator):  # type: ignore[misc]
    """An estimator around a model; its parameters are its own and those of the model."""

    #: With metadata routing, a Pipeline passes sample_domain on by default.
    __metadata_request__fit: ClassVar = {"sample_domain": True}

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

    def _fit(
        self, family: Family, X: sp.csr_array, domain: np.ndarray, Y: np.ndarray, seen: np.ndarray
    ) -> Fit:
        """Fit the model; the domains are those of domain (n,), in the order of `_by_domain`."""
        state = self.random_state
        if not isinstance(state, Integral):
            state = check_random_state(state).randint(2**31)
        domains = tuple(
            Domain(str(d), (X[rows],), Y[rows], seen[rows]) for d, rows in _by_domain(domain)
        )
        classes = tuple(map(str, range(Y.shape[1])))
        problem = Problem(type(self).__name__, family, classes, domains)
        return api.fit(self.model, problem, seed=int(state), **self._params)


class TransferClassifier(ClassifierMixin, _Wrapper):  # type: ignore[misc]
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
    Without a target no model is fitted, and the means are those of the sources.
    """

    def __init__(self, model: str = "gcmf", *, random_state: Any = 0, **params: Any) -> None:
        self.model = model
        self.random_state = random_state
        self._params = params

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Label the targets' documents.

        X (n, d): nonnegative. y (n,): classes; those of targets are ignored. sample_domain (n,):
        the domain of each document, 0 or more for sources, negative for targets. Without it, a
        document with the integer label −1 belongs to a single target. Raise ValueError for invalid
        input, UserError for an unknown model or parameter.
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
        domain = _domains(sample_domain, X.shape[0], y)
        seen = domain >= 0
        if not seen.any():
            raise ValueError("no source: expected a domain of 0 or more for some documents")
        check_classification_targets(y[seen])
        self.classes_, codes = np.unique(y[seen], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("the sources have one class; expected two classes or more")
        Y = np.zeros((len(y), len(self.classes_)))
        Y[np.flatnonzero(seen), codes] = 1
        confidence = Y
        if not seen.all():
            fit = self._fit("transfer", X, domain, Y, seen)
            if fit.columns == "clusters":
                raise ValueError(f"{self.model} finds clusters, not classes; choose another model")
            confidence = np.zeros_like(Y)
            for (_, rows), scores in zip(_by_domain(domain), fit.scores, strict=True):
                confidence[rows] = normalize_scores(scores)
            confidence[seen] = Y[seen]
        self.label_distributions_ = confidence
        self.transduction_ = self.classes_[confidence.argmax(axis=1)]
        order = np.concatenate([np.flatnonzero(seen), np.flatnonzero(~seen)])
        digests = list(_row_digests(X))
        self._fitted_rows = {digests[i]: i for i in order}
        self._means = _class_means(X, confidence, seen)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the confidence in each class (n, c); for new documents, normalised cosines."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        confidence = normalize_scores(np.asarray(X @ self._means))
        for i, digest in enumerate(_row_digests(X)):
            if digest in self._fitted_rows:
                confidence[i] = self.label_distributions_[self._fitted_rows[digest]]
        return confidence

    def predict(self, X: Any) -> np.ndarray:
        """Return the classes (n,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class MultiTaskClusterer(ClusterMixin, _Wrapper):  # type: ignore[misc]
    """A clustering model as a clusterer of the documents of several tasks.

    model: name of the model. n_clusters: clusters of every task. random_state: its seed. params:
    parameters of the model; the defaults are the paper's. Attribute labels_ (n,): the cluster of
    each fitted document, from 0. Clusters have no order; whether the same number means the same
    cluster in different tasks depends on the model.
    """

    def __init__(
        self, model: str = "lnkmtc", n_clusters: int = 2, *, random_state: Any = 0, **params: Any
    ) -> None:
        self.model = model
        self.n_clusters = n_clusters
        self.random_state = random_state
        self._params = params

    def fit(self, X: Any, y: Any = None, sample_domain: Any = None) -> Self:
        """Cluster the documents.

        X (n, d): nonnegative. y is ignored. sample_domain (n,): integers, the task of each
        document, by default one task. Raise ValueError for invalid input, UserError for an unknown
        model or parameter.
        """
        X = self._validated(X, reset=True)
        n = X.shape[0]
        domain = _domains(np.zeros(n, int) if sample_domain is None else sample_domain, n)
        if not 1 <= self.n_clusters <= n:
            raise ValueError(f"expected n_clusters of 1 to {n} (n_samples), got {self.n_clusters}")
        Y = np.zeros((n, self.n_clusters))
        fit = self._fit("clustering", X, domain, Y, np.zeros(n, bool))
        self.labels_ = np.zeros(n, np.int64)
        for (_, rows), scores in zip(_by_domain(domain), fit.scores, strict=True):
            self.labels_[rows] = scores.argmax(axis=1)
        return self


def _domains(given: Any, n: int, y: Any = None) -> np.ndarray:
    """Return sample_domain as an array (n,). Raise ValueError unless it holds n integers."""
    domain = np.asarray(column_or_1d(given))
    if len(domain) != n or (y is not None and len(y) != n):
        sizes = [n, len(domain)] if y is None else [n, len(y), len(domain)]
        raise ValueError(f"inconsistent numbers of samples: {sizes}")
    if domain.dtype.kind not in "iu":
        raise ValueError(f"expected integers in sample_domain, got {domain.dtype}")
    return domain


def _by_domain(domain: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each domain and its rows: sources first, then by absolute value."""
    for d in sorted({*domain.tolist()}, key=lambda d: (d < 0, abs(d))):
        yield d, np.flatnonzero(domain == d)


def _row_digests(X: sp.csr_array) -> Iterator[bytes]:
    """Yield a digest of each row, in single precision, so that the last digits do not count."""
    data, indices = X.data.astype(np.float32), X.indices.astype(np.int64)
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        row = indices[start:end].tobytes() + data[start:end].tobytes()
        yield hashlib.blake2b(row, digest_size=16).digest()


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
