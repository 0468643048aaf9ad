"""Audit of printed numbers: which are single runs of their documents, and which are copied.

This is the GRIM test (Brown and Heathers 2017, see `grim`) for tables of accuracies. An accuracy of
one run on n documents is k/n, so its printed digits allow few n. Of random values with two decimals
of a per cent, n documents allow a share of about n / 10,000; from n = 10,000 on they allow every
value, and the test has no power.

If the documents of its rows allow the values of a column more often than by chance, the column is a
single run on these documents, or a mean of the stated runs. It is not if they deny more than 15 per
cent of the values; fewer may be misprints. If more than one value in ten ends in 0, the values were
printed with fewer digits, so they are copied. Averages are recomputed from the cells beside them.

A user's table states its documents. Those of a published table are of the tasks of its rows, so a
denied value may be one of other documents. There values must be printed as C and Python print them,
which is stricter than for a user's table, where a half may be rounded either way.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from transferbench import datasets, experiments, models, strict_yaml
from transferbench.evidence import grim, pictures, triples
from transferbench.evidence.frame import Cell
from transferbench.evidence.grim import Number, allows, p_of_fits, shares
from transferbench.evidence.page import Block, Page, Picture, Section, Table, markdown, words
from transferbench.evidence.printed import (
    ALL,
    MAX_DOCUMENTS,
    MAX_RUNS,
    SHARES,
    TRIPLE,
    PrintedAverage,
    PrintedCell,
    PrintedTable,
    PrintedTriple,
)
from transferbench.evidence.triples import Triple
from transferbench.experiments.experiment import Experiment
from transferbench.measures import TITLES, decimals
from transferbench.messages import counted
from transferbench.stats import ALPHA, ROUNDING

#: "mean": several runs or a deviation are stated; "impossible": some values are; "possible": the
#: documents allow all values, but also most random ones; "unclear": they are not known.
Status = Literal["single run", "mean", "impossible", "copied", "possible", "unclear", "not checked"]
#: "by a half": possible if a half is rounded otherwise than C and Python do.
CellVerdict = Literal[
    "any value is possible", "possible", "possible by a half", "impossible", "not checked"
]
#: "by rounding": if the cells were averaged before they were rounded.
AverageVerdict = Literal["follows", "follows by rounding", "differs"]
#: A condition holds if every document has a label.
TripleVerdict = Literal[
    "possible",
    "possible if more labels are decided than true",
    "possible if fewer labels are decided than true",
    "impossible",
]
#: Largest p of a column, and of all columns of a user's table together: they may be of several
#: papers.
LIKELY, LIKELY_TOGETHER = 0.05, 0.01
#: Significance level for last digits, of which every column is tested.
COPIED_LEVEL = 0.001
#: Rows that a finding needs, unless a user states the documents.
MIN_ROWS = 3
#: Largest share of values that may be misprints.
MISPRINTS = 0.15
#: Columns of `plane`.
PLANE = ["source", "task", "labels", "f1", "accuracy", "hamming", "x", "y", "title"]
#: Most decimals of a fraction in an experiment.
MAX_DECIMALS = 4
#: Repeats that both deviations need to be compared.
MIN_REPEATS = 3


@dataclass(frozen=True)
class Finding:
    """A conclusion about some rows of a column, from the digits of its values."""

    column: str
    status: Status
    rows: tuple[str, ...]
    #: Source of the numbers of documents, or why there is none.
    source: str = ""
    #: Number of documents by row.
    documents: Mapping[str, int] | None = None
    #: Rows whose values these numbers do not allow.
    denied: tuple[str, ...] = ()
    #: Probability that random digits would fit, or end in 0, as often.
    p: float = math.nan
    #: Columns of other tables with the same values.
    like: tuple[str, ...] = ()
    #: How many of the denied values are possible by a half.
    halves: int = 0


@dataclass(frozen=True)
class CellFinding:
    """One printed number, and what its digits allow."""

    row: str
    column: str
    #: Value and deviation, as they are printed.
    printed: str
    #: What the value measures.
    measure: str
    #: Number of scored documents; None if it is not known.
    documents: int | None
    #: Number of runs that the value is of; None if it is of an unknown number.
    runs: int | None
    #: True if the value is the median of the runs.
    median: bool
    #: The conclusion about the value.
    verdict: CellVerdict = "not checked"
    #: Smallest and largest number of correct documents, over all runs; None if there is none.
    correct: tuple[int, int] | None = None
    #: Share of all values with these digits that the documents and runs allow.
    share: float = math.nan
    #: Next lower and next higher possible values, if this one is impossible.
    nearest: tuple[str, ...] = ()
    #: The conclusion about the deviation; empty without one.
    deviation: str = ""


@dataclass(frozen=True)
class AverageFinding:
    """One printed average, and the mean of the printed cells beside it."""

    row: str
    column: str
    printed: str
    #: Number of cells.
    cells: int
    #: Their mean, with one digit more.
    recomputed: str
    verdict: AverageVerdict


@dataclass(frozen=True)
class TripleFinding:
    """A printed F1, accuracy and Hamming loss, and the documents that can have all three."""

    set: str
    method: str
    f1: str
    accuracy: str
    hamming: str
    #: See `triples`.
    x: float
    y: float
    #: Number of labels, and the label density of the documents; NaN if it is not known.
    labels: int
    density: float
    #: Least density of documents with the triple, if as many labels are decided as are true.
    least_density: float | None
    verdict: TripleVerdict


class Audit(NamedTuple):
    """The findings about a table."""

    columns: list[Finding]
    cells: list[CellFinding]
    averages: list[AverageFinding]
    triples: list[TripleFinding]


def audit(table: PrintedTable, others: Mapping[str, Sequence[PrintedCell]] | None = None) -> Audit:
    """Return the findings about a user's table; with other tables' columns, a published one's."""
    strict = others is not None
    columns: dict[tuple[str, str], list[PrintedCell]] = {}
    for cell in table.cells:
        columns.setdefault((cell.source, cell.column), []).append(cell)
    decimals = max((cell.value.decimals for cell in table.cells), default=0)
    cells = {place: [judge(cell, strict) for cell in column] for place, column in columns.items()}
    findings, together = list[Finding](), list[CellFinding]()
    for (source, name), column in columns.items():
        copied = _copied(column, decimals, strict)
        findings += [copied] if copied else []
        rows = {cell.row for cell in column}.difference(copied.rows if copied else ())
        left = [cell for cell in cells[source, name] if cell.row in rows]
        like = tuple(other for other, theirs in (others or {}).items() if _equal(column, theirs))
        findings += [_judge_column(name, left, source, like, strict)] if left else []
        together += left
    if not strict and len(columns) > 1 and together:
        findings.append(_judge_column(ALL, together, "stated"))
    averages = [*map(judge_average, table.averages)]
    return Audit(findings, [*chain(*cells.values())], averages, [*map(judge_triple, table.triples)])


