"""Clustering models against slow dense versions of their objectives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_clustering
from oracles import dense_laplacian

from transferbench import measures, models
from transferbench.core import spectral
from transferbench.errors import UserError
from transferbench.parameters import resolve
from transferbench.problem import Domain, Problem

SIZES = (40, 40)


def learned_kernel(problem: Problem, C: float, b: float) -> np.ndarray:
    """Return the kernel of Theorem 0.2 by a full dense eigendecomposition."""
    W = spectral.affinity([d.X for d in problem.domains], 10).W
    values, P = np.linalg.eigh(dense_laplacian(W, SIZES, C)[0])
    gamma = np.clip(b - np.arange(len(values)), 0, 1)
    return (P * gamma) @ P.T


def kernel_lloyd(K: np.ndarray, label: np.ndarray, c: int) -> np.ndarray:
    """Kernel k-means with the full kernel: squared distances (n, c) to the means."""
    for _ in range(300):
        D = np.empty((len(K), c))
        for j in range(c):
            inside = np.flatnonzero(label == j)
            cross, within = K[:, inside].mean(axis=1), K[np.ix_(inside, inside)].mean()
            D[:, j] = np.diag(K) - 2 * cross + within
        if (D.argmin(axis=1) == label).all():
            break
        label = D.argmin(axis=1)
    return D


@pytest.mark.parametrize(("C", "b"), [(0.0, 6.0), (100.0, 5.5)])
def test_lnkmtc_equals_kernel_kmeans_on_the_dense_kernel(C, b):
    problem, _ = make_clustering()
    start = np.random.default_rng(4).integers(2, size=80)
    expected = kernel_lloyd(learned_kernel(problem, C, b), start, 2)
    fit = models.load("lnkmtc")(problem, C=C, b=b, seed=4)
    np.testing.assert_allclose(np.vstack(fit.scores) ** 2, expected, atol=1e-9)


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_lskmtc_solves_eq_15(order):
    """The distances belong to the kernel Σ μ_t v_t v_tᵀ with the μ of an LP solver."""
    from scipy.optimize import linprog

    problem, _ = make_clustering(seed=2)
    W = spectral.affinity([d.X for d in problem.domains], 10).W
    L, S = dense_laplacian(W, SIZES, 0.0)
    values, V = np.linalg.eigh(L)
    values, V = values[:8].copy(), V[:, :8].copy()
    for t in range(2):  # the null space's basis: a vector for each task
        V[:, t] = np.where(np.repeat([0, 1], 40) == t, np.sqrt(W.sum(axis=1)), 0)
        V[:, t] /= np.linalg.norm(V[:, t])
    assert values[1] < 1e-12 < values[2]
    if order == "descending":
        values, V = values[::-1], V[:, ::-1]
    cost = values + 30.0 * np.einsum("it,ij,jt->t", V, S, V)
    falling = np.eye(8, k=1)[:-1] - np.eye(8)[:-1]
    mu = linprog(cost, falling, np.zeros(7), np.ones((1, 8)), [1.0], bounds=(0, 1)).x
    start = np.random.default_rng(4).integers(2, size=80)
    expected = kernel_lloyd((V * mu) @ V.T, start, 2)
    fit = models.load("lskmtc")(problem, C=30.0, r=8, order=order, seed=4)
    np.testing.assert_allclose(np.vstack(fit.scores) ** 2, expected, atol=1e-8)


@pytest.mark.parametrize(("pool_tasks", "sigma"), [(False, 0.5), (True, 2.0)])
def test_kernel_kmeans_equals_lloyd_on_the_full_gaussian_kernel(pool_tasks, sigma):
    problem, _ = make_clustering(seed=1)
    fit = models.load("kernel-kmeans")(problem, sigma=sigma, pool_tasks=pool_tasks, seed=7)
    views = [d.X.toarray() for d in problem.domains]
    groups = [np.vstack(views)] if pool_tasks else views
    expected = []
    for X in groups:
        square = np.sum((X[:, None] - X[None]) ** 2, axis=2)
        start = np.random.default_rng(7).integers(2, size=len(X))
        expected.append(kernel_lloyd(np.exp(-square / (2 * sigma**2)), start, 2))
    np.testing.assert_allclose(np.vstack(fit.scores), -np.vstack(expected), atol=1e-10)


@pytest.mark.parametrize(("pool_tasks", "sigma"), [(False, 2.0), (True, 1.0)])
def test_ncut_with_sigma_cuts_the_full_gaussian_graph(pool_tasks, sigma):
    """The clusters are a fixed point of Yu and Shi's rotation of the dense graph's eigenvectors."""
    problem, _ = make_clustering(seed=1)
    fit = models.load("ncut")(problem, sigma=sigma, pool_tasks=pool_tasks, seed=3)
    views, found = [d.X.toarray() for d in problem.domains], list(fit.scores)
    if pool_tasks:
        views, found = [np.vstack(views)], [np.vstack(found)]
    for X, H in zip(views, found, strict=True):
        W = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2) / (2 * sigma**2))
        np.fill_diagonal(W, 0)
        scale = 1 / np.sqrt(W.sum(axis=1, keepdims=True))
        Z = scale * np.linalg.eigh(scale * W * scale.T)[1][:, -2:]
        Z /= np.linalg.norm(Z, axis=0)
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        left, _, right = np.linalg.svd(Z.T @ H)
        assert 0 < H[:, 0].sum() < len(H)
        np.testing.assert_array_equal((Z @ left @ right).argmax(axis=1), H.argmax(axis=1))


@pytest.mark.parametrize("model", ["ncut", "kernel-kmeans"])
@pytest.mark.parametrize("sigma", [1e200, 1e-200])
def test_a_width_whose_square_is_no_number_is_refused(model, sigma):
    with pytest.raises(UserError, match=r"sigma: expected number ≥ 1e-100 ≤ 1e\+100"):
        resolve(models.load(model), {"sigma": sigma}, model)


def test_ncut_refuses_a_sigma_that_joins_no_documents():
    problem, _ = make_clustering()
    with pytest.raises(
        ValueError, match=r"documents with a weight above 0; nothing to cut\. Choose a larger sigma"
    ):
        models.load("ncut")(problem, sigma=1e-3, seed=0)


@pytest.mark.parametrize("sigma", [None, 2.0])
def test_ncut_needs_more_documents_than_clusters(sigma):
    problem, _ = make_clustering(classes=3, tasks=1)
    (domain,) = problem.domains
    for n in (3, 4):
        few = Problem("few", "clustering", problem.classes, (domain.take(np.arange(n)),))
        if n == 3:
            with pytest.raises(ValueError, match="3 documents to cut into 3 clusters; expected"):
                models.load("ncut")(few, sigma=sigma, seed=0)
        else:
            assert models.load("ncut")(few, sigma=sigma, seed=0).scores[0].shape == (4, 3)


def test_ncut_finds_the_components_of_a_graph():
    rng = np.random.default_rng(0)
    X = np.zeros((60, 20))
    X[:25, :10], X[25:, 10:] = rng.random((25, 10)), rng.random((35, 10))
    order = rng.permutation(60)
    X = X[order]
    domain = Domain("one", (sp.csr_array(X),), np.zeros((60, 2)), np.zeros(60, bool))
    fit = models.load("ncut")(Problem("t", "clustering", ("a", "b"), (domain,)), seed=0)
    truth = (order >= 25).astype(int)
    assert measures.clustering_accuracy(truth, fit.scores[0].argmax(axis=1)) == 1.0


def lssmtc_objective(problem, P, own, M, W, lam) -> float:
    total = 0.0
    for domain, p, m in zip(problem.domains, P, own, strict=True):
        X = domain.X.toarray()
        total += lam * np.sum((X - p @ m.T) ** 2)
        total += (1 - lam) * np.sum((X @ W - p @ M.T) ** 2)
    return total


def semi_nmf_step(P, tasks, M, XW, lam):
    """Return the means of each task and the new P, task by task from the update's equations."""

    def plus(a):
        return (abs(a) + a) / 2

    def minus(a):
        return (abs(a) - a) / 2

    own, new = [], []
    for x, p, xw in zip(tasks, np.split(P, 2), np.split(XW, 2), strict=True):
        m = x.T @ p @ np.linalg.inv(p.T @ p)
        A = lam * x @ m + (1 - lam) * xw @ M
        Q = lam * m.T @ m + (1 - lam) * M.T @ M
        own.append(m)
        fraction = (plus(A) + p @ minus(Q)) / np.maximum(minus(A) + p @ plus(Q), 1e-12)
        new.append(p * np.sqrt(fraction))
    return own, np.vstack(new)


