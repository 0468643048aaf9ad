"""Audit of printed numbers: which are single runs, on how many documents, and which are copied.

This is the GRIM test (Brown and Heathers 2017, see `grim`) for tables of accuracies. An accuracy of
one run on n documents is k/n, so its printed digits allow few n. Of random values with two decimals
of a per cent, n documents allow a share of about n / 10,000; from n = 10,000 on they allow every
value, and the test has no power.

The tables of our papers are judged by column, since it is not known which documents were scored.
Values must be printed as C and Python print them, which is stricter than for a user's table: there
a half may be rounded either way. If the documents of its rows allow the values of a column more
often than by chance, the column is a single run on these documents. It is not if they deny more
than 15 per cent of the values; fewer may be misprints. If more than one value in ten ends in 0, the
values were printed with fewer digits, so they are copied.

A user's table states its documents, so each cell is judged: `audit_stated` and `CellFinding`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from transferbench import datasets, experiments
from transferbench.evidence import grim
from transferbench.evidence.frame import Cell
from transferbench.evidence.grim import allows, correct, p_of_fits, printed_shares, shares
from transferbench.evidence.page import Block, Page, Section, Table, markdown, words
from transferbench.evidence.printed import (
    ALL,
    MAX_DOCUMENTS,
    MAX_RUNS,
    PrintedColumn,
    PrintedTable,
    per_cent_text,
)
from transferbench.experiments.experiment import Experiment
from transferbench.messages import counted
from transferbench.stats import ALPHA, ROUNDING

#: "mean": a deviation or several runs are stated; "other": a mean (of repeats, folds or tasks), or
#: other documents; "possible": the stated documents allow all values, but also most random ones.
Status = Literal["single run", "mean", "other", "copied", "possible", "unclear"]
#: "by a half": possible if a half is rounded otherwise than C and Python do.
CellVerdict = Literal[
    "any value is possible", "possible", "possible by a half", "impossible", "not checked"
]
#: Significance level; divided by the number of sources that are tried for a column.
LEVEL = 0.01
#: Largest p of a column whose documents are known, from the others or from the user.
LIKELY = 0.05
#: The same as LEVEL for last digits, of which every column is tested.
COPIED_LEVEL = 0.001
#: Rows that a finding needs, unless the documents are stated.
MIN_ROWS = 3
#: Largest share of values that may be misprints.
MISPRINTS = 0.15
#: Most decimals of a printed fraction.
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


def audit(
    columns: Iterable[PrintedColumn],
    sizes: Mapping[str, Mapping[str, int]],
    others: Iterable[PrintedColumn] = (),
) -> list[Finding]:
    """Return the findings about the columns of one table."""
    # The columns of a table share their documents. So the source that fits all columns best is
    # chosen, and each column is judged by it. Rows that this source lacks are judged by the next
    # one.
    findings, left = _copied(columns, sizes)
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


def _copied(
    columns: Iterable[PrintedColumn],
    sizes: Mapping[str, Mapping[str, int]],
    shares: Callable[[int, int], tuple[float, float]] = printed_shares,
) -> tuple[list[Finding], list[PrintedColumn]]:
    """Return findings about values with fewer digits, and the columns without them."""
    findings, left = [], []
    for column in columns:
        short, in_zero = [], []
        for row, value in column.values.items():
            if round(value * 10**column.decimals) % 10 == 0:
                short.append(row)
            # Of values of unknown documents, one in ten ends in 0.
            tried = [of_rows[row] for of_rows in sizes.values() if row in of_rows]
            in_zero.append(max([0.1, *(shares(n, column.decimals)[1] for n in tried)]))
        p = p_of_fits(len(short), in_zero)
        if len(short) >= MIN_ROWS and p <= COPIED_LEVEL and column.decimals > 2:
            findings.append(Finding(column.name, "copied", tuple(short), "a digit less", p=p))
            column = column.without(short)
        left.append(column)
    return findings, left


def _best_source(columns: Sequence[PrintedColumn], sizes: Mapping[str, Mapping[str, int]]) -> str:
    """Return the source whose numbers fit all columns more often than by chance, "" if none."""
    # If none does, return the only source that allows every value of the fixed methods, provided
    # that this is unlikely by chance: a fixed method gives k/n of the right documents in every run.
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
        (documents[row], value, column.decimals)
        for column in columns
        for row, value in column.values.items()
        if row in documents and row not in column.deviations
    ]
    if len(printed) < MIN_ROWS:
        return 0, 1.0
    fits = sum(allows(*each) for each in printed)
    by_chance = [printed_shares(n, decimals)[0] for n, _, decimals in printed]
    return len(printed) - fits, p_of_fits(fits, by_chance)


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
    by_chance = [printed_shares(documents[row], column.decimals)[0] for row in values]
    p = p_of_fits(len(values) - len(denied), by_chance)
    status: Status = "other"
    if len(denied) <= MISPRINTS * len(values):
        status = "single run" if len(values) >= MIN_ROWS and p <= LIKELY else "unclear"
    used = {row: documents[row] for row in values}
    return Finding(column.name, status, tuple(values), source, used, denied, p, same)


def _equal(values: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Return True if at least MIN_ROWS rows are in both, all with the same value."""
    shared = values.keys() & others.keys()
    return len(shared) >= MIN_ROWS and all(abs(values[r] - others[r]) < 1e-9 for r in shared)


