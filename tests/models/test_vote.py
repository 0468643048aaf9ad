"""The vote of several methods."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_problem

import transferbench
from transferbench.errors import UserError


def test_most_votes_win():
    problem, _ = make_problem(seed=3, classes=3)
    members = ("lr", "graph-only", "cocc")
    decided = [transferbench.fit(name, problem).scores[-1].argmax(axis=1) for name in members]
    counts = sum(np.eye(3)[each] for each in decided)
    expected = np.where(counts.max(axis=1) == 1, decided[0], counts.argmax(axis=1))
    found = transferbench.fit("vote", problem, members=members).scores[-1]
    np.testing.assert_array_equal(found.argmax(axis=1), expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_tie_goes_to_the_earlier_member():
    problem, _ = make_problem(seed=3)
    first, second = (
        transferbench.fit("vote", problem, members=order).scores[-1].argmax(axis=1)
        for order in (("lr", "lr-kmeans"), ("lr-kmeans", "lr"))
    )
    for name, found in (("lr", first), ("lr-kmeans", second)):
        alone = transferbench.fit(name, problem).scores[-1].argmax(axis=1)
        np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("members", [("lr", "lr"), ()])
def test_wrong_members(members):
    with pytest.raises(ValueError, match="expected different models"):
        transferbench.fit("vote", make_problem()[0], members=members)


def test_unknown_member():
    with pytest.raises(UserError, match="members"):
        transferbench.fit("vote", make_problem()[0], members="lr,no-such")
