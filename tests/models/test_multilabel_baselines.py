"""Multi-label baselines compared with slow, direct versions of their equations."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import minimize

import transferbench
from transferbench import models
from transferbench.core.documents import split_rows, stack_labels
from transferbench.core.graph import cosine_graph, heat_graph
from transferbench.problem import Domain, Fit, Problem

#: Models, with settings for a few dozen documents.
MODELS: dict[str, dict] = {
    "ml-knn": {"k": 4},
    "ls-ml": {"alpha": 0.01, "beta": 0.003},
    "tram": {"k": 4},
    "l2f": {"gamma": 0.003, "lam": 0.001},
    "linear-svm": {},
}
LABELS = 4


def make(seed: int = 0, sizes: tuple[int, ...] = (50, 30)) -> Problem:
    """Return two views whose features depend on the labels; half of the documents are seen."""
    rng = np.random.default_rng(seed)
    rates = [rng.gamma(0.3, 1.0, (LABELS, d)) for d in (25, 8)]
    domains = []
    for number, n in enumerate(sizes):
        Y = np.eye(LABELS)[np.arange(n) % LABELS]
        Y[:, 1] = np.maximum(Y[:, 1], Y[:, 0] * (rng.random(n) < 0.7))  # label 1 goes with 0
        rng.shuffle(Y)
        # Not integers: the order of documents would decide ties.
        views = [rng.poisson(2 * Y @ rate) * rng.uniform(0.8, 1.2, (n, 1)) for rate in rates]
        views = [view + rng.uniform(0, 0.1, view.shape) for view in views]
        seen = np.arange(n) < n // 2
        pair = (sp.csr_array(views[0]), views[1])
        domains.append(Domain(f"task-{number}", pair, np.where(seen[:, None], Y, 0), seen))
    return Problem("made-up", "multilabel", tuple("abcd"), tuple(domains))


def changed(problem: Problem, change: Callable[[Domain], tuple]) -> Problem:
    """Return the problem with (views, Y, seen) of each domain replaced by `change(domain)`."""
    domains = tuple(Domain(d.name, *change(d)) for d in problem.domains)
    return Problem(problem.name, problem.family, problem.classes, domains)


def fitted(name: str, problem: Problem, **params) -> np.ndarray:
    """Fit a model; return the scores of all domains, one below the other."""
    return np.vstack(transferbench.fit(name, problem, **(MODELS[name] | params)).scores)


def parts(problem: Problem) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return dense views with rows of length one, Y and seen of all domains."""
    views = []
    for j in (0, 1):
        X = np.vstack([sp.csr_array(d.views[j]).toarray() for d in problem.domains])
        views.append(X / np.linalg.norm(X, axis=1, keepdims=True))
    Y = np.vstack([d.Y for d in problem.domains])
    return views, Y, np.concatenate([d.seen for d in problem.domains])


