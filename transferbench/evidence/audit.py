"""Audit of printed numbers: which are single runs, on how many documents, and which are copied.

An accuracy of one run on n documents is k/n, so its printed digits allow few n: of random values
with two decimals of a per cent, n documents allow a share of about n / 10,000. If every value of a
column is allowed, by a number of documents for each row, more often than chance would have it, then
the column is a single run on these documents; if more than a few are not allowed (one in seven may
be a misprint), it is not. A column of values whose last digit is 0 more often than one in ten was
printed with fewer digits, so it is from elsewhere.
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
from transferbench.userdata.readers import read_table

#: "mean": a deviation is printed; "other": a mean (of repeats, folds or tasks), or other documents.
Status = Literal["single run", "mean", "other", "copied", "unclear"]
#: Significance level, shared by the numbers of documents that are tried for a column.
LEVEL = 0.01
#: Largest p of a column whose documents are known from the others.
LIKELY = 0.05
#: The same as LEVEL for last digits, of which every column is tested.
COPIED_LEVEL = 0.001
#: Rows that a finding needs.
MIN_ROWS = 3
#: Of a user's file: its size, documents of a row, and a printed value.
MAX_BYTES = 2**24
KEYS = ("row", "documents")
DOCUMENTS = re.compile("[1-9][0-9]{0,5}")
PER_CENT = re.compile(r"(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)")


@dataclass(frozen=True)
class Column:
    """Printed accuracies of one method, as fractions, by row, with the decimals of the fraction.

    deviations : rows that have a printed standard deviation above 0.
    fixed      : True for a method that gives the same result in every run.
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

    source    : whose numbers of documents were tried, or why none was.
    documents : number of documents by row.
    denied    : rows whose values these numbers do not allow.
    p         : probability that random digits would fit, or end in 0, as often.
    like      : columns of other tables with the same values.
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
    """Return all per cent of k/documents as C and Python print them, from k/n·100 or 100·k/n."""
    digits, n = decimals - 2, documents
    return frozenset(
        f"{value:.{digits}f}" for k in range(n + 1) for value in (k / n * 100, 100 * k / n)
    )


def allows(documents: int, value: float, decimals: int) -> bool:
    """Return True if an accuracy on this many documents can be printed as the value."""
    return f"{value * 100:.{decimals - 2}f}" in printable(documents, decimals)


def chance(documents: int, decimals: int) -> float:
    """Return the share of all values with these decimals that so many documents allow."""
    return float(min(1.0, len(printable(documents, decimals)) / 10**decimals))


def ends_in_zero(documents: int, decimals: int) -> float:
    """Return the share of the values that so many documents allow whose last digit is 0."""
    values = printable(documents, decimals)
    return sum(value.endswith("0") for value in values) / len(values)


def p_of_fits(fits: int, shares: Sequence[float]) -> float:
    """Return the probability that at least so many of independent events of these shares occur."""
    counts = np.ones(1)
    for share in shares:
        counts = np.convolve(counts, [1 - share, share])
    return float(counts[fits:].sum())


def audit(
    columns: Iterable[Column], sizes: Mapping[str, Mapping[str, int]], others: Iterable[Column] = ()
) -> list[Finding]:
    """Return the findings about the columns of one table.

    The columns of a table share their documents: of the sources, the one that fits all columns best
    is taken, and each column is then judged by it; the same again for rows that it does not have.

    Parameters
    ----------
    sizes
        Numbers of scored documents that may have been used: source → row → number.
    others
        Columns of other tables, by whose values copies are found.
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


def _best_source(columns: Sequence[Column], sizes: Mapping[str, Mapping[str, int]]) -> str:
    """Return the source whose numbers fit all columns more often than chance, "" if none does.

    Without one, return the only source that allows every value of the fixed methods, if so many
    values are unlikely to fit by chance: one run of a fixed method is k/n of the right documents.
    """
    p = {source: _p(columns, documents)[1] * len(sizes) for source, documents in sizes.items()}
    likely = min(p, key=p.__getitem__, default="")
    if likely and p[likely] <= LEVEL:
        return likely
    fixed = [column for column in columns if column.fixed]
    found = {source: _p(fixed, documents) for source, documents in sizes.items()}
    left = [source for source, (denied, p) in found.items() if not denied and p <= LEVEL]
    return left[0] if len(left) == 1 else ""


def _p(columns: Sequence[Column], documents: Mapping[str, int]) -> tuple[int, float]:
    """Return how many values are denied, and the probability of so many fits."""
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
    column: Column,
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
    """True if at least MIN_ROWS rows are in both, all with the same value."""
    shared = values.keys() & others.keys()
    return len(shared) >= MIN_ROWS and all(abs(values[r] - others[r]) < 1e-9 for r in shared)


def printed(experiment: Experiment) -> list[Column]:
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
        Column(name, values, decimals, frozenset(deviations.get(name, ())), name in fixed)
        for name, values in columns.items()
    ]


def read_columns(path: Path) -> tuple[list[Column], dict[str, int]]:
    """Return the columns of a user's table, and the documents by row.

    Raise UserError, with the line at fault, for another form than `transferbench audit` describes.
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
        Column(name, {row: float(text) / 100 for row, text in texts.items()}, digits + 2)
        for name, texts in methods.items()
    ], documents


def documents_by_form(experiment: Experiment) -> dict[str, dict[str, int]]:
    """Return the numbers of scored documents of a table's tasks, in every form that is known here.

    A form is a collection or a cut of it: `gtl/…-bydate` and `dtl/…-19997` are forms of one task.
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
    """Return what the digits of tables say by their name; without names, of all published ones."""
    published = [name for of_paper in experiments.papers().values() for name in of_paper]
    loaded = {name: experiments.load(name) for name in {*published, *names}}
    columns = {name: printed(experiment) for name, experiment in loaded.items()}
    found = {}
    for name in names or published:
        others = (
            replace(column, name=f"{other}: {column.name}")
            for other in published if other != name for column in columns[other]
        )  # fmt: skip
        found[name] = audit(columns[name], documents_by_form(loaded[name]), others)
    return found


def table(name: str, findings: Iterable[Finding]) -> Table:
    """Return findings as a table."""
    rows = []
    for each in findings:
        counts = dict.fromkeys((each.documents or {}).values())
        documents = ", ".join(map(str, counts)) if len(counts) < 4 else "by row"
        p = "" if math.isnan(each.p) else f"{each.p:.1g}"
        denied = f"{len(each.denied)}" if each.documents else ""
        cells = [f"{len(each.rows)}", each.status, each.source, documents, denied, p]
        rows.append([each.column, *cells, "; ".join(each.like)])
    heads = ["column", "rows", "digits say", "why, or whose documents", "documents",
             "values denied", "p", "same values as"]  # fmt: skip
    return Table(f"{name}: audit of the printed accuracies", heads, rows)


def page() -> str:
    """Return the page of all published tables in Markdown."""
    named = findings().items()
    sections = [Section(name, [table(name, found)]) for name, found in named if found]
    title = "what the digits of printed accuracies say"
    return markdown(Page("Audit", title, [words("audit"), *sections]))
