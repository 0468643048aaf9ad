"""The summary counts each printed number once, beside what chance gives."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest

from transferbench.evidence import summary
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import MARKS

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
def papers():
    return summary.read(RESULTS)


@pytest.mark.parametrize("declared", [False, True])
def test_verdicts_add_up_and_readings_replace_columns_alone(papers, declared):
    table = summary.table(papers, declared)
    for _, total, *counts in [row[: 2 + len(MARKS)] for row in (*table.rows, *table.foot)]:
        assert int(total) == sum(map(int, counts))
    for evidence in (each for of_paper in papers.values() for each in of_paper):
        places = [
            [(c.row, c.column) for g in summary.groups(evidence, way) for c in g.cells]
            for way in (declared, False)
        ]
        assert sorted(places[0]) == sorted(places[1])


def test_the_committed_summary_is_what_the_runs_yield():
    texts = summary.texts(RESULTS)
    assert texts.keys() == {"README.md", "../README.md"}
    for name, text in texts.items():
        assert (RESULTS / name).read_text(encoding="utf-8") == text
