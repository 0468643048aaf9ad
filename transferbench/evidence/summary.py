"""Summary of how far the papers reproduce: equivalence, chance, order of the methods, claims."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Literal, Self, get_args

import pandas as pd

from transferbench import experiments, plugins
from transferbench.evidence import pictures, tables
from transferbench.evidence.chance import Chance, Place
from transferbench.evidence.claims import Outcome
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import (
    Block,
    Page,
    Picture,
    Section,
    Table,
    TableRow,
    Value,
    markdown,
    markdown_blocks,
    words,
)
from transferbench.evidence.pages import Evidence
from transferbench.evidence.verdict import DIFFERENT, LOOKS
from transferbench.experiments.schema import Schema
from transferbench.files import write_text
from transferbench.measures import LOWER_IS_BETTER, TITLES

NAMES = {"gtl": "GTL", "dtl": "DTL", "mrtl": "MRTL", "mtc": "LNKMTC, LSKMTC", "himls": "HiMLS"}
#: Group of entry points for functions like `texts`, whose texts are added to those of this module.
SUMMARIES = "transferbench.summaries"
#: In the README of the project, before and after the table in short.
MARK = "<!-- by transferbench tables -->"
#: Of the table in short, and of those in full.
SHORT_HEADS = (
    "paper",
    "compared",
    "equivalent (by chance)",
    "own method best: print / here",
    "claims",
)
HEADS = (
    "paper", "cells", "unavailable", "equivalent (by chance, p)", "different", "undecided",
    "equivalent at half the tolerance", "at twice", "circular: equivalent",
    "without circular cells (by chance, p)", "median difference, points", "rank correlation",
    "its method is best: in print", "here",
)  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A printed number, and the values of ours that are compared with it."""

    evidence: Evidence
    #: Cells by column: the written one, then each of its readings.
    values: Mapping[str, Cell]
    #: The column that counts as read: the reading that the experiment declares, if any.
    declared: str

    @property
    def written(self) -> Cell:
        """The cell of the written column."""
        return next(iter(self.values.values()))

    def shown(self, declared: bool) -> Cell:
        """Return the cell as read or as written, under the name of the written column."""
        cell = self.values[self.declared] if declared else self.written
        return replace(cell, column=self.written.column)

    def circular(self, declared: bool) -> bool:
        """Return True if the number helped to set what it is compared with."""
        column = self.declared if declared else self.written.column
        return bool(self.evidence.experiment.circular(self.written.row, column))

    def place(self, with_choice: bool, declared: bool) -> Place:
        """Return what `chance` needs."""
        # `with_choice`: True if a reading is chosen in each order, False to keep the one shown.
        shown, row = self.shown(declared), self.written.row
        if not with_choice:
            return Place(shown.column, shown, {shown.column: shown})
        readings = self.values.keys() - {shown.column}
        entries = [e for name in readings for e in self.evidence.experiment.circular(row, name)]
        chosen_on = any(not readings.isdisjoint(entry.columns) for entry in entries)
        return Place(shown.column, shown, self.values, chosen_on)


@dataclass(frozen=True)
class Group:
    """Judged cells of one experiment and measure."""

    cells: Sequence[Cell]
    #: Columns of the methods that the paper proposes.
    proposed: Sequence[str]
    #: Factor from the unit of the table to points.
    percent: float

    def by(self, key: Literal["row", "column"]) -> dict[str, list[Cell]]:
        """Return the cells with a value of ours, by row or by column."""
        cells: dict[str, list[Cell]] = {}
        for cell in self.cells:
            if not cell.reason:
                cells.setdefault(getattr(cell, key), []).append(cell)
        return cells

    def correlation(self) -> float:
        """Return Spearman's correlation of the methods' means; NaN for fewer than three."""
        from scipy.stats import spearmanr

        columns = self.by("column").values()
        most = max(map(len, columns), default=0)
        full = [cells for cells in columns if len(cells) == most]
        means = [
            [fmean(c.mean for c in cells), fmean(c.published for c in cells)] for cells in full
        ]
        return float(spearmanr(means).statistic) if len(full) > 2 else math.nan

    def best(self) -> tuple[int, int, int]:
        """Return the number of rows where a proposed method is best: in print, in ours, of all."""
        sign = -1 if self.cells[0].metric in LOWER_IS_BETTER else 1
        wins, rows = [0, 0], 0
        for cells in self.by("row").values():
            mine = [cell for cell in cells if cell.column in self.proposed]
            if not mine or len(mine) == len(cells):
                continue
            rows += 1
            for i, name in enumerate(("published", "mean")):
                values = [sign * getattr(cell, name) for cell in cells]
                wins[i] += max(sign * getattr(cell, name) for cell in mine) >= max(values)
        return wins[0], wins[1], rows


