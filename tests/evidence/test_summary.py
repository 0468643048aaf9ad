"""The summary counts each printed number once, beside what chance gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest

from transferbench import experiments
from transferbench.evidence import pictures, statistics, summary
from transferbench.evidence.chance import Chance, Place, by_rule
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


def places(ours: dict[str, float], printed: dict[str, float]) -> list[Place]:
    return [Place(cell.column, cell, {cell.column: cell}) for cell in cells(ours, printed)]


def number(ours: dict[str, float], order: tuple[float, ...]) -> int:
    return sum(abs(a - b) <= 1 for a, b in zip(ours.values(), order, strict=True))


def test_chance_is_the_mean_over_derangements_and_p_of_all_orders():
    ours = {"A": 1.0, "B": 2.0, "C": 9.0, "D": 3.0}
    printed = {"A": 1.5, "B": 9.0, "C": 8.5, "D": 2.5}
    observed = number(ours, tuple(printed.values()))
    orders = list(permutations(printed.values()))
    moved = [o for o in orders if all(a != b for a, b in zip(o, printed.values(), strict=True))]
    found = Chance.from_rows("paper", observed, [places(ours, printed)])
    assert found.mean == pytest.approx(fmean(number(ours, order) for order in moved), abs=0.05)
    p = fmean(number(ours, order) >= observed for order in orders)
    assert found.p == pytest.approx(p, abs=0.03)


def test_a_row_of_one_cell_stays_as_it_is():
    row = places({"A": 1.0}, {"A": 1.5})
    found = Chance.from_rows("paper", 1, [row, row])
    assert (found.mean, found.p) == (2, 1)
    assert (found + found).mean == 4


def test_a_printed_number_moves_with_its_deviation():
    """A margin of more than the tolerance leaves no cell equivalent, wherever it stands."""
    ours = {"A": 1.0, "B": 1.0}
    noisy = [
        replace(place, printed=replace(place.printed, published_error=9.0))
        for place in places(ours, ours)
    ]
    assert Chance.from_rows("paper", 0, [noisy]).permuted.max() == 0
    one_noisy = [noisy[0], places(ours, ours)[1]]
    assert set(Chance.from_rows("paper", 1, [one_noisy]).permuted) == {1}


def test_the_choice_of_a_reading_is_repeated_where_it_is_made():
    """Two readings that each fit one order make chance certain; frozen elsewhere, they do not."""
    (a, b), swapped = cells({"A": 1.0, "B": 9.0}, {"A": 1.0, "B": 9.0}), (9.0, 1.0)
    readings = [
        Place(cell.column, cell, {cell.column: cell, "reading": replace(cell, mean=mean)})
        for cell, mean in zip((a, b), swapped, strict=True)
    ]
    assert set(Chance.from_rows("paper", 2, [readings]).permuted) == {2}
    chosen = [replace(place, chosen_on=True) for place in readings]
    both = Chance.from_rows("paper", 4, [chosen, readings]).permuted
    assert set(both) == {2, 4}  # the second row has the choice of the first
    assert both.mean() == pytest.approx(3, abs=0.1)


def test_the_number_by_the_rule_is_that_of_the_printed_order():
    """A reading counts if it has more cells than the written column where it is chosen."""
    cell, other = cells({"A": 1.0, "B": 9.0}, {"A": 1.0, "B": 5.0})
    reading = replace(other, mean=5.0)
    row = [Place("A", cell, {"A": cell}), Place("B", other, {"B": other, "reading": reading})]
    assert by_rule([row]) == 2
    # Where no reading of B fits better, B stays as written, also in rows where a reading fits.
    chosen = replace(row[1], values={"B": other, "reading": other}, chosen_on=True)
    assert by_rule([row, [row[0], chosen]]) == 2
    # Without readings it is the number of equivalent cells.
    ours, printed = {"A": 1.0, "B": 2.0, "C": 9.0}, {"A": 1.5, "B": 9.0, "C": 8.5}
    assert by_rule([places(ours, printed)]) == number(ours, tuple(printed.values()))


def test_order_of_methods():
    ours, printed = {"A": 1.0, "B": 2.0, "C": 9.0}, {"A": 1.5, "B": 9.0, "C": 2.0}
    group = summary.Group(cells(ours, printed), ["A"], 1.0)
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
def test_results_add_up_and_the_short_table_is_of_the_papers_as_written(known):
    sentence, picture, short, legend, written, read, signs, apart = summary.blocks(known)
    assert "equivalent" in legend.blocks[0]
    assert len(short.heads) <= 5
    assert picture.file == pictures.PAPERS
    total = sum(len(frame) for frame in summary.scatters(known).values())
    assert f"for {total} numbers" in picture.words
    assert sentence.startswith(f"We compare {total} printed numbers with ours: ")
    lines = [[*section.blocks[1].rows, *section.blocks[1].foot] for section in (written, read)]
    of_signs = [*signs.blocks[1].rows, *signs.blocks[1].foot]
    shown = [*short.rows, *short.foot]
    for row, *of_both, marks in zip(shown, *lines, of_signs, strict=True):
        for k, line in enumerate(of_both):
            cells, unavailable = int(line[1]), int(line[2])
            equivalent = int(str(line[3]).split()[0])
            assert equivalent + int(line[4]) + int(line[5]) == cells - unavailable
            assert int(line[6]) <= equivalent <= int(line[7])
            assert k or int(str(row[2]).split()[0]) == equivalent
            first = 1 + k * len(MARKS)
            assert sum(map(int, marks[first : first + len(MARKS)])) == cells
        assert int(row[1]) == int(of_both[0][1]) - int(of_both[0][2])
    labels = [row[0] for row in short.foot]
    assert labels[0] == "all"
    differ = sum(bool(e.experiment.spec.data_differ) for e in known.values())
    assert (len(labels) > 1) == (differ > 0)
    assert len(apart.blocks[0]) >= differ
    # A table on other data is in no other line.
    assert int(shown[len(short.rows)][1]) == sum(int(row[1]) for row in short.rows)
    of_papers = written.blocks[1]
    for k in (1, 2, 4, 5):
        assert int(of_papers.foot[0][k]) == sum(int(row[k]) for row in of_papers.rows)


@pytest.mark.slow
def test_readings_replace_columns_alone(known):
    for evidence in known.values():
        printed = summary.numbers(evidence)
        shown = [
            sorted((c.row, c.column) for g in summary.groups(printed, way) for c in g.cells)
            for way in (True, False)
        ]
        assert shown[0] == shown[1]


def test_a_task_that_was_never_built_has_no_statistics():
    assert statistics.task_statistics("email-spam", "source") == {}
    assert statistics.task_statistics("email-spam/inboxes", "user-1")["documents"] == 2500
