"""Readings: strips, position, nearest reading and its share, from runs made up here."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from made_runs import cells_of, write_runs

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import pages, readings
from transferbench.evidence.frame import read_cells

PATH = Path("mine.yaml")
RESULTS = ROOT / "results"
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
    assert readings.printed_columns(file)[0] == PRINTED


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


def test_a_strip_counts_readings_below_the_printed_value_and_has_the_median_deviation(made):
    file, cells = made
    deviations = {"one": 1.0, "two": 2.0, "three": 9.0}
    changed = [
        replace(c, std=deviations[c.column], mean=PRINTED[c.row] if c.column == "two" else c.mean)
        for c in cells
    ]
    first, _ = readings.strips(file, changed).itertuples()
    assert first.percentile == pytest.approx(100 / 3)  # one is below, one equal
    assert first.seeds_std == 2


def test_the_nearest_reading_is_judged_over_the_whole_row(made):
    found = readings.nearest(*made)
    assert found.reading == "two"
    assert found.distance == pytest.approx(((81.71 - 80) + (67.89 - 60)) / 2)


#: 16 readings of 5 tasks; some are worse on all tasks, and the tasks differ in difficulty.
VALUES = (
    np.array([95, 90, 80, 70, 60])
    + np.random.default_rng(5).normal(0, 4, (16, 5))
    - np.random.default_rng(6).exponential(5, (16, 1))
)
MEDIANS = np.median(VALUES, axis=0)
UNRELATED = {
    "normal": lambda rng: rng.normal(0, 4, 5),
    "heavy tails": lambda rng: 4 * rng.standard_t(2, 5),
    "skewed": lambda rng: 6 * (rng.exponential(1, 5) - 1),
    "moved": lambda rng: rng.normal(-5, 5) + rng.normal(0, 4, 5),
}


@pytest.mark.parametrize("shape", UNRELATED)
def test_the_share_of_unrelated_rows_is_uniform_or_larger(shape):
    rng = np.random.default_rng(1)
    rows = [MEDIANS + UNRELATED[shape](rng) for _ in range(600)]
    shares = np.array([readings.share_as_near(row, VALUES, 5) for row in rows])
    for level in (0.025, 0.05, 0.1, 0.25, 0.5, 0.75):
        # Kolmogorov and Smirnov's bound at 1 per cent on one side, sqrt(ln(100) / 2 / rows)
        assert (shares <= level).mean() <= level + np.sqrt(np.log(100) / 2 / len(rows))
    if shape != "moved":  # ties make shares larger: orders at the same distance count
        assert np.median(shares) < 0.6


def test_a_true_reading_has_a_small_share_and_a_moved_one_has_not():
    rng = np.random.default_rng(2)
    rows = [rng.choice(VALUES) + rng.normal(0, 1, 5) for _ in range(200)]
    found = [readings.share_as_near(row, VALUES, 5) for row in rows]
    assert np.mean(np.array(found) <= 0.05) > 0.6
    for by in (-40, 40):  # beyond all readings, whatever the order
        assert {readings.share_as_near(row + by, VALUES, 5) for row in rows} == {1.0}


def test_a_difference_that_all_readings_share_is_no_fit():
    """Equal differences on all tasks say nothing, though the tasks differ in difficulty."""
    assert readings.share_as_near(MEDIANS + 3, VALUES, 5) == 1


def test_all_orders_are_counted_where_they_are_few():
    row, values = np.array([1.0, 5.0, 2.0]), np.array([[0.0, 4.0, 1.0], [0, 0, 0], [0, 0, 0]])
    near = [
        min(np.abs(np.array(order) - reading).mean() for reading in values)
        for order in permutations(row)
    ]
    assert readings.share_as_near(row, values, 3) == np.mean(np.array(near) <= near[0])
    assert len(readings._orders(3, 10)) == 6


def test_drawn_orders_give_the_share_of_all_of_them():
    row = VALUES[3] + [1, -1, 2, 0, -2]
    exact, drawn = (readings.share_as_near(row, VALUES, 5, draws) for draws in (120, 119))
    assert len(readings._orders(5, 119)) == 120
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=4 * 0.5 / 119**0.5)  # four standard errors at most


def test_rows_of_one_task_stay_together():
    """Two measures of three tasks: 6 orders, in which each measure is compared with itself."""
    values = np.array([[10.0, 100, 20, 200, 60, 600], [0.0] * 6, [0.0] * 6])
    assert readings.share_as_near(values[0], values, 3) == 1 / 6


def test_rows_of_a_task_stay_together_in_any_order_of_the_file(tmp_path):
    """Both tasks differ from the readings' medians alike: no order of them is another row."""
    text = (
        TEXT[: TEXT.index("rows:")]
        + """rows:
  comp vs rec: {task: gtl/comp-vs-rec}
  comp vs sci: {task: gtl/comp-vs-sci}
  comp vs talk: {task: "gtl/comp-vs-rec:weighting=tf"}
  rec vs sci: {task: "gtl/comp-vs-sci:weighting=tf"}
"""
        + TEXT[TEXT.index("columns:") :]
    )
    file = experiments.read(text, PATH)
    printed = readings.printed_columns(file)[0]
    apart = dict(zip(printed, (1, 1, 5, 5), strict=True))
    steps = {"one": 0, "two": 1, "three": 2}

    def outcome(planned):
        return (printed[planned.row] - steps[planned.column] * apart[planned.row]) / 100

    found = readings.nearest(file, cells_of(file, write_runs(tmp_path, file, outcome)))
    assert (found.distance, found.share) == (pytest.approx(0, abs=1e-9), 1)


