"""The approximate search for neighbours: bounded work, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core import rare_words
from transferbench.core.graph import Graph, cosine_graph


def texts(n: int, seed: int = 0, features: int = 5000, words: int = 60) -> sp.csr_array:
    """Documents of 50 topics: Zipf's law for each topic, over words in an order of its own."""
    rng = np.random.default_rng(seed)
    law = np.cumsum(1 / np.arange(1, features + 1))
    drawn = np.searchsorted(law / law[-1], rng.random((n, words)))
    order = np.array([rng.permutation(features) for _ in range(50)])
    topic = rng.integers(50, size=n)
    half = words // 2
    columns = np.hstack([drawn[:, :half], order[topic[:, None], drawn[:, half:]]])
    counts = sp.csr_array(
        (np.ones(n * words), columns.ravel(), np.arange(n + 1) * words), shape=(n, features)
    )
    counts.sum_duplicates()
    df = np.maximum(np.bincount(counts.indices, minlength=features), 1)
    return sp.csr_array(counts * np.log(n / df + 1))


def rare(X, p: int = 10) -> Graph:
    return cosine_graph(X, p, search="rare-words")


@pytest.fixture
def small(monkeypatch) -> None:
    """Limits that are small enough to matter for a few thousand documents."""
    monkeypatch.setattr(rare_words, "POSTINGS", 40)
    monkeypatch.setattr(rare_words, "READS", 400)


def test_finds_nearly_all_neighbours_in_text_although_limits_apply(small):
    assert 0.9 <= rare(texts(3000)).recall < 1


def test_memory_is_bounded_by_blocks(monkeypatch):
    """No array holds more entries than a block, except for one pair's."""
    X = texts(600)
    whole = rare(X).W
    limit, cosines, largest = 8000, rare_words._cosines, []

    def measured(X, rows, cols):
        dense = (rows[-1] - rows[0] + 1) * X.shape[1]
        largest.append((dense, int(np.diff(X.indptr)[cols].sum())))
        return cosines(X, rows, cols)

    monkeypatch.setattr(rare_words, "BLOCK", 100)
    monkeypatch.setattr(rare_words, "BLOCK_ENTRIES", limit)
    monkeypatch.setattr(rare_words, "_cosines", measured)
    assert (whole != rare(X).W).nnz == 0
    assert np.max(largest) <= limit


@pytest.mark.parametrize("p", [4, 60])
def test_equals_the_exact_graph_if_the_limits_do_not_apply(p):
    X = sp.random_array((50, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    np.testing.assert_allclose(rare(X, p).W.toarray(), cosine_graph(X, p).W.toarray(), rtol=1e-12)


def test_the_order_of_rows_and_words_does_not_matter(small):
    X, rng = texts(700), np.random.default_rng(1)
    # Unequal weights leave no ties.
    X.data *= 1 + rng.random(X.nnz) / 10
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    one, two = rare(X).W, rare(X[rows]).W
    np.testing.assert_allclose(two.toarray(), one[rows][:, rows].toarray(), rtol=1e-12)
    np.testing.assert_allclose(rare(X[:, columns]).W.toarray(), one.toarray(), rtol=1e-12)


def test_rows_of_zeros_have_no_neighbour():
    X = texts(60).toarray()
    X[[0, 7, 59]] = 0
    graph = rare(X, 4)
    np.testing.assert_array_equal(np.flatnonzero(graph.degree == 0), [0, 7, 59])
    assert rare(np.zeros((5, 3)), 2).W.nnz == 0
    assert rare(np.eye(4), 2).W.nnz == 0


def test_a_row_reads_rare_words_before_frequent_ones_of_larger_weight(small):
    """Row i shares eight rare words with row i + 250; the others alone are too many reads."""
    n, frequent = 500, 12
    weights = 1 + np.random.default_rng(0).random((n, frequent)) / 100
    of_pair = 0.7 * np.tile(np.repeat(np.eye(n // 2), 8, axis=1), (2, 1))
    assert rare(sp.csr_array(np.hstack([weights, of_pair])), 1).recall == 1
