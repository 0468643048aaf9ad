"""Claims of the papers, judged by our runs: holds, fails or undetermined, with the numbers.

The tests (see `stats`) are fixed by the kind of predicate, before anything is run. A claim on every
row holds if the test of every row is significant; it fails if one row shows the contrary. A claim
on some row holds if one row's test is significant; it fails if every row shows the contrary. A
claim on most rows, or on their average, is tested over problems: rows of one task are averaged, as
they are not independent. Fewer than five problems are too few for that: then most of the problems'
own tests must be significant. If no row has more than one difference, every claim is tested over
problems. Where one of several tests is enough, they share the significance level. A difference that
is smaller than what matters, a single difference, and one between identical columns decide nothing.
Otherwise, or if runs are missing, the claim is undetermined.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import pandas as pd

from transferbench import experiments
from transferbench.errors import unknown
from transferbench.evidence.frame import (
    Cell,
    identical_columns,
    observations,
    read_runs,
    summarise,
    to_runs,
)
from transferbench.evidence.stats import ALPHA, Comparison, Decision, Extent, PairedTest
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Better, Claim, Higher, Span, Stable
from transferbench.measures import COSTS, LOWER_IS_BETTER

Outcome = Literal["holds", "fails", "undetermined"]


@dataclass(frozen=True)
class ClaimResult:
    """A claim, its outcome and comparisons, and the reason if runs are missing.

    decisions: of each comparison, what decides on the claim and on its contrary; empty if runs are
    missing. matters: the smallest difference that matters, on the scale that is compared.
    """

    claim: Claim
    outcome: Outcome
    comparisons: tuple[Comparison, ...]
    reason: str = ""
    decisions: tuple[tuple[Decision, Decision], ...] = ()
    matters: float = 0.0


class Values(NamedTuple):
    """Values by seed (None if the method takes none), and why they cannot be compared, or "".

    variance: of their mean, caused by the choice of documents; NaN if it is not known.
    """

    by_seed: Mapping[int | None, float]
    missing: str
    variance: float = math.nan


NO_RUNS = Values({}, "no runs")
#: Other experiments by name, with their cells.
Others = Mapping[str, tuple[Experiment, Sequence[Cell]]]


@dataclass(frozen=True)
class Line:
    """The values of a row that a claim compares, scaled so that more is better.

    problem: the task without options. identical: columns that are the same on every row of the
    experiment. matters: the smallest difference that matters. points: values by column and x, which
    is None in a table and for level lines. printed: published values by column.
    """

    row: str
    problem: str
    identical: list[list[str]]
    matters: float
    points: dict[str, dict[float | None, Values]] = field(default_factory=dict)
    printed: dict[str, float] = field(default_factory=dict)

    def at(self, column: str, span: Span | None) -> dict[float | None, Values]:
        """Return the values of a column at each x of the span, all if None, and its level line."""
        first, last = span if isinstance(span, tuple) else (span, span)
        here = {
            x: values
            for x, values in self.points.get(column, {}).items()
            if x is None or first is None or last is None or first <= x <= last
        }
        return here or {None: NO_RUNS}

    def test(self, ours: Values, theirs: Values, margin: float) -> PairedTest:
        """Pair by seed, ours less theirs and the margin; a method without seeds has one value."""
        both = {**ours.by_seed, **theirs.by_seed}
        seeds = [seed for seed in both if seed is not None] if len(both) > 1 else list(both)
        pairs = [[v.by_seed.get(s, v.by_seed.get(None)) for v in (ours, theirs)] for s in seeds]
        known = zip(seeds, pairs, strict=True)
        differences = {s: a - b - margin for s, (a, b) in known if a is not None and b is not None}
        return PairedTest(
            self.row,
            tuple(differences.values()),
            ours.missing or theirs.missing or ("" if differences else "no seed in common"),
            seeds=tuple(differences),
            problem=self.problem,
            matters=self.matters,
            error=math.sqrt(ours.variance + theirs.variance),
        )


def judge(experiment: Experiment, cells: Sequence[Cell], others: Others) -> list[ClaimResult]:
    """Judge every claim of an experiment by its cells.

    `others` are the experiments that claims name under `also`, with their cells; one that is
    missing counts as not run. Raise UserError if one of them lacks a column of the claim.
    """
    results = []
    for claim in experiment.spec.claims:
        also = [others.get(name) or _with_cells(name, to_runs([])) for name in claim.also]
        matters = claim.matters_on(compares_ratios(claim, experiment), experiment.spec.whole)
        lines = _lines(claim, [(experiment, cells), *also], matters)
        compared = _comparisons(claim, lines, experiment.spec.competitors)
        missing = [
            f"{c.label}, {t.row}: {t.missing}" for c in compared for t in c.tests if t.missing
        ]
        reason = missing[0] if missing else ""
        reason += f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        decisions = () if missing else _decisions(claim, compared)
        outcome = _outcome(claim, decisions)
        results.append(ClaimResult(claim, outcome, compared, reason, decisions, matters))
    return results


def others(experiment: Experiment, results: Path) -> Others:
    """Return the experiments that claims name under `also` and that have runs, with their cells."""
    paths = {name: results / name / "runs.csv" for c in experiment.spec.claims for name in c.also}
    return {n: _with_cells(n, read_runs(path)) for n, path in paths.items() if path.is_file()}


def _with_cells(name: str, runs: pd.DataFrame) -> tuple[Experiment, Sequence[Cell]]:
    experiment = experiments.load(name)
    return experiment, summarise(experiment, observations(experiment, runs))


def _lines(
    claim: Claim, known: Sequence[tuple[Experiment, Sequence[Cell]]], matters: float
) -> list[Line]:
    """Return the rows of all the claim's experiments that show its measure."""
    lines: dict[str, Line] = {}
    given = claim.better
    for i, (file, cells) in enumerate(known):
        for column in claim.columns:
            if column not in file.spec.columns:
                raise unknown(f"column of {file.name}", column, file.spec.columns)
        measure, whole = claim.measure or file.spec.metric, file.spec.whole
        scale = partial(_scale, measure in LOWER_IS_BETTER, compares_ratios(claim, file), whole)
        rows = [
            name
            for name, row in file.spec.rows.items()
            if (name in claim.among or not row.reading_of)
            and (i or not claim.among or name in claim.among)
            and file.metric(name) == measure
        ]
        same = identical_columns(file, cells)
        for cell in cells:
            if cell.row not in rows:
                continue
            name = f"{file.name}, {cell.row}" if i else cell.row
            line = lines.setdefault(name, Line(name, file.problem(cell.row), same, matters))
            rival = given and cell.column not in given.columns
            avoided = given.fewer_errors if given and rival else 0.0
            values = {seed: scale(avoided, value) for seed, value in cell.by_seed.items()}
            x = None if math.isnan(cell.x) else cell.x
            points = line.points.setdefault(cell.column, {})
            points[x] = Values(values, cell.reason, cell.variance)
            if not math.isnan(cell.published):
                line.printed[cell.column] = scale(avoided, cell.published)
            if given and given.value is not None:
                stated = Values({None: scale(given.fewer_errors, given.value)}, "", 0.0)
                line.points[f"{given.value:g}"] = {None: stated}
    return list(lines.values())


