"""Claims of the papers, judged by our runs: holds, fails or undetermined, with the numbers.

The tests (see `stats`) are fixed by the kind of predicate, before anything is run. A claim on every
row holds if the test of every row is significant; it fails if one row shows the contrary. A claim
on some row holds if one row's test is significant; it fails if every row shows the contrary. A
claim on most rows holds if the tests of more than half are significant, one on their average if the
test of the mean is; with units, both are tested over these. Where one of several tests is enough,
they share the significance level. A difference that is smaller than what matters, one without a
known error, and one between identical columns decide nothing. Otherwise, or if runs are missing,
the claim is undetermined.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from transferbench import experiments
from transferbench.evidence.frame import (
    Cell,
    identical_columns,
    observations,
    summarise,
)
from transferbench.evidence.page import OUTCOMES
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Better, Claim, Higher, Span, Stable
from transferbench.measures import COSTS, LOWER_IS_BETTER, TITLES
from transferbench.runs import store
from transferbench.runs.record import Documents
from transferbench.stats import ALPHA, Decision, Extent, PairedTest, PairedTests, paired_error

Outcome = Literal["holds", "fails", "undetermined"]
ROWS = {
    "every": "on every row",
    "most": "on most rows",
    "some": "on some row",
    "average": "on the rows' average",
}
HEADER = ("", "rows as claimed", "rows against", "mean", "least", "p for", "p against", "published")


@dataclass(frozen=True)
class ClaimResult:
    """A claim, its outcome and comparisons, and the reason if runs are missing.

    decisions: of each comparison, what decides on the claim and on its contrary; empty if runs are
    missing. matters: the smallest difference that matters, on the scale that is compared. related:
    a sentence for each claim under `read_with`, with its outcome.
    """

    claim: Claim
    outcome: Outcome
    comparisons: tuple[PairedTests, ...]
    reason: str = ""
    decisions: tuple[tuple[Decision, Decision], ...] = ()
    matters: float = 0.0
    related: tuple[str, ...] = ()


#: Returns another experiment and its cells, by name.
Others = Callable[[str], tuple[Experiment, Sequence[Cell]]]
#: In place of a column that a row does not have.
NO_RUNS = Cell(row="", column="", metric="", reason="no runs")


@dataclass(frozen=True)
class ClaimRow:
    """A row that a claim compares, its values scaled so that more is better.

    unit: of what the row is a sample, or "". identical: columns that are the same on every row of
    the experiment. matters: the smallest difference that matters. whole: the largest value of a
    score. cells: by column and x, which is None in a table and for level lines.
    """

    label: str
    unit: str
    identical: list[list[str]]
    matters: float
    whole: int
    cells: dict[str, dict[float | None, Cell]] = field(default_factory=dict)

    def at(self, column: str, span: Span | None) -> dict[float | None, Cell]:
        """Return the cells of a column at each x of the span, all if None, and its level line."""
        first, last = span if isinstance(span, tuple) else (span, span)
        inside = {
            x: cell
            for x, cell in self.cells.get(column, {}).items()
            if x is None or first is None or last is None or first <= x <= last
        }
        return inside or {None: NO_RUNS}

    def mean(self, column: str, span: Span | None) -> Cell:
        """Return by seed the mean of a column over a span, for the seeds that every x has."""
        cells = list(self.at(column, span).values())
        seeds = set.intersection(*(set(cell.by_seed) for cell in cells))
        means = {seed: fmean(cell.by_seed[seed] for cell in cells) for seed in seeds}
        missing = next((cell.reason for cell in cells if cell.reason), "")
        variance = fmean(cell.variance for cell in cells)  # the same documents at every x
        right = {seed: _mean([cell.right.get(seed, {}) for cell in cells]) for seed in seeds}
        return replace(cells[0], by_seed=means, reason=missing, variance=variance, right=right)

    def test(self, ours: Cell, theirs: Cell, margin: float) -> PairedTest:
        """Pair by seed, ours less theirs and the margin; a method without seeds has one value."""
        seeds = list({**ours.by_seed, **theirs.by_seed})
        if len(seeds) > 1:  # None stands for the one value of a method without seeds
            seeds = [seed for seed in seeds if seed is not None]
        differences = {}
        for seed in seeds:
            a = ours.by_seed.get(seed, ours.by_seed.get(None))
            b = theirs.by_seed.get(seed, theirs.by_seed.get(None))
            if a is not None and b is not None:
                differences[seed] = a - b - margin
        right, other = (
            _mean([cell.right.get(seed, cell.right.get(None, {})) for seed in differences])
            for cell in (ours, theirs)
        )
        error = math.sqrt(ours.variance + theirs.variance)  # as if the documents were different
        if right and right.keys() == other.keys():
            error = self.whole * paired_error([right[key] - other[key] for key in right])
        return PairedTest(
            self.label,
            tuple(differences.values()),
            ours.reason or theirs.reason or ("" if differences else "no seed in common"),
            seeds=tuple(differences),
            unit=self.unit,
            matters=self.matters,
            error=error,
        )


def _mean(values: Sequence[Documents]) -> Documents:
    """Return the mean value of each document; empty unless all are of the same documents."""
    first = values[0] if values else {}
    if any(each.keys() != first.keys() for each in values):
        return {}
    return {key: np.mean([each[key] for each in values], axis=0) for key in first}


def judge(
    experiment: Experiment, cells: Sequence[Cell], results: Path | None = None
) -> list[ClaimResult]:
    """Judge every claim of an experiment by its cells.

    results: the folder with the runs of other experiments that claims name; without it, or without
    runs in it, they count as not run.
    """

    @cache
    def named(name: str) -> tuple[Experiment, Sequence[Cell]]:
        file, path = experiments.load(name), results and results / name / store.NAME
        records = store.read(path) if path and path.is_file() else {}
        return file, summarise(file, observations(file, records))

    judged = []
    for claim in experiment.spec.claims:
        related = []
        for name, says in claim.read_with.items():
            other, its_cells = named(name)
            same = next(each for each in other.spec.claims if each.says == says)
            outcome = _judge(other, its_cells, same, named).outcome
            related.append(f"See also {name} ({OUTCOMES[outcome]} {outcome}): {says}")
        judged.append(replace(_judge(experiment, cells, claim, named), related=tuple(related)))
    return judged


def _judge(
    experiment: Experiment, cells: Sequence[Cell], claim: Claim, others: Others
) -> ClaimResult:
    """Judge a claim: one comparison is enough for it to hold on some row, and else to fail."""
    matters = claim.matters_on(_compares_ratios(claim, experiment), experiment.spec.scale_max)
    rows = [
        row
        for i, (file, its_cells) in enumerate([(experiment, cells), *map(others, claim.also)])
        for row in _rows(claim, file, its_cells, matters, f"{file.name}, " if i else "")
    ]
    compared = _comparisons(claim, rows, experiment.spec.competitors)
    missing = [f"{c.label}, {t.row}: {t.missing}" for c in compared for t in c.tests if t.missing]
    if missing:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        return ClaimResult(claim, "undetermined", compared, missing[0] + more, (), matters)
    extent, n = _extent(claim), len(compared)
    decisions = tuple((c.decision(extent, n, False), c.decision(extent, n, True)) for c in compared)
    needed, enough = (any, all) if extent == "some" else (all, any)
    outcome: Outcome = "undetermined"
    if needed(for_it.p <= ALPHA for for_it, _ in decisions):
        outcome = "holds"
    elif enough(against.p <= ALPHA for _, against in decisions):
        outcome = "fails"
    return ClaimResult(claim, outcome, compared, "", decisions, matters)


def _rows(
    claim: Claim, file: Experiment, cells: Sequence[Cell], matters: float, prefix: str
) -> list[ClaimRow]:
    """Return the rows of an experiment that show the claim's measure.

    prefix: of the rows' labels; empty for the claim's own experiment, whose rows it may select.
    """
    measure, better = claim.measure or file.spec.metric, claim.better
    sign = -1 if measure in LOWER_IS_BETTER else 1
    ratio, whole = _compares_ratios(claim, file), file.spec.scale_max

    def scale(value: float, avoided: float) -> float:
        value += avoided * (whole - value)
        if ratio:
            value = math.log10(value) if value > 0 else math.nan
        return sign * value

    same = identical_columns(file, cells)
    # A curve has other decisions at each iteration, which are not recorded.
    by_document = measure == "accuracy" and not (file.spec.figure and file.spec.figure.iterations)
    rows: dict[str, ClaimRow] = {}
    for cell in cells:
        named = cell.row in claim.among
        chosen = named or (not file.spec.rows[cell.row].reading_of and (prefix or not claim.among))
        if not chosen or file.metric(cell.row) != measure:
            continue
        label = prefix + cell.row
        row = rows.setdefault(label, ClaimRow(label, file.unit(cell.row), same, matters, whole))
        # Of a rival, the share of the errors that the claim is about counts as avoided.
        rival = better is not None and cell.column not in better.columns
        avoided = better.fewer_errors if better and rival else 0.0
        scaled = {seed: scale(value, avoided) for seed, value in cell.by_seed.items()}
        only = file.spec.rows[cell.row].domain
        right = {
            record.seed: {key: (1 - avoided) * bits for key, bits in record.correct(only).items()}
            for record in (cell.records if by_document else ())
        }
        x = None if math.isnan(cell.x) else cell.x
        row.cells.setdefault(cell.column, {})[x] = replace(
            cell, by_seed=scaled, published=scale(cell.published, avoided), right=right
        )
        if better and better.value is not None:
            stated: dict[int | None, float] = {None: scale(better.value, better.fewer_errors)}
            cell = replace(NO_RUNS, reason="", by_seed=stated, variance=0.0)
            row.cells[f"{better.value:g}"] = {None: cell}
    return list(rows.values())


def _compares_ratios(claim: Claim, file: Experiment) -> bool:
    """True if the claim is about costs or objectives, which are compared by log10."""
    objective = bool(file.spec.figure and file.spec.figure.objective)
    return objective or (claim.measure or file.spec.metric) in COSTS


def _comparisons(
    claim: Claim, rows: Sequence[ClaimRow], competitors: list[str]
) -> tuple[PairedTests, ...]:
    predicate = claim.predicate
    if isinstance(predicate, Better):
        pairs = product(predicate.columns, predicate.rivals(competitors))
        return tuple(_better(predicate, rows, *pair) for pair in pairs)
    if isinstance(predicate, Higher):
        tests = [
            row.test(
                row.mean(predicate.column, predicate.at),
                row.mean(predicate.column, predicate.than),
                predicate.by,
            )
            for row in rows
        ]
        label = f"{predicate.column} at {_span(predicate.at)} over {_span(predicate.than)}"
        return (PairedTests(label, tuple(tests), predicate.by),)
    label = f"{predicate.column} at {_span(predicate.x)}"
    return (PairedTests(label, tuple(_stable(predicate, row) for row in rows), -predicate.within),)


def _better(predicate: Better, rows: Sequence[ClaimRow], column: str, rival: str) -> PairedTests:
    margin = predicate.by + math.log10(predicate.times)
    tests: list[PairedTest] = []
    printed: list[float] = []
    for row in rows:
        theirs = row.at(rival, predicate.x)
        same = any(column in group and rival in group for group in row.identical)
        for x, ours in row.at(column, predicate.x).items():
            test = row.test(ours, theirs.get(x, theirs.get(None, NO_RUNS)), margin)
            tests.append(replace(test, identical=same))
        ends = [
            next(iter(row.cells.get(name, {None: NO_RUNS}).values())) for name in (column, rival)
        ]
        printed.append(ends[0].published - ends[1].published - margin)
    compared = tuple(difference for difference in printed if not math.isnan(difference))
    return PairedTests(f"{column} over {rival}", tuple(tests), margin, compared)


def _stable(predicate: Stable, row: ClaimRow) -> PairedTest:
    """Compare one point, plus the range allowed, with another: the least favourable pair by t.

    It may be another pair than that of the lowest and the highest mean. Only seeds are tested:
    the method and the documents are the same at every x, so an error of independent documents
    would be far too large.
    """
    points = list(row.at(predicate.column, predicate.x).values())
    complete = [point for point in points if not point.reason] or points
    seeds = min(len(point.by_seed) for point in complete)
    values = np.array([list(point.by_seed.values())[:seeds] or [0.0] for point in complete])
    gaps = values[:, None] - values + predicate.within
    # Without a spread it is the pair of the lowest and the highest mean.
    t = gaps.mean(axis=-1) / (gaps.std(axis=-1) + 1e-9)
    low, high = (complete[i] for i in np.unravel_index(t.argmin(), t.shape))
    # An incomplete point in place of the lowest one makes the test incomplete, too.
    first = next((point for point in points if point.reason), low)
    n_comparisons = max(1, math.perm(len(points), 2))
    test = row.test(first, high, -predicate.within)
    return replace(test, n_comparisons=n_comparisons, error=math.nan)


def _extent(claim: Claim) -> Extent:
    """Return on which rows the claim is to be true: every, some, most, or their average."""
    predicate = claim.predicate
    return predicate.rows if isinstance(predicate, Better) else "every"


def _span(x: Span) -> str:
    """Return the text of a span: 3, or 3 to 5."""
    return " to ".join(f"{value:g}" for value in (x if isinstance(x, tuple) else (x,)))


def explanation(experiment: Experiment, result: ClaimResult) -> str:
    """Return what was tested and, if nothing could be decided, why, in sentences."""
    if not result.decisions:
        return f"{result.reason}."
    sentences = [meaning(result.claim)]
    if result.matters:
        ratio = _compares_ratios(result.claim, experiment)
        least = f"{10**result.matters:g} times" if ratio else f"{result.matters:g}"
        sentences.append(f"Differences below {least} are too small to count")
    units, rows = result.comparisons[0].units, _extent(result.claim)
    if result.comparisons[0].over_units(rows):
        tested, least_p = f"Tested over {len(units)} units", 2.0 ** -len(units)
        few = ", so nothing can be decided" if least_p > ALPHA else ""
        sentences.append(f"{tested}, each a {experiment.spec.units}: p ≥ {least_p:.3g}{few}")
    why: dict[str, list[str]] = {}
    for comparison, (for_it, against) in zip(result.comparisons, result.decisions, strict=True):
        reason = comparison.undecided(rows)
        if reason and min(for_it.p, against.p) > ALPHA:
            why.setdefault(reason, []).append(comparison.label)
    sentences += [f"{reason}: {', '.join(which)}" for reason, which in why.items()]
    return ". ".join([*sentences, *result.related]) + "."


def identical(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return a sentence for each group of identical columns."""
    return [
        f"{', '.join(names[:-1])} and {names[-1]} are identical: the same values on every row and "
        "seed"
        for names in identical_columns(experiment, cells)
    ]


