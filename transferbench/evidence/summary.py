"""Summary of how far the papers reproduce: verdicts, chance, order of the methods, claims."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Literal, Self, get_args

import numpy as np
import pandas as pd

from transferbench import experiments
from transferbench.choose.evidence import ADVISED, ANY, RECOMMENDED, WHERE
from transferbench.evidence import labels, regret, tables
from transferbench.evidence.claims import Outcome
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import (
    MARKS,
    OUTCOMES,
    Block,
    Page,
    Section,
    Table,
    TableRow,
    Value,
    markdown,
    table_text,
    words,
)
from transferbench.evidence.pages import Evidence
from transferbench.evidence.regret import ELSEWHERE
from transferbench.measures import LOWER_IS_BETTER

NAMES = {"gtl": "GTL", "dtl": "DTL", "mrtl": "MRTL", "mtc": "LNKMTC, LSKMTC", "himls": "HiMLS"}
#: Shuffled tables for the number that chance gives.
SHUFFLES = 1000
#: The regrets that recommendations quote, relative to the folder of results.
REGRETS = "../transferbench/choose/regrets.json"
#: In the README of the project, before and after the table in short.
MARK = "<!-- by transferbench tables -->"
HEADS = (
    "paper", "cells", *MARKS.values(), "= and ≈ by chance", "median difference, points",
    "rank correlation", "paper's method best: print", "ours", *OUTCOMES.values(),
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Judged cells of one experiment and measure.

    Parameters
    ----------
    cells
        The cells.
    proposed
        Columns of the methods that the paper proposes.
    percent
        Factor from the unit of the table to points.
    """

    cells: Sequence[Cell]
    proposed: Sequence[str]
    percent: float

    def by(self, key: Literal["row", "column"]) -> dict[str, list[Cell]]:
        """Return the cells with a value of ours, by row or by column."""
        cells: dict[str, list[Cell]] = {}
        for cell in self.cells:
            if not cell.reason:
                cells.setdefault(getattr(cell, key), []).append(cell)
        return cells

    def by_chance(self) -> float:
        """Return how many cells agree, on average, if a row's printed values are shuffled."""
        random, total = np.random.default_rng(0), 0.0
        for cells in self.by("row").values():
            printed = np.array([(cell.published, cell.published_error) for cell in cells])
            orders = random.permuted(np.tile(np.arange(len(cells)), (SHUFFLES, 1)), axis=1)
            values, errors = np.moveaxis(printed[orders], -1, 0)
            ours = np.array([(cell.mean, cell.error, cell.tolerance) for cell in cells]).T
            allowed = np.maximum(ours[2], 2 * np.hypot(np.nan_to_num(ours[1]), errors))
            total += float((np.abs(ours[0] - values) <= allowed).sum()) / SHUFFLES
        return total

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


def groups(evidence: Evidence, declared: bool) -> list[Group]:
    """Return the judged cells of an experiment by measure.

    Parameters
    ----------
    evidence
        Evidence of the experiment.
    declared
        True to replace a cell by that of the reading that the experiment declares, if any.

    Returns
    -------
    list of Group
        A group for each measure.
    """
    spec = evidence.experiment.spec
    readings = {spec.columns[n].reading_of: n for n in spec.declared} if declared else {}
    cells = {(cell.row, cell.column): cell for cell in evidence.cells_and_averages}
    by_measure: dict[str, list[Cell]] = {}
    for cell in tables.judged(evidence.experiment, evidence.cells_and_averages):
        shown = cells.get((cell.row, readings.get(cell.column, cell.column)), cell)
        by_measure.setdefault(cell.metric, []).append(replace(shown, column=cell.column))
    points = 1.0 if spec.unit == "percent" else 100.0
    return [Group(of_measure, spec.proposed, points) for of_measure in by_measure.values()]


