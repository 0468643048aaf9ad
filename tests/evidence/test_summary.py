"""The summary counts each printed number once, beside what chance gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from transferbench import experiments
from transferbench.evidence import statistics, summary, totals
from transferbench.evidence.chance import Chance, Place
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import Section, Value
from transferbench.evidence.pages import Evidence
from transferbench.evidence.totals import READ, WRITTEN, Totals

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
    found = Chance.from_rows("paper", [places(ours, printed)])
    assert found.observed == observed
    assert found.mean == pytest.approx(fmean(number(ours, order) for order in moved), abs=0.05)
    p = fmean(number(ours, order) >= observed for order in orders)
    assert found.p == pytest.approx(p, abs=0.03)


def test_a_row_of_one_cell_stays_as_it_is():
    row = places({"A": 1.0}, {"A": 1.5})
    found = Chance.from_rows("paper", [row, row])
    assert (found.mean, found.p) == (2, 1)
    assert (found + found).mean == 4


def test_a_printed_number_moves_with_its_deviation():
    """A margin of more than the tolerance leaves no cell the same, wherever it stands."""
    ours = {"A": 1.0, "B": 1.0}
    noisy = [
        replace(place, printed=replace(place.printed, published_error=9.0))
        for place in places(ours, ours)
    ]
    assert Chance.from_rows("paper", [noisy]).permuted.max() == 0
    one_noisy = [noisy[0], places(ours, ours)[1]]
    assert set(Chance.from_rows("paper", [one_noisy]).permuted) == {1}


def test_the_choice_of_a_reading_is_repeated_where_it_is_made():
    """Two readings that each fit one order make chance certain; frozen elsewhere, they do not."""
    (a, b), swapped = cells({"A": 1.0, "B": 9.0}, {"A": 1.0, "B": 9.0}), (9.0, 1.0)
    readings = [
        Place(cell.column, cell, {cell.column: cell, "reading": replace(cell, mean=mean)})
        for cell, mean in zip((a, b), swapped, strict=True)
    ]
    assert set(Chance.from_rows("paper", [readings]).permuted) == {2}
    chosen = [replace(place, chosen_on=True) for place in readings]
    both = Chance.from_rows("paper", [chosen, readings]).permuted
    assert set(both) == {2, 4}  # the second row has the choice of the first
    assert both.mean() == pytest.approx(3, abs=0.1)


def test_the_number_is_that_of_the_rule_in_the_order_of_print():
    """A reading counts if it has more cells than the written column where it is chosen."""
    cell, other = cells({"A": 1.0, "B": 9.0}, {"A": 1.0, "B": 5.0})
    reading = replace(other, mean=5.0)
    row = [Place("A", cell, {"A": cell}), Place("B", other, {"B": other, "reading": reading})]
    assert Chance.from_rows("paper", [row]).observed == 2
    # Where no reading of B fits better, B stays as written, also in rows where a reading fits.
    chosen = replace(row[1], values={"B": other, "reading": other}, chosen_on=True)
    assert Chance.from_rows("paper", [row, [row[0], chosen]]).observed == 2


def lines(
    ours: dict[str, float], printed: dict[str, float], metric: str = "accuracy", **kinds: str
) -> pd.DataFrame:
    made = cells(ours, printed, metric)
    return pd.DataFrame({
        "experiment": "e", "measure": metric, "row": "r", "column": list(ours), "cell": made,
        "kind": [kinds.get(name, "rival") for name in ours], "mean": list(ours.values()),
        "verdict": [cell.verdict for cell in made],
    })  # fmt: skip


def test_order_of_methods():
    ours, printed = {"A": 1.0, "B": 2.0, "C": 9.0}, {"A": 1.5, "B": 9.0, "C": 2.0}
    found = Totals("paper", lines(ours, printed, A="own"))
    assert found.correlation == (pytest.approx(0.5), [])
    assert found.leads == (0, 0, 0, 1)


def test_a_method_without_a_value_on_a_row_is_named_and_left_out_of_the_order():
    first, second = {"A": 1.0, "B": 2.0, "C": 3.0}, {"A": 1.0, "B": 2.0, "C": 3.0, "D": 0.0}
    both = pd.concat([lines(first, first), lines(second, second).assign(row="s")])
    assert Totals("paper", both).correlation == (1, ["D"])


def test_the_best_method_has_the_least_loss_and_near_is_within_a_tolerance():
    printed = {"A": 3.0, "B": 2.0}
    ahead = Totals("paper", lines({"A": 1.0, "B": 2.0}, printed, "hamming", A="own"))
    near = Totals("paper", lines({"A": 3.0, "B": 2.0}, printed, "hamming", A="own"))
    assert (ahead.leads, near.leads) == ((0, 1, 1, 1), (0, 0, 1, 1))


def test_a_row_of_a_method_and_its_variants_is_not_led():
    values = {"A": 2.0, "B": 1.0}
    assert Totals("paper", lines(values, values, A="own", B="variant")).leads == (0, 0, 0, 0)


@pytest.fixture(scope="module")
def known():
    names = [name for of_paper in experiments.papers().values() for name in of_paper]
    found = [name for name in names if (RESULTS / name / "runs.jsonl").is_file()]
    return {name: Evidence.read(experiments.load(name), RESULTS / name) for name in found}


@pytest.mark.slow
def test_the_totals_of_every_page_add_up(known):
    """A number counts once by kind and in all papers together; readings move verdicts alone."""
    frame = totals.frame(totals.of_papers(known))
    of_kinds = totals.by_kind(frame)
    once = frame[(frame["way"] == WRITTEN) & ~frame["apart"] & ~frame["again"]]
    judged = once[once["verdict"] != "unavailable"]
    assert sum(len(one.compared) for one in of_kinds) == len(judged)
    for way in (WRITTEN, READ):
        papers, together, (apart,) = totals.by_paper(frame, way)
        assert together.counts == [sum(n) for n in zip(*(p.counts for p in papers), strict=True)]
        for one in (*papers, together, apart):
            compared, *decided = one.counts
            assert compared == sum(decided)
            assert one.same_at(0.5) <= one.count("same") <= one.same_at(2)
        assert together.lines[["experiment", "row", "column"]].duplicated().sum() == 0
    twice = frame[frame["again"]]
    assert set(twice["column"]) == {"HiMLS"}, "printed in tables 2 to 5 and again in 6 to 9"


@pytest.mark.slow
def test_the_pages_show_these_totals(known):
    frame = totals.frame(totals.of_papers(known))
    first, standard, kinds, papers, values = summary.answer(totals.of_papers(known), frame)
    own, *_, simple = (one.counts for one in totals.by_kind(frame))
    for n, same, *_ in (own, simple):
        assert f"f {n} " in first
        assert f", {same} (" in first
    assert [row[1:] for row in kinds.rows] == [
        [*map(str, one.counts), Value(one.confirmed)] for one in totals.by_kind(frame)
    ]
    together = totals.by_paper(frame).together
    assert f"We have values in {together.leads[3]} rows" in standard
    assert (
        f"mean in {together.leads[0]} of them in print, and in {together.leads[1]} here" in standard
    )
    every = summary.blocks(known)
    assert every[:5] == [first, standard, kinds, papers, values]
    (counts,) = (b.blocks[1] for b in every if isinstance(b, Section) and b.title == "Counts")
    assert [*map(str, together.counts)] == list(counts.foot[0][3:7])


@pytest.mark.slow
def test_tables_on_other_data_alone_have_counts_and_no_answer(known):
    name = next(name for name, each in known.items() if each.experiment.spec.data_differ)
    papers = totals.of_papers({name: known[name]})
    assert summary.answer(papers, totals.frame(papers)) == []
    counts, *_ = summary.blocks({name: known[name]})
    table = counts.blocks[1]
    assert not table.rows
    assert [row[0] for row in table.foot] == ["all", "LNKMTC, LSKMTC: data differ"]


def test_a_task_that_was_never_built_has_no_statistics():
    assert statistics.task_statistics("email-spam", "source") == {}
    assert statistics.task_statistics("email-spam/inboxes", "user-1")["documents"] == 2500
