"""Regret of columns, against sums done by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_experiment import HEAD

from transferbench import experiments
from transferbench.evidence import pages, regret
from transferbench.evidence.frame import observations, summarise
from transferbench.runs.record import Record

TEXT = (
    HEAD
    + """
repeats: 2
rows:
  one: {task: gtl/comp-vs-rec, group: A}
  two: {task: gtl/comp-vs-sci, group: A}
  three: {task: reuters/orgs-vs-people, group: B}
columns:
  LR: {model: lr, params: {C: 1.0, intercept: true}}
  SVM: {model: svm, params: {C: 1.0}}
  consensus:
    model: consensus
    params: {prior: agreed, strength: 10.0, width: 1.0, alike: 0.6, sample: 1000}
  coral: {model: nmf, params: {max_iter: 5}, control: true}
regret:
  combined: [consensus]
"""
)
#: Accuracy by row, of LR, SVM, the consensus and the control.
VALUES = {
    "one": (0.80, 0.90, 0.92, 0.99),
    "two": (0.70, 0.60, 0.75, 0.99),
    "three": (0.50, 0.55, 0.45, 0.99),
}
VARIANTS = """
variants:
  documents: {"100": {documents: 100}, "500": {documents: 500}, all: {}}
  shares: {equal: {class_sizes: "1:1"}, no shift: {halves: true}}
"""


def cells(values=VALUES, text=TEXT, agreement=None):
    """Return an experiment and its cells.

    Parameters
    ----------
    values
        Values by row, or by row of the file.
    text
        The experiment file.
    agreement
        By row, the agreement of the consensus.
    """
    file = experiments.read(text, Path("choice.yaml"))
    records = {}
    for planned in file.runs():
        run = planned.run
        known = values.get(planned.row) or values[planned.row.split(", ")[0]]
        accuracy = known[list(file.spec.columns).index(planned.column)]
        record = Record(
            str(run.task), run.model, run.params, run.seed, "done",
            metrics={"target": {"accuracy": accuracy}}, documents={"target": 100},
            diagnostics={"agreement": agreement[planned.row]} if agreement else {},
        )  # fmt: skip
        records[run.identity] = record
    return file, summarise(file, observations(file, records))


def line(table: pd.DataFrame, strategy: str, **variants: str) -> pd.Series:
    for axis, value in variants.items():
        table = table[table[axis] == value]
    return table.set_index("strategy").loc[strategy]


def test_regret():
    table = regret.summary(*cells()).set_index("strategy")
    assert "coral" not in table.index  # a control: not judged, and not the best
    assert (table["tasks"] == 3).all()
    assert table["worst_row"].loc[["LR", "SVM", "consensus"]].tolist() == ["one", "two", "three"]
    means = table.loc[["LR", "SVM", "consensus"], ["A", "B", "mean"]].to_numpy()
    assert means == pytest.approx(np.array([[5, 5, 5], [5, 0, 2.5], [-3.5, 10, 3.25]]))


def test_rows_are_told_apart_by_the_agreement_of_the_members():
    found = cells(agreement={"one": 0.9, "two": 0.7, "three": 0.69})
    advised = line(regret.summary(*found), "consensus, if advised")
    assert (advised["tasks"], advised["mean"]) == (2, pytest.approx(-3.5))
    warned = regret.by_warning(*found)
    assert (warned.groupby("warning", sort=False)["tasks"].sum() == 3).all()
    assert warned["warning"].iloc[:2].nunique() == 1
    assert warned["mean"].iloc[:2].tolist() == pytest.approx([10, -3.5])  # with it, and without


def test_settings_are_chosen_on_the_other_corpora():
    """On B the second setting is better, and is taken on A, where it is worse; and the reverse."""
    second = "  second: {model: consensus, params: {prior: source, strength: 10.0, width: 1.0, "
    text = TEXT.replace("  coral:", second + "alike: 0.6, sample: 1000}}\n  coral:")
    text = text.replace("combined: [consensus]", "combined: [consensus, second]")
    values = {
        "one": (0.80, 0.90, 0.92, 0.70, 0.99),
        "two": (0.70, 0.60, 0.75, 0.65, 0.99),
        "three": (0.50, 0.55, 0.45, 0.52, 0.99),
    }
    found = line(regret.summary(*cells(values, text)), regret.ELSEWHERE)
    assert (found["A"], found["B"]) == (pytest.approx(12.5), pytest.approx(10))


def test_each_combination_of_variants_has_its_lines():
    values = VALUES | {
        "one, 500, equal": (0.9, 0.5, 0.9, 0),
        "one, all, equal": (0.9, 0.7, 0.9, 0),
    }
    table = regret.summary(*cells(values, TEXT + VARIANTS))
    assert list(table)[:4] == ["strategy", "documents", "shares", "tasks"]
    combinations = table[["documents", "shares"]].drop_duplicates().to_numpy().tolist()
    assert combinations == [
        [documents, shares]
        for documents in ("100", "500", "all", "any")
        for shares in ("equal", "no shift")
    ]
    found = line(table, "SVM", documents="500", shares="equal")
    assert (found["A"], found["worst_row"]) == (pytest.approx(25), "one, 500, equal")
    # any: 500 and all, with regrets 40, 10, 20 and 10 on A
    found = line(table, "SVM", documents="any", shares="equal")
    assert (found["tasks"], found["A"]) == (6, pytest.approx(20))


def test_a_row_may_lack_values_of_a_variant():
    small = TEXT.replace("people, group: B}", 'people, group: B, variants: {documents: ["100"]}}')
    table = regret.summary(*cells(text=small + VARIANTS))
    assert line(table, "LR", documents="500", shares="equal")["tasks"] == 2
    assert math.isnan(line(table, "LR", documents="500", shares="equal")["B"])
    page = pages.Evidence.from_cells(*cells(text=small + VARIANTS)).texts()["regret.md"]
    assert "| strategy | 100 | 500 | all | any |" in page
    assert page.count("## shares: equal\n\n| strategy |") == 1
    assert "| LR | 5.00 / 10.00 (3) | 5.00 / 10.00 (2) |" in page


@pytest.mark.parametrize(
    ("combined", "of_lr"),
    # The consensus is no candidate for the best, or it is one.
    [("combined: [consensus]", "5.00 / 10.00 (3)"), ("{}", "6.75 / 12.00 (3)")],
)
def test_the_page_has_the_regret_of_each_column(combined, of_lr):
    text = TEXT.replace("combined: [consensus]", combined)
    page = pages.Evidence.from_cells(*cells(text=text)).texts()["regret.md"]
    assert f"| strategy | regret |\n|---|---:|\n| LR | {of_lr} |\n" in page
    assert ("with and without each warning" in page) == (combined != "{}")


def test_without_runs_the_table_is_empty():
    file = experiments.read(TEXT, Path("choice.yaml"))
    found = summarise(file, observations(file, {}))
    assert regret.summary(file, found).empty
    assert "regret.md" in pages.Evidence.from_cells(file, found).texts()