def judge(cell: PrintedCell, strict: bool = False) -> CellFinding:
    """Return what the digits of a printed number allow."""
    # `strict`: The share is that of values that C and Python print.
    value, spread, n, runs = cell.value, cell.deviation, cell.documents, cell.runs
    # If one of r runs has one correct document more, their deviation is 1/(n √r). Runs whose
    # deviation is printed as 0 are surely equal if that of MAX_RUNS is not.
    least = 1 / ((n or MAX_DOCUMENTS) * math.sqrt(MAX_RUNS))
    if runs is None and (not spread or (spread.units == 0 and spread.half < least)):
        runs = 1
    correct, share, near = range(0), math.nan, tuple[str, ...]()
    verdict: CellVerdict = "not checked"
    if cell.is_share and n and runs:
        # The median of an even number of runs is the mean of two.
        total = n * (2 - runs % 2 if cell.median else runs)
        correct, share = grim.correct(total, value), shares(total, value.decimals, strict)[0]
        verdict = "possible" if share < 1 else "any value is possible"
        if not correct:
            verdict, near = "impossible", grim.nearest(total, value)
        elif not allows(total, value):
            verdict = "possible by a half"
    printed, ends = f"{value}" + f" ± {spread}" * bool(spread), (*correct[:1], *correct[-1:])
    about = cell.row, cell.column, printed, cell.measure, n, runs, cell.median
    deviation = _judge_deviation(cell, runs) if cell.is_share else ""
    return CellFinding(*about, verdict, ends or None, share, near, deviation)


