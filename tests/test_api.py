"""The Python interface: load_task, fit, evaluate."""

from __future__ import annotations

import pytest
from conftest import make_problem

import transferbench
from transferbench.errors import UserError


def test_fit_and_evaluate_with_given_parameters_and_seed():
    problem, truth = make_problem()
    measures = transferbench.evaluate(transferbench.fit("gcmf", problem, k=4, p=3), truth)
    assert measures.keys() == {"target-1"}
    assert measures["target-1"].keys() == {"accuracy", "f1", "balanced_accuracy"}
    one, two = (transferbench.fit("gcmf", problem, seed=s, k=4, p=3).trace for s in (0, 1))
    assert one != two


@pytest.mark.parametrize("seed", [-1, 2**32, "a", 1.5])
def test_a_seed_that_is_no_natural_number_raises(seed):
    with pytest.raises(UserError, match="seed: expected an integer from 0"):
        transferbench.fit("gcmf", make_problem()[0], seed=seed)


@pytest.mark.slow
def test_task_options_equal_options_in_the_name(real, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(real.data))
    by_keyword, _ = transferbench.load_task("comp-vs-rec", weighting="tf", min_df=10)
    by_name, _ = transferbench.load_task("comp-vs-rec:min_df=10,weighting=tf")
    assert by_keyword.name == by_name.name == "gtl/comp-vs-rec:min_df=10,weighting=tf"
    assert (by_keyword.domains[0].X != by_name.domains[0].X).nnz == 0