def numbers(evidence: Evidence) -> list[Number]:
    """Return the printed numbers of an experiment, see `tables.judged`."""
    spec = evidence.experiment.spec
    cells = {(cell.row, cell.column): cell for cell in evidence.cells_and_averages}
    declared = {spec.columns[name].reading_of: name for name in spec.declared}
    found = []
    for cell in tables.judged(evidence.experiment, evidence.cells_and_averages):
        labels = [n for n, column in spec.columns.items() if column.reading_of == cell.column]
        readings = {name: cells[cell.row, name] for name in labels if (cell.row, name) in cells}
        values = {cell.column: cell} | readings
        shown = declared.get(cell.column, "")
        found.append(Number(evidence, values, shown if shown in values else cell.column))
    return found


def groups(printed: Sequence[Number], declared: bool) -> list[Group]:
    """Return the judged cells by experiment and measure."""
    # `declared`: True to show a number beside the reading that its experiment declares, if any.
    found: dict[tuple[str, str], tuple[Schema, list[Cell]]] = {}
    for number in printed:
        experiment, cell = number.evidence.experiment, number.shown(declared)
        key = experiment.name, cell.metric
        found.setdefault(key, (experiment.spec, []))[1].append(cell)
    return [
        Group(cells, spec.proposed, 1.0 if spec.unit == "percent" else 100.0)
        for spec, cells in found.values()
    ]


def chance(label: str, printed: Sequence[Number], declared: bool, with_choice: bool) -> Chance:
    """Return the number of equivalent cells, and those of random orders of the printed numbers."""
    # `printed`: Orders are within rows, of those that have a value of ours.
    rows: dict[tuple[str, str], list[Number]] = {}
    for number in printed:
        if not number.shown(declared).reason:
            key = number.evidence.experiment.name, number.written.row
            rows.setdefault(key, []).append(number)
    equivalent = sum(n.shown(declared).verdict == "same" for n in printed)
    places = [[n.place(with_choice, declared) for n in row] for row in rows.values()]
    return Chance.from_rows(label, equivalent, places)


@dataclass(frozen=True)
class Totals:
    """How far a paper, or all papers together, reproduce."""

    label: str
    cells: Sequence[Cell]
    #: How many are equivalent, and how many would be by chance.
    equivalent: Chance
    #: The same for cells that are not circular.
    confirmed: Chance
    #: Number of the circular cells, and how many of them are equivalent.
    circular: tuple[int, int]
    #: Median difference in points; NaN without a cell of ours.
    median: float
    #: Mean of the groups' correlations; NaN if none has one.
    correlation: float
    #: `best_printed`, `best_ours`: Rows where a proposed method is best, in print and in ours.
    best_printed: int
    best_ours: int
    #: Rows that `best_printed` and `best_ours` are of.
    rows: int
    #: Numbers of the paper's claims by outcome.
    outcomes: Counter[Outcome]

    @classmethod
    def from_numbers(
        cls,
        label: str,
        printed: Sequence[Number],
        declared: bool,
        outcomes: Counter[Outcome],
        parts: Sequence[Self] = (),
    ) -> Self:
        """Return the totals of printed numbers and of claims."""
        of_measures = groups(printed, declared)
        shown = [cell for group in of_measures for cell in group.cells]
        distances = [
            abs(cell.difference) * group.percent
            for group in of_measures
            for cell in group.cells
            if not cell.reason
        ]
        correlations = [c for group in of_measures if not math.isnan(c := group.correlation())]
        best = [group.best() for group in of_measures]
        best_printed, best_ours, rows = (sum(of_group[i] for of_group in best) for i in range(3))
        circular = [n.shown(declared) for n in printed if n.circular(declared)]
        if parts:
            first, *others = parts
            equivalent = sum((part.equivalent for part in others), first.equivalent)
            confirmed = sum((part.confirmed for part in others), first.confirmed)
        else:
            equivalent = chance(label, printed, declared, with_choice=declared)
            not_circular = [n for n in printed if not n.circular(declared)]
            confirmed = chance(label, not_circular, declared, with_choice=False)
        return cls(
            label, shown, equivalent, confirmed,
            (len(circular), sum(cell.verdict == "same" for cell in circular)),
            median(distances) if distances else math.nan,
            fmean(correlations) if correlations else math.nan,
            best_printed, best_ours, rows, outcomes,
        )  # fmt: skip

    @property
    def available(self) -> int:
        """The number of cells with a value of ours."""
        return sum(not cell.reason for cell in self.cells)

    def count(self, *verdicts: str) -> str:
        """Return the number of cells with these verdicts."""
        return f"{sum(cell.verdict in verdicts for cell in self.cells)}"

    def at(self, factor: float) -> str:
        """Return the number of equivalent cells at a multiple of the tolerance."""
        shown = [cell for cell in self.cells if not cell.reason]
        scaled = (replace(cell, tolerance=factor * cell.tolerance) for cell in shown)
        return f"{sum(cell.verdict == 'same' for cell in scaled)}"

    @property
    def short_row(self) -> TableRow:
        """The row of a table with SHORT_HEADS."""
        best = Value(f"{self.best_printed} / {self.best_ours} of {self.rows}")
        equivalent = Value(f"{self.equivalent.observed} ({self.equivalent.mean:.0f})")
        return [self.label, f"{self.available}", equivalent, best, self.claims]

    @property
    def best(self) -> list[Value]:
        """The rows where its method is best, in print and in ours."""
        return [Value(f"{n} of {self.rows}") for n in (self.best_printed, self.best_ours)]

    @property
    def claims(self) -> Value:
        """The number of claims with each outcome."""
        counts = (f"{self.outcomes[name]}\u00a0{name}" for name in get_args(Outcome))
        return Value(" ".join(counts) if self.outcomes else "")

    @property
    def row(self) -> TableRow:
        """The row of a table with HEADS."""
        n_circular, circular = self.circular
        without = f"{self.confirmed.observed} of {self.available - n_circular} "
        return [
            self.label,
            f"{len(self.cells)}",
            f"{len(self.cells) - self.available}",
            Value(f"{self.equivalent}"),
            self.count(*DIFFERENT),
            self.count("cannot tell"),
            self.at(1 / 2),
            self.at(2),
            Value(f"{circular} of {n_circular}" if n_circular else ""),
            Value(without + self.confirmed.in_brackets),
            Value("" if math.isnan(self.median) else f"{self.median:.1f}"),
            Value("" if math.isnan(self.correlation) else f"{self.correlation:.2f}"),
            *self.best,
        ]


