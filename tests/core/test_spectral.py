"""Spectra and kernels against dense eigenvalues and an independent solver of linear programs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from transferbench.core import spectral


def views(seed: int = 0, sizes=(37, 23, 30), features: int = 40) -> list[sp.csr_array]:
    rng = np.random.default_rng(seed)
    return [sp.csr_array(rng.poisson(0.15, (n, features)) * rng.random(features)) for n in sizes]


def dense(W: sp.csr_array, sizes, C: float) -> tuple[np.ndarray, np.ndarray]:
    """L + C·S and S, entry by entry as eqs. 6 and 8 have them."""
    A = W.toarray()
    d = A.sum(axis=1)
    n = len(d)
    L = np.eye(n)
    for i in range(n):
        for j in range(n):
            if A[i, j]:
                L[i, j] -= A[i, j] / np.sqrt(d[i] * d[j])
    task = np.repeat(np.arange(len(sizes)), sizes)
    m = len(sizes)
    S = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            k, o = task[i], task[j]
            S[i, j] = (m - 1) / sizes[k] ** 2 if k == o else -1 / (sizes[k] * sizes[o])
    return L + C * S, S


@pytest.mark.parametrize("sizes", [(4, 6), (3, 5, 2), (2, 3, 4, 5), (7,)])
def test_mean_matching_is_eq_6_and_the_distance_of_means(sizes):
    G = spectral.mean_matching(sizes)
    n, m = sum(sizes), len(sizes)
    _, S = dense(sp.csr_array((n, n)), sizes, 1.0)
    assert G.shape == (n, m - 1)
    np.testing.assert_allclose(G @ G.T, S, atol=1e-14)
    Z = np.random.default_rng(0).random((n, 3))
    means = [part.mean(axis=0) for part in np.split(Z, np.cumsum(sizes)[:-1])]
    pairs = sum(np.sum((means[k] - means[o]) ** 2) for k in range(m) for o in range(k))
    assert np.sum((G.T @ Z) ** 2) == pytest.approx(pairs)


@pytest.mark.parametrize("C", [0.0, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("sizes", [(40, 50), (37, 23, 30)])
def test_pairs_equal_dense_eigh(sizes, C):
    W = spectral.affinity(views(1, sizes), 5)
    A, _ = dense(W, sizes, C)
    expected = np.linalg.eigvalsh(A)
    found = spectral.smallest(W, 12, G=spectral.mean_matching(sizes), C=C)
    np.testing.assert_allclose(found.values, expected[:12], atol=1e-8)
    V = found.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(12), atol=1e-10)
    np.testing.assert_allclose(A @ V, V * found.values, atol=1e-8)


def pieces(seed: int = 3) -> sp.csr_array:
    """A graph of two tasks in five pieces, and a document without neighbours."""
    blocks = spectral.affinity(views(seed, (20, 12, 15, 9, 11)), 4)
    return sp.csr_array(sp.block_diag([blocks, np.zeros((1, 1))]))


@pytest.mark.parametrize("C", [0.0, 100.0])
@pytest.mark.parametrize("count", [3, 6, 15])
def test_the_starting_vector_does_not_matter(C, count):
    W, G = pieces(), spectral.mean_matching((32, 36))
    A, _ = dense(W, (32, 36), C)
    null = np.sum(np.linalg.eigvalsh(A) < 1e-9)
    assert null >= 4  # more than one: a Lanczos method's basis would be its own
    rng = np.random.default_rng(0)
    runs = [spectral.smallest(W, count, G=G, C=C, start=rng.standard_normal(68)) for _ in range(3)]
    for run in runs:
        np.testing.assert_allclose(A @ run.vectors, run.vectors * run.values, atol=1e-8)
        np.testing.assert_allclose(abs(np.sum(run.vectors * runs[0].vectors, axis=0)), 1, atol=1e-7)


def test_null_vectors_are_the_components_in_the_order_of_their_documents():
    found = spectral.smallest(pieces(), 5)
    np.testing.assert_allclose(found.values, 0, atol=1e-12)
    ends = np.cumsum([0, 20, 12, 15, 9, 11])
    for t in range(5):
        support = np.flatnonzero(found.vectors[:, t])
        assert (support[0], support[-1] + 1) == (ends[t], ends[t + 1])


@pytest.mark.parametrize("count", [0, 68])
def test_too_many_eigenvectors_are_refused(count):
    with pytest.raises(ValueError, match="fewer eigenvectors than the 68 documents"):
        spectral.smallest(pieces(), count)


def highs(cost: np.ndarray, b: float, decreasing: bool) -> float:
    r = len(cost)
    steps = np.eye(r, k=1)[:-1] - np.eye(r)[:-1] if decreasing else None  # μ_{t+1} − μ_t ≤ 0
    below = np.zeros(r - 1) if decreasing else None
    found = linprog(cost, steps, below, np.ones((1, r)), [b], bounds=(0, 1), method="highs")
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("seed", range(20))
def test_both_linear_programs_equal_an_independent_solver(seed):
    rng = np.random.default_rng(seed)
    r = int(rng.integers(2, 25))
    cost = rng.exponential(size=r) * rng.choice([0.01, 1.0, 50.0], size=r)
    b = float(rng.choice([0.3, 1.0, rng.uniform(0.1, r), rng.integers(1, r + 1), r]))
    mu = spectral.spectral_weights(cost, b)
    assert mu.sum() == pytest.approx(b)
    assert (np.diff(mu) <= 1e-12).all()
    assert ((mu >= 0) & (mu <= 1 + 1e-12)).all()
    assert mu @ cost == pytest.approx(highs(cost, b, decreasing=True), rel=1e-7, abs=1e-9)
    assert len(np.unique(mu.round(12))) <= 3  # at most two prefixes, and zero
    values = np.sort(cost)
    gamma = spectral.trace_weights(values, b)
    assert gamma.sum() == pytest.approx(b)
    assert gamma @ values == pytest.approx(highs(values, b, decreasing=False), rel=1e-7, abs=1e-9)


def test_with_b_of_one_the_prefix_of_least_mean_cost_is_taken():
    np.testing.assert_allclose(
        spectral.spectral_weights(np.array([3.0, 1.0, 1.0, 9.0]), 1.0), [1 / 3] * 3 + [0]
    )


def test_a_trace_that_does_not_fit_is_refused():
    for weights in (spectral.trace_weights, spectral.spectral_weights):
        with pytest.raises(ValueError, match="expected b ≤ 3"):
            weights(np.ones(3), 3.5)
