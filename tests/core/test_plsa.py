"""PLSA against expectation–maximisation written out densely, and by its properties."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core.plsa import plsa


def case(seed: int, n: int = 25, d: int = 40) -> np.ndarray:
    """Sparse counts, some large; a document and a word that never occur."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.3, 1.5, (n, d))).astype(float)
    X[3], X[:, 5] = 0, 0
    return X


def literal(X: np.ndarray, k: int, steps: int, seed: int):
    """Hofmann's E- and M-step with every P(z|d,w), from the same start."""
    n, d = X.shape
    Pwz = np.random.default_rng(seed).random((d, k))
    Pwz /= Pwz.sum(axis=0)
    Pzd = np.full((n, k), 1 / k)
    trace = []
    for _ in range(steps):
        joint = Pzd[:, None, :] * Pwz[None, :, :]
        with np.errstate(invalid="ignore"):
            posterior = np.nan_to_num(joint / joint.sum(axis=2, keepdims=True))
        weighted = X[:, :, None] * posterior
        Pwz = weighted.sum(axis=0) / weighted.sum(axis=(0, 1))
        Pzd = weighted.sum(axis=1) / np.maximum(X.sum(axis=1), 1)[:, None]
        Pzd[X.sum(axis=1) == 0] = 1 / k
        mixed = Pzd @ Pwz.T
        trace.append((X[X > 0] * np.log(mixed[X > 0])).sum())
    return Pzd, Pwz, trace


@pytest.mark.parametrize("seed", range(5))
def test_equals_expectation_maximisation_written_out(seed):
    X = case(seed)
    found = plsa([sp.csr_array(X)], 4, max_iter=30, tol=0, seed=seed)
    for ours, expected in zip(found, literal(X, 4, 30, seed), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("seed", range(8))
def test_the_likelihood_never_falls_and_sums_stay_one(seed, kind):
    X = sp.csr_array(case(seed, 60, 90).astype(kind))
    T, W, trace = plsa([X], 1 + seed, max_iter=200, tol=0, seed=seed)
    slack = (1e-12 if kind == np.float64 else 1e-6) * abs(trace[-1])
    assert (np.diff(trace) >= -slack).all()
    kind = np.float64 if kind == np.float64 else np.float32
    assert T.dtype == W.dtype == kind
    np.testing.assert_allclose(T.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(W.sum(axis=0), 1, rtol=1e-5)
    assert T.min() >= 0
    assert W.min() >= 0
    assert not W[5].any()  # a word that never occurs
    np.testing.assert_allclose(T[3], T[3, 0])  # a document without words


def test_one_topic_is_the_frequency_of_words():
    X = case(0)
    T, W, trace = plsa([sp.csr_array(X)], 1, max_iter=3, tol=0, seed=0)
    share = X.sum(axis=0) / X.sum()
    np.testing.assert_allclose(W[:, 0], share)
    np.testing.assert_allclose(T, 1)
    expected = (X.sum(axis=0)[share > 0] * np.log(share[share > 0])).sum()
    np.testing.assert_allclose(trace, expected)


def test_documents_of_two_vocabularies_part():
    rng = np.random.default_rng(1)
    X = np.zeros((40, 30))
    X[:20, :15], X[20:, 15:] = rng.poisson(2, (20, 15)), rng.poisson(2, (20, 15))
    T, _, _ = plsa([sp.csr_array(X)], 2, max_iter=300, tol=0, seed=0)
    first = T[:20, 0] > 0.5
    assert first.all() or not first.any()
    np.testing.assert_allclose(T[20:, 0], 1 - T[0, 0].round(), atol=1e-6)


def test_permuting_documents_permutes_the_result():
    X = sp.csr_array(case(2, 50, 60))
    order = np.random.default_rng(0).permutation(50)
    T, W, trace = plsa([X], 5, max_iter=40, tol=0, seed=3)
    permuted = plsa([X[order]], 5, max_iter=40, tol=0, seed=3)
    for one, other in zip((T[order], W, trace), permuted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-12)


def test_a_seed_makes_it_deterministic_and_another_makes_another():
    X = sp.csr_array(case(4))
    one, same, other = (plsa([X], 3, max_iter=20, tol=0, seed=s)[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_views_side_by_side_are_one_view_whether_sparse_or_dense(seed):
    X = case(seed)
    one = plsa([sp.csr_array(X)], 4, max_iter=20, tol=0, seed=seed)
    views = [sp.csr_array(X[:, :11]), X[:, 11:]]
    for ours, expected in zip(plsa(views, 4, max_iter=20, tol=0, seed=seed), one, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


def test_it_stops_when_little_is_gained():
    X = sp.csr_array(case(6))
    trace = plsa([X], 4, max_iter=1000, tol=1e-5, seed=0)[2]
    gain = np.diff(trace) / np.abs(trace[1:])
    assert 2 < len(trace) < 1000
    assert gain[-1] < 1e-5 <= gain[:-1].min()


def test_the_counts_are_left_as_they_are_and_no_dense_matrix_is_made():
    """A dense one would hold 4·10⁹ entries."""
    n, d = 20_000, 200_000
    rng = np.random.default_rng(0)
    places = rng.integers(n, size=60_000), rng.integers(d, size=60_000)
    X = sp.csr_array((np.ones(60_000), places), shape=(n, d), dtype=np.float32)
    before = X.data.copy()
    start = time.perf_counter()
    plsa([X], 5, max_iter=2, tol=0, seed=0)
    assert time.perf_counter() - start < 5
    np.testing.assert_array_equal(X.data, before)
