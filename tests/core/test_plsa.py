"""PLSA compared with dense expectation–maximisation, and its properties."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core.plsa import plsa


def make_counts(seed: int, n: int = 25, d: int = 40) -> np.ndarray:
    """Return sparse counts, some large; one document and one word have none."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.3, 1.5, (n, d))).astype(float)
    X[3], X[:, 5] = 0, 0
    return X


def dense_em(X: np.ndarray, k: int, steps: int, seed: int):
    """Return the result of Hofmann's E- and M-steps with every P(z|d,w), from the same start."""
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


@pytest.mark.parametrize("seed", range(2))
def test_equals_dense_expectation_maximisation(seed):
    X = make_counts(seed)
    result = plsa([sp.csr_array(X)], 4, max_iter=30, tol=0, seed=seed)
    for ours, expected in zip(result, dense_em(X, 4, 30, seed), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("seed", "dtype"), [(1, np.float64), (4, np.float32), (7, np.int32)])
def test_likelihood_never_falls_and_probabilities_sum_to_one(seed, dtype):
    X = sp.csr_array(make_counts(seed, 60, 90).astype(dtype))
    T, W, trace = plsa([X], 1 + seed, max_iter=200, tol=0, seed=seed)
    slack = (1e-12 if dtype == np.float64 else 1e-6) * abs(trace[-1])
    assert (np.diff(trace) >= -slack).all()
    dtype = np.float64 if dtype == np.float64 else np.float32
    assert T.dtype == W.dtype == dtype
    np.testing.assert_allclose(T.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(W.sum(axis=0), 1, rtol=1e-5)
    assert T.min() >= 0
    assert W.min() >= 0
    assert not W[5].any()  # a word that never occurs
    np.testing.assert_allclose(T[3], T[3, 0])  # a document without words


def test_views_side_by_side_equal_one_view_sparse_or_dense():
    X, seed = make_counts(0), 0
    one = plsa([sp.csr_array(X)], 4, max_iter=20, tol=0, seed=seed)
    views = [sp.csr_array(X[:, :11]), X[:, 11:]]
    for ours, expected in zip(plsa(views, 4, max_iter=20, tol=0, seed=seed), one, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


def test_stops_when_the_gain_is_small():
    X = sp.csr_array(make_counts(6))
    trace = plsa([X], 4, max_iter=1000, tol=1e-5, seed=0)[2]
    gain = np.diff(trace) / np.abs(trace[1:])
    assert 2 < len(trace) < 1000
    assert gain[-1] < 1e-5 <= gain[:-1].min()


def test_counts_stay_unchanged_and_no_dense_matrix_is_created():
    """A dense matrix would have 4·10⁹ entries."""
    n, d = 20_000, 200_000
    rng = np.random.default_rng(0)
    indices = rng.integers(n, size=60_000), rng.integers(d, size=60_000)
    X = sp.csr_array((np.ones(60_000), indices), shape=(n, d), dtype=np.float32)
    before = X.data.copy()
    tracemalloc.start()
    plsa([X], 5, max_iter=2, tol=0, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**28
    np.testing.assert_array_equal(X.data, before)
