"""A clustering model as a clusterer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin

from transferbench.estimators._base import ModelEstimator, by_domain, checked_domains


class MultiTaskClusterer(ClusterMixin, ModelEstimator):  # type: ignore[misc]
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
        domain = checked_domains(np.zeros(n, int) if sample_domain is None else sample_domain, n)
        if not 1 <= self.n_clusters <= n:
            raise ValueError(f"expected n_clusters of 1 to {n} (n_samples), got {self.n_clusters}")
        Y = np.zeros((n, self.n_clusters))
        fit = self._fit_model(self._problem("clustering", X, domain, Y, np.zeros(n, bool)))
        self.labels_ = np.zeros(n, np.int64)
        for (_, rows), scores in zip(by_domain(domain), fit.scores, strict=True):
            self.labels_[rows] = scores.argmax(axis=1)
        return self
