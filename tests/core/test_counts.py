"""Decisions with given numbers of documents in each class."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from transferbench.core.priors import count_offsets, match_counts, redistribute, whole_counts


@pytest.mark.parametrize(
    ("shares", "n", "expected"),
    [
        ([0.5, 0.5], 7, [4, 3]),
        ([0.9, 0.1], 10, [9, 1]),
        ([1 / 3, 1 / 3, 1 / 3], 10, [4, 3, 3]),
        ([1, 0], 5, [5, 0]),
        ([0.55, 0.2, 0.25], 7, [4, 1, 2]),
    ],
)
def test_whole_counts_have_the_sum_n(shares, n, expected):
    assert whole_counts(np.array(shares), n).tolist() == expected


@pytest.mark.parametrize(("seed", "c"), [(0, 2), (1, 3), (2, 5)])
def test_counts_are_met_and_the_sum_of_scores_is_the_largest(c, seed):
    rng = np.random.default_rng(seed)
    n, shares = 40, rng.dirichlet(np.ones(c))
    L = rng.standard_normal((n, c))
    decided = (L + count_offsets(L, shares)).argmax(axis=1)
    counts = whole_counts(shares, n)
    np.testing.assert_array_equal(np.bincount(decided, minlength=c), counts)
    # The transport problem as an assignment of documents to places.
    places = np.repeat(np.arange(c), counts)
    rows, columns = linear_sum_assignment(L[:, places], maximize=True)
    best = L[rows, places[columns]].sum()
    assert L[np.arange(n), decided].sum() == pytest.approx(best)


def test_classes_in_another_order_give_the_same_decisions():
    rng = np.random.default_rng(5)
    S, shares, order = rng.random((60, 4)), np.array([0.1, 0.2, 0.3, 0.4]), [2, 0, 3, 1]
    decided = match_counts(S, shares).argmax(axis=1)
    permuted = match_counts(S[:, order], shares[order]).argmax(axis=1)
    np.testing.assert_array_equal(np.array(order)[permuted], decided)


def test_matched_scores_keep_the_order_within_a_class():
    rng = np.random.default_rng(6)
    S = rng.random((50, 2))
    M = match_counts(S, np.array([0.8, 0.2]))
    np.testing.assert_array_equal(np.argsort(M[:, 0] / M[:, 1]), np.argsort(S[:, 0] / S[:, 1]))
    assert (M >= 0).all()
    assert np.bincount(M.argmax(axis=1)).tolist() == [40, 10]


@pytest.mark.parametrize("classes", [2, 4])
def test_redistributed_rows_keep_their_sums_and_get_the_shares(classes):
    rng = np.random.default_rng(1)
    F, shares = rng.random((200, classes)).astype(np.float32), rng.dirichlet(np.ones(classes))
    before = F.sum(axis=1)
    redistribute(F, shares)
    np.testing.assert_allclose(F.sum(axis=1), before, rtol=1e-5)
    decided = np.bincount(F.argmax(axis=1), minlength=classes)
    assert decided.tolist() == whole_counts(shares, 200).tolist()