def joined_views(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X with both views side by side, Y and seen of all domains."""
    views, Y, seen = parts(problem)
    return np.hstack(views) / np.sqrt(2), Y, seen


@pytest.mark.parametrize("name", MODELS)
def test_domains_are_trained_together(name):
    problem = make()
    views = tuple(sp.csr_array(sp.vstack([d.views[j] for d in problem.domains])) for j in (0, 1))
    Y, seen = parts(problem)[1:]
    one = Problem("p", "multilabel", problem.classes, (Domain("all", views, Y, seen),))
    np.testing.assert_allclose(fitted(name, one), fitted(name, problem), rtol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_view_first_ignores_the_other_views(name):
    problem = make()
    alone = changed(problem, lambda d: (d.views[:1], d.Y, d.seen))
    first = fitted(name, problem, view="first")
    np.testing.assert_array_equal(first, fitted(name, alone))
    assert not np.allclose(first, fitted(name, problem))


@pytest.mark.parametrize("name", MODELS)
def test_ensure_one_label_gives_every_document_a_label(name):
    problem = make(4)
    rare = changed(
        problem, lambda d: (d.views, d.Y * (np.arange(len(d.Y)) % 3 == 0)[:, None], d.seen)
    )
    plain, top = fitted(name, rare), fitted(name, rare, ensure_one_label=True)
    without = (plain < 0.5).all(axis=1)
    assert without.any()
    assert (top >= 0.5).any(axis=1).all()
    np.testing.assert_array_equal(top[~without], plain[~without])


@pytest.mark.parametrize("name", MODELS)
def test_constant_labels_are_predicted(name):
    problem = make()

    def constant(d: Domain) -> tuple:
        Y = d.Y.copy()
        Y[:, 2], Y[:, 3] = 0, d.seen
        return d.views, Y, d.seen

    scores = fitted(name, changed(problem, constant))
    assert np.isfinite(scores).all()
    assert (scores[:, 2] < 0.5).all()
    assert (scores[:, 3] >= 0.5).all()


@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_a_fold_do_not_depend_on_labels_outside_the_training_rows(name, monkeypatch):
    """Labels of hidden rows are replaced by noise; the model must not notice."""
    module = importlib.import_module(models.load(name).__module__)
    predict = []

    def capture(problem, settings, function, ensure_one_label):
        Y, seen = stack_labels(problem)
        predict.extend([settings[0], function, Y, seen])
        return Fit(split_rows(problem, np.zeros(Y.shape)))

    monkeypatch.setattr(module, "tuned_fit", capture)
    fitted(name, make())
    setting, function, Y, seen = predict
    train_mask = seen & (np.arange(len(seen)) % 3 > 0)
    noise = np.where(train_mask[:, None], Y, np.random.default_rng(0).random(Y.shape) < 0.5)
    clean = np.where(train_mask[:, None], Y, 0)
    assert (noise != clean).any()
    one, two = (function(setting, labels, train_mask) for labels in (clean, noise))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("k", "s"), [(1, 1.0), (6, 0.3)])
def test_ml_knn_equals_bayes_rule_for_each_document(k, s):
    problem = make(2)
    X, Y, seen = joined_views(problem)
    labelled = np.flatnonzero(seen)

    def count(i: int, label: int) -> int:
        others = [j for j in labelled if j != i]
        near = sorted(others, key=lambda j: np.linalg.norm(X[i] - X[j]))[:k]
        return int(sum(Y[j, label] for j in near))

    expected = np.empty(Y.shape)
    for label in range(LABELS):
        has, lacks = np.zeros(k + 1), np.zeros(k + 1)
        for i in labelled:
            (has if Y[i, label] else lacks)[count(i, label)] += 1
        prior = (s + has.sum()) / (2 * s + len(labelled))
        for i in range(len(X)):
            j = count(i, label)
            yes = prior * (s + has[j]) / (s * (k + 1) + has.sum())
            no = (1 - prior) * (s + lacks[j]) / (s * (k + 1) + lacks.sum())
            expected[i, label] = yes / (yes + no)
    np.testing.assert_allclose(fitted("ml-knn", problem, k=k, s=s), expected)


def shared_subspace(X, Y, alpha, beta, r):
    """Return U from the generalised eigenvalue problem, dense, of size d."""
    n, d = X.shape
    M = X.T @ X / n + (alpha + beta) * np.eye(d)
    inverse = np.linalg.inv(M)
    S1 = np.eye(d) - alpha * inverse
    S2 = inverse @ X.T @ Y @ Y.T @ X @ inverse
    Theta = np.linalg.qr(eigh(S2, S1)[1][:, d - r :])[0].T
    return np.linalg.solve(M - alpha * Theta.T @ Theta, X.T @ Y / n)


@pytest.mark.parametrize(("r", "alpha", "beta"), [(0, 0.1, 0.01), (2, 0.003, 0.02), (4, 5.0, 1e-3)])
def test_ls_ml_solves_the_generalised_eigenvalue_problem(r, alpha, beta):
    problem = make(5)
    X, Y, seen = joined_views(problem)
    center, base = X[seen].mean(axis=0), Y[seen].mean(axis=0)
    U = shared_subspace(X[seen] - center, Y[seen] - base, alpha, beta, r)
    got = fitted("ls-ml", problem, alpha=alpha, beta=beta, r=r)
    np.testing.assert_allclose(got, (X - center) @ U + base, atol=1e-5)


def reduced(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the directions of MDDM for labelled documents, by a full decomposition."""
    centred, labels = X - X.mean(axis=0), Y - Y.mean(axis=0)
    values, P = np.linalg.eigh(centred.T @ labels @ labels.T @ centred)
    return P[:, values > 1e-10 * values[-1]]


@pytest.mark.parametrize("graph", ["heat", "cosine"])
def test_tram_equals_the_harmonic_solution_with_rounded_numbers_of_labels(graph):
    problem = make(7)
    X, Y, seen = joined_views(problem)
    graphs = {"cosine": cosine_graph(X, 4), "heat": heat_graph(X @ reduced(X[seen], Y[seen]), 4)}
    W = graphs[graph].W.toarray()
    L = np.diag(W.sum(axis=1)) - W
    size = Y[seen].sum(axis=1)
    solved = np.linalg.solve(
        L[np.ix_(~seen, ~seen)], W[np.ix_(~seen, seen)] @ np.c_[Y[seen] / size[:, None], size]
    )
    scores = fitted("tram", problem, graph=graph)
    np.testing.assert_array_equal(scores[seen], Y[seen])
    numbers = set()
    for row, composition, t in zip(scores[~seen], solved[:, :-1], solved[:, -1], strict=True):
        chosen = np.argsort(-composition)[: int(t + 0.5)]
        numbers.add(len(chosen))
        assert set(np.flatnonzero(row >= 0.5)) == set(chosen)
        expected = composition / 2
        expected[chosen] += 0.5
        np.testing.assert_allclose(row, expected, atol=1e-8)
    assert len(numbers) > 1


@pytest.mark.parametrize(("gamma", "lam", "mu"), [(0.01, 0.05, 0.0), (0.02, 0.01, 3.0)])
def test_l2f_minimises_its_objective(gamma, lam, mu):
    """The objective is quadratic: values at a few points give its matrix and its minimiser."""
    problem = make(8, (16, 10))
    views, Y, seen = parts(problem)
    views = [view[:, :3] for view in views]
    problem = changed(
        problem,
        lambda d: (tuple(sp.csr_array(v).toarray()[:, :3] for v in d.views), d.Y, d.seen),
    )
    views = [view / np.linalg.norm(view, axis=1, keepdims=True) for view in views]
    views = [view - view[seen].mean(axis=0) for view in views]
    target = Y[seen] - Y[seen].mean(axis=0)
    shape = (2, 3, LABELS)

    def value(w: np.ndarray) -> float:
        W = w.reshape(shape)
        F = [view @ part for view, part in zip(views, W, strict=True)]
        total = mu * np.sum((F[0] - F[1]) ** 2) / len(seen)
        for f, part in zip(F, W, strict=True):
            total += np.sum((f[seen] - target) ** 2) / seen.sum() + gamma * np.sum(part**2)
            for k, j in itertools.product(range(LABELS), repeat=2):
                a, b = Y[seen][:, k], Y[seen][:, j]
                alike = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
                total += lam / 2 * alike * np.sum((part[:, k] - part[:, j]) ** 2)
        return float(total)

    size = int(np.prod(shape))
    E, zero = np.eye(size), value(np.zeros(size))
    alone = np.array([value(e) for e in E])
    pairs = np.array([[value(a + b) for b in E] for a in E])
    H = pairs - alone[:, None] - alone + zero
    g = alone - zero - np.diag(H) / 2
    W = np.linalg.solve(H, -g).reshape(shape)
    expected = (views[0] @ W[0] + views[1] @ W[1]) / 2 + Y[seen].mean(axis=0)
    got = fitted("l2f", problem, gamma=gamma, lam=lam, mu=mu)
    np.testing.assert_allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_linear_svm_solves_the_dual_of_each_label(C):
    problem = make(9)
    X, Y, seen = joined_views(problem)
    K = X @ X[seen].T + 1  # the intercept is a feature with value one
    expected = np.empty(Y.shape)
    for label in range(LABELS):
        y = np.where(Y[seen][:, label] > 0, 1.0, -1.0)
        Q = K[seen] * np.outer(y, y)
        dual = minimize(
            lambda a, Q=Q: (a @ Q @ a / 2 - a.sum(), Q @ a - 1),
            np.zeros(len(y)),
            jac=True,
            bounds=[(0, C)] * len(y),
            method="L-BFGS-B",
            options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9},
        )
        expected[:, label] = 1 / (1 + np.exp(-K @ (dual.x * y)))
    np.testing.assert_allclose(fitted("linear-svm", problem, C=C), expected, atol=2e-4)