@dataclass(frozen=True)
class CellFinding:
    """One printed accuracy, and the numbers of documents that its digits allow."""

    row: str
    column: str
    #: Value and deviation in per cent, as they are printed.
    printed: str
    #: Number of scored documents; None if it is not known.
    documents: int | None
    #: Number of runs that the value is the mean of; None if it is a mean of an unknown number.
    runs: int | None
    #: The conclusion about the value.
    verdict: CellVerdict
    #: Smallest and largest number of correct documents, over all runs; None if there is none.
    correct: tuple[int, int] | None = None
    #: Share of all values with these digits that the documents and runs allow.
    share: float = math.nan
    #: Next lower and next higher possible values, if this one is impossible.
    nearest: tuple[str, ...] = ()
    #: The conclusion about the deviation; empty without one.
    deviation: str = ""


def cell_finding(
    column: PrintedColumn, row: str, documents: int | None, runs: int | None
) -> CellFinding:
    """Return what the digits of a printed accuracy allow."""
    # `documents`: Number of scored documents in each run; None if it is not known.
    # `runs`: Stated number of runs that the value is the mean of; None if it is not stated. Then a
    # value without a deviation is taken as that of one run.
    units, decimals = column.units(row)
    spread = column.spreads.get(row)
    text = per_cent_text(units, decimals) + (f" ± {per_cent_text(*spread)}" if spread else "")
    if runs is None and (not spread or _is_of_equal_runs(documents, spread)):
        runs = 1
    deviation = ""
    if spread and runs is None:
        deviation = "not checked: number of runs not stated"
        if (spread[0] - 0.5) / 10 ** spread[1] > (
            most := grim.largest_deviation((units, decimals))
        ):
            deviation = f"too large: at most {most * 100:.2f} for any number of runs"
    elif spread and documents and runs and (runs > 1 or spread[0]):
        deviation = _deviation_text(documents, runs, (units, decimals), spread)
    if documents is None or runs is None:
        return CellFinding(
            row, column.name, text, documents, runs, "not checked", deviation=deviation
        )
    n = documents * runs
    right, share = correct(n, units, decimals), shares(n, decimals)[0]
    verdict: CellVerdict = "any value is possible" if share >= 1 else "possible"
    nearest: tuple[str, ...] = ()
    if not right:
        verdict = "impossible"
        near = grim.nearest(n, units, decimals)
        nearest = tuple(per_cent_text(value, decimals) for value in near)
    # Of three k in a row the middle one is no half.
    elif len(right) < 3 and not any(
        f"{value:.{decimals - 2}f}" == per_cent_text(units, decimals)
        for k in right
        for value in (k / n * 100, 100 * k / n)
    ):
        verdict = "possible by a half"
    counts = (right[0], right[-1]) if right else None
    return CellFinding(
        row, column.name, text, documents, runs, verdict, counts, share, nearest, deviation
    )