@dataclass(frozen=True)
class Totals:
    """How far a paper, or all papers together, reproduce.

    Parameters
    ----------
    label
        The paper.
    verdicts
        Numbers of cells by verdict.
    by_chance
        Number of cells that agree if printed values are shuffled, see `Group.by_chance`.
    median
        Median difference in points; NaN without a cell of ours.
    correlation
        Mean of the groups' correlations; NaN if none has one.
    best_printed, best_ours
        Rows where a proposed method is best, in print and in ours.
    rows
        Rows that `best_printed` and `best_ours` are of.
    outcomes
        Numbers of the paper's claims by outcome.
    """

    label: str
    verdicts: Counter[str]
    by_chance: float
    median: float
    correlation: float
    best_printed: int
    best_ours: int
    rows: int
    outcomes: Counter[Outcome]

    @classmethod
    def from_groups(cls, label: str, groups: Sequence[Group], outcomes: Counter[Outcome]) -> Self:
        """Return the totals of judged cells and of claims."""
        distances = [
            abs(cell.difference) * group.percent
            for group in groups
            for cell in group.cells
            if not cell.reason
        ]
        correlations = [c for group in groups if not math.isnan(c := group.correlation())]
        best = [group.best() for group in groups]
        printed, ours, rows = (sum(of_group[i] for of_group in best) for i in range(3))
        return cls(
            label,
            Counter(cell.verdict for group in groups for cell in group.cells),
            sum(group.by_chance() for group in groups),
            median(distances) if distances else math.nan,
            fmean(correlations) if correlations else math.nan,
            printed, ours, rows, outcomes,
        )  # fmt: skip

    @property
    def available(self) -> str:
        """The number of cells with a value of ours."""
        return f"{self.verdicts.total() - self.verdicts['unavailable']}"

    @property
    def agree(self) -> Value:
        """The number of cells that agree, in brackets what chance gives."""
        return Value(f"{self.verdicts['within'] + self.verdicts['close']} ({self.by_chance:.0f})")

    @property
    def distance(self) -> list[Value]:
        """The median difference, the rank correlation, and the rows where its method is best."""
        return [
            Value("" if math.isnan(self.median) else f"{self.median:.1f}"),
            Value("" if math.isnan(self.correlation) else f"{self.correlation:.2f}"),
            Value(f"{self.best_printed} of {self.rows}"),
            Value(f"{self.best_ours} of {self.rows}"),
        ]

    @property
    def claims(self) -> Value:
        """The number of claims with each outcome."""
        counts = (f"{self.outcomes[name]}\u00a0{OUTCOMES[name]}" for name in get_args(Outcome))
        return Value(" ".join(counts))

    @property
    def row(self) -> TableRow:
        """The row of `totals_table`."""
        return [
            self.label,
            f"{self.verdicts.total()}",
            *(f"{self.verdicts[verdict]}" for verdict in MARKS),
            f"{self.by_chance:.0f}",
            *self.distance,
            *(f"{self.outcomes[outcome]}" for outcome in get_args(Outcome)),
        ]


def totals(results: Mapping[str, Sequence[Evidence]], declared: bool) -> list[Totals]:
    """Return the totals of each paper, then those of all.

    Parameters
    ----------
    results
        Evidence of each paper's tables, by short name of the paper.
    declared
        See `groups`.
    """
    of_papers, every = list[Totals](), list[Group]()
    outcomes = Counter[Outcome]()
    for paper, evidences in results.items():
        judged = [group for evidence in evidences for group in groups(evidence, declared)]
        claims = Counter(r.outcome for e in evidences for r in e.results if not r.claim.by_us)
        of_papers.append(Totals.from_groups(NAMES.get(paper, paper), judged, claims))
        every += judged
        outcomes += claims
    return [*of_papers, Totals.from_groups("all", every, outcomes)]


def totals_table(title: str, lines: Sequence[Totals]) -> Table:
    """Return the table of `totals`, whose last line is that of all papers."""
    *rows, last = [line.row for line in lines]
    return Table(title, HEADS, rows, [last])


def blocks(known: Mapping[str, Evidence]) -> list[Block]:
    """Return both totals of the published tables and figures, in short and in full.

    Parameters
    ----------
    known
        Evidence by name of the experiment; other experiments are left out.

    Returns
    -------
    list of Block
        A sentence, the table in short, and both tables in full; empty without a published table.
    """
    papers = {
        paper: evidences
        for paper, names in experiments.papers().items()
        if (evidences := [known[name] for name in names if name in known])
    }
    if not papers:
        return []
    written, read = (totals(papers, declared) for declared in (False, True))
    rows: list[TableRow] = [
        [one.label, one.available, one.agree, *one.distance, one.claims, other.agree]
        for one, other in zip(written, read, strict=True)
    ]
    heads = ["paper", "numbers compared", "agree, as written", "median difference, points",
             "rank correlation", "its method is best: in print", "here", "claims",
             "agree, as we read it"]  # fmt: skip
    as_written = totals_table("as the papers are written", written)
    as_read = totals_table("as we read the papers", read)
    *_, printed, ours = written[-1].distance
    return [
        words("summary", written[-1].available, written[-1].agree, read[-1].agree, printed, ours),
        Table("How far the papers reproduce", heads, rows),
        Section("As the papers are written", [words("totals"), as_written], folded=True),
        Section("As we read the papers", [words("declared"), as_read], folded=True),
    ]


