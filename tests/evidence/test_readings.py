"""Readings: strips, position, nearest reading and the made-up rows, from runs made up here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import cells_of, write_runs

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import pages, readings

PATH = Path("mine.yaml")
TEXT = """
title: t
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy
repeats: 2
readings: {experiment: gtl-table3, column: LG}
rows:
  comp vs rec: {task: gtl/comp-vs-rec}
  swapped: {task: gtl/comp-vs-sci, printed: [gtl-table3, comp vs sci]}
columns:
  one: {model: nmf, params: {max_iter: 5}}
  two: {model: nmf, params: {max_iter: 6}}
  three: {model: nmf, params: {max_iter: 7}}
"""
PRINTED = {"comp vs rec": 81.71, "swapped": 67.89}
#: Accuracy by reading; the first row has the printed value inside, the second above all readings.
OURS = {"one": (0.70, 0.50), "two": (0.80, 0.60), "three": (0.90, 0.64)}


@pytest.fixture
def made(tmp_path):
    file = experiments.read(TEXT, PATH)

    def outcome(planned):
        value = OURS[planned.column][planned.row == "swapped"] + (planned.run.seed - 0.5) / 100
        curve = {"target": [value + 0.05, value]}
        return {"metrics": {"target": {"accuracy": value}}, "curve": curve}

    return file, cells_of(file, write_runs(tmp_path, file, outcome))


def test_all_runs_have_curves_and_printed_values_come_from_their_experiment():
    file = experiments.read(TEXT, PATH)
    assert all(planned.run.curve for planned in file.runs())
    assert readings.printed_values(file) == PRINTED


def test_a_strip_has_quartiles_position_spread_and_best_iterations(made):
    first, second = readings.strips(*made).itertuples()
    assert (first.least, first.median, first.greatest) == pytest.approx((70, 80, 90))
    assert (first.lower_quartile, first.upper_quartile) == pytest.approx((75, 85))
    assert (first.position, second.position) == ("inside", "above")
    assert first.percentile == pytest.approx(200 / 3)
    assert second.percentile == 100
    assert first.seeds_std == pytest.approx(0.5**0.5)
    assert first.best_iteration_least == pytest.approx(75)
    assert first.best_iteration_greatest == pytest.approx(95)


def test_the_nearest_reading_is_judged_over_the_whole_row(made):
    found = readings.nearest(*made)
    assert found.reading == "two"
    assert found.distance == pytest.approx(((81.71 - 80) + (67.89 - 60)) / 2)


def test_made_up_rows_are_approached_less_often_the_nearer_the_printed_row_is(made):
    far = readings.nearest(*made).as_close
    file, cells = made
    printed = [replace(c, mean=PRINTED[c.row]) if c.column == "one" else c for c in cells]
    exact = readings.nearest(file, printed)
    assert exact.distance == 0
    assert exact.as_close == 0
    assert 0.4 < far < 0.7  # 10,000 made-up rows, of a fixed seed


def test_readings_that_have_not_run_are_left_out(tmp_path):
    file = experiments.read(TEXT, PATH)
    cells = cells_of(file, write_runs(tmp_path, file, lambda planned: None))
    assert readings.strips(file, cells).empty
    assert readings.nearest(file, cells) is None
    (sentence,) = readings.sentences(file, cells)
    assert sentence.startswith("Of 0 printed values 0 lie inside the range of the readings")


def test_pages_and_picture_are_written(made, tmp_path):
    file, _ = made
    names = {path.name for path in pages.write(file, tmp_path)}
    assert {"readings.md", "readings.csv", "readings.svg", "table.md"} <= names
    text = (tmp_path / "readings.md").read_text(encoding="utf-8")
    assert "Chosen on target labels; used nowhere else." in text
    assert "1 lie inside the range of the readings, 1 above and 0 below" in text
    assert pages.outdated(file, tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("column: LG", "column: XX", "mine.yaml:6: unknown column 'XX'"),
        ("table3, comp vs sci", "table3, nowhere", "unknown row with a published value 'nowhere'"),
        ("gtl-table3, comp", "gtl-tableX, comp", "unknown experiment 'gtl-tableX'"),
    ],
)
def test_a_printed_value_that_does_not_exist_is_refused(old, new, message):
    with pytest.raises(UserError, match=message.replace("'", ".")):
        experiments.read(TEXT.replace(old, new), PATH)
