"""Regret of choices, against sums done by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from transferbench import experiments
from transferbench.evidence import pages, regret
from transferbench.evidence.frame import observations, summarise, to_runs
from transferbench.runs.record import RUNS_COLUMNS, Record, Run

TEXT = """
title: t
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy
repeats: 2
rows:
  one: {task: gtl/comp-vs-rec, group: A}
  two: {task: gtl/comp-vs-sci, group: A}
  three: {task: reuters/orgs-vs-people, group: B}
columns:
  LR: {model: lr, params: {C: 1.0, intercept: true}}
  SVM: {model: svm, params: {C: 1.0}}
  vote: {model: vote, params: {members: [lr, svm]}}
regret:
  reference: LR
  votes: [vote]
  rules: {checked: {column: SVM, criterion: reverse, least: 0.6}}
"""
#: Accuracy and criterion "reverse" by row, of LR, SVM and the vote; by seed where they differ.
VALUES = {
    "one": [(0.80, 0.9), (0.90, 0.8), (0.92, 0.5)],
    "two": [(0.70, 0.6), (0.60, 0.7), (0.75, 0.5)],
    "three": [(0.50, 0.9), (0.55, 0.5), (0.45, 0.5)],
}


def cells(values=VALUES, text=TEXT):
    file = experiments.read(text, Path("choice.yaml"))
    lines = []
    for planned in file.runs():
        place = list(file.spec.columns).index(planned.column)
        run: Run = planned.run
        accuracy, reverse = np.broadcast_to(values[planned.row][place], (2, 2))[run.seed or 0]
        record = Record(
            "k", "done", "", run.task, run.model, run.params, run.seed, "c", "now",
            metrics={"target": {"accuracy": accuracy}}, documents={"target": 100},
            criteria={"target": {"reverse": reverse}},
        )  # fmt: skip
        lines += [dict.fromkeys(RUNS_COLUMNS, "") | line for line in record.rows(*planned[:3])]
    return file, summarise(file, observations(file, to_runs(lines)))


def line(table: pd.DataFrame, strategy: str) -> pd.Series:
    return table.set_index("strategy").loc[strategy]


@pytest.mark.parametrize(
    ("strategy", "mean", "worst", "where", "below", "A", "B"),
    [
        ("LR", (10 + 0 + 5) / 3, 10, "one", 0, 5, 5),
        ("SVM", (0 + 10 + 0) / 3, 10, "two", 10, 5, 0),
        ("vote", (-2 - 5 + 10) / 3, 10, "three", 5, -3.5, 10),
        # takes LR, SVM, LR
        ("reverse", (10 + 10 + 5) / 3, 10, "one", 10, 10, 5),
        # SVM has the highest reverse accuracy on one and two
        ("checked", (0 + 10 + 5) / 3, 10, "two", 10, 5, 5),
        # on B alone SVM has less regret; on A alone both have 5, and LR is first
        ("best always chosen elsewhere", (0 + 10 + 5) / 3, 10, "two", 10, 5, 5),
    ],
)
def test_regret(strategy, mean, worst, where, below, A, B):
    found = line(regret.summary(*cells()), strategy)
    assert found["mean"] == pytest.approx(mean)
    assert found["worst"] == pytest.approx(worst)
    assert found["worst_row"] == where
    assert found["below_reference"] == pytest.approx(below)
    assert (found["A"], found["B"]) == (pytest.approx(A), pytest.approx(B))


def test_a_criterion_chooses_anew_in_each_seed_and_the_first_of_equals():
    """LR has 80; SVM 90 with a high criterion in one seed, 50 with a low one in the other."""
    text = TEXT.replace("{model: svm, params: {C: 1.0}}", "{model: nmf, params: {max_iter: 5}}")
    values = {row: [(0.8, 0.6), ((0.9, 0.9), (0.5, 0.3)), (0.7, 0.5)] for row in VALUES}
    table = regret.summary(*cells(values, text))
    assert line(table, "reverse")["mean"] == pytest.approx(80 - (90 + 80) / 2)
    assert line(table, "confidence")["mean"] == 0  # no method has this criterion: LR is first


def test_a_rule_takes_its_column_from_the_least_value_on():
    at_least = VALUES | {"three": [(0.50, 0.9), (0.55, 0.6), (0.45, 0.5)]}
    assert line(regret.summary(*cells(at_least)), "checked")["B"] == 0


@pytest.mark.parametrize(
    ("old", "new", "elsewhere"),
    [
        ("  votes: [vote]\n", "", ["always", "criterion"]),
        (", group: A}", "}", ["always", "vote", "criterion"]),
        (", group: B}", ", group: A}", []),
    ],
)
def test_only_what_can_be_chosen_elsewhere_is(old, new, elsewhere):
    table = regret.summary(*cells(text=TEXT.replace(old, new)))
    chosen = [name for name in table["strategy"] if name.endswith("elsewhere")]
    assert chosen == [f"best {kind} chosen elsewhere" for kind in elsewhere]
    assert table["mean"].notna().all()


def test_rows_without_a_group_have_no_column():
    table = regret.summary(*cells(text=TEXT.replace(", group: B}", "}")))
    assert list(table) == [*regret.COLUMNS, "A"]
    page = pages.render(*cells(text=TEXT.replace(", group: A}", "}").replace(", group: B}", "}")))
    assert "| below LR |\n|---|---|---|---|---|---|\n" in page["regret.md"]


def test_page():
    text = pages.render(*cells())["regret.md"]
    assert "| vote | vote | 1.00 | 10.00 | three | 5.00 | -3.50 | 10.00 |" in text
    assert "- checked: SVM, or LR where reverse is below 0.6." in text


def test_without_runs_the_table_is_empty():
    file = experiments.read(TEXT, Path("choice.yaml"))
    found = summarise(file, observations(file, to_runs([])))
    assert regret.summary(file, found).empty


def test_strategies_that_choose_the_same_are_named_together():
    """SVM where its reverse accuracy is at least 0 is SVM everywhere."""
    file, found = cells(text=TEXT.replace("least: 0.6", "least: 0.0"))
    assert ["SVM", "checked"] in regret.alike(regret.summary(file, found))
    assert "Equal in every number: SVM, checked." in pages.render(file, found)["regret.md"]
    assert "SVM, checked" not in pages.render(*cells())["regret.md"]