def _judge_deviation(cell: PrintedCell, runs: int | None) -> str:
    """Return the conclusion about a deviation; empty without one."""
    value, spread, n = cell.value, cell.deviation, cell.documents
    if not spread:
        return ""
    if cell.median:
        return "not checked: the value is a median"
    if runs is None:
        most = grim.largest_deviation(value)
        if spread.value - spread.half > most:
            return f"too large: at most {spread.text(most, 1)} for any number of runs"
        return "not checked: number of runs not stated"
    fits = n and (runs > 1 or spread.units)
    return grim.fit_deviation(n, runs, value, spread) if n and fits else ""


def judge_average(printed: PrintedAverage) -> AverageFinding:
    """Return whether a printed average is the mean of the printed cells beside it."""
    average, cells = printed.average, [cell.value for cell in printed.cells]
    mean = sum((cell.value for cell in cells), Fraction()) / len(cells)
    half = sum((cell.half for cell in cells), Fraction()) / len(cells)
    error = abs(mean - average.value.value) - average.value.half
    verdict: AverageVerdict = "follows" if error <= 0 else "differs"
    if 0 < error <= half:
        verdict = "follows by rounding"
    text = f"{average.value}", len(cells), average.value.text(float(mean), 1)
    return AverageFinding(average.row, average.column, *text, verdict)


def judge_triple(printed: PrintedTriple) -> TripleFinding:
    """Return of which documents a printed F1, accuracy and Hamming loss can be."""
    triple, labels = printed.triple, printed.labels
    least = triples.least_density(triple, labels)
    verdict: TripleVerdict = "possible"
    if least is None:
        is_possible = triples.is_possible(triple, labels)
        verdict = "possible if fewer labels are decided than true" if is_possible else "impossible"
    elif least > printed.density:
        verdict = "possible if more labels are decided than true"
    f1, accuracy, hamming = map(str, triple)
    x, y = triple.position
    return TripleFinding(
        printed.set, printed.method, f1, accuracy, hamming, x, y, labels, printed.density, least,
        verdict,
    )  # fmt: skip


def _copied(cells: Sequence[PrintedCell], decimals: int, strict: bool) -> Finding | None:
    """Return a finding about values that have fewer digits than others, None if they are few."""
    short = tuple(cell.row for cell in cells if cell.value.value * 10**decimals % 10 == 0)
    # Of values of unknown documents, one in ten ends in 0.
    in_zero = [
        max(0.1, shares(cell.documents, decimals, strict)[1]) if cell.documents else 0.1
        for cell in cells
    ]
    p = p_of_fits(len(short), in_zero)
    if len(short) < MIN_ROWS or p > COPIED_LEVEL or decimals <= 2:
        return None
    return Finding(cells[0].column, "copied", short, "a digit less", p=p)