def multiplicative_w(W, X, P, M):
    """The update of W ≥ 0 with WᵀW = I: gradient XᵀXW − XᵀPMᵀ with its part along W taken out."""
    CW, D = X.T @ X @ W, X.T @ P @ M.T
    up, down = np.maximum(D, 0), np.maximum(-D, 0)
    fraction = (up + W @ W.T @ (CW + down)) / (CW + down + W @ W.T @ up + 1e-300)
    return W * np.sqrt(fraction)


@pytest.mark.parametrize("features", [30, 120])
def test_lssmtc_equals_its_equations_and_never_rises(features):
    problem, _ = make_clustering(seed=6, features=features)
    lam, shared, c = 0.3, 3, 2
    settings = {"l": shared, "lam": lam}
    fit = models.load("lssmtc")(problem, **settings, max_iter=6, seed=9)
    tasks = [d.X.toarray().astype(np.float64) for d in problem.domains]
    X = np.vstack(tasks)
    P = np.random.default_rng(9).random((80, c))
    W = np.eye(features, shared)
    for value in fit.trace:
        inverse = np.linalg.inv(P.T @ P)
        M = W.T @ X.T @ P @ inverse
        own, P = semi_nmf_step(P, tasks, M, X @ W, lam)
        W = multiplicative_w(W, X, P, M)
        expected = lssmtc_objective(problem, np.split(P, 2), own, M, W, lam)
        assert value == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(np.vstack(fit.scores), P, rtol=1e-6, atol=1e-9)
    trace = models.load("lssmtc")(problem, **settings, max_iter=200, seed=9).trace
    assert (np.diff(trace) < 1e-9).all()
    assert trace[-1] < 0.99 * trace[0]