def outcomes_of(evidences: Iterable[Evidence]) -> Counter[Outcome]:
    """Return the numbers of outcomes of the claims that papers make, not of ours."""
    return Counter(r.outcome for e in evidences for r in e.results if not r.claim.by_us)


def totals(results: Mapping[str, Sequence[Evidence]], declared: bool) -> list[Totals]:
    """Return the totals of each paper, those of all, and those of tables on other data."""
    # Returns: The totals of all count no table with `data_differ`. Claims count with their paper.
    of_papers, on_other_data = list[Totals](), list[Totals]()
    every, outcomes = list[Number](), Counter[Outcome]()
    for paper, evidences in results.items():
        label, printed = NAMES.get(paper, paper), [n for e in evidences for n in numbers(e)]
        apart = [n for n in printed if n.evidence.experiment.spec.data_differ]
        counted = [n for n in printed if not n.evidence.experiment.spec.data_differ]
        claims = outcomes_of(evidences)
        of_papers.append(Totals.from_numbers(label, counted, declared, claims))
        if apart:
            label = f"{label}: data differ"
            on_other_data.append(Totals.from_numbers(label, apart, declared, Counter()))
        every += counted
        outcomes += claims
    together = Totals.from_numbers("all", every, declared, outcomes, of_papers)
    return [*of_papers, together, *on_other_data]


def blocks(known: Mapping[str, Evidence]) -> list[Block]:
    """Return both totals of the published tables and figures, in short and in full."""
    # `known`: Evidence by name of the experiment; other experiments are left out.
    # Returns: A sentence, the picture, the table in short, and folded what they are made of; empty
    # without a published table.
    papers = of_papers(known)
    if not papers:
        return []
    written, read = (totals(papers, declared) for declared in (False, True))
    rows = [one.short_row for one in written]
    n = len(papers)
    counted_apart = [
        f"{evidence.experiment.name}: {sentence}"
        for evidences in papers.values()
        for evidence in evidences
        for sentence in evidence.counted_apart
    ]
    as_written = Table("as the papers are written", HEADS, *_body_and_foot(written, n))
    as_read = Table("as we read the papers", HEADS, *_body_and_foot(read, n))
    drawn = sum(len(frame) for frame in scatters(known).values())
    return [
        words("short", written[n], read[n]),
        *([Picture(pictures.PAPERS, words("scatter", drawn))] if drawn else []),
        Table("How far the papers reproduce", SHORT_HEADS, rows[:n], rows[n:]),
        Section("How to read the table", [words("equivalence"), words("columns")], folded=True),
        Section("As the papers are written", [words("totals"), as_written], folded=True),
        Section("As we read the papers", [words("declared"), as_read], folded=True),
        Section("Counted apart", [counted_apart], folded=True),
    ]