def _judge_column(
    name: str,
    cells: Sequence[CellFinding],
    source: str,
    like: tuple[str, ...] = (),
    strict: bool = False,
) -> Finding:
    """Return the finding about judged cells."""

    def label(cell: CellFinding) -> str:
        return cell.row if cell.column == name else f"{cell.column}, {cell.row}"

    checked = [cell for cell in cells if cell.verdict != "not checked"]
    rows = tuple(map(label, checked or cells))
    if not checked:
        if others := dict.fromkeys(c.measure for c in cells if c.measure.casefold() not in SHARES):
            why = f"{', '.join(others)}: no share of documents"
            return Finding(name, "not checked", rows, why, like=like)
        if cells[0].documents is None:
            return Finding(name, "unclear", rows, "documents not known", like=like)
        return Finding(name, "mean", rows, "a deviation is printed", like=like)
    wrong = ("impossible", "possible by a half") if strict else ("impossible",)
    denied = tuple(label(cell) for cell in checked if cell.verdict in wrong)
    p = p_of_fits(len(checked) - len(denied), [cell.share for cell in checked])
    likely = p <= (LIKELY_TOGETHER if name == ALL else LIKELY) and len(checked) >= MIN_ROWS * strict
    status: Status = "single run" if likely else "possible"
    if denied and not (likely and len(denied) <= MISPRINTS * len(checked)):
        status = "impossible"
    elif any(cell.runs != 1 for cell in checked):
        status = "mean"
    if all(cell.verdict == "any value is possible" for cell in checked):
        source += ": any value is possible"
    documents = {label(cell): cell.documents for cell in checked if cell.documents}
    halves = sum(cell.verdict == "possible by a half" for cell in checked) if strict else 0
    return Finding(name, status, rows, source, documents, denied, p, like, halves)


def _equal(cells: Iterable[PrintedCell], others: Iterable[PrintedCell]) -> bool:
    """Return True if at least MIN_ROWS rows are in both, all with the same value."""
    theirs = {cell.row: cell.value.value for cell in others}
    same = [theirs[cell.row] == cell.value.value for cell in cells if cell.row in theirs]
    return len(same) >= MIN_ROWS and all(same)


def printed(experiment: Experiment) -> PrintedTable:
    """Return the accuracies and averages that an experiment's paper prints."""
    # The accuracy of documents with several labels is no share of documents, so it is left out.
    spec, repeats = experiment.spec, experiment.compared.published_repeats
    named = [column.model for column in spec.columns.values()]
    several = any(models.get(m).family == "multilabel" for m in named if not models.is_external(m))
    shift = 2 if spec.unit == "percent" else 0

    def number(value: float, means: Iterable[float]) -> Number:
        # A file does not say how many zeros are printed at the end. The papers print two digits.
        digits = max(len(repr(mean).partition(".")[2]) for mean in means)
        decimals = min(MAX_DECIMALS, digits + shift)
        if experiment.name in experiments.names():
            decimals = 4 if shift else 3
        return Number(round(value * 10 ** (decimals - shift)), decimals, shift)

    values = {
        (row, column): experiment.published(row, column) or (math.nan, None)
        for row, of_row in spec.published.items()
        for column in of_row
    }
    means = [mean for mean, _ in values.values()]
    cells = []
    for (row, column), (mean, std) in values.items():
        domain, task = spec.rows[row].domain, spec.rows[row].data()
        counts = datasets.facts(task.base).get("documents", {}) if task.has_all_documents else {}
        scored = [domain] if domain else [d for d in counts if not d.startswith("source")]
        # Runs whose deviation is printed as 0 are taken as equal, so the value is that of one.
        unstated = None if std else 1
        runs = repeats.number if repeats and column not in repeats.unstated else unstated
        cell = PrintedCell(row, column, number(mean, means))
        cells.append(
            replace(
                cell,
                deviation=None if std is None else number(std, means),
                documents=counts.get(scored[0]) if len(scored) == 1 else None,
                runs=None if std is None else runs,
                measure="several labels" if several else experiment.metric(row),
                source=f"{task.base.partition('/')[0]} tasks",
            )
        )
    averages = [
        PrintedAverage(PrintedCell(group, column, number(mean, [mean])), of_cells)
        for group, of_group in spec.published_averages.items()
        for column, mean in of_group.items()
        if (of_cells := [
            cell for cell in cells
            if cell.column == column and group in ("all", spec.rows[cell.row].group)
        ])
    ]  # fmt: skip
    shares = [cell for cell in cells if cell.is_share]
    return PrintedTable(shares, averages, _triples(experiment, cells) if several else [])


