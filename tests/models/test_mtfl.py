"""MTFL against the paper's alternation with a dense D (features × features)."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_problem

import transferbench
from transferbench.models.transfer import mtfl
from transferbench.models.transfer.mtfl import best_omega, solve_weights
from transferbench.problem import Domain, Problem


def labelled_twice(features: int = 8, classes: int = 2, seed: int = 0) -> tuple[Problem, list]:
    """Two labelled domains and a target of 30 documents each, and the true labels of each."""
    problem, truth = make_problem(seed, targets=2, documents=30, features=features, classes=classes)
    source, other, target = problem.domains
    other = Domain(other.name, other.views, truth.Y[1], np.ones(30, bool))
    return Problem("p", "transfer", problem.classes, (source, other, target)), list(truth.Y)


def parts(problem: Problem) -> tuple[list[np.ndarray], list[np.ndarray]]:
    domains = [d for d in problem.domains if d.seen.any()]
    return [d.X.toarray()[d.seen] for d in domains], [2 * d.Y[d.seen] - 1 for d in domains]


def weighted_ridge(X, Y, D, gamma) -> np.ndarray:
    """W (m, tasks): each w_t minimises ‖y_t − X_t w‖² + γ wᵀD⁻¹w."""
    return np.hstack(
        [
            D @ x.T @ np.linalg.solve(x @ D @ x.T + gamma * np.eye(len(x)), y)
            for x, y in zip(X, Y, strict=True)
        ]
    )


def dense_alternation(X, Y, gamma: float, epsilon: float, iterations: int) -> np.ndarray:
    """The alternation of Argyriou, Evgeniou and Pontil: w_t given D, D given W."""
    m = X[0].shape[1]
    D = np.eye(m) / m
    for _ in range(iterations):
        W = weighted_ridge(X, Y, D, gamma)
        squares, Q = np.linalg.eigh(W @ W.T + epsilon * np.eye(m))
        D = (Q * np.sqrt(squares)) @ Q.T
        D /= np.trace(D)
    return W


def objective(X, Y, W, gamma, epsilon) -> float:
    """Objective at the best D: Σ_t loss + γ (Σ (σ² + ε)^½)² over the singular values σ of W."""
    predicted = np.hstack([x @ w for x, w in zip(X, np.hsplit(W, len(X)), strict=True)])
    loss = np.sum((np.hstack(Y) - predicted) ** 2)
    values = np.linalg.svd(W, compute_uv=False)
    return float(loss + gamma * np.sqrt(values**2 + epsilon).sum() ** 2)


def test_equals_the_papers_alternation_with_a_dense_d():
    """With as many features as tasks, ε has the same effect on D and on Ω."""
    classes = 2
    problem, _ = labelled_twice(features=2 * classes, classes=classes)
    X, Y = parts(problem)
    expected = dense_alternation(X, Y, gamma=1.0, epsilon=1e-3, iterations=1000)
    fit = transferbench.fit("mtfl", problem, gamma=1.0, epsilon=[1e-3], max_iter=400)
    assert fit.trace[-1] == pytest.approx(objective(X, Y, expected, 1.0, 1e-3), rel=1e-8)
    for i in (0, 1):
        np.testing.assert_allclose(fit.scores[i], X[i] @ np.hsplit(expected, 2)[i], atol=1e-5)


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.01, [1e-1]), (100.0, [1e-1, 1e-2, 1e-8])])
def test_the_objective_never_rises(gamma, epsilon):
    problem, _ = labelled_twice(features=50, classes=3)
    trace = np.array(transferbench.fit("mtfl", problem, gamma=gamma, epsilon=epsilon).trace)
    assert (np.diff(trace) <= 1e-7 * trace[:-1]).all()
    assert trace[-1] < trace[0]


def test_every_epsilon_continues_from_the_one_before():
    """The alternation with dense normal equations for all tasks at once, given Ω."""
    problem, _ = labelled_twice()
    X, Y = parts(problem)
    m, c = X[0].shape[1], 2
    gram = np.kron(np.diag([1, 1, 0, 0]), X[0].T @ X[0])
    gram += np.kron(np.diag([0, 0, 1, 1]), X[1].T @ X[1])
    right = np.hstack([x.T @ y for x, y in zip(X, Y, strict=True)])
    Omega, gamma = np.eye(2 * c) / (2 * c), 1.0
    for epsilon in (1.0, 0.01):
        for _ in range(5):
            A = gram + gamma * np.kron(np.linalg.inv(Omega), np.eye(m))
            W = np.linalg.solve(A, right.T.ravel()).reshape(2 * c, m).T
            squares, Q = np.linalg.eigh(W.T @ W + epsilon * np.eye(2 * c))
            Omega = (Q * np.sqrt(squares)) @ Q.T
            Omega /= np.trace(Omega)
    fit = transferbench.fit("mtfl", problem, gamma=gamma, epsilon=[1.0, 0.01], max_iter=5)
    assert len(fit.trace) == 10
    assert fit.trace[-1] == pytest.approx(objective(X, Y, W, gamma, 0.01), rel=1e-8)
    for scores, x, w in zip(fit.scores, X, np.hsplit(W, 2), strict=False):
        np.testing.assert_allclose(scores, x @ w, atol=1e-6)


@pytest.mark.parametrize("size", [1e-6, 1e3])
def test_an_epsilon_that_does_more_harm_than_good_is_not_kept(size, monkeypatch):
    """With the least ε, Ω loses what it learned: it shrinks W, or lets the loss alone decide."""
    problem, _ = labelled_twice()

    def damaged(W, epsilon):
        Omega, trace_norm = best_omega(W, epsilon)
        return (size * np.eye(len(Omega)) if epsilon == 1e-9 else Omega), trace_norm

    plain = transferbench.fit("mtfl", problem, epsilon=[1e-3])
    monkeypatch.setattr(mtfl, "best_omega", damaged)
    kept = transferbench.fit("mtfl", problem, epsilon=[1e-3, 1e-9])
    for one, two in zip(plain.scores, kept.scores, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_labelled_domain_is_scored_by_its_own_tasks_and_others_by_the_mean():
    problem, _ = labelled_twice(features=50)
    X, Y = parts(problem)
    target = problem.domains[2].X.toarray()
    W, _ = solve_weights(X, Y, np.eye(4) / 4, 1.0, np.zeros((60, 2)))
    first, second = np.hsplit(W, 2)
    fit = transferbench.fit("mtfl", problem, epsilon=[1e-6], max_iter=1)
    expected = (X[0] @ first, X[1] @ second, target @ (first + second) / 2)
    for got, scores in zip(fit.scores, expected, strict=True):
        np.testing.assert_allclose(got, scores, atol=1e-10)
