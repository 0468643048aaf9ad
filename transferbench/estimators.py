"""The models as scikit-learn estimators, with the domains in `sample_domain`, as skada has it.

    classifier = TransferClassifier("gcmf", k=32)
    classifier.fit(X, y, sample_domain=domain)     # y of targets (domain < 0) is not looked at
    classifier.transduction_[domain < 0]

The models are transductive: they label the documents they are fitted on, and no others. X (n, d) is
nonnegative, sparse or dense, documents by features. Domains are whole numbers: one of 0 or more is
a source, a negative one is a target, each a domain by itself.
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
from transferbench.data.userdata.predictions import normalize_scores
from transferbench.problem import Domain, Family, Fit, Problem

#: The label that stands for none, and the domains of those that have one and have none.
MASKED, SOURCE, TARGET = -1, 1, -2


class _Wrapper(BaseEstimator):  # type: ignore[misc]
    """A model by name; its parameters are the estimator's own, next to those of the signature."""

    #: With metadata routing, a Pipeline hands the domains on without being told.
    __metadata_request__fit: ClassVar = {"sample_domain": True}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The estimator's parameters and those of the model that were given."""
        return {**super().get_params(deep), **self._params}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters of the estimator or, all others, of the model; checked by `fit`."""
        own = super().get_params(deep=False)
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self._params |= {name: value for name, value in params.items() if name not in own}
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _checked(self, X: Any, reset: bool) -> sp.csr_array:
        """X as the models take it, in order and without zeros."""
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_non_negative=True,
            ensure_min_samples=2 if reset else 1,
            reset=reset,
        )
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        if max(*X.shape, X.nnz) <= np.iinfo(np.int32).max:  # some solvers take such places alone
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X

    def _fit(
        self, family: Family, X: sp.csr_array, domain: np.ndarray, Y: np.ndarray, seen: np.ndarray
    ) -> Fit:
        """The model's fit, its domains in ascending order."""
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

    model: its name (`transferbench list models`); params: those of the model that are not to be the
    paper's; random_state: its seed.

    Attributes: classes_ (c,); label_distributions_ (n, c) and transduction_ (n,), for the documents
    fitted, by position: how sure the model is of each class (`normalize_scores`; no
    probabilities), and the classes themselves; of sources, those given.

    `predict` knows a document that was fitted by its features (to seven digits) and gives it what
    was found; of equal documents, what was found for the last, targets after sources. A document
    that was not fitted gets the class whose mean is nearest to it by cosine, over the targets'
    documents as they were labelled; this is no part of any paper's method. To have the model itself
    label new documents, fit it with them as a target. Without a target there is nothing to transfer
    to: no model is fitted, and the means are those of the sources.
    """

    def __init__(self, model: str = "gcmf", *, random_state: Any = 0, **params: Any) -> None:
        self.model = model
        self.random_state = random_state
        self._params = params

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Labels the targets' documents.

        y (n,): classes; those of targets are not looked at, and usually masked. sample_domain (n,):
        the domain of each document, 0 or more for sources, negative for targets; without it, a
        label of −1 among integers stands for none, and marks a document of the one target. Raises
        ValueError for unfitting input, UserError for an unknown model or parameter.
        """
        X = self._checked(X, reset=True)
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
        self.classes_, places = np.unique(y[seen], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("the sources have one class; expected two classes or more")
        Y = np.zeros((len(y), len(self.classes_)))
        Y[np.flatnonzero(seen), places] = 1
        found = Y
        if not seen.all():
            fit = self._fit("transfer", X, domain, Y, seen)
            if fit.columns == "clusters":
                raise ValueError(f"{self.model} finds clusters, not classes; choose another model")
            found = np.zeros_like(Y)
            for (_, rows), scores in zip(_by_domain(domain), fit.scores, strict=True):
                found[rows] = normalize_scores(scores)
            found[seen] = Y[seen]
        self.label_distributions_ = found
        self.transduction_ = self.classes_[found.argmax(axis=1)]
        order = np.concatenate([np.flatnonzero(seen), np.flatnonzero(~seen)])
        keys = list(_keys(X))
        self._known = {keys[i]: i for i in order}
        self._means = _class_means(X, found, seen)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) how sure the model is of each class; of new documents, shares of the cosines."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        found = normalize_scores(np.asarray(X @ self._means))
        for i, key in enumerate(_keys(X)):
            if key in self._known:
                found[i] = self.label_distributions_[self._known[key]]
        return found

    def predict(self, X: Any) -> np.ndarray:
        """(n,) classes."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class MultiTaskClusterer(ClusterMixin, _Wrapper):  # type: ignore[misc]
    """A clustering model as a clusterer of several tasks' documents.

    model: its name; n_clusters: of every task; params: those of the model that are not to be the
    paper's; random_state: its seed. labels_ (n,), by position: each document's cluster, from 0.
    Clusters have no order; those of different tasks belong together where the model says so.
    """

    def __init__(
        self, model: str = "lnkmtc", n_clusters: int = 2, *, random_state: Any = 0, **params: Any
    ) -> None:
        self.model = model
        self.n_clusters = n_clusters
        self.random_state = random_state
        self._params = params

    def fit(self, X: Any, y: Any = None, sample_domain: Any = None) -> Self:
        """Clusters the documents; sample_domain (n,): the task of each, by default one for all.

        y is not looked at. Raises ValueError for unfitting input, UserError for an unknown model or
        parameter.
        """
        X = self._checked(X, reset=True)
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
    """(n,) whole numbers. Raises ValueError for others or another number of them."""
    domain = np.asarray(column_or_1d(given))
    if len(domain) != n or (y is not None and len(y) != n):
        sizes = [n, len(domain)] if y is None else [n, len(y), len(domain)]
        raise ValueError(f"inconsistent numbers of samples: {sizes}")
    if domain.dtype.kind not in "iu":
        raise ValueError(f"expected whole numbers in sample_domain, got {domain.dtype}")
    return domain


def _by_domain(domain: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Domains and their rows: sources first, in ascending order."""
    for d in sorted({*domain.tolist()}, key=lambda d: (d < 0, abs(d))):
        yield d, np.flatnonzero(domain == d)


def _keys(X: sp.csr_array) -> Iterator[bytes]:
    """A digest of each row, blind to what floating point adds in the last digits."""
    data, indices = X.data.astype(np.float32), X.indices.astype(np.int64)
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        row = indices[start:end].tobytes() + data[start:end].tobytes()
        yield hashlib.blake2b(row, digest_size=16).digest()


def _class_means(X: sp.csr_array, found: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(d, c) unit means of the classes over targets' documents, of one with none over sources'."""
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    unit = sp.diags_array(1 / np.where(length > 0, length, 1)) @ X
    decided = np.eye(found.shape[1])[found.argmax(axis=1)]
    targets = np.where(seen[:, None], 0, decided)
    weights = np.where(targets.any(axis=0), targets, decided)
    means = np.asarray(unit.T @ weights)
    size = np.sqrt((means**2).sum(axis=0))
    return np.asarray(means / np.where(size > 0, size, 1))