def _triples(experiment: Experiment, cells: Iterable[PrintedCell]) -> list[PrintedTriple]:
    """Return the printed triples of a table."""
    values = {(cell.row, cell.column): cell.value for cell in cells}
    found = []
    for task, rows in _rows_of_triples(experiment):
        facts = datasets.facts(task)
        m, n = len(facts["classes"]), sum(facts["documents"].values())
        density = sum(chain(*facts["per_class"].values())) / (n * m)
        for column in dict.fromkeys(column for _, column in values):
            if all((row, column) in values for row in rows):
                triple = Triple(*(values[row, column] for row in rows))
                found.append(PrintedTriple(task, column, triple, m, density))
    return found


def _rows_of_triples(experiment: Experiment) -> Iterator[tuple[str, list[str]]]:
    """Yield each task whose labels are facts, and the rows of the three measures on a domain."""
    by_data = dict[tuple[str, str | None], dict[str, str]]()
    for name, row in experiment.spec.rows.items():
        task = row.data()
        if not task.changed and "classes" in datasets.facts(task.base):
            measure = TITLES[experiment.metric(name)].casefold()
            by_data.setdefault((task.base, row.domain), {})[measure] = name
    for (name, _), rows in by_data.items():
        if rows.keys() >= {*TRIPLE}:
            yield name, [rows[measure] for measure in TRIPLE]


def audits(names: Iterable[str] = ()) -> dict[str, Audit]:
    """Return the findings about tables by name; without names, about all published tables."""
    published = _published()
    tables = {name: printed(experiments.load(name)) for name in dict.fromkeys(names or published)}
    if names:  # of others only those are compared that may have an equal column, see `_equal`
        rows = {cell.row for table in tables.values() for cell in table.cells}
        published = [name for name in published if name in tables or _prints(name, rows)]
        tables |= {n: printed(experiments.load(n)) for n in published if n not in tables}
    return {
        name: audit(
            tables[name],
            {
                f"{other}: {column}": [c for c in tables[other].cells if c.column == column]
                for other in published if other != name
                for column in dict.fromkeys(c.column for c in tables[other].cells)
            },
        )
        for name in names or published
    }  # fmt: skip


def _published() -> list[str]:
    """Return the names of the papers' tables."""
    return [*chain(*experiments.papers().values())]


def _prints(name: str, rows: set[str]) -> bool:
    """Return True if a table prints at least MIN_ROWS of some rows; its file is not validated."""
    data = experiments.extended(strict_yaml.load(experiments.path(name))[0])
    return len(rows & data.get("published", {}).keys()) >= MIN_ROWS


def findings_table(name: str, findings: Iterable[Finding]) -> Table:
    """Return findings as a table."""
    rows = []
    for finding in findings:
        counts = dict.fromkeys((finding.documents or {}).values())
        documents = ", ".join(map(str, counts)) if len(counts) < 4 else "by row"
        p = "" if math.isnan(finding.p) else f"{finding.p:.1g}"
        status: str = finding.status
        if status == "impossible":
            status = f"{len(finding.denied)} of {len(finding.rows)} impossible"
            status += f", {finding.halves} of them by a half" if finding.halves else ""
        elif finding.denied:
            status += f", but for {counted(len(finding.denied), 'value')}"
        cells = [f"{len(finding.rows)}", status, finding.source, documents, p]
        rows.append([finding.column, *cells, "; ".join(finding.like)])
    heads = ["column", "rows", "digits say", "why, or whose documents", "documents", "p",
             "same values as"]  # fmt: skip
    return Table(f"{name}: audit of the printed accuracies", heads, rows)


