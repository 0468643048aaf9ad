"""Label-free criteria."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_problem

import transferbench
from transferbench.choose import criteria
from transferbench.problem import Fit


def test_values_of_a_separable_problem():
    problem, _ = make_problem()
    found = criteria.criteria("lr", problem, {}, None, transferbench.fit("lr", problem))
    assert set(found) == {domain.name for domain in problem.targets}
    for values in found.values():
        assert set(values) == set(criteria.MEANINGS)
        assert all(0 <= value <= 1 for value in values.values())
        assert values["agreement"] == 1
        assert values["reverse"] == values["reverse-lr"] > 0.9


def test_confidence_and_overlap_of_shares_by_hand():
    """A third of the source has each class; the target's decisions are b and, half as often, a."""
    problem, _ = make_problem(classes=3, documents=12)
    scores = 0.2 + 0.4 * np.eye(3)[[0, 1, 1] * 4]
    fit = Fit((problem.domains[0].Y, scores))
    (values,) = criteria.criteria("lr", problem, {}, None, fit).values()
    assert values["confidence"] == pytest.approx(0.6)
    assert values["shares"] == pytest.approx(1 / 3 + 1 / 3 + 0)


def test_one_class_carries_back_to_nothing():
    problem, _ = make_problem()
    target = problem.targets[0]
    decided = np.zeros(len(target.seen), int)
    share = np.mean(np.concatenate([d.Y.argmax(axis=1) for d in problem.sources]) == 0)
    assert criteria.reverse_accuracy("lr", problem, target, decided, {}, None) == share


def test_random_decisions_do_not_carry_back():
    problem, _ = make_problem()
    target = problem.targets[0]
    decided = np.random.default_rng(0).integers(0, 2, len(target.seen))
    found = criteria.reverse_accuracy("lr", problem, target, decided, {}, None)
    assert found < 0.8