def _is_of_equal_runs(documents: int | None, spread: tuple[int, int]) -> bool:
    """Return True if a deviation is so near to 0 that any number of runs must be equal."""
    # If one of r runs has one correct document more, their deviation is 1/(n √r).
    units, decimals = spread
    least = 1 / ((documents or MAX_DOCUMENTS) * math.sqrt(MAX_RUNS))
    return units == 0 and 0.5 / 10**decimals < least


def _deviation_text(
    documents: int, runs: int, mean: tuple[int, int], spread: tuple[int, int]
) -> str:
    """Return the conclusion about a deviation, in words."""
    fit = grim.fit_deviation(documents, runs, mean, spread)
    words_of_verdicts = {
        "possible": "possible",
        "too large": f"too large: at most {fit.high * 100:.{spread[1] - 1}f} of {runs} runs",
        "too small": f"too small: at least {fit.low * 100:.{spread[1] - 1}f} of {runs} runs",
        "impossible": f"impossible: no {runs} runs give it",
        "one run": "impossible: one run has no deviation",
        "mean": "of an impossible mean",
    }
    return words_of_verdicts[fit.verdict]


def audit_stated(table: PrintedTable) -> tuple[list[Finding], list[CellFinding]]:
    """Return the findings about the columns and the cells of a table that states its documents."""
    # A column is a single run (or a mean of the stated runs) if its documents allow its values, and
    # as many random values with probability of at most LIKELY. It is "possible" if this is
    # likelier: many documents allow most values, so digits cannot decide. The last finding is about
    # all columns together.
    findings, left = _copied(table.columns, {"stated": table.documents}, shares)
    cells = [
        cell_finding(column, row, table.documents[row], table.runs.get(row))
        for column in table.columns
        for row in column.values
    ]
    judged = {column.name: set(column.values) for column in left}
    of_columns = [
        [cell for cell in cells if cell.column == name and cell.row in rows]
        for name, rows in judged.items()
    ]
    findings += [_judge_cells(each[0].column, each) for each in of_columns if each]
    together = [cell for each in of_columns for cell in each]
    if len(table.columns) > 1 and together:
        findings.append(_judge_cells(ALL, together))
    return findings, cells


def _judge_cells(name: str, cells: Sequence[CellFinding]) -> Finding:
    """Return the finding about cells whose documents are stated."""

    def label(cell: CellFinding) -> str:
        return cell.row if cell.column == name else f"{cell.column}, {cell.row}"

    checked = [cell for cell in cells if cell.verdict != "not checked"]
    if not checked:
        return Finding(
            name, "mean", tuple(map(label, cells)), "a deviation without runs is printed"
        )
    denied = tuple(label(cell) for cell in checked if cell.verdict == "impossible")
    p = p_of_fits(len(checked) - len(denied), [cell.share for cell in checked])
    source = "stated"
    if all(cell.verdict == "any value is possible" for cell in checked):
        source = "stated: any value is possible"
    status: Status = "other"
    if len(denied) <= MISPRINTS * len(checked):
        several = any(cell.runs != 1 for cell in checked)
        status = "unclear" if denied else "possible"
        # Columns together may be of several papers, so they need more.
        if p <= (LEVEL if name == ALL else LIKELY):
            status = "mean" if several else "single run"
    documents = {cell.row: cell.documents for cell in checked if cell.documents}
    return Finding(name, status, tuple(map(label, checked)), source, documents, denied, p)


