"""MTFL against the paper's alternation with a dense D (features × features)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem, slow_unless
from sklearn.linear_model import Ridge

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


@pytest.mark.parametrize("classes", slow_unless([2].__contains__, [2, 3]))
def test_equals_the_papers_alternation_with_a_dense_d(classes):
    """With as many features as tasks, ε has the same effect on D and on Ω."""
    problem, _ = labelled_twice(features=2 * classes, classes=classes)
    X, Y = parts(problem)
    expected = dense_alternation(X, Y, gamma=1.0, epsilon=1e-3, iterations=3000)
    fit = transferbench.fit("mtfl", problem, gamma=1.0, epsilon=[1e-3], max_iter=1000)
    assert fit.trace[-1] == pytest.approx(objective(X, Y, expected, 1.0, 1e-3), rel=1e-8)
    for i in (0, 1):
        np.testing.assert_allclose(fit.scores[i], X[i] @ np.hsplit(expected, 2)[i], atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_each_w_is_the_ridge_of_its_task_in_the_shared_d(classes):
    """First-order condition in W with the paper's D = (WWᵀ + εI)^½ / tr, formed explicitly.

    There are more features than tasks; the trace leaves out √ε of features that no task uses.
    """
    problem, _ = labelled_twice(features=15, classes=classes)
    X, Y = parts(problem)
    Omega, A = np.eye(2 * classes) / (2 * classes), np.zeros((60, classes))
    for _ in range(1000):
        W, A = solve_weights(X, Y, Omega, 1.0, A)
        Omega, trace_norm = best_omega(W, 1e-3)
    values, Q = np.linalg.eigh(W @ W.T + 1e-3 * np.eye(15))
    D = (Q * np.sqrt(values)) @ Q.T / trace_norm
    np.testing.assert_allclose(weighted_ridge(X, Y, D, 1.0), W, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 30.0])
def test_one_domain_of_two_classes_is_ridge_regression(gamma):
    problem, truth = make_problem(documents=60)
    source, target = problem.domains
    ridge = Ridge(gamma, fit_intercept=False, tol=1e-10).fit(source.X.toarray(), 2 * truth.Y[0] - 1)
    fit = transferbench.fit("mtfl", problem, gamma=gamma, epsilon=[1e-10])
    np.testing.assert_allclose(
        fit.scores[1], ridge.predict(target.X.toarray()), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("gamma", [0.01, 100.0])
@pytest.mark.parametrize("epsilon", [[1e-1], [1e-1, 1e-2, 1e-8]])
@pytest.mark.parametrize("seed", slow_unless([0].__contains__, range(5)))
def test_the_objective_never_rises(gamma, epsilon, seed):
    problem, _ = labelled_twice(features=50, classes=3, seed=seed)
    trace = np.array(transferbench.fit("mtfl", problem, gamma=gamma, epsilon=epsilon).trace)
    assert (np.diff(trace) <= 1e-7 * trace[:-1]).all()
    assert trace[-1] < trace[0]


def weights_of(problem: Problem, **settings) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return W of the labelled domains, from their predictions, and the trace."""
    fit = transferbench.fit("mtfl", problem, **settings)
    X, _ = parts(problem)
    # With more documents than features, the predictions determine W.
    W = [np.linalg.lstsq(x, fit.scores[i], rcond=None)[0] for i, x in enumerate(X)]
    return np.hstack(W), fit.trace


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
    got, trace = weights_of(problem, gamma=gamma, epsilon=[1.0, 0.01], max_iter=5)
    assert len(trace) == 10
    assert trace[-1] == pytest.approx(objective(X, Y, W, gamma, 0.01), rel=1e-8)
    np.testing.assert_allclose(got, W, atol=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_the_cheapest_epsilon_is_kept(seed):
    problem, _ = labelled_twice(seed=seed)
    X, Y = parts(problem)
    values = [1e4, 1e2, 1.0]
    costs = [
        objective(X, Y, weights_of(problem, epsilon=values[:n], max_iter=3)[0], 1.0, 0.0)
        for n in (1, 2, 3)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[2] < 0.999 * costs[0]
    single = [
        objective(X, Y, weights_of(problem, epsilon=[value], max_iter=3)[0], 1.0, 0.0)
        for value in values
    ]
    assert costs[2] < single[0]


def test_an_epsilon_that_does_more_harm_than_good_is_not_kept(monkeypatch):
    """With the least ε, Ω is made useless, so the W of the one before is better."""
    problem, _ = labelled_twice()

    def damaged(W, epsilon):
        Omega, trace_norm = best_omega(W, epsilon)
        return (1e-6 * np.eye(len(Omega)) if epsilon == 1e-9 else Omega), trace_norm

    plain = transferbench.fit("mtfl", problem, epsilon=[1e-3])
    monkeypatch.setattr(mtfl, "best_omega", damaged)
    kept = transferbench.fit("mtfl", problem, epsilon=[1e-3, 1e-9])
    for one, two in zip(plain.scores, kept.scores, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("epsilon", [[1e-3, 1e-2], [1e-3, 1e-3], []])
def test_values_of_epsilon_must_fall(epsilon):
    with pytest.raises(ValueError, match="falling values"):
        transferbench.fit("mtfl", labelled_twice()[0], epsilon=epsilon)


def test_tasks_that_share_a_direction_learn_from_each_other():
    """Six noisy tasks with 20 documents along one direction of 30 features beat single tasks."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(30)
    X = [rng.standard_normal((20, 30)) for _ in range(6)]
    Y = [(x @ w * (1 + t / 5) + rng.standard_normal(20))[:, None] for t, x in enumerate(X)]
    truth = np.outer(w, 1 + np.arange(6) / 5)

    def error(W: np.ndarray) -> float:
        return float(np.linalg.norm(W - truth) / np.linalg.norm(truth))

    def together(gamma: float) -> np.ndarray:
        Omega, A = np.eye(6) / 6, np.zeros((120, 1))
        for _ in range(30):
            W, A = solve_weights(X, Y, Omega, gamma, A)
            Omega, _ = best_omega(W, 1e-6)
        return W

    weights = [0.1, 0.3, 1.0, 3.0, 10.0]
    alone = min(error(weighted_ridge(X, Y, np.eye(30), gamma)) for gamma in weights)
    assert min(error(together(gamma)) for gamma in weights) < 0.6 * alone


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


@pytest.mark.slow
def test_no_square_array_of_features_or_documents_is_formed():
    """With a million features and 20,000 documents, either would take gigabytes."""
    rng = np.random.default_rng(1)
    n, m = 20_000, 1_000_000
    X = sp.csr_array((rng.random(5 * n), rng.integers(m, size=5 * n), 5 * np.arange(n + 1)), (n, m))
    Y = np.eye(2)[rng.integers(2, size=n)]
    half = n // 2
    seen = np.ones(half, bool)
    problem = Problem(
        "p",
        "transfer",
        ("a", "b"),
        (
            Domain("source", (X[:half],), Y[:half], seen),
            Domain("target", (X[half:],), np.zeros((half, 2)), ~seen),
        ),
    )
    assert np.isfinite(transferbench.fit("mtfl", problem, max_iter=2).scores[1]).all()
