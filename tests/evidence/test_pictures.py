"""Pictures show the numbers that the tables compare."""

from __future__ import annotations

import html
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transferbench import experiments
from transferbench.evidence import figures, pictures, tables
from transferbench.evidence.pages import Evidence
from transferbench.evidence.verdict import TESTED
from transferbench.messages import printable

TITLE = "{http://www.w3.org/2000/svg}title"
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
        assert line.verdict == cell.verdict
        assert line.verdict in pictures.MARKS
        higher_is_better = cell.metric != "hamming"
        assert (line.points > 0) == ((cell.difference > 0) == higher_is_better)
        assert line.points == pytest.approx(100 * cell.difference * (1 if higher_is_better else -1))


def test_verdicts_differ_in_colour_and_in_shape():
    tested = [mark for mark in pictures.MARKS.values() if not mark.is_hollow]
    assert [name for name, mark in pictures.MARKS.items() if not mark.is_hollow] == [
        name for name in pictures.MARKS if name in TESTED
    ]
    assert len({mark.colour for mark in tested}) == len({m.marker for m in tested}) == len(TESTED)
    assert len(set(pictures.MARKS.values())) == len(pictures.MARKS)


def test_a_tint_is_that_of_the_verdict_and_darker_for_larger_differences():
    tints = [pictures.tint("worse" if p < 0 else "better", p) for p in (-30, -5, -1, 1, 5, 30)]
    assert tints == [*figures.TINTS[:3], *figures.TINTS[4:]]
    assert pictures.tint("cannot tell", 30) == pictures.tint("outside", -30) == figures.TINTS[3]
    assert pictures.tint("same", 0.9) == pictures.tint("within", -2) == figures.SAME
    assert {*figures.TINTS, figures.SAME} < set(figures.DARK)


def test_pictures_of_a_table_have_names_under_the_mouse_and_the_same_bytes_twice(table, tmp_path):
    paths = pictures.draw(table.experiment, table.compared, tmp_path)
    assert [path.name for path in paths] == [pictures.DIFFERENCES, pictures.PAIRS]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    expected = [html.escape(title, quote=False) for title in table.compared["title"]]
    assert re.findall("<title>(.*?)</title>", texts[0]) == expected
    assert sorted(re.findall("<title>(.*?)</title>", texts[1])) == sorted(2 * expected)
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


def drawn(*points: tuple[float, float, str], **style) -> str:
    """Return the picture of some points, each with a title."""
    with figures.style("some"):
        drawing, ((ax,),) = figures.subplots(1, 1, (6.4, 4.8))
        frame = pd.DataFrame(points, columns=["x", "y", "title"])
        figures.draw_points(ax, frame, figures.Mark("#0b62a8"), **style)
        return figures.to_svg(drawing)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.text(max_size=20)), min_size=1))
def test_each_point_has_its_title_whatever_it_says(points):
    found = [node.text for node in ElementTree.fromstring(drawn(*points)).iter(TITLE)]
    expected = [printable(" ".join(text.split())) for *_, text in points]
    assert [text or "" for text in found] == expected


def test_points_without_a_place_are_left_out_with_their_titles():
    svg = drawn((0.0, 1.0, "first"), (math.nan, 1.0, "none"), (1.0, 2.0, "last"))
    assert re.findall("<title>(.*?)</title>", svg) == ["first", "last"]


def test_a_picture_in_a_page_has_no_rules_and_only_ids_of_its_own(table, tmp_path):
    texts = [
        p.read_text("utf-8") for p in pictures.draw(table.experiment, table.compared, tmp_path)
    ]
    for name, svg in zip("ab", texts, strict=True):
        part = figures.inline(svg, name, 'what "it" shows')
        root = ElementTree.fromstring(part)
        assert root.attrib["aria-label"] == 'what "it" shows'
        assert not [*root.iter("style"), *root.iter("metadata")]
        ids = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
        assert all(one.startswith(f"{name}-") for one in ids)
        used = re.findall(r'(?:href="|url\()#([^")]*)', part)
        assert {*used} == {*ids}
        assert len(ids) == len(set(ids))
