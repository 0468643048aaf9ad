"""Claims of the papers, judged by our runs: holds, fails or undetermined, with the numbers.

The tests (see `stats`) are fixed by the kind of predicate, before anything is run. A claim on every
row holds if the test of every row is significant; it fails if one row shows the contrary. A claim
on some row holds if one row's test is significant; it fails if every row shows the contrary. A
claim on most rows, or on their average, is tested over the rows. Fewer than five rows are too few
for that: then most of the rows' own tests must be significant. Where one of several tests is
enough, they share the significance level. Otherwise, or if runs are missing, the claim is
undetermined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Literal

import pandas as pd

from transferbench import experiments
from transferbench.errors import unknown
from transferbench.evidence.frame import observations, read_runs, summarise, to_runs
from transferbench.evidence.stats import ALPHA, Comparison, PairedTest
from transferbench.experiments.claim import Better, Claim, Higher, Span, Stable
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.measures import COSTS, LOWER_IS_BETTER

#: Fewest rows with which the signed-rank test can be significant: 2⁻⁵ is below 5 per cent.
MIN_ROWS = 5

Outcome = Literal["holds", "fails", "undetermined"]


@dataclass(frozen=True)
class ClaimResult:
    """A claim, its outcome and comparisons, and the reason if runs are missing."""

    claim: Claim
    outcome: Outcome
    comparisons: tuple[Comparison, ...]
    reason: str = ""


#: Values by seed (None if the method takes none), and why they cannot be compared, or "".
Values = tuple[Mapping[int | None, float], str]
NO_RUNS: Values = {}, "no runs"
#: Other experiments by name, with their cells.
Others = Mapping[str, tuple[Experiment, pd.DataFrame]]


@dataclass(frozen=True)
class Subject:
    """The values that a claim compares, by row and column, scaled so that more is better.

    points: the values at each x, None in a table and for level lines. printed: published values.
    """

    rows: list[str]
    points: Mapping[tuple[str, str], Mapping[float | None, Values]]
    printed: Mapping[tuple[str, str], float]


def judge(experiment: Experiment, cells: pd.DataFrame, others: Others) -> list[ClaimResult]:
    """Judge every claim of an experiment by its cells.

    `others` are the experiments that claims name under `also`, with their cells; one that is
    missing counts as not run. Raise UserError if one of them lacks a column of the claim.
    """
    results = []
    for claim in experiment.spec.claims:
        also = [others.get(name) or _with_cells(name, to_runs([])) for name in claim.also]
        subject = _subject(claim, [(experiment, cells), *also])
        compared = _comparisons(claim, subject, experiment.spec.competitors)
        missing = [
            f"{c.label}, {t.row}: {t.missing}" for c in compared for t in c.tests if t.missing
        ]
        reason = missing[0] if missing else ""
        reason += f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        outcome = "undetermined" if missing else _outcome(claim, compared)
        results.append(ClaimResult(claim, outcome, compared, reason))
    return results


def others(experiment: Experiment, results: Path) -> Others:
    """Return the experiments that claims name under `also` and that have runs, with their cells."""
    paths = {name: results / name / "runs.csv" for c in experiment.spec.claims for name in c.also}
    return {n: _with_cells(n, read_runs(path)) for n, path in paths.items() if path.is_file()}


def _with_cells(name: str, runs: pd.DataFrame) -> tuple[Experiment, pd.DataFrame]:
    experiment = experiments.load(name)
    return experiment, summarise(experiment, observations(experiment, runs))


def _subject(claim: Claim, known: Sequence[tuple[Experiment, pd.DataFrame]]) -> Subject:
    """Return the rows of all the claim's experiments that show its measure."""
    labels: dict[str, None] = {}
    points: dict[tuple[str, str], dict[float | None, Values]] = {}
    printed: dict[tuple[str, str], float] = {}
    for i, (file, cells) in enumerate(known):
        for column in claim.columns:
            if column not in file.spec.columns:
                raise unknown(f"column of {file.name}", column, file.spec.columns)
        measure = claim.measure or file.spec.metric
        scale = _scale(measure, bool(file.spec.figure and file.spec.figure.objective))
        for cell in cells.itertuples():
            among = i or not claim.among or cell.row in claim.among
            if not among or file.metric(cell.row) != measure:
                continue
            place = (f"{file.name}, {cell.row}" if i else cell.row, cell.column)
            values = {seed: scale(value) for seed, value in cell.by_seed.items()}
            x = None if math.isnan(cell.x) else cell.x
            labels[place[0]] = None
            points.setdefault(place, {})[x] = values, cell.reason
            if published := file.published(cell.row, cell.column):
                printed[place] = scale(published[0])
    return Subject(list(labels), points, printed)


def _at(subject: Subject, row: str, column: str, span: Span | None) -> dict[float | None, Values]:
    """Return the values of a column at each x of the span, all if None, and of its level line."""
    first, last = span if isinstance(span, tuple) else (span, span)
    here = {
        x: values
        for x, values in subject.points.get((row, column), {}).items()
        if x is None or first is None or last is None or first <= x <= last
    }
    return here or {None: NO_RUNS}


def _scale(measure: str, objective: bool) -> Callable[[float], float]:
    """Return the function to a scale on which more is better, and costs differ by their ratio."""

    def scale(value: float) -> float:
        if objective or measure in COSTS:
            value = math.log10(value) if value > 0 else math.nan
        return -value if measure in LOWER_IS_BETTER else value

    return scale


