"""Figures are drawn from points, and points are a pure function of the runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from made_runs import cells_of, write_runs
from small_experiment import HEAD

from transferbench import experiments
from transferbench.evidence import figures, pages

SWEEP = (
    HEAD
    + """
repeats: 2
rows: {comp vs rec: {task: gtl/comp-vs-rec}, comp vs sci: {task: gtl/comp-vs-sci}}
columns:
  DTL:
    model: dtl
    params: {k: 20, kappa: 10, max_iter: 5, C: 1.0, start: probabilities,
             normalize_U: columns, normalize_at: update, pool_tasks: true, prior: equal,
             dtype: float32}
  LG: {model: lr, params: {C: 1.0, intercept: true}}
figure: {label: κ, params: [kappa], values: [0, 10], levels: {experiment: gtl-table3, column: GCMF}}
"""
)
CURVE = SWEEP.replace("params: [kappa], values: [0, 10]", "iterations: true")
PATH = Path("mine.yaml")


def runs(file, tmp_path, value):
    def outcome(planned):
        curve = {"target": [0.25, value(planned)]}
        metrics = {"target": {"accuracy": value(planned)}}
        return {"metrics": metrics, "trace": [4.0, 2.0], "curve": curve}

    return write_runs(tmp_path, file, outcome)


def points(file, found) -> list:
    """The points of a figure; x is None for a level line."""
    made = figures.points(file, cells_of(file, found))
    made["x"] = made["x"].astype(object).where(made["x"].notna(), None)
    return list(made.rename(columns={"mean": "average"}).itertuples())


def test_points_of_a_sweep(tmp_path):
    file = experiments.read(SWEEP, PATH)
    found = runs(file, tmp_path, lambda p: 0.5 + (p.x or 0) / 100 + (p.run.seed or 0) / 10)
    made = points(file, found)
    one = {(p.column, p.x): p for p in made if p.row == "comp vs rec"}
    assert one["DTL", 10.0].average == pytest.approx(65)
    assert one["DTL", 10.0].std == pytest.approx(7.0710678)
    assert one["DTL", 10.0].runs == 2
    assert one["LG", None].average == pytest.approx(50)


def test_points_of_a_curve_and_of_the_objective(tmp_path):
    for text, expected in (
        (CURVE, [25.0, 60.0]),
        (CURVE.replace("true, lev", "true, objective: true, lev"), [4.0, 2.0]),
    ):
        file = experiments.read(text, PATH)
        assert all(p.run.curve for p in file.runs())
        made = points(file, runs(file, tmp_path, lambda p: 0.6))
        dtl = [p for p in made if (p.row, p.column) == ("comp vs rec", "DTL")]
        assert [(p.x, p.average) for p in dtl] == [(1.0, expected[0]), (2.0, expected[1])]


def test_pages_and_pictures_are_written(tmp_path):
    file = experiments.read(SWEEP, PATH)
    runs(file, tmp_path, lambda p: 0.5)
    written = pages.Evidence.read(file, tmp_path).write(tmp_path)
    assert [path.name for path in written] == ["figure.csv", "figure.md", "figure.svg"]
    with (tmp_path / "figure.csv").open() as text:
        rows = list(csv.DictReader(text))
    assert {row["published"] for row in rows if row["row"] == "comp vs rec"} == {"92.36"}
    svg = (tmp_path / "figure.svg").read_text()
    assert svg.startswith("<?xml")
    pages.Evidence.read(file, tmp_path).write(tmp_path)
    assert (tmp_path / "figure.svg").read_text() == svg, "the same points draw the same bytes"


ROWS = (
    HEAD.replace("accuracy", "seconds")
    + """
repeats: 1
unit: seconds
rows:
  10,000: {task: 'generated/transfer:documents=10000', x: 10000}
  a hundred: {task: 'generated/transfer:documents=100', x: 100}
  1,000: {task: 'generated/transfer:documents=1000', x: 1000}
columns:
  LG: {model: lr, params: {C: 1.0, intercept: true}}
figure: {label: documents, rows: true, log: true}
"""
)


@pytest.mark.parametrize("text", [SWEEP, CURVE, ROWS])
def test_a_figure_without_finished_runs_is_drawn(tmp_path, text):
    file = experiments.read(text, PATH)
    write_runs(tmp_path, file, lambda planned: None)
    pages.Evidence.read(file, tmp_path).write(tmp_path)
    assert (tmp_path / "figure.svg").is_file()


def test_points_of_rows_and_exponents_of_growth_that_are_slopes_of_the_logarithms(tmp_path):
    file = experiments.read(ROWS, PATH)
    spent = {"a hundred": 1.0, "1,000": 10.0, "10,000": 1000.0}
    found = write_runs(
        tmp_path,
        file,
        lambda p: {"metrics": {"target": {"accuracy": 1.0}}, "seconds": spent[p.row]},
    )
    cells = cells_of(file, found)
    points = figures.points(file, cells)
    assert [(p.row, p.x, p.runs) for p in points.itertuples()] == [
        ("10,000", 10000, 1), ("a hundred", 100, 1), ("1,000", 1000, 1)
    ]  # fmt: skip
    assert figures.growth(file, points) == {"LG": (pytest.approx(1.5), pytest.approx(2.0))}
    assert "| LG | 1.50 | 2.00 |" in pages.Evidence.from_cells(file, cells).texts()["figure.md"]
