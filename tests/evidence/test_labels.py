"""Regret of a choice by labelled documents, against the decisions of made-up runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from made_runs import cells_of, write_runs
from small_experiment import HEAD

from transferbench import experiments
from transferbench.choose import sample
from transferbench.data.problems import draw_labelled
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
  SVM: {model: svm, params: {C: 1.0}}
  a sample: {model: consensus-sampled, params: {}, options: {labelled: 50}}
  another: {model: consensus-sampled, params: {}, options: {labelled: 50, draw: 1}}
  a large one: {model: consensus-sampled, params: {}, options: {labelled: 200}}
by_labels: consensus
"""
)
#: Shares of the documents that are right, by column.
SHARES = {"consensus": 0.5, "LR": 0.7, "SVM": 0.6, "a sample": 0.8, "another": 0.4}


def right(column: str, n: int) -> np.ndarray:
    return np.random.default_rng(len(column)).permutation(np.arange(n) < SHARES[column] * n)


@pytest.fixture
def shown(tmp_path):
    """Return the experiment and its cells; the large sample and a run of a task are unavailable."""
    file = experiments.read(TEXT, Path("by-labels.yaml"))

    def outcome(planned):
        n = int(planned.row.split(", ")[1])
        if planned.column == "a large one" or (planned.row, planned.column) == ("two, 400", "LR"):
            return "unavailable"
        each = right(planned.column, n)
        metrics = {"target": {"accuracy": float(each.mean())}}
        return {"metrics": metrics, "documents": {"target": n}, "right": {"target": pack(each)}}

    return file, cells_of(file, write_runs(tmp_path, file, outcome))


def test_regrets_are_those_of_the_models_that_samples_choose(shown):
    table = labels.summary(*shown)
    assert table["task"].unique().tolist() == ["one, 200", "one, 400", "two, 200"]
    without, drawn = table[table["task"] == "one, 200"].to_dict("records")
    assert (without["labels"], without["regret"]) == (0, pytest.approx(20))
    assert (drawn["labels"], drawn["corpus"], drawn["documents"]) == (50, "A", "200")
    chosen, expected = [], []
    for column, draw in (("a sample", 0), ("another", 1)):
        rows = np.sort(draw_labelled(200, 50, draw))
        methods = {name: right(name, 200) for name in (column, "LR", "SVM")}
        judged = sample.judge_draw(methods, 50, draw)
        counts = {name: int(each[rows].sum()) for name, each in methods.items()}
        assert dict(judged.right) == counts
        chosen.append(100 * SHARES[max(counts, key=counts.get)])
        expected.append(100 * judged.accuracy)
    assert drawn["accuracy"] == pytest.approx(np.mean(chosen))
    assert drawn["regret"] == pytest.approx(70 - np.mean(chosen))
    assert drawn["consensus"] == pytest.approx(70 - 60)
    assert drawn["expected"] == pytest.approx(np.mean(expected), rel=1e-3)


def test_outside_the_sample_the_documents_that_made_the_choice_do_not_count(shown):
    table = labels.summary(*shown)
    drawn = table[(table["task"] == "one, 200") & (table["labels"] == 50)].iloc[0]
    accuracy, regret = [], []
    for column, draw in (("a sample", 0), ("another", 1)):
        outside = np.setdiff1d(np.arange(200), draw_labelled(200, 50, draw))
        methods = {name: right(name, 200) for name in (column, "LR", "SVM")}
        chosen = next(iter(sample.judge_draw(methods, 50, draw).right))
        accuracy.append(100 * methods[chosen][outside].mean())
        regret.append(100 * methods["LR"][outside].mean() - accuracy[-1])
    assert drawn["accuracy_outside"] == pytest.approx(np.mean(accuracy), rel=1e-3)
    assert drawn["regret_outside"] == pytest.approx(np.mean(regret), abs=1e-2)
    assert drawn["covered_outside"] in (0, 0.5, 1)


def test_a_run_with_several_targets_is_refused(shown):
    file, cells = shown
    cell = next(cell for cell in cells if cell.records[0].right)
    (record,) = cell.records
    twice = dataclasses.replace(record, right=record.right | {"other": record.right["target"]})
    with pytest.raises(UserError, match="has several targets; by_labels expects one"):
        labels.summary(file, [dataclasses.replace(cell, records=(twice,))])


def test_the_page_has_the_mean_over_corpora_and_the_worst_task(shown):
    file, cells = shown
    evidence = pages.Evidence.from_cells(file, cells)
    text = evidence.texts()["labels.md"]
    assert "accuracy of the best of 2 single methods" in text
    assert "the mean over 2 or 1 draws of the labelled documents" in text
    assert "also the labelled ones, which made the choice" in text
    table = labels.summary(file, cells)
    (regret, *_) = table.loc[table["labels"] == 50].groupby("corpus")["regret"]
    heads, *rows = labels.rows(file, table)
    assert heads == ["tasks", "without", "50 labels"]
    assert [row[0] for row in rows] == ["all", "200 documents", "400 documents", "A", "B"]
    assert rows[0][1] == "20.0 / 20.0 (3)"
    assert rows[3][2] == f"{regret[1].mean():.1f} / {regret[1].max():.1f} (2)"
    all_documents, outside = list(labels.reliability(table))[1:]
    assert f"| {' | '.join(outside)} |" in text
    above = (table["expected"] - table["accuracy"]).mean()
    assert f" / {above:.1f} / " in all_documents[1]
    assert evidence.texts()["labels.csv"].splitlines()[1].startswith('"one, 200",A,200,0,20')


def test_the_method_without_labels_is_a_column():
    text = TEXT.replace("by_labels: consensus", "by_labels: consensu")
    with pytest.raises(UserError, match=r"unknown column 'consensu'. Did you mean 'consensus'"):
        experiments.read(text, Path("x.yaml"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{model: svm, params: {C: 1.0}}", "{model: svm, options: {labelled: 50}}",
         "svm would be scored on the 50 documents whose labels it is given; expected consensus-s"),
        ("{model: svm, params: {C: 1.0}}", "{model: svm, task: 'gtl/comp-vs-rec:labelled=50'}",
         "svm would be scored on the 50 documents"),
        ("task: gtl/comp-vs-rec", "task: 'gtl/comp-vs-rec:labelled=50'",
         "consensus would be scored on the 50 documents"),
        ("task: gtl/comp-vs-rec", "task: mrtl/comp-vs-rec-bydate",
         "mrtl/comp-vs-rec-bydate has 4 domains; expected a task with one source and one target"),
        ("by_labels: consensus", "by_labels: LR",
         "expected lr in a column with labelled, as by_labels names LR; got con"),
    ],
)  # fmt: skip
def test_samples_are_of_one_target_and_of_one_method_that_ignores_a_documents_own_label(
    old, new, message
):
    assert old in TEXT
    with pytest.raises(UserError, match=message):
        experiments.read(TEXT.replace(old, new), Path("x.yaml"))