def meaning(claim: Claim) -> str:
    """Return the predicate of a claim in words."""
    predicate = claim.predicate
    if isinstance(predicate, Better):
        words = _better_words(predicate, claim)
    elif isinstance(predicate, Higher):
        words = f"{predicate.column} higher at x = {_span(predicate.at)}"
        words += f" than at {_span(predicate.than)}"
        words += f" by more than {predicate.by:g}" if predicate.by else ""
    else:
        words = f"{predicate.column} at x = {_span(predicate.x)} within {predicate.within:g}"
    words += f"; among {', '.join(claim.among)}" if claim.among else ""
    words += f"; by {TITLES[claim.measure]}" if claim.measure else ""
    return words + (f"; with the rows of {', '.join(claim.also)}" if claim.also else "")


def _better_words(predicate: Better, claim: Claim) -> str:
    relation = "ahead of"
    if predicate.times != 1:
        adjective = "small" if claim.measure == "peak_mib" else "fast"
        relation = f"at least {predicate.times:g} times as {adjective} as"
    elif predicate.fewer_errors:
        relation = f"with at least {predicate.fewer_errors:.1%} fewer errors than"
    elif predicate.by:
        margin = f"{abs(predicate.by):g}"
        relation = (
            f"more than {margin} ahead of" if predicate.by > 0 else f"less than {margin} behind"
        )
    over = " and ".join(predicate.over) if predicate.over else "every other method"
    over = over if predicate.value is None else f"{predicate.value:g}"
    place = f", at x = {_span(predicate.x)}" if predicate.x is not None else ""
    return f"{' and '.join(predicate.columns)} {relation} {over} {ROWS[predicate.rows]}{place}"


