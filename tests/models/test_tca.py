"""TCA against its problem with dense (n, n) matrices."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_problem

import transferbench
from transferbench.core.dense import dense
from transferbench.core.logistic import logistic_regression
from transferbench.models.transfer.tca import transfer_components

S, T, R = 40, 30, 6


def matrices(Z: np.ndarray, s: int) -> tuple[np.ndarray, np.ndarray]:
    """Return K L K and K H K; the first s rows of Z are the labelled documents."""
    n = len(Z)
    K = Z @ Z.T
    e = np.where(np.arange(n) < s, 1 / s, -1 / (n - s))
    return K @ np.outer(e, e) @ K, K @ (np.eye(n) - 1 / n) @ K


@pytest.fixture(scope="module")
def Z() -> np.ndarray:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(S + T, R)) + np.where(np.arange(S + T) < S, 0.5, 0.0)[:, None]
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


@pytest.mark.parametrize("mu", [0.01, 30.0])
def test_components_are_the_leading_eigenvectors_of_the_dense_problem(Z, mu):
    """Those of (K L K + µI)⁻¹ K H K, scaled as the constraint requires; signs are arbitrary."""
    q = 3
    KLK, KHK = matrices(Z, S)
    values, W = np.linalg.eig(np.linalg.solve(KLK + mu * np.eye(S + T), KHK))
    W = W[:, np.argsort(-values.real)[:q]].real
    W *= np.sqrt((S + T) / np.diag(W.T @ KHK @ W))
    expected = Z @ Z.T @ W
    got = transfer_components(Z[:S], Z[S:], q, mu)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-7)
    np.testing.assert_allclose(got @ got.T, expected @ expected.T, atol=1e-7)
    np.testing.assert_allclose(got.std(axis=0), 1)


def test_scores_are_those_of_logistic_regression_on_the_components():
    problem, truth = make_problem(seed=2, documents=60)
    source, target = (np.asarray(domain.X) for domain in dense(problem, "svd", 7).domains)
    embedded = transfer_components(source, target, 4, 0.5)
    y = truth.Y[0].argmax(axis=1)
    expected = logistic_regression(embedded[:60], 2.0).fit(embedded[:60], y)
    fit = transferbench.fit("tca", problem, components=7, q=4, mu=0.5, C=2.0)
    np.testing.assert_allclose(fit.scores[1], expected.predict_proba(embedded[60:]), atol=1e-6)