def printed(experiment: Experiment) -> list[PrintedColumn]:
    """Return the accuracies that an experiment's paper prints, by method."""
    spec, scale = experiment.spec, 100 if experiment.spec.unit == "percent" else 1
    columns: dict[str, dict[str, float]] = {}
    deviations: dict[str, dict[str, float]] = {}
    for row in spec.published:
        for name in spec.published[row] if experiment.metric(row) == "accuracy" else ():
            mean, std = experiment.published(row, name) or (math.nan, None)
            columns.setdefault(name, {})[row] = mean
            if std is not None:
                deviations.setdefault(name, {})[row] = std / scale
    decimals = 4 if scale == 100 else 3
    if experiment.name not in experiments.names():
        # A file does not say how many zeros are printed at the end.
        texts = [repr(value) for of_rows in columns.values() for value in of_rows.values()]
        digits = max((len(text.partition(".")[2]) for text in texts), default=0)
        decimals = min(MAX_DECIMALS, digits + (2 if scale == 100 else 0))
    columns = {n: {r: v / scale for r, v in of_rows.items()} for n, of_rows in columns.items()}
    fixed = {planned.column for planned in experiment.runs(1) if planned.run.seed is None}
    return [
        PrintedColumn(
            name,
            values,
            decimals,
            # A deviation of 0 is of equal runs: the value is that of a single one.
            frozenset(row for row, std in deviations.get(name, {}).items() if std),
            name in fixed,
            spreads={
                row: (round(std * 10**decimals), decimals)
                for row, std in deviations.get(name, {}).items()
            },
        )
        for name, values in columns.items()
    ]


def documents_by_form(experiment: Experiment) -> dict[str, dict[str, int]]:
    """Return the numbers of scored documents of a table's tasks: form → row → number."""
    # A form is a collection of tasks or a version of it: `gtl/…-bydate` and `dtl/…-19997` are forms
    # of one task.
    forms: dict[str, dict[str, int]] = {}
    for row, spec in experiment.spec.rows.items():
        name = datasets.FORM.sub("", spec.data().base.split("/")[-1])
        known = row in experiment.spec.published and spec.data().has_all_documents
        for task in datasets.tasks() if known else ():
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


def published_cells(name: str, findings: Iterable[Finding]) -> list[CellFinding]:
    """Return what the digits of each accuracy of a published table allow."""
    # The documents are those that a finding about the row names, as columns share their documents,
    # else those of the only form of its task. Values without a deviation are taken as single runs;
    # those with one are means of the repeats that the paper states.
    experiment = experiments.load(name)
    of_forms = documents_by_form(experiment).values()
    repeats = experiment.compared.published_repeats
    found = {row: n for finding in findings for row, n in (finding.documents or {}).items()}
    cells = []
    for column in printed(experiment):
        stated = repeats.number if repeats and column.name not in repeats.unstated else None
        for row in column.values:
            forms = {of_rows[row] for of_rows in of_forms if row in of_rows}
            only = next(iter(forms)) if len(forms) == 1 else None
            documents = found.get(row, only)
            runs = stated if row in column.spreads else None
            cells.append(cell_finding(column, row, documents, runs))
    return cells


def findings_table(name: str, findings: Iterable[Finding]) -> Table:
    """Return findings as a table."""
    rows = []
    for finding in findings:
        counts = dict.fromkeys((finding.documents or {}).values())
        documents = ", ".join(map(str, counts)) if len(counts) < 4 else "by row"
        p = "" if math.isnan(finding.p) else f"{finding.p:.1g}"
        denied = f"{len(finding.denied)}" if finding.documents else ""
        status: str = finding.status
        if finding.denied and status in ("single run", "mean"):
            status += f", but for {counted(len(finding.denied), 'value')}"
        cells = [f"{len(finding.rows)}", status, finding.source, documents, denied, p]
        rows.append([finding.column, *cells, "; ".join(finding.like)])
    heads = ["column", "rows", "digits say", "why, or whose documents", "documents",
             "impossible values", "p", "same values as"]  # fmt: skip
    return Table(f"{name}: audit of the printed accuracies", heads, rows)


def cells_table(name: str, cells: Iterable[CellFinding]) -> Table:
    """Return findings about cells as a table."""
    rows = []
    for cell in cells:
        low, high = cell.correct or (0, 0)
        k = f"{low}" if low == high else f"{low}–{high}"
        nearest = f"; nearest {' and '.join(cell.nearest)}" if cell.nearest else ""
        rows.append([
            cell.row,
            cell.column,
            cell.printed,
            f"{cell.documents or ''}",
            f"{cell.runs or ''}",
            f"k = {k}" if cell.correct else "",
            cell.verdict + nearest,
            "" if math.isnan(cell.share) else f"{cell.share:.2g}",
            cell.deviation,
        ])  # fmt: skip
    heads = ["row", "column", "printed", "documents", "runs", "correct documents", "the value is",
             "chance", "the deviation is"]  # fmt: skip
    if not any(cell.deviation for cell in cells):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return Table(f"{name}: audit of each printed accuracy", heads, rows)


