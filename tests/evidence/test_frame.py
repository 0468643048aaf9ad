"""One table of observations: typed, complete, and enough to make every committed value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import cells_of, write_runs
from small_experiment import GOOD, PATH

import transferbench
from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence.frame import (
    Cell,
    deviation,
    observations,
    standard_error,
    summarise,
    to_observations_frame,
)

FILE = experiments.read(GOOD, PATH)


def test_every_planned_run_has_an_observation(tmp_path):
    ends = {0: 0.5, 1: "timeout", 2: None}
    runs = write_runs(tmp_path, FILE, lambda planned: ends[planned.run.seed or 0])
    found = to_observations_frame(FILE, observations(FILE, runs))
    assert len(found) == len(list(FILE.runs()))
    nmf = found[found["column"] == "NMF"].set_index("seed")
    assert list(nmf["status"]) == ["done", "timeout", "missing"]
    assert list(nmf["reason"]) == ["", "why", ""]
    assert nmf["value"][0] == 50
    assert nmf["value"][1:].isna().all()
    assert found[found["column"] == "LG"]["seed"].isna().all()
    assert set(found["measure"]) == {"accuracy"}


def test_columns_that_differ_in_the_options_of_their_tasks_are_kept_apart(tmp_path):
    other = "  NMF: {model: nmf, params: {max_iter: 5}}\n"
    control = other.replace("NMF", "other").replace("params", "options: {min_df: 7}, params")
    file = experiments.read(GOOD.replace(other, other + control), PATH)
    values = {"LG": 0.5, "NMF": 0.6, "other": 0.7}
    cells = cells_of(file, write_runs(tmp_path, file, lambda planned: values[planned.column]))
    assert {cell.column: cell.mean for cell in cells} == {
        "LG": 50, "NMF": pytest.approx(60), "other": pytest.approx(70)
    }  # fmt: skip


def test_the_mean_over_splits_has_a_deviation_for_a_method_without_seeds(tmp_path):
    text = GOOD.replace("repeats: 3", "repeats: 3\nrepeats_over: splits")
    text = text.replace("gtl/comp-vs-rec", "mulan/emotions")
    text = text.replace("model: lr\n    params: {C: 1.0, intercept: true}", "model: ml-knn")
    text = text.replace("{model: nmf, params: {max_iter: 5}}", "{model: himls}")
    file = experiments.read(text, PATH)
    cells = cells_of(file, write_runs(tmp_path, file, lambda p: 0.5 + 0.1 * p.repeat, "all"))
    for cell in cells:
        assert list(cell.repeats) == [0, 1, 2]
        assert (cell.runs, cell.mean, cell.std) == (3, pytest.approx(60), pytest.approx(10))
    assert [cell.records[2].seed for cell in cells] == [None, 2]


def test_a_domain_that_no_run_has_is_an_error(tmp_path):
    text = GOOD.replace("comp-vs-rec}", "comp-vs-rec, domain: source}")  # not scored
    file = experiments.read(text, PATH)
    cells_of(file, {})
    runs = write_runs(tmp_path, file, lambda planned: 0.5)
    with pytest.raises(UserError, match=r"^unknown domain of one 'source'\. Known: target"):
        cells_of(file, runs)


def test_the_variance_of_an_accuracy_is_that_of_its_documents(tmp_path):
    counts = {"a": 100, "b": 400}

    def outcome(planned):
        accuracies = 0.5 + 0.1 * (planned.run.seed or 0), 0.9
        metrics = {d: {"accuracy": a} for d, a in zip(counts, accuracies, strict=True)}
        return {"metrics": metrics, "documents": counts}

    cells = summarise(FILE, observations(FILE, write_runs(tmp_path, FILE, outcome)))
    assert {cell.column: cell.std for cell in cells}["NMF"] == pytest.approx(5)  # 70, 75, 80
    found = {cell.column: cell.variance for cell in cells}
    # The mean over two domains, in per cent.
    added = 2 / 100**2 + 2 / 400**2  # two documents of each domain
    by_seed = [(100**2) * (p * (1 - p) / 100 + 0.09 / 400 + added) / 4 for p in (0.5, 0.6, 0.7)]
    assert found["LG"] == pytest.approx(by_seed[0])
    assert found["NMF"] == pytest.approx(np.mean(by_seed))


def test_equal_seeds_decide_and_an_error_of_print_does_not():
    """A spread of 0 widens no interval: only the published value's own error does."""
    cell = Cell(
        row="r", column="c", metric="f1", mean=80.0, published=81.0, tolerance=0.5,
        error=standard_error({0: 80.0, 1: 80.0}, deviation([80.0, 80.0])), runs=2, planned=2,
    )  # fmt: skip
    assert (cell.se, cell.verdict) == (0, "worse")
    noisy = replace(cell, published_error=1.0)
    assert (noisy.verdict, noisy.can_be_same) == ("cannot tell", False)
    assert replace(cell, published_error=0.29, mean=80.6).can_be_same


def test_results_make_the_values_of_the_published_table():
    found = transferbench.results("gtl-unit-length")
    assert {"experiment", "row", "column", "seed", "value", "status"} <= set(found)
    means = found[found["chosen"]].groupby(["row", "column"])["value"].mean()
    assert means["comp vs rec", "GCMF"] == pytest.approx(99.19, abs=0.005)
    assert (found.groupby(["row", "column"]).size().loc[:, "GCMF"] == 5).all()
