"""Facts of a problem: what they depend on, and how they are stored."""

from __future__ import annotations

import json

import pytest
from conftest import make_problem

from transferbench.data.facts import Facts


def test_facts_in_json_come_back_and_have_no_family():
    """Keys of run records are digests of this JSON, which must not change."""
    facts = Facts.from_problem(*make_problem(targets=2), files=["a.csv 1f"])
    stored = json.loads(json.dumps(facts.to_json()))
    assert Facts.from_json("transfer", stored) == facts
    assert list(stored) == [
        *("classes", "documents", "per_class", "features", "nonzeros", "weight", "digest", "files")
    ]
    assert "files" not in Facts.from_problem(*make_problem()).to_json()


def test_the_old_name_of_from_problem_works_and_warns():
    built = make_problem()
    with pytest.warns(FutureWarning, match="from_problem"):
        assert Facts.of(*built) == Facts.from_problem(*built)


def test_facts_depend_on_positions_labels_and_weights():
    problem, truth = make_problem()
    before = Facts.from_problem(problem, truth)
    X = problem.domains[0].X
    indices = X.indices.copy()
    X.indices[:] = (X.indices + 1) % 60
    assert Facts.from_problem(problem, truth).digest != before.digest
    X.indices[:] = indices
    truth.Y[1][0] = truth.Y[1][0][::-1]
    assert Facts.from_problem(problem, truth).digest != before.digest
    truth.Y[1][0] = truth.Y[1][0][::-1]
    X.data *= 1.01
    assert Facts.from_problem(problem, truth).weight != before.weight
