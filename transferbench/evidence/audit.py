"""Audit of printed numbers: which are single runs, on how many documents, and which are copied.

An accuracy of one run on n documents is k/n, so its printed digits allow few n. Of random values
with two decimals of a per cent, n documents allow a share of about n / 10,000. If the documents of
its rows allow the values of a column more often than by chance, the column is a single run on these
documents. It is not if they deny more than one value in seven; fewer may be misprints. If more than
one value in ten ends in 0, the values were printed with fewer digits, so they are copied.
"""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, Self

import numpy as np

from transferbench import datasets, experiments
from transferbench.errors import UserError
from transferbench.evidence.page import Page, Section, Table, markdown, words
from transferbench.experiments.experiment import Experiment
from transferbench.userdata.documents import check_files
from transferbench.userdata.tables import read_table

#: "mean": a deviation is printed; "other": a mean (of repeats, folds or tasks), or other documents.
Status = Literal["single run", "mean", "other", "copied", "unclear"]
#: Significance level; divided by the number of sources that are tried for a column.
LEVEL = 0.01
#: Largest p of a column whose documents are known from the others.
LIKELY = 0.05
#: The same as LEVEL for last digits, of which every column is tested.
COPIED_LEVEL = 0.001
#: Rows that a finding needs.
MIN_ROWS = 3
#: Limits of a user's file: its size, and the form of its keys, numbers of documents and values.
MAX_BYTES = 2**24
KEYS = ("row", "documents")
DOCUMENTS = re.compile("[1-9][0-9]{0,5}")
PER_CENT = re.compile(r"(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)")


@dataclass(frozen=True)
class PrintedColumn:
    """Printed accuracies of one method.

    Parameters
    ----------
    name
        Name of the method.
    values
        The accuracies by row, as fractions.
    decimals
        Number of decimals of the fractions.
    deviations
        Rows that have a printed standard deviation above 0.
    fixed
        True for a method that gives the same result in every run.
    """

    name: str
    values: Mapping[str, float]
    decimals: int = 4
    deviations: frozenset[str] = frozenset()
    fixed: bool = False

    def without(self, rows: Container[str]) -> Self:
        """Return the column without some rows."""
        left = {row: value for row, value in self.values.items() if row not in rows}
        return replace(self, values=left)


@dataclass(frozen=True)
class Finding:
    """A conclusion about some rows of a column, from the digits of its values.

    Parameters
    ----------
    column
        Name of the method.
    status
        The conclusion.
    rows
        The rows.
    source
        Source of the numbers of documents, or why there is none.
    documents
        Number of documents by row.
    denied
        Rows whose values these numbers do not allow.
    p
        Probability that random digits would fit, or end in 0, as often.
    like
        Columns of other tables with the same values.
    """

    column: str
    status: Status
    rows: tuple[str, ...]
    source: str = ""
    documents: Mapping[str, int] | None = None
    denied: tuple[str, ...] = ()
    p: float = math.nan
    like: tuple[str, ...] = ()


@cache
def printable(documents: int, decimals: int) -> frozenset[str]:
    """Return k/documents in per cent for every k, as C and Python print k/n·100 and 100·k/n."""
    digits, n = decimals - 2, documents
    return frozenset(
        f"{value:.{digits}f}" for k in range(n + 1) for value in (k / n * 100, 100 * k / n)
    )


def allows(documents: int, value: float, decimals: int) -> bool:
    """Return True if an accuracy on this many documents can be printed as the value."""
    return f"{value * 100:.{decimals - 2}f}" in printable(documents, decimals)


def chance(documents: int, decimals: int) -> float:
    """Return the share of all values with these decimals that a number of documents allows."""
    return float(min(1.0, len(printable(documents, decimals)) / 10**decimals))


def ends_in_zero(documents: int, decimals: int) -> float:
    """Return the share of values that end in 0, among those that a number of documents allows."""
    values = printable(documents, decimals)
    return sum(value.endswith("0") for value in values) / len(values)


def p_of_fits(fits: int, shares: Sequence[float]) -> float:
    """Return the probability that `fits` or more of independent events occur.

    Parameters
    ----------
    fits
        Number of events.
    shares
        Probability of each event.
    """
    counts = np.ones(1)
    for share in shares:
        counts = np.convolve(counts, [1 - share, share])
    return float(counts[fits:].sum())