def _scale(lower: bool, ratio: bool, whole: int, avoided: float, value: float) -> float:
    """Return a value on a scale on which more is better, and costs differ by their ratio.

    avoided: the share of the errors, what the value lacks to the whole, that are taken away.
    """
    value += avoided * (whole - value)
    if ratio:
        value = math.log10(value) if value > 0 else math.nan
    return -value if lower else value


def compares_ratios(claim: Claim, file: Experiment) -> bool:
    """True if the claim is about costs or objectives, which are compared by log10."""
    objective = bool(file.spec.figure and file.spec.figure.objective)
    return objective or (claim.measure or file.spec.metric) in COSTS


def _comparisons(
    claim: Claim, lines: Sequence[Line], competitors: list[str]
) -> tuple[Comparison, ...]:
    given = claim.predicate
    if isinstance(given, Higher):
        ends = [[_mean(line.at(given.column, x)) for x in (given.at, given.than)] for line in lines]
        tests = [
            line.test(high, low, given.by) for line, (high, low) in zip(lines, ends, strict=True)
        ]
        label = f"{given.column} at {span(given.at)} over {span(given.than)}"
        return (Comparison(label, tuple(tests), given.by),)
    if isinstance(given, Stable):
        tests = [_stable(given, line) for line in lines]
        label = f"{given.column} at {span(given.x)}"
        return (Comparison(label, tuple(tests), -given.within),)
    pairs = product(given.columns, given.rivals(competitors))
    return tuple(_better(given, lines, *pair) for pair in pairs)