@pytest.mark.parametrize(
    ("task", "least"),
    [("gtl/comp-vs-sci", "50%"), ("gtl/comp-vs-rec:weighting=tf", "100%")],
)
def test_rows_of_one_problem_count_once(tmp_path, task, least):
    file = experiments.read(TEXT.replace("gtl/comp-vs-sci", task), PATH)
    cells = cells_of(
        file, write_runs(tmp_path, file, lambda _: {"metrics": {"target": {"accuracy": 0.8}}})
    )
    assert f"; the least possible is {least}." in pages.render(file, cells)["readings.md"]


def test_sentences_give_the_page_s_unit_and_what_was_tried(made):
    text = pages.render(*made)["readings.md"]
    assert 'The reading nearest to all printed values is "two": 4.80 away on average.' in text
    assert "fit: not shown. Of 6 other printed columns of gtl-table3 0 show it.\n" in text
    tried = "Tried before on labels of the target: readings, number not recorded. The test does"
    assert tried in text
    text = TEXT.replace("LG}", "LG, tried: 147, tried_on: labels of Reuters}")
    page = pages.render(experiments.read(text, PATH), made[1])["readings.md"]
    assert "Tried before on labels of Reuters: 147 readings." in page
    fractions = experiments.load("readings-himls")
    page = pages.render(fractions, read_cells(fractions, RESULTS / "readings-himls"))["readings.md"]
    assert re.search(r": 0\.0\d\d away on average", page)
    assert "points" not in page.partition("- Of ")[2].partition("does not count")[0]


def test_readings_that_have_not_run_are_left_out(tmp_path):
    file = experiments.read(TEXT, PATH)
    cells = cells_of(file, write_runs(tmp_path, file, lambda planned: None))
    assert readings.strips(file, cells).empty
    assert readings.nearest(file, cells) is None
    page = pages.render(file, cells)["readings.md"]
    assert "- Of 0 printed values 0 lie inside the range of the readings" in page
    assert "nearest to all" not in page


def test_pages_and_picture_are_written(made, tmp_path):
    file, _ = made
    names = {path.name for path in pages.write(file, tmp_path)}
    assert {"readings.md", "readings.csv", "readings.svg", "table.md"} <= names
    text = (tmp_path / "readings.md").read_text(encoding="utf-8")
    assert (
        "They are compared on the labels of the target, and no default uses the nearest one."
        in text
    )
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