def cells_table(name: str, cells: Iterable[CellFinding]) -> Table:
    """Return findings about cells as a table."""
    rows = []
    for cell in cells:
        k = "–".join(map(str, dict.fromkeys(cell.correct or ())))
        verdict: str = cell.verdict
        if cell.nearest:
            verdict += f"; nearest {' and '.join(cell.nearest)}"
        if cell.measure.casefold() not in SHARES:
            verdict += f": {cell.measure} is no share of documents"
        rows.append([
            cell.row,
            cell.column,
            cell.printed,
            f"{cell.documents or ''}",
            f"{'median of ' * cell.median}{cell.runs or ''}",
            f"k = {k}" if k else "",
            verdict,
            "" if math.isnan(cell.share) else f"{cell.share:.2g}",
            cell.deviation,
        ])  # fmt: skip
    heads = ["row", "column", "printed", "documents", "runs", "correct documents", "the value is",
             "chance", "the deviation is"]  # fmt: skip
    if not any(cell.deviation for cell in cells):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return Table(f"{name}: audit of each printed accuracy", heads, rows)


def averages_table(averages: Mapping[str, Iterable[AverageFinding]]) -> Table:
    """Return findings about averages, by table, as a table."""
    rows = [[name, *map(str, astuple(each))] for name, of in averages.items() for each in of]
    heads = ["table", "row", "column", "printed", "cells", "recomputed", "the average"]
    return Table("Printed averages and those of their cells", heads, rows)


def triples_table(found: Mapping[str, Iterable[TripleFinding]]) -> Table:
    """Return findings about triples, by table, as a table."""
    several = len(found) > 1
    rows = [
        [
            *[name] * several, *[each.set] * (not several), each.method,
            each.f1, each.accuracy, each.hamming, decimals(each.x, 3), decimals(each.y, 3),
            decimals(each.labels * each.y, 2), f"{each.labels}", decimals(each.density, 3),
            "" if each.least_density is None else decimals(each.least_density, 3), each.verdict,
        ]
        for name, of_table in found.items()
        for each in of_table
    ]  # fmt: skip
    heads = ["table" if several else "set", "method", "F1", "accuracy", "Hamming loss", "x", "y",
             "labels of a wrong document", "labels", "density", "density at least",
             "the three are"]  # fmt: skip
    return Table("Printed F1, accuracy and Hamming loss together", heads, rows)


def tables(name: str, audit: Audit, *, cells: bool) -> dict[str, Table]:
    """Return the tables of an audit that have rows, by the name of their explanation."""
    of_parts = {
        "audit": (audit.columns, findings_table(name, audit.columns)),
        "audit_cells": (audit.cells if cells else [], cells_table(name, audit.cells)),
        "averages": (audit.averages, averages_table({name: audit.averages})),
        "triples": (audit.triples, triples_table({name: audit.triples})),
    }
    return {part: table for part, (found, table) in of_parts.items() if found}


def compared_averages(audits: Mapping[str, Audit]) -> Section:
    """Return a section about printed averages."""
    verdicts = Counter(a.verdict for audit in audits.values() for a in audit.averages)
    other = {
        name: [average for average in audit.averages if average.verdict != "follows"]
        for name, audit in audits.items()
    }
    differ = verdicts["differs"]
    counts = (
        f"Of {verdicts.total()} printed averages {verdicts['follows']} follow from the printed "
        f"cells, {verdicts['follows by rounding']} follow by rounding, and {differ} "
        f"{'differs' if differ == 1 else 'differ'}."
    )
    blocks: list[Block] = [words("averages"), counts]
    blocks += [averages_table(other)] * any(other.values())
    return Section("Do printed averages follow from their cells?", blocks)