def _better(given: Better, lines: Sequence[Line], column: str, rival: str) -> Comparison:
    margin = given.by + math.log10(given.times)
    tests: list[PairedTest] = []
    printed: list[float] = []
    for line in lines:
        theirs = line.at(rival, given.x)
        same = any(column in group and rival in group for group in line.identical)
        for x, ours in line.at(column, given.x).items():
            test = line.test(ours, theirs.get(x, theirs.get(None, NO_RUNS)), margin)
            tests.append(replace(test, identical=same))
        if column in line.printed and rival in line.printed:
            printed.append(line.printed[column] - line.printed[rival] - margin)
    compared = tuple(difference for difference in printed if not math.isnan(difference))
    return Comparison(f"{column} over {rival}", tuple(tests), margin, compared)


def _stable(given: Stable, line: Line) -> PairedTest:
    """Compare the lowest mean, plus the range allowed, with the highest mean.

    Only seeds are tested: the method and the documents are the same at every x, so an error of
    independent documents would be far too large.
    """
    points = list(line.at(given.column, given.x).values())
    complete = [point for point in points if not point.missing] or points

    def mean(point: Values) -> float:
        return fmean(point.by_seed.values() or [0])

    low, high = min(complete, key=mean), max(complete, key=mean)
    lost = next((point for point in points if point.missing), low)
    n_comparisons = max(1, math.comb(len(points), 2))
    test = line.test(lost, high, -given.within)
    return replace(test, n_comparisons=n_comparisons, error=math.nan)


def _mean(points: Mapping[float | None, Values]) -> Values:
    """Return by seed the mean over all x, for the seeds that every x has."""
    values = points.values()
    seeds = set.intersection(*(set(each.by_seed) for each in values))
    means = {seed: fmean(each.by_seed[seed] for each in values) for seed in seeds}
    missing = next((each.missing for each in values if each.missing), "")
    # The documents are the same at every x.
    return Values(means, missing, fmean(each.variance for each in values))


def _decisions(
    claim: Claim, compared: Sequence[Comparison]
) -> tuple[tuple[Decision, Decision], ...]:
    """Return of each comparison what decides on the claim and on its contrary."""
    rows = extent(claim)
    n_tests = sum(
        test.n_comparisons
        for each in compared
        for test in (each.problems if rows == "most" else each.tests)
    )

    def decide(comparison: Comparison, contrary: bool) -> Decision:
        return comparison.decision(rows, n_tests, len(compared), contrary)

    return tuple((decide(each, False), decide(each, True)) for each in compared)


def _outcome(claim: Claim, decisions: Sequence[tuple[Decision, Decision]]) -> Outcome:
    """Return the outcome; without decisions, runs are missing.

    One comparison is enough for a claim on some row to hold, and for any other claim to fail.
    """
    if not decisions:
        return "undetermined"
    holds, fails = ([each.p <= ALPHA for each in side] for side in zip(*decisions, strict=True))
    some = extent(claim) == "some"
    if any(holds) if some else all(holds):
        return "holds"
    return "fails" if (all(fails) if some else any(fails)) else "undetermined"


def extent(claim: Claim) -> Extent:
    """Return on which rows the claim is to be true: every, some, most, or their average."""
    given = claim.predicate
    return given.rows if isinstance(given, Better) else "every"


def span(x: Span) -> str:
    """Return the text of a span: 3, or 3 to 5."""
    return " to ".join(f"{value:g}" for value in (x if isinstance(x, tuple) else (x,)))