def reordered(problem: Problem, orders: list[np.ndarray]) -> Problem:
    """Return the problem with the documents of each task in another order."""
    domains = [
        Domain(d.name, (d.X[order],), d.Y[order], d.seen[order])
        for d, order in zip(problem.domains, orders, strict=True)
    ]
    return Problem(problem.name, problem.family, problem.classes, tuple(domains))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("kernel-kmeans", {"pool_tasks": True}),
        ("lssmtc", {}),
        ("lnkmtc", {"C": 30.0, "b": 6.0, "n_init": 3}),
        ("lskmtc", {"C": 30.0, "r": 6}),
    ],
)
def test_another_order_of_documents_is_no_more_than_another_start(name, params, monkeypatch):
    """With the start in the new order, too, the fit is the same. Starts are drawn document by
    document, all alike, so seeds have one distribution of fits for every order."""
    problem, _ = make_clustering(seed=4)
    orders = [np.random.default_rng(task).permutation(40) for task in range(2)]
    rows = np.r_[orders[0], 40 + orders[1]]
    expected = np.vstack(models.load(name)(problem, **params, seed=5).scores)[rows]
    found = models.load(name)(reordered(problem, orders), **params, seed=5).scores
    assert not np.allclose(np.vstack(found), expected)

    class Reordered:
        def integers(self, *args, **kwargs):
            return own.integers(*args, **kwargs)[rows]

        def random(self, *args, **kwargs):
            return own.random(*args, **kwargs)[rows]

    rng = np.random.default_rng
    own = rng(5)
    monkeypatch.setattr(np.random, "default_rng", lambda s: Reordered() if s == 5 else rng(s))
    found = models.load(name)(reordered(problem, orders), **params, seed=5).scores
    np.testing.assert_allclose(np.vstack(found), expected, atol=1e-6)