def compared_deviations(known: Mapping[str, Sequence[Cell]]) -> Section | None:
    """Return printed deviations beside ours, as a section of the page; None if there are none."""
    # The ratio of the variances is tested by a two-sided F test, with the value of the printed
    # deviation that is nearest to ours among those that are printed so. p is corrected for all
    # tests (Holm). Only cells of at least MIN_REPEATS stated and MIN_REPEATS finished runs count.
    from scipy.special import fdtr, fdtrc

    lines = []
    for name in _published():
        spec = experiments.load(name).spec
        if repeats := spec.published_repeats:
            about = {"table": name, "repeats": repeats.number}
            about["digits"] = 2 if spec.unit == "percent" else 3
            lines += [
                vars(cell) | about
                for cell in known.get(name, ())
                if cell.column in spec.published.get(cell.row, ())
                and cell.column not in repeats.unstated
                and not math.isnan(cell.published_std + cell.std)
                and min(repeats.number, cell.runs) >= MIN_REPEATS
            ]
    names = ["table", "digits", "row", "column", "published_std", "repeats", "std", "runs"]
    cells = pd.DataFrame(lines, columns=names)
    equal = cells["std"] < ROUNDING  # all runs gave the same result, of which F is not defined
    tested = cells[~equal].reset_index(drop=True)
    if tested.empty:
        return None
    ours, theirs, half = tested["std"], tested["published_std"], 0.5 / 10.0 ** tested["digits"]
    ratio = ours / ours.clip(theirs - half, theirs + half)
    test = tested["runs"] - 1, tested["repeats"] - 1, ratio**2
    p = pd.Series(2 * np.minimum(fdtrc(*test), fdtr(*test))).sort_values(kind="stable")
    tested["p"] = (p * np.arange(len(p), 0, -1)).cummax().clip(upper=1)
    rows = []
    for line in tested[tested["p"] <= ALPHA].itertuples():
        printed, ours = (f"{std:.{line.digits}f}" for std in (line.published_std, line.std))
        times = f"{line.std / line.published_std:.2g}" if line.published_std else "∞"
        numbers = (printed, f"{line.repeats}", ours, f"{line.runs}", times)
        rows.append([line.table, line.row, line.column, *numbers, f"{line.p:.1g}"])
    smaller = sum(float(row[5]) > float(row[3]) for row in rows)
    count = (
        f"{len(tested)} cells are tested; {counted(len(rows), 'cell')} "
        f"{'differs' if len(rows) == 1 else 'differ'}: in {smaller} the printed deviation is "
        f"smaller than ours, in {len(rows) - smaller} larger. In {equal.sum()} more cells all our "
        "runs are equal."
    )
    heads = ["table", "row", "column", "printed", "repeats", "ours", "runs", "ours / printed", "p"]
    table = Table("Printed deviations that differ from ours", heads, rows)
    blocks: list[Block] = [words("deviations"), count, *[table] * bool(rows)]
    return Section("Printed deviations beside ours", blocks)


def misfits(audits: Mapping[str, Audit]) -> Section:
    """Return a section of printed deviations that do not fit their means."""
    cells = [
        (name, cell)
        for name, audit in audits.items()
        for cell in audit.cells
        if cell.deviation and not cell.deviation.startswith("not checked")
    ]
    rows = [
        [name, cell.row, cell.column, cell.printed, f"{cell.documents or ''}", cell.deviation]
        for name, cell in cells
        if cell.deviation != "possible"
    ]
    of_means = sum(cell.verdict == "impossible" for _, cell in cells)
    heads = ["table", "row", "column", "printed", "documents", "the deviation is"]
    counts = (
        f"{len(cells)} printed deviations of accuracies are tested; {len(rows)} do not fit. The "
        f"mean itself is impossible in {of_means}, so it is of other documents or repeats."
    )
    table = Table("Printed deviations that do not fit", heads, rows)
    blocks: list[Block] = [words("grimmer"), counts, *[table] * bool(rows)]
    return Section("Do printed deviations fit their means?", blocks)


