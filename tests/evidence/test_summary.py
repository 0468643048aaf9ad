"""The summary counts each printed number once, beside what chance gives."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest

from transferbench import experiments
from transferbench.evidence import statistics, summary
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import MARKS
from transferbench.evidence.pages import Evidence

RESULTS = Path(__file__).parents[2] / "results"


def cells(
    ours: dict[str, float], printed: dict[str, float], metric: str = "accuracy"
) -> list[Cell]:
    return [
        Cell(row="r", column=name, metric=metric, mean=value, published=printed[name],
             tolerance=1.0, error=0.0, planned=1, runs=1)
        for name, value in ours.items()
    ]  # fmt: skip


def test_chance_is_the_mean_over_all_orders_of_a_row():
    ours, printed = {"A": 1.0, "B": 2.0, "C": 9.0}, {"A": 1.5, "B": 9.0, "C": 2.0}
    group = summary.Group(cells(ours, printed), ["A"], 1.0)
    exact = fmean(
        sum(abs(a - b) <= 1 for a, b in zip(ours.values(), order, strict=True))
        for order in permutations(printed.values())
    )
    assert group.by_chance() == pytest.approx(exact, abs=0.1)
    assert group.correlation() == pytest.approx(0.5)
    assert group.best() == (0, 0, 1)


def test_the_best_method_has_the_least_loss():
    group = summary.Group(cells({"A": 1.0, "B": 2.0}, {"A": 3.0, "B": 2.0}, "hamming"), ["A"], 1.0)
    assert group.best() == (0, 1, 1)


@pytest.fixture(scope="module")
def known():
    names = [name for of_paper in experiments.papers().values() for name in of_paper]
    found = [name for name in names if (RESULTS / name / "runs.jsonl").is_file()]
    return {name: Evidence.read(experiments.load(name), RESULTS / name) for name in found}


@pytest.mark.slow
def test_verdicts_add_up_and_the_short_table_has_both_totals(known):
    _, short, *full = summary.blocks(known)
    tables = [section.blocks[1] for section in full]
    for table in tables:
        for _, total, *counts in [row[: 2 + len(MARKS)] for row in (*table.rows, *table.foot)]:
            assert int(total) == sum(map(int, counts))
    for row, *of_both in zip(short.rows, *([*t.rows, *t.foot] for t in tables), strict=True):
        agree = [int(str(text).split()[0]) for text in (row[2], row[-1])]
        assert agree == [int(each[2]) + int(each[3]) for each in of_both]


@pytest.mark.slow
def test_readings_replace_columns_alone(known):
    for evidence in known.values():
        places = [
            sorted((c.row, c.column) for g in summary.groups(evidence, way) for c in g.cells)
            for way in (True, False)
        ]
        assert places[0] == places[1]


def test_a_task_that_was_never_built_has_no_statistics():
    assert statistics.task_statistics("email-spam", "source") == {}
    assert statistics.task_statistics("email-spam/inboxes", "user-1")["documents"] == 2500
