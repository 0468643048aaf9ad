"""Pictures show the numbers that the tables compare, in two forms of the same data."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from hypothesis import given
from hypothesis import strategies as st

from transferbench import experiments
from transferbench.evidence import figures, interactive, pictures, tables
from transferbench.evidence.pages import Evidence

RESULTS = Path(__file__).parent.parent.parent / "results"


def read(name: str) -> Evidence:
    return Evidence.read(experiments.load(name), RESULTS / name)


@pytest.fixture(scope="module")
def table() -> Evidence:
    """A table with scores and losses."""
    return read("himls-table13")


def test_each_compared_number_has_a_result_by_the_direction_of_its_measure(table):
    judged = tables.judged(table.experiment, table.cells_and_averages)
    cells = {(cell.row, cell.column): cell for cell in judged}
    frame = table.compared
    assert len(frame) == sum(not cell.reason for cell in cells.values()) > 0
    for line in frame.itertuples():
        cell = cells[line.row, line.column]
        assert line.result in pictures.LOOKS
        assert (line.result in ("better", "worse")) == (cell.equivalence == "different")
        higher_is_better = cell.metric != "hamming"
        assert (line.points > 0) == ((cell.difference > 0) == higher_is_better)
        assert line.points == pytest.approx(100 * cell.difference * (1 if higher_is_better else -1))


def test_results_differ_in_colour_and_in_shape():
    for parts in zip(*pictures.LOOKS.values(), strict=True):
        assert len(set(parts)) == len(pictures.LOOKS)


def test_a_tint_says_direction_and_size():
    assert pictures.tint(0.9) == pictures.tint(-0.9) == pictures.TINTS[3]
    assert [pictures.tint(p) for p in (-30, -5, -1, 1, 5, 30)] == [
        pictures.TINTS[k] for k in (0, 1, 2, 4, 5, 6)
    ]
    assert set(pictures.TINTS) < set(figures.DARK)


def test_pictures_of_a_table_have_names_under_the_mouse_and_the_same_bytes_twice(table, tmp_path):
    paths = pictures.draw(table.experiment, table.compared, tmp_path)
    assert [path.name for path in paths] == [pictures.DIFFERENCES, pictures.PAIRS]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    titles = re.findall("<g><title>(.*?)</title>", texts[0])
    assert len(titles) == len(table.compared)
    assert "printed" in titles[0]
    pictures.draw(table.experiment, table.compared, tmp_path)
    assert [path.read_text(encoding="utf-8") for path in paths] == texts
    assert pictures.draw(table.experiment, table.compared[:0], tmp_path) == []


def test_the_scatter_has_a_panel_for_each_paper(table):
    frame = pictures.as_percent(table.experiment, table.compared)
    svg = pictures.scatter({"One": frame, "Other": frame})
    assert svg.count("One") == svg.count("Other") == 1
    assert "within the tolerance" in svg


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.001, 0.1))
def test_names_of_lines_keep_their_order_and_a_distance(ends, gap):
    places = figures.apart(ends, gap)
    order = np.argsort(ends, kind="stable")
    steps = np.diff(np.array(places)[order])
    assert len(places) == len(ends)
    assert (steps > 0.9 * gap).all()
    if ends:
        assert np.mean(places) == pytest.approx(np.mean(ends), abs=1e-6)


@pytest.mark.slow
def test_the_library_accepts_every_plot(table):
    try:
        import vl_convert
    except ImportError:
        missing("the extra `plots` is not installed")
    curves, sweep, board = read("mrtl-figure3b"), read("gtl-figure2a"), read("multilabel")
    labels = read("choice-labels")
    frame = pictures.as_percent(table.experiment, table.compared)
    specs = [
        *interactive.scatter({"One": frame}),
        *interactive.differences(table.experiment, table.compared),
        *interactive.pairs(table.experiment, table.compared),
        *interactive.figure(curves.experiment, curves.points),
        *interactive.figure(sweep.experiment, sweep.points),
        *interactive.board(board.board),
        *interactive.by_labels(labels.experiment, labels.label_curves),
    ]
    for spec in specs:
        svg = vl_convert.vegalite_to_svg(spec | {"width": 300}, config=interactive.CONFIG)
        assert svg.startswith("<svg")
        assert "NaN" not in svg