def compared_deviations(known: Mapping[str, Sequence[Cell]]) -> Section | None:
    """Return printed deviations beside ours, as a section of the page; None if there are none."""
    # The ratio of the variances is tested by a two-sided F test, with the value of the printed
    # deviation that is nearest to ours among those that are printed so. p is corrected for all
    # tests (Holm). Only cells of at least MIN_REPEATS stated and MIN_REPEATS finished runs count.
    from scipy.stats import f

    tested: list[tuple[float, list[str]]] = []
    equal = 0  # cells whose runs all gave the same result, of which F is not defined
    for name in (name for names in experiments.papers().values() for name in names):
        for cell in known.get(name, ()):
            spec = experiments.load(name).spec
            repeats = spec.published_repeats
            if (
                cell.column not in spec.published.get(cell.row, ())
                or math.isnan(cell.published_std + cell.std)
                or not repeats
                or cell.column in repeats.unstated
                or min(repeats.number, cell.runs) < MIN_REPEATS
            ):
                continue
            if cell.std < ROUNDING:
                equal += 1
                continue
            digits = 2 if spec.unit == "percent" else 3
            half = 0.5 / 10**digits
            theirs = min(max(cell.std, cell.published_std - half), cell.published_std + half)
            ratio, freedom = (cell.std / theirs) ** 2, (cell.runs - 1, repeats.number - 1)
            p = min(1.0, 2 * min(f.sf(ratio, *freedom), f.cdf(ratio, *freedom)))
            text = [name, cell.row, cell.column, f"{cell.published_std:.{digits}f}",
                    f"{repeats.number}", f"{cell.std:.{digits}f}", f"{cell.runs}"]  # fmt: skip
            times = cell.std / cell.published_std if cell.published_std else math.inf
            tested.append((p, [*text, f"{times:.2g}" if times < math.inf else "∞"]))
    if not tested:
        return None
    order = sorted(range(len(tested)), key=lambda i: tested[i][0])
    corrected, largest = [0.0] * len(tested), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(tested) - rank) * tested[i][0]))
        corrected[i] = largest
    differ = [i for i, p in enumerate(corrected) if p <= ALPHA]
    rows = [[*tested[i][1], f"{corrected[i]:.1g}"] for i in differ]
    smaller = sum(float(row[5]) > float(row[3]) for row in rows)
    count = (
        f"{len(tested)} cells are tested; {counted(len(rows), 'cell')} "
        f"{'differs' if len(rows) == 1 else 'differ'}: in {smaller} the printed deviation is "
        f"smaller than ours, in {len(rows) - smaller} larger. In {equal} more cells all our runs "
        "are equal."
    )
    heads = ["table", "row", "column", "printed", "repeats", "ours", "runs", "ours / printed",
             "p"]  # fmt: skip
    table = Table("Printed deviations that differ from ours", heads, rows)
    blocks: list[Block] = [words("deviations"), count, *[table] * bool(rows)]
    return Section("Printed deviations beside ours", blocks)


def misfits(of_tables: Mapping[str, Sequence[Finding]]) -> Section | None:
    """Return a section of printed deviations that do not fit their means, None without any."""
    cells = [
        (name, cell)
        for name, findings in of_tables.items()
        for cell in published_cells(name, findings)
        if cell.deviation and not cell.deviation.startswith("not checked")
    ]
    if not cells:
        return None
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


def page(known: Mapping[str, Sequence[Cell]] | None = None) -> str:
    """Return the page of all published tables in Markdown."""
    of_tables = findings()
    sections = [
        Section(name, [findings_table(name, of_table)])
        for name, of_table in of_tables.items()
        if of_table
    ]
    title = "what the digits of printed accuracies say"
    further = filter(None, (misfits(of_tables), compared_deviations(known or {})))
    return markdown(Page("Audit", title, [words("audit"), *sections, *further]))