def comparisons(experiment: Experiment, result: ClaimResult) -> list[tuple[str, ...]]:
    """Return a line under HEADER for each comparison; margins are added back to differences.

    For a column claimed to be stable, the line has the difference of the least favourable pair.
    """
    claim, lines, rows = result.claim, [], _extent(result.claim)
    total = sum(test.n_comparisons for c in result.comparisons for test in c.tests)
    for comparison, decisions in zip(result.comparisons, result.decisions, strict=False):
        tests, printed = comparison.tests, comparison.printed
        averaged = comparison.units if comparison.over_units(rows) else tests
        text = partial(_text, experiment, claim, comparison.margin)
        least = min(tests, key=lambda test: test.mean)
        as_claimed = sum(test.mean > 0 and test.mean >= test.matters for test in tests)
        in_paper = f"{sum(d > 0 for d in printed)} of {len(printed)}" if printed else ""
        lines.append((
            comparison.label,
            f"{as_claimed} of {len(tests)}",
            str(sum(test.p(contrary=True) <= ALPHA / total for test in tests)),
            text(fmean(test.mean for test in averaged)),
            f"{text(least.mean)} {least.row}",
            *map(_p, decisions),
            text(fmean(printed)) if printed and rows == "average" else in_paper,
        ))  # fmt: skip
    return lines


def _text(experiment: Experiment, claim: Claim, margin: float, difference: float) -> str:
    """Return a difference, with the margin added back."""
    digits, value = 3 if experiment.spec.unit == "fraction" else 2, difference + margin
    if claim.stable:
        return f"difference {-value:.{digits}f}".replace("-", "−")
    if (claim.measure or experiment.spec.metric) in COSTS:
        return f"× {10**value:.2f}"
    return f"{value:+.{digits}f}".replace("-", "−")


def _p(decision: Decision) -> str:
    """Return p and those of its parts that are known."""
    parts = {"seeds": decision.seeds, "documents": decision.documents}
    known = ", ".join(f"{name} {p:.2g}" for name, p in parts.items() if not math.isnan(p))
    return f"{decision.p:.2g} ({known})" if known else f"{decision.p:.2g}"