def audit(
    columns: Iterable[PrintedColumn],
    sizes: Mapping[str, Mapping[str, int]],
    others: Iterable[PrintedColumn] = (),
) -> list[Finding]:
    """Return the findings about the columns of one table.

    The columns of a table share their documents. So the source that fits all columns best is
    chosen, and each column is judged by it. Rows that this source lacks are judged by the next one.

    Parameters
    ----------
    columns
        The columns.
    sizes
        Numbers of scored documents that may have been used: source → row → number.
    others
        Columns of other tables, to find columns with the same values.
    """
    findings, left = [], []
    for column in columns:
        short, shares = [], []
        for row, value in column.values.items():
            if round(value * 10**column.decimals) % 10 == 0:
                short.append(row)
            # Of values of unknown documents, one in ten ends in 0.
            tried = [of_rows[row] for of_rows in sizes.values() if row in of_rows]
            shares.append(max([0.1, *(ends_in_zero(n, column.decimals) for n in tried)]))
        p = p_of_fits(len(short), shares)
        if len(short) >= MIN_ROWS and p <= COPIED_LEVEL:
            findings.append(Finding(column.name, "copied", tuple(short), "a digit less", p=p))
            column = column.without(short)
        left.append(column)
    known = list(others)
    while columns := [column for column in left if column.values]:
        source = _best_source(columns, sizes)
        documents = sizes.get(source, {})
        rows = {row for column in columns for row in column.values} & documents.keys()
        for column in columns:
            of_rows = {r: v for r, v in column.values.items() if not rows or r in rows}
            same = tuple(other.name for other in known if _equal(of_rows, other.values))
            if of_rows:
                findings.append(_judge(column, of_rows, source, documents, same))
        left = [column.without(rows or column.values) for column in columns]
    return findings


def _best_source(columns: Sequence[PrintedColumn], sizes: Mapping[str, Mapping[str, int]]) -> str:
    """Return the source whose numbers fit all columns more often than by chance, "" if none does.

    If none does, return the only source that allows every value of the fixed methods, provided that
    this is unlikely by chance: a fixed method gives k/n of the right documents in every run.
    """
    p = {source: _p(columns, documents)[1] * len(sizes) for source, documents in sizes.items()}
    likely = min(p, key=p.__getitem__, default="")
    if likely and p[likely] <= LEVEL:
        return likely
    fixed = [column for column in columns if column.fixed]
    by_source = {source: _p(fixed, documents) for source, documents in sizes.items()}
    fitting = [source for source, (denied, p) in by_source.items() if not denied and p <= LEVEL]
    return fitting[0] if len(fitting) == 1 else ""


def _p(columns: Sequence[PrintedColumn], documents: Mapping[str, int]) -> tuple[int, float]:
    """Return the number of denied values, and the probability of as many fits by chance."""
    printed = [
        (value, documents[row], column.decimals)
        for column in columns
        for row, value in column.values.items()
        if row in documents and row not in column.deviations
    ]
    if len(printed) < MIN_ROWS:
        return 0, 1.0
    fits = sum(allows(n, value, decimals) for value, n, decimals in printed)
    shares = [chance(n, decimals) for _, n, decimals in printed]
    return len(printed) - fits, p_of_fits(fits, shares)


def _judge(
    column: PrintedColumn,
    values: Mapping[str, float],
    source: str,
    documents: Mapping[str, int],
    same: tuple[str, ...],
) -> Finding:
    if column.deviations.issuperset(values):
        return Finding(column.name, "mean", tuple(values), "a deviation is printed", like=same)
    values = {row: value for row, value in values.items() if row not in column.deviations}
    if not source:
        return Finding(column.name, "unclear", tuple(values), "no numbers fit all", like=same)
    denied = tuple(r for r, v in values.items() if not allows(documents[r], v, column.decimals))
    shares = [chance(documents[row], column.decimals) for row in values]
    p = p_of_fits(len(values) - len(denied), shares)
    status: Status = "other"
    if len(denied) <= 0.15 * len(values):
        status = "single run" if len(values) >= MIN_ROWS and p <= LIKELY else "unclear"
    used = {row: documents[row] for row in values}
    return Finding(column.name, status, tuple(values), source, used, denied, p, same)


