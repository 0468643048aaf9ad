"""Accuracy by labelled documents of the target, of made-up runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from made_runs import cells_of, write_runs
from small_experiment import HEAD

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import labels, pages
from transferbench.runs.record import pack

TEXT = (
    HEAD
    + """
unit: percent
repeats: 1
variants:
  documents: {"200": {documents: 200}, "400": {documents: 400}}
rows:
  one: {task: gtl/comp-vs-rec, group: A}
  two: {task: reuters/orgs-vs-people, group: B}
columns:
  consensus:
    model: consensus
    params: {prior: agreed, strength: 10.0, width: 1.0, alike: 0.6, sample: 2000}
  LR: {model: lr, params: {C: 1.0, intercept: true}}
  "consensus, 50 labels, draw 0":
    {model: consensus, params: {sample: 2000}, options: {labelled: 50}}
  "consensus, 50 labels, draw 1":
    {model: consensus, params: {sample: 2000}, options: {labelled: 50, draw: 1}}
  "LR, both, 50 labels, draw 0": {model: lr, params: {C: 1.0}, options: {labelled: 50}}
  "LR, both, 50 labels, draw 1": {model: lr, params: {C: 1.0}, options: {labelled: 50, draw: 1}}
by_labels: consensus
"""
)
#: Shares of the documents that are right, by the start of a column's name.
SHARES = {"consensus": 0.5, "LR": 0.6, "consensus, 50": 0.8, "LR, both": 0.7}


@pytest.fixture
def shown(tmp_path):
    """Return the experiment and its cells; one run of the last task is unavailable."""
    file = experiments.read(TEXT, Path("by-labels.yaml"))

    def outcome(planned):
        n = int(planned.row.split(", ")[1])
        if (planned.row, planned.column) == ("two, 400", "LR, both, 50 labels, draw 1"):
            return "unavailable"
        named = [share for name, share in SHARES.items() if planned.column.startswith(name)]
        right = np.arange(n) < named[-1] * n
        of_sample = {"consensus, 50 labels, draw 0": 40, "consensus, 50 labels, draw 1": 20}
        found = of_sample.get(planned.column)
        diagnostics = {} if found is None else {"held_out": 50, "held_out_right": found}
        metrics = {"target": {"accuracy": float(right.mean())}}
        return {"metrics": metrics, "documents": {"target": n}, "right": {"target": pack(right)},
                "diagnostics": diagnostics}  # fmt: skip

    return file, cells_of(file, write_runs(tmp_path, file, outcome))


def test_lines_are_means_over_draws_of_rows_in_which_all_methods_have_runs(shown):
    table = labels.summary(*shown)
    drawn = table[table["labels"] == 50]
    assert drawn["task"].unique().tolist() == ["one, 200", "one, 400", "two, 200"]
    assert set(table[table["labels"] == 0]["task"]) == {*drawn["task"], "two, 400"}
    line = drawn[(drawn["task"] == "one, 200") & (drawn["method"] == "consensus")].iloc[0]
    assert (line["corpus"], line["documents"], line["draws"]) == ("A", "200", 2)
    assert (line["accuracy"], line["expected"]) == (80, 60)
    assert line["covered"] == 0.5  # of 40 of 50 and of 20 of 50, the first interval has 80
    assert drawn[drawn["method"] == "LR, both"]["expected"].isna().all()


def test_the_page_has_accuracies_advantages_and_what_to_expect(shown):
    texts = pages.Evidence.from_cells(*shown).texts()
    for row in (
        "| method | without labels | 50 labels |",
        "| consensus | 50.0 / 50.0 (4) | 80.0 / 80.0 (3) |",
        "| LR, both | – | 70.0 / 70.0 (3) |",
        "| consensus less | 50 labels |\n|---|---:|\n| LR, both | +10.0 / +10.0 (3) |",
        "| documents: 400 | +10.0 / +10.0 (1) |",
        "| B | +10.0 / +10.0 (1) |",
        "| expected less true accuracy, in points | -20.0 |",
        "| its 95 % interval contains the accuracy | 50 % |",
    ):
        assert f"{row}\n" in texts["labels.md"]
    assert texts["labels.csv"].splitlines()[1].startswith('"one, 200",A,200,0,consensus,1,50')


def test_without_runs_the_page_has_no_numbers(shown):
    file, _ = shown
    texts = pages.Evidence.from_cells(file, cells_of(file, {})).texts()
    assert "nan" not in texts["labels.md"]
    assert len(texts["labels.csv"].splitlines()) == 1


def test_a_run_with_several_targets_is_refused(shown):
    file, cells = shown
    cell = next(cell for cell in cells if cell.records[0].right)
    (record,) = cell.records
    both = record.metrics | {"other": record.metrics["target"]}
    twice = dataclasses.replace(record, metrics=both)
    with pytest.raises(UserError, match="has several targets; by_labels expects one"):
        labels.summary(file, [dataclasses.replace(cell, records=(twice,))])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("by_labels: consensus", "by_labels: consensu", "unknown column 'consensu'. Did you mean"),
        ("LR, both, 50 labels, draw 0", "LR, both, 20 labels, draw 0",
         "expected METHOD, 50 labels, draw 0 as the name of this column"),
        ("task: gtl/comp-vs-rec", "task: mrtl/comp-vs-rec-bydate",
         "mrtl/comp-vs-rec-bydate has 4 domains; expected a task with one source and one target"),
    ],
)  # fmt: skip
def test_columns_name_their_sample_and_tasks_have_one_target(old, new, message):
    assert old in TEXT
    with pytest.raises(UserError, match=message):
        experiments.read(TEXT.replace(old, new), Path("x.yaml"))
