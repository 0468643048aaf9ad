"""Neighbour graphs against a dense computation of their definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core import graph as module
from transferbench.core.graph import Graph, cosine_graph, heat_graph


def slow(X: np.ndarray, p: int) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(length > 0, length, 1)
    S = unit @ unit.T
    W = np.zeros_like(S)
    for i in range(len(S)):
        others = [j for j in range(len(S)) if j != i and S[i, j] > 1e-12]
        # Rounded, so that equal rows tie; of ties the smaller index is first.
        for j in sorted(others, key=lambda j: (-round(S[i, j], 9), j))[:p]:
            W[i, j] = S[i, j]
    return np.maximum(W, W.T)


def counts(seed: int, n: int = 60, d: int = 12) -> np.ndarray:
    """Short count vectors: many duplicates, many ties, some empty rows."""
    return np.random.default_rng(seed).poisson(0.25, (n, d)).astype(float)


@pytest.mark.parametrize(("seed", "p"), [(0, 1), (1, 3), (2, 10)])
def test_equals_the_definition_including_ties(seed, p):
    X = counts(seed)
    np.testing.assert_allclose(cosine_graph(sp.csr_array(X), p).W.toarray(), slow(X, p), atol=1e-12)


@pytest.mark.parametrize("p", [3, 10, 70])
def test_negative_entries_give_edges_for_positive_cosines_alone(monkeypatch, p):
    """By both searches; the second is for rows with many entries."""
    rng = np.random.default_rng(p)
    X = np.hstack([counts(p), rng.standard_normal((60, 5)) / 4])
    X[5:9] = X[5]  # ties
    X[20] = 0
    expected = slow(X, p)
    assert (expected >= 0).all()
    for many in (100, 0):
        monkeypatch.setattr(module, "MANY_ENTRIES", many)
        monkeypatch.setattr(module, "MAX_MEBIBYTES", 1 / 2**8)  # blocks of eight rows
        W = cosine_graph(sp.csr_array(X), p).W.toarray()
        np.testing.assert_allclose(W, expected, atol=1e-12)


@pytest.mark.parametrize("threshold", [0.99, 0.0])
def test_ties_beyond_the_first_search_are_broken_by_index(monkeypatch, threshold):
    monkeypatch.setattr(module, "EXTRA", 0)
    monkeypatch.setattr(module, "FIRST_THRESHOLD", threshold)
    X = np.vstack([np.eye(4)[[0] * 30], counts(1, 30, 4)])
    np.testing.assert_allclose(cosine_graph(X, 3).W.toarray(), slow(X, 3), atol=1e-12)


@pytest.mark.parametrize("p", [4, 50])
def test_heat_graph_equals_the_dense_kernel_of_the_nearest(p):
    Z = np.random.default_rng(1).standard_normal((30, 3))
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    order = np.argsort(D + 1e9 * np.eye(30), axis=1)[:, : min(p, 29)]
    near = np.zeros((30, 30), bool)
    np.put_along_axis(near, order, True, axis=1)
    expected = np.where(near | near.T, np.exp(-D / (2 * D[near].mean())), 0)
    np.testing.assert_allclose(heat_graph(Z, p).W.toarray(), expected, rtol=1e-9)


def test_heat_graph_keeps_outliers_connected_and_accepts_equal_rows():
    Z = np.vstack([np.random.default_rng(1).standard_normal((300, 2)), [[1e3, 1e3]]])
    graph = heat_graph(Z, 2)
    assert graph.degree[-1] == pytest.approx(2e-12)
    np.testing.assert_array_equal(heat_graph(np.ones((4, 2)), 3).W.toarray(), 1 - np.eye(4))


def text(n: int = 400) -> sp.csr_array:
    return sp.random_array((n, 300), density=0.05, rng=np.random.default_rng(0), format="csr")


@pytest.mark.parametrize(("rows", "approximate"), [(400, False), (399, True)])
def test_auto_is_exact_up_to_a_number_of_rows(monkeypatch, rows, approximate):
    calls, search = [], module.rare_words.neighbours
    monkeypatch.setattr(module, "MAX_EXACT_ROWS", rows)
    monkeypatch.setattr(
        module.rare_words, "neighbours", lambda *given: calls.append(given) or search(*given)
    )
    cosine_graph(text(), 5, search="auto")
    assert bool(calls) == approximate
    cosine_graph(text(), 5, search="exact")
    cosine_graph(text(), 5)
    assert len(calls) == approximate


def test_recall_is_the_share_of_exact_neighbours_and_a_low_one_warns(monkeypatch):
    """Of the exact neighbours of each row, every second is missing."""
    p = 6

    def some(A, B, p):
        edges = module._exact_neighbours(A, B, np.arange(A.shape[0]), p)
        order = np.argsort(edges[0], kind="stable")
        return tuple(part[order][::2] for part in edges)

    monkeypatch.setattr(module.rare_words, "neighbours", some)
    half = cosine_graph(text(), p, search="rare-words")
    assert half.recall == 0.5
    with pytest.warns(UserWarning, match="found 50% of the nearest of 400 documents; use search="):
        module.graph_diagnostics([half, Graph(half.W)])


def test_spread_ends_at_the_fixed_point_of_symmetric_scaling():
    """F = (1 − α)(I − αS)⁻¹P with S_ij = W_ij/√(d_i d_j); degrees differ, one is zero."""
    W = np.zeros((5, 5))
    W[[0, 0, 0, 1], [1, 2, 3, 2]] = [1, 0.2, 0.7, 0.4]
    W += W.T
    degree = W.sum(axis=1)
    S = W / np.sqrt(np.outer(*[np.where(degree > 0, degree, 1)] * 2))
    P = np.random.default_rng(0).random((5, 2))
    expected = 0.3 * np.linalg.solve(np.eye(5) - 0.7 * S, P)
    np.testing.assert_allclose(module.spread(Graph(sp.csr_array(W)), P, 0.7, 200), expected)
