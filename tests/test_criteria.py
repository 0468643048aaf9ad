"""Label-free criteria."""

from __future__ import annotations

import numpy as np
from conftest import make_problem

import transferbench
from transferbench.choose import criteria


def test_values_of_a_separable_problem():
    problem, _ = make_problem()
    found = criteria.criteria("lr", problem, {}, None, transferbench.fit("lr", problem))
    assert set(found) == {domain.name for domain in problem.targets}
    for values in found.values():
        assert set(values) == set(criteria.MEANINGS)
        assert all(0 <= value <= 1 for value in values.values())
        assert values["agreement"] == 1
        assert values["reverse"] == values["reverse-lr"] > 0.9


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