def _equal(values: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Return True if at least MIN_ROWS rows are in both, all with the same value."""
    shared = values.keys() & others.keys()
    return len(shared) >= MIN_ROWS and all(abs(values[r] - others[r]) < 1e-9 for r in shared)


def printed(experiment: Experiment) -> list[PrintedColumn]:
    """Return the accuracies that an experiment's paper prints, by method."""
    spec, scale = experiment.spec, 100 if experiment.spec.unit == "percent" else 1
    columns: dict[str, dict[str, float]] = {}
    deviations: dict[str, set[str]] = {}
    for row in spec.published:
        for name in spec.published[row] if experiment.metric(row) == "accuracy" else ():
            mean, std = experiment.published(row, name) or (math.nan, None)
            columns.setdefault(name, {})[row] = mean / scale
            if std:  # a deviation of 0 is of equal runs: the value is that of a single one
                deviations.setdefault(name, set()).add(row)
    decimals = 4 if scale == 100 else 3
    fixed = {planned.column for planned in experiment.runs(1) if planned.run.seed is None}
    return [
        PrintedColumn(name, values, decimals, frozenset(deviations.get(name, ())), name in fixed)
        for name, values in columns.items()
    ]


def read_columns(path: Path) -> tuple[list[PrintedColumn], dict[str, int]]:
    """Return the columns of a user's table, and the documents by row.

    Raises
    ------
    UserError
        If the table has another form than `transferbench audit` describes; with the line.
    """
    check_files([path], MAX_BYTES)
    documents: dict[str, int] = {}
    methods: dict[str, dict[str, str]] = {}
    frame = read_table(path).astype(str)
    frame.columns = [c.casefold() if c.casefold() in KEYS else c for c in frame]
    if not frame.columns.is_unique:
        raise UserError(f"{path}:1: expected row, documents and each method once.")
    for line, values in frame.to_dict("index").items():
        row, number = values.pop("row", ""), values.pop("documents", "")
        texts = {name: text.strip() for name, text in values.items() if text.strip()}
        known = DOCUMENTS.fullmatch(number) and row not in documents
        if not (known and row and all(map(PER_CENT.fullmatch, texts.values()))):
            form = "row (each once), documents (1 to 999,999) and per cent of each method"
            raise UserError(f"{path}:{line}: expected {form}, with at most 4 decimals.")
        documents[row] = int(number)
        for name, text in texts.items():
            methods.setdefault(name, {})[row] = text
    if not methods:
        raise UserError(f"{path}: no per cent in it; expected a column for each method.")
    digits = max(len(t.partition(".")[2]) for texts in methods.values() for t in texts.values())
    return [
        PrintedColumn(name, {row: float(text) / 100 for row, text in texts.items()}, digits + 2)
        for name, texts in methods.items()
    ], documents


def documents_by_form(experiment: Experiment) -> dict[str, dict[str, int]]:
    """Return the numbers of scored documents of a table's tasks: form → row → number.

    A form is a collection of tasks or a version of it: `gtl/…-bydate` and `dtl/…-19997` are forms
    of one task.
    """
    forms: dict[str, dict[str, int]] = {}
    for row, spec in experiment.spec.rows.items():
        name = datasets.FORM.sub("", spec.data().base.split("/")[-1])
        for task in datasets.tasks() if row in experiment.spec.published else ():
            collection, _, its_name = task.rpartition("/")
            counts = datasets.facts(task).get("documents", {})
            scored = [n for domain, n in counts.items() if spec.domain in (domain, None)]
            if spec.domain is None:
                scored = [n for domain, n in counts.items() if not domain.startswith("source")]
            if datasets.FORM.sub("", its_name) == name and scored:
                form = (collection or task) + its_name.removeprefix(name)
                forms.setdefault(form, {})[row] = sum(scored)
    return forms


def findings(names: Iterable[str] = ()) -> dict[str, list[Finding]]:
    """Return the findings about tables by name; without names, about all published tables."""
    published = [
        name for names_of_paper in experiments.papers().values() for name in names_of_paper
    ]
    loaded = {name: experiments.load(name) for name in {*published, *names}}
    columns = {name: printed(experiment) for name, experiment in loaded.items()}
    by_table = {}
    for name in names or published:
        others = (
            replace(column, name=f"{other}: {column.name}")
            for other in published if other != name for column in columns[other]
        )  # fmt: skip
        by_table[name] = audit(columns[name], documents_by_form(loaded[name]), others)
    return by_table


def findings_table(name: str, findings: Iterable[Finding]) -> Table:
    """Return findings as a table."""
    rows = []
    for finding in findings:
        counts = dict.fromkeys((finding.documents or {}).values())
        documents = ", ".join(map(str, counts)) if len(counts) < 4 else "by row"
        p = "" if math.isnan(finding.p) else f"{finding.p:.1g}"
        denied = f"{len(finding.denied)}" if finding.documents else ""
        cells = [f"{len(finding.rows)}", finding.status, finding.source, documents, denied, p]
        rows.append([finding.column, *cells, "; ".join(finding.like)])
    heads = ["column", "rows", "digits say", "why, or whose documents", "documents",
             "values denied", "p", "same values as"]  # fmt: skip
    return Table(f"{name}: audit of the printed accuracies", heads, rows)


def page() -> str:
    """Return the page of all published tables in Markdown."""
    sections = [
        Section(name, [findings_table(name, of_table)])
        for name, of_table in findings().items()
        if of_table
    ]
    title = "what the digits of printed accuracies say"
    return markdown(Page("Audit", title, [words("audit"), *sections]))