def of_papers(known: Mapping[str, Evidence]) -> dict[str, list[Evidence]]:
    """Return the evidence of each paper's published tables, by short name of the paper."""
    # `known`: Evidence by name of the experiment; other experiments are left out.
    return {
        paper: evidences
        for paper, names in experiments.papers().items()
        if (evidences := [known[name] for name in names if name in known])
    }


def scatters(known: Mapping[str, Evidence]) -> dict[str, pd.DataFrame]:
    """Return the printed numbers of each paper and ours, as written and in per cent."""
    # `known`: Evidence by name of the experiment. Tables whose data differ are left out.
    # Returns: See `pictures.scatter`, by name of the paper; papers without a number are left out.
    # Losses have a panel of their own beside the other measures of their paper: they have another
    # scale.
    found = {}
    for paper, evidences in of_papers(known).items():
        frames = [
            pictures.as_percent(evidence.experiment, evidence.compared)
            for evidence in evidences
            if len(evidence.compared) and not evidence.experiment.spec.data_differ
        ]
        if frames:
            name, frame = NAMES.get(paper, paper), pd.concat(frames, ignore_index=True)
            losses = frame["measure"].isin([TITLES[loss] for loss in LOWER_IS_BETTER])
            if losses.all() or not losses.any():
                found[name] = frame
            else:
                title = ", ".join(frame["measure"][losses].unique())
                found |= {name: frame[~losses], f"{name}: {title}": frame[losses]}
    return found


def draw(results: Path, known: Mapping[str, Evidence]) -> list[Path]:
    """Draw the scatter of all papers, the picture of the results' README."""
    # Returns: The file; empty if there is nothing to draw.
    if not (papers := scatters(known)):
        return []
    path = results / pictures.PAPERS
    write_text(path, pictures.scatter(papers))
    return [path]


def _body_and_foot(lines: Sequence[Totals], n: int) -> tuple[list[TableRow], list[TableRow]]:
    """Return the rows of the n papers, and those below."""
    rows = [line.row for line in lines]
    return rows[:n], rows[n:]


def texts(results: Path, known: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the texts of README.md, of the results and of the project, and those of SUMMARIES."""
    # `results`: Folder of results; the README above it has the table in short between two MARKs.
    short_and_full = blocks(known)
    if not short_and_full:
        return {}
    links = {"What the digits of the printed numbers say": "audit.md"}
    parts = [*short_and_full, Section("Experiments", [_experiments(known)])]
    files = {"README.md": markdown(Page("Results", "how far the papers reproduce", parts, links))}
    readme = results.parent / "README.md"
    if readme.is_file() and MARK in (text := readme.read_text(encoding="utf-8")):
        before, _, after = text.split(MARK)
        sentence, *shown = (b for b in short_and_full if not isinstance(b, Section))
        blocks_of_readme = [
            replace(block, file=f"{results.name}/{block.file}")
            if isinstance(block, Picture) else block
            for block in (sentence, *shown)
        ]  # fmt: skip
        text = markdown_blocks(blocks_of_readme)
        files["../README.md"] = f"{before}{MARK}\n{text}\n{MARK}{after}"
    for point in plugins.points().select(group=SUMMARIES):
        with plugins.left_out_if_broken(point.name):
            files |= point.load()(results, known)
    return files


def _experiments(known: Mapping[str, Evidence]) -> Table:
    """Return a row for each experiment: title, verdicts as written, corpora, the last run."""
    rows: list[TableRow] = []
    for name in experiments.names():
        if name not in known:
            continue
        evidence, spec = known[name], known[name].experiment.spec
        counts = Counter[str]()
        for (_, verdict), number in tables.totals(
            evidence.experiment, evidence.cells_and_averages
        ).items():
            counts[verdict] += number
        judged = " ".join(f"{counts[v]} {look.text}" for v, look in LOOKS.items() if counts[v])
        tasks = (str(row.task) for row in spec.rows.values())
        data = dict.fromkeys(task.partition(":")[0].rpartition("/")[0] or task for task in tasks)
        made = max(record.finished for cell in evidence.cells for record in cell.records)
        link = Value(name, address=f"{name}/{'figure' if spec.figure else 'table'}.md")
        rows.append([link, spec.title, judged, ", ".join(data), made[:10]])
    heads = ["experiment", "what", "verdicts", "data", "last run"]
    return Table("Experiments", heads, rows)
