"""Eigenpairs and kernel weights against dense eigenvalues and a linear-programming solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import dense_laplacian
from scipy.optimize import linprog

from transferbench.core import spectral


def views(seed: int = 0, sizes=(37, 23, 30), features: int = 40) -> list[sp.csr_array]:
    rng = np.random.default_rng(seed)
    return [sp.csr_array(rng.poisson(0.15, (n, features)) * rng.random(features)) for n in sizes]


@pytest.mark.parametrize("sizes", [(4, 6), (2, 3, 4, 5), (7,)])
def test_mean_matching_is_eq_6_and_the_distance_of_means(sizes):
    G = spectral.mean_matching(sizes)
    n, m = sum(sizes), len(sizes)
    _, S = dense_laplacian(sp.csr_array((n, n)), sizes, 1.0)
    assert G.shape == (n, m - 1)
    np.testing.assert_allclose(G @ G.T, S, atol=1e-14)
    Z = np.random.default_rng(0).random((n, 3))
    means = [part.mean(axis=0) for part in np.split(Z, np.cumsum(sizes)[:-1])]
    pairs = sum(np.sum((means[k] - means[o]) ** 2) for k in range(m) for o in range(k))
    assert np.sum((G.T @ Z) ** 2) == pytest.approx(pairs)


@pytest.mark.parametrize(("sizes", "C"), [((40, 50), 0.0), ((37, 23, 30), 100.0)])
def test_pairs_equal_dense_eigh(sizes, C):
    W = spectral.affinity(views(1, sizes), 5).W
    A, _ = dense_laplacian(W, sizes, C)
    expected = np.linalg.eigvalsh(A)
    values, V = spectral.smallest_eigenpairs(W, 12, G=spectral.mean_matching(sizes), C=C)
    np.testing.assert_allclose(values, expected[:12], atol=1e-8)
    np.testing.assert_allclose(V.T @ V, np.eye(12), atol=1e-10)
    np.testing.assert_allclose(A @ V, V * values, atol=1e-8)


def five_components(seed: int = 3) -> sp.csr_array:
    """Graph of two tasks with five components and one document without neighbours."""
    blocks = spectral.affinity(views(seed, (20, 12, 15, 9, 11)), 4).W
    return sp.csr_array(sp.block_diag([blocks, np.zeros((1, 1))]))


@pytest.mark.parametrize(("C", "count"), [(0.0, 6), (100.0, 3), (100.0, 15)])
def test_the_starting_vector_does_not_matter(C, count, monkeypatch):
    W, G = five_components(), spectral.mean_matching((32, 36))
    A, _ = dense_laplacian(W, (32, 36), C)
    null = np.sum(np.linalg.eigvalsh(A) < 1e-9)
    assert null >= 4  # with more than one, a Lanczos method returns an arbitrary basis
    rng, eigsh = np.random.default_rng(0), spectral.eigsh
    monkeypatch.setattr(
        spectral, "eigsh", lambda *a, v0, **k: eigsh(*a, v0=rng.standard_normal(68), **k)
    )
    spectra = [spectral.smallest_eigenpairs(W, count, G=G, C=C) for _ in range(3)]
    for values, vectors in spectra:
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-8)
        cosines = np.sum(vectors * spectra[0][1], axis=0)
        np.testing.assert_allclose(abs(cosines), 1, atol=1e-7)


def minimum_by_linprog(cost: np.ndarray, b: float, decreasing: bool) -> float:
    r = len(cost)
    steps = np.eye(r, k=1)[:-1] - np.eye(r)[:-1] if decreasing else None  # μ_{t+1} − μ_t ≤ 0
    bounds = np.zeros(r - 1) if decreasing else None
    result = linprog(cost, steps, bounds, np.ones((1, r)), [b], bounds=(0, 1), method="highs")
    assert result.success
    return float(result.fun)


@pytest.mark.parametrize("seed", range(8))
def test_both_weights_are_optimal_by_a_linear_programming_solver(seed):
    rng = np.random.default_rng(seed)
    r = int(rng.integers(2, 25))
    cost = rng.exponential(size=r) * rng.choice([0.01, 1.0, 50.0], size=r)
    b = float(rng.choice([0.3, 1.0, rng.uniform(0.1, r), rng.integers(1, r + 1), r]))
    mu = spectral.spectral_weights(cost, b)
    assert mu.sum() == pytest.approx(b)
    assert (np.diff(mu) <= 1e-12).all()
    assert ((mu >= 0) & (mu <= 1 + 1e-12)).all()
    expected = minimum_by_linprog(cost, b, decreasing=True)
    assert mu @ cost == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert len(np.unique(mu.round(12))) <= 3  # at most two prefixes, and zero
    values = np.sort(cost)
    gamma = spectral.trace_weights(values, b)
    assert gamma.sum() == pytest.approx(b)
    expected = minimum_by_linprog(values, b, decreasing=False)
    assert gamma @ values == pytest.approx(expected, rel=1e-7, abs=1e-9)
