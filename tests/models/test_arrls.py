"""ARRLS against the closed form of the paper with dense (n, n) matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from sklearn.linear_model import LogisticRegression

import transferbench


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True).clip(1e-12)


def dense_laplacian(X: np.ndarray, p: int) -> np.ndarray:
    """Join each document to its p nearest by cosine and to itself."""
    cosines = X @ X.T
    np.fill_diagonal(cosines, -1)
    W = np.eye(len(X))
    for i, near in enumerate(np.argsort(-cosines, axis=1, kind="stable")[:, :p]):
        W[i, near] = W[near, i] = cosines[i, near]
    root = np.sqrt(W.sum(axis=1))
    return np.eye(len(X)) - W / np.outer(root, root)


def dense_M(y: np.ndarray, decided: np.ndarray, c: int) -> np.ndarray:
    """The sum over the whole and over classes, of length one."""
    n, m = len(y), len(decided)
    e = np.r_[np.full(n, 1 / n), np.full(m, -1 / m)]
    M = c * np.outer(e, e)
    for k in range(c):
        e = np.zeros(n + m)
        if (y == k).any():
            e[:n] = (y == k) / (y == k).sum()
        if (decided == k).any():
            e[n:] = -1.0 * (decided == k) / (decided == k).sum()
        M += np.outer(e, e)
    return M / np.linalg.norm(M)


def closed_form(Xs, y, Xt, decided, c, *, sigma, lam, gamma, p) -> np.ndarray:
    """K α with α = ((E + λM + γL) K + σI)⁻¹ E Y, for the rows of Xt."""
    X = unit(np.vstack([Xs, Xt]))
    n = len(X)
    K, E = X @ X.T, np.diag(np.arange(n) < len(y)).astype(float)
    Y = np.zeros((n, c))
    Y[np.arange(len(y)), y] = 1
    A = (E + lam * dense_M(y, decided, c) + gamma * dense_laplacian(X, p)) @ K + sigma * np.eye(n)
    return (K @ np.linalg.solve(A, E @ Y))[len(y) :]


@pytest.mark.parametrize(
    ("classes", "labelled", "weights"),
    [
        (2, 0, {"sigma": 0.1, "lam": 10.0, "gamma": 1.0, "p": 5}),
        (2, 10, {"sigma": 0.1, "lam": 10.0, "gamma": 1.0, "p": 5}),
        (3, 0, {"sigma": 0.5, "lam": 7.0, "gamma": 3.0, "p": 3}),
    ],
)
def test_scores_equal_the_closed_form(classes, labelled, weights):
    """Labelled documents of the target count as labelled."""
    problem, truth = make_problem(seed=4, classes=classes, documents=50)
    source, target = problem.domains
    seen = np.arange(50) < labelled
    target = replace(target, Y=np.where(seen[:, None], truth.Y[1], 0), seen=seen)
    y = np.vstack([truth.Y[0], truth.Y[1][seen]]).argmax(axis=1)
    X, T = sp.vstack([source.X, target.X[seen]]).toarray(), target.X[~seen].toarray()
    decided = LogisticRegression(max_iter=1000).fit(X, y).predict(T)
    expected = closed_form(X, y, T, decided, classes, **weights)
    fit = transferbench.fit("arrls", replace(problem, domains=(source, target)), **weights)
    np.testing.assert_allclose(fit.scores[1][~seen], expected, atol=1e-5)
    assert np.ptp(expected) > 0.1