def texts(results: Path, known: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the texts of README.md, of the results and of the project, and of REGRETS.

    Parameters
    ----------
    results
        Folder of results; the README above it has the table in short between two MARKs. REGRETS is
        left out if the folder is not in a checkout, or lacks the experiments.
    known
        Evidence by name of the experiment.

    Returns
    -------
    dict
        Texts by path relative to the folder.
    """
    short_and_full = blocks(known)
    if not short_and_full:
        return {}
    links = {"What the digits of the printed numbers say": "audit.md"}
    parts = [*short_and_full, Section("Experiments", [_experiments(known)])]
    files = {"README.md": markdown(Page("Results", "how far the papers reproduce", parts, links))}
    readme = results.parent / "README.md"
    if readme.is_file() and MARK in (text := readme.read_text(encoding="utf-8")):
        before, _, after = text.split(MARK)
        short = next(block for block in short_and_full if isinstance(block, Table))
        files["../README.md"] = f"{before}{MARK}\n{table_text(short)}\n{MARK}{after}"
    regrets = known_regrets(known)
    if regrets and (results / REGRETS).is_file():
        files[REGRETS] = json.dumps(regrets, indent=2) + "\n"
    return files


def known_regrets(known: Mapping[str, Evidence]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the numbers of `choose.evidence`: regrets by shares and strength, gains by labels.

    Parameters
    ----------
    known
        Evidence by name of the experiment.

    Returns
    -------
    dict
        Numbers with six digits; empty without one of the experiments.
    """
    if not {"choice", "choice-settings", "choice-labels"} <= known.keys():
        return {}
    of_shares = {}
    for shares in WHERE:
        fitted = shares == "no shift"  # no setting is chosen there
        table = known["choice" if fitted else "choice-settings"].regrets
        strategy = f"{RECOMMENDED}, {ADVISED}" if fitted else ELSEWHERE
        columns = {"strategy": strategy, "documents": ANY, "shares": shares}
        (line,) = table[(table[[*columns]] == pd.Series(columns)).all(axis=1)].to_dict("records")
        numbers = {name: float(f"{line[name]:.6g}") for name in ("mean", "low", "high", "worst")}
        of_shares[shares] = {name: line[name] for name in ("tasks", "corpora")} | numbers
    of_labels = {}
    by_labels = known["choice-labels"]
    rival = labels.rivals(by_labels.experiment)[0]
    for m in labels.numbers(by_labels.experiment)[1:]:
        part = labels.differences(by_labels.experiment, by_labels.by_labels, m, rival)
        mean, worst = part.groupby("corpus")["difference"].mean().mean(), part["difference"].min()
        of_labels[f"{m}"] = {"mean": float(f"{mean:.6g}"), "worst": float(f"{worst:.6g}")}
    *_, (_, lines) = regret.by_warning(known["choice"].experiment, known["choice"].cells)
    of_strength = {
        strength: {name: float(f"{line[name]:.6g}") for name in ("tasks", "mean", "worst")}
        for strength, line in zip(("weak", "strong"), lines, strict=True)
        if line
    }
    return {"shares": of_shares, "strength": of_strength, "labels": of_labels}


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
        judged = " ".join(f"{counts[v]} {mark}" for v, mark in MARKS.items() if counts[v])
        tasks = (str(row.task) for row in spec.rows.values())
        data = dict.fromkeys(task.partition(":")[0].rpartition("/")[0] or task for task in tasks)
        made = max(record.finished for cell in evidence.cells for record in cell.records)
        link = Value(name, address=f"{name}/{'figure' if spec.figure else 'table'}.md")
        rows.append([link, spec.title, judged, ", ".join(data), made[:10]])
    heads = ["experiment", "what", "verdicts", "data", "last run"]
    return Table("Experiments", heads, rows)