def plane(known: Mapping[str, Sequence[Cell]]) -> pd.DataFrame:
    """Return the triples of published tables and those of our runs, with columns PLANE."""
    # `known`: Cells by experiment. A triple that is in two tables of a paper is taken once.
    found = []
    for name in _published():
        experiment = experiments.load(name)
        spec = experiment.spec
        ours = {(cell.row, cell.column): cell.mean for cell in known.get(name, ())}
        theirs = {
            (row, column): value if isinstance(value, float) else value[0]
            for row, of_row in spec.published.items()
            for column, value in of_row.items()
        }
        for task, rows in _rows_of_triples(experiment):
            labels = len(datasets.facts(task)["classes"])
            for column, of in spec.columns.items():
                own = spec.columns[of.reading_of or column].kind in ("own", "variant")
                sources = {"printed, the paper's methods" if own else "printed, others": theirs}
                if own and not of.reading_of:
                    sources["ours, as written"] = ours
                elif own and column in spec.declared:
                    sources["ours, as we read it"] = ours
                elif of.model == "linear-svm":
                    sources["ours, linear SVM"] = ours
                for source, values in sources.items():
                    triple = [values.get((row, column), math.nan) for row in rows]
                    if not any(map(math.isnan, triple)):
                        x, y = triples.position(*triple)
                        title = f"{column} on {task}, {source}: x {x:.3f}, y {y:.3f}"
                        found.append((source, task, labels, *triple, x, y, title))
    return pd.DataFrame(found, columns=PLANE).drop_duplicates(PLANE[:-1], ignore_index=True)


def means_table(plane: pd.DataFrame) -> Table:
    """Return mean and deviation of x, y and F1 of each source."""
    rows = []
    for source, of in plane.groupby("source", sort=False):
        texts = [f"{of[v].mean():.3f} ± {of[v].std():.3f}" for v in ("x", "y", "f1")]
        wrong = of["labels"] * of["y"]
        counts = f"{wrong.mean():.1f} ({wrong.min():.1f} to {wrong.max():.1f})"
        rows.append([str(source), f"{len(of)}", *texts, counts])
    heads = ["triples", "number", "x", "y", "F1", "labels of a wrong document"]
    return Table("Printed triples and ours", heads, rows)


def together(audits: Mapping[str, Audit], plane: pd.DataFrame) -> Section:
    """Return a section about printed F1, accuracy and Hamming loss together."""
    of_tables = {name: audit.triples for name, audit in audits.items() if audit.triples}
    verdicts = Counter(triple.verdict for found in of_tables.values() for triple in found)
    counts = f"Of {verdicts.total()} printed triples " + ", ".join(
        f"{n} {'is' if n == 1 else 'are'} {verdict}" for verdict, n in verdicts.items()
    )
    return Section(
        "Can F1, accuracy and Hamming loss be of the same documents?",
        [
            words("triples"),
            f"{counts}.",
            Picture(pictures.PLANE, "x and y of the printed triples and of ours"),
            means_table(plane),
            triples_table(of_tables),
        ],
    )


def page(known: Mapping[str, Sequence[Cell]], triples_plane: pd.DataFrame) -> str:
    """Return the page of all published tables in Markdown."""
    # `triples_plane`: See `plane`.
    every = audits()
    sections = [
        Section(name, [findings_table(name, audit.columns)])
        for name, audit in every.items()
        if audit.columns
    ]
    title = "what the digits of printed accuracies say"
    parts = (
        compared_averages(every),
        misfits(every),
        compared_deviations(known),
        together(every, triples_plane),
    )
    several = (
        "The accuracy of documents with several labels is no share of documents. So the tables of "
        "HiMLS have a part of their own, the last one."
    )
    blocks: list[Block] = [words("audit"), several, *sections, *filter(None, parts)]
    return markdown(Page("Audit", title, blocks))
