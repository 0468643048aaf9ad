"""Documents that are in a source and in a target are found and named."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.own.doubts import overlap_doubts
from transferbench.problem import Domain, Problem


def make(sources, targets) -> Problem:
    """Return a problem of matrices, whose domains are s0, s1, …, t0, …"""
    domains = [
        Domain(
            f"{role}{i}",
            (X,),
            np.eye(2)[np.arange(X.shape[0]) % 2] * seen,
            np.full(X.shape[0], seen),
        )
        for role, seen, blocks in (("s", True, sources), ("t", False, targets))
        for i, X in enumerate(blocks)
    ]
    return Problem("p", "transfer", ("a", "b"), tuple(domains))


def texts(n: int, seed: int) -> sp.csr_array:
    """Return counts (n, 200) of documents that differ."""
    return sp.csr_array(np.random.default_rng(seed).poisson(0.2, (n, 200)).astype(np.float32))


@pytest.mark.parametrize(
    ("n", "shared", "worthless"),
    [
        *[(100, 0, None), (100, 4, None), (100, 5, False)],
        *[(20, 2, None), (20, 3, False), (100, 89, False), (100, 90, True)],
    ],
)
def test_shared_documents_are_counted_in_any_order_and_length(n, shared, worthless):
    source, other, target = texts(150, 0), texts(50, 1), texts(n, 2).tolil()
    target[:shared] = 3 * source[:shared][::-1]
    doubts = overlap_doubts(make([other, source], [texts(30, 3), target.tocsr()]))
    if worthless is None:
        assert doubts == []
        return
    (doubt,) = doubts
    expected = f"t1: {shared} of {n} documents are also in the source (s1), so results are too good"
    assert str(doubt).startswith(expected)
    assert doubt.worthless is worthless


def test_short_documents_of_the_source_are_found_in_any_order():
    """Of two words of 200 there are many, and few repeat."""
    rng = np.random.default_rng(0)
    X = np.zeros((100, 200))
    for row in X:
        row[rng.choice(200, 2, replace=False)] = 1
    (doubt,) = overlap_doubts(make([X], [X[::-1]]))
    assert str(doubt).startswith("t0: 100 of 100 documents are also in the source (s0)")
    assert doubt.worthless
    assert overlap_doubts(make([X[:50]], [X[50:]])) == []


def test_documents_that_are_equal_by_chance_are_no_doubt():
    """Ten features, on or off, have only some hundred documents; others have up to two features."""
    rng = np.random.default_rng(0)
    few = [sp.csr_array((rng.random((n, 10)) < 0.5).astype(float)) for n in (5000, 400)]
    short = [sp.csr_array(np.tile(np.eye(6)[:2] + np.eye(6)[4:], (n, 1))) for n in (20, 21)]
    for source, target in (few, short):
        assert overlap_doubts(make([source], [target])) == []