def _comparisons(claim: Claim, subject: Subject, competitors: list[str]) -> tuple[Comparison, ...]:
    given = claim.predicate
    if isinstance(given, Higher):
        return (_higher(given, subject),)
    if isinstance(given, Stable):
        return (_stable(given, subject),)
    pairs = product(given.columns, given.rivals(competitors))
    return tuple(_better(given, subject, *pair) for pair in pairs)


def _better(given: Better, subject: Subject, column: str, rival: str) -> Comparison:
    margin = given.by + math.log10(given.times)
    tests: list[PairedTest] = []
    printed: list[float] = []
    for row in subject.rows:
        theirs = _at(subject, row, rival, given.x)
        for x, ours in _at(subject, row, column, given.x).items():
            tests.append(_test(row, ours, theirs.get(x, theirs.get(None, NO_RUNS)), margin))
        if (row, column) in subject.printed and (row, rival) in subject.printed:
            printed.append(subject.printed[row, column] - subject.printed[row, rival] - margin)
    known = tuple(difference for difference in printed if not math.isnan(difference))
    return Comparison(f"{column} over {rival}", tuple(tests), margin, known)


def _higher(given: Higher, subject: Subject) -> Comparison:
    tests = []
    for row in subject.rows:
        high, low = (_mean(_at(subject, row, given.column, x)) for x in (given.at, given.than))
        tests.append(_test(row, high, low, given.by))
    label = f"{given.column} at {span(given.at)} over {span(given.than)}"
    return Comparison(label, tuple(tests), given.by)


def _stable(given: Stable, subject: Subject) -> Comparison:
    """Compare on each row the lowest mean, plus the range allowed, with the highest mean."""
    tests = []
    for row in subject.rows:
        points = list(_at(subject, row, given.column, given.x).values())
        complete = [point for point in points if not point[1]] or points
        low, high = (end(complete, key=lambda p: fmean(p[0].values() or [0])) for end in (min, max))
        lost = next((point for point in points if point[1]), low)
        n_comparisons = max(1, math.comb(len(points), 2))
        tests.append(_test(row, lost, high, -given.within, n_comparisons))
    return Comparison(f"{given.column} at {span(given.x)}", tuple(tests), -given.within)


def _test(
    row: str, ours: Values, theirs: Values, margin: float, n_comparisons: int = 1
) -> PairedTest:
    """Pair by seed, ours less theirs and the margin; a method without seeds has one value."""
    if missing := ours[1] or theirs[1]:
        return PairedTest(row, (), missing, n_comparisons)
    both = {**ours[0], **theirs[0]}
    seeds = [seed for seed in both if seed is not None] if len(both) > 1 else list(both)
    pairs = [[by_seed.get(s, by_seed.get(None)) for by_seed, _ in (ours, theirs)] for s in seeds]
    differences = tuple(a - b - margin for a, b in pairs if a is not None and b is not None)
    return PairedTest(row, differences, "" if differences else "no seed in common", n_comparisons)


def _mean(points: Mapping[float | None, Values]) -> Values:
    """Return by seed the mean over all x, for the seeds that every x has."""
    seeds = set.intersection(*(set(by_seed) for by_seed, _ in points.values()))
    means = {seed: fmean(by_seed[seed] for by_seed, _ in points.values()) for seed in seeds}
    return means, next((missing for _, missing in points.values() if missing), "")


def _outcome(claim: Claim, compared: Sequence[Comparison]) -> Outcome:
    rows = extent(claim)
    tests = [test for comparison in compared for test in comparison.tests]
    share = ALPHA / sum(test.n_comparisons for test in tests)

    def on_most_rows(comparison: Comparison, contrary: bool = False) -> bool:
        significant = sum(test.p(contrary) <= share for test in comparison.tests)
        return 2 * significant > len(comparison.tests)

    def as_claimed(comparison: Comparison) -> bool:
        differences = comparison.rows.values()
        if rows == "average":
            return fmean(differences) > 0
        return 2 * sum(d > 0 for d in differences) > len(differences)

    if rows == "every":
        holds = all(test.p() <= ALPHA for test in tests)
        fails = any(test.p(contrary=True) <= share for test in tests)
    elif rows == "some":
        holds = any(test.p() <= share for test in tests)
        fails = all(test.p(contrary=True) <= ALPHA for test in tests)
    elif rows == "most" and len(compared[0].rows) < MIN_ROWS:
        holds = all(on_most_rows(comparison) for comparison in compared)
        fails = any(on_most_rows(comparison, contrary=True) for comparison in compared)
    else:
        holds = all(as_claimed(comparison) and comparison.p() <= ALPHA for comparison in compared)
        fails = any(c.p(contrary=True) <= ALPHA / len(compared) for c in compared)
    return "holds" if holds else "fails" if fails else "undetermined"


def extent(claim: Claim) -> str:
    """Return on which rows the claim is to be true: every, some, most, or their average."""
    given = claim.predicate
    return given.rows if isinstance(given, Better) else "every"


def span(x: Span) -> str:
    """Return the text of a span: 3, or 3 to 5."""
    return " to ".join(f"{value:g}" for value in (x if isinstance(x, tuple) else (x,)))
