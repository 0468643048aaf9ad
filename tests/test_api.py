"""The three lines of Python."""

from __future__ import annotations

import pytest
from conftest import make_problem

import transferbench
from transferbench.errors import UserError


def test_fit_and_evaluate_with_the_papers_settings_or_ones_own():
    problem, truth = make_problem()
    found = transferbench.evaluate(transferbench.fit("gcmf", problem, k=4, p=3), truth)
    assert found.keys() == {"target-1"}
    assert found["target-1"].keys() == {"accuracy", "f1"}
    one, two = (transferbench.fit("gcmf", problem, seed=s, k=4, p=3).trace for s in (0, 1))
    assert one != two


def test_a_model_of_another_family_is_refused():
    problem, _ = make_problem()
    other = transferbench.Problem("p", "clustering", problem.classes, problem.domains)
    with pytest.raises(UserError, match="gcmf is a transfer model and this is a clustering"):
        transferbench.fit("gcmf", other)


def test_options_of_a_task_are_those_of_its_name(real, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(real.data))
    given, _ = transferbench.load_task("comp-vs-rec", weighting="tf", min_df=10)
    named, _ = transferbench.load_task("comp-vs-rec:min_df=10,weighting=tf")
    assert given.name == named.name == "gtl/comp-vs-rec:min_df=10,weighting=tf"
    assert (given.domains[0].X != named.domains[0].X).nnz == 0


def test_what_is_public_is_there_and_nothing_else():
    assert all(hasattr(transferbench, name) for name in transferbench.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = transferbench.nothing


def test_a_problem_that_does_not_fit_together_is_refused():
    problem, _ = make_problem()
    source, target = problem.domains
    with pytest.raises(ValueError, match="same 40 rows"):
        transferbench.Domain("d", (source.X[:10],), source.Y, source.seen)
    with pytest.raises(ValueError, match="zero on unseen"):
        transferbench.Domain("d", target.views, source.Y, target.seen)
