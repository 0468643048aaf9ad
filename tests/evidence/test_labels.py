"""Regret of a choice by labelled documents, against the decisions of made-up runs."""

from __future__ import annotations

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


def test_the_page_has_the_mean_over_corpora_and_the_worst_task(shown):
    file, cells = shown
    evidence = pages.Evidence.from_cells(file, cells)
    text = evidence.texts()["labels.md"]
    assert "accuracy of the best of the single methods" in text
    table = labels.summary(file, cells)
    (regret, *_) = table.loc[table["labels"] == 50].groupby("corpus")["regret"]
    heads, *rows = labels.rows(file, table)
    assert heads == ["tasks", "without", "50 labels"]
    assert [row[0] for row in rows] == ["all", "200 documents", "400 documents", "A", "B"]
    assert rows[0][1] == "20.0 / 20.0 (3)"
    assert rows[3][2] == f"{regret[1].mean():.1f} / {regret[1].max():.1f} (2)"
    assert "points (50 labels) on average" in text
    assert evidence.texts()["labels.csv"].splitlines()[1].startswith('"one, 200",A,200,0,20')


def test_the_method_without_labels_is_a_column():
    text = TEXT.replace("by_labels: consensus", "by_labels: consensu")
    with pytest.raises(UserError, match=r"unknown column 'consensu'. Did you mean 'consensus'"):
        experiments.read(text, Path("x.yaml"))
