"""Judge the claims of the papers by our runs: they hold, fail or are open.

The tests (see `stats`) are fixed by the kind of predicate, not by the data. A claim on every row
holds if the test of every row is significant; it fails if one row shows the contrary. A claim
on some row holds if one row's test is significant; it fails if every row shows the contrary. A
claim on most rows holds if the tests of more than half of the rows are significant. A claim on
their average holds if the test of the mean is significant. If the rows have units, both are tested
over the units. Where one of several tests is enough, they share the significance level. A
difference that is smaller than what matters, one without a known error (a single run), one of fewer
than five equal seeds, and one between identical columns decide nothing. Otherwise, or if runs are
missing, the claim is open.
"""

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np
import pandas as pd

from transferbench import experiments, stats
from transferbench.evidence.frame import (
    Cell,
    ReadCells,
    identical_columns,
    observations,
    summarise,
)
from transferbench.evidence.page import words
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Better, Claim, Higher, Span, Stable
from transferbench.measures import COSTS, LOWER_IS_BETTER, TITLES
from transferbench.runs import store
from transferbench.runs.record import CorrectDocuments
from transferbench.stats import ALPHA, NO_SEED, ROUNDING, Extent

Outcome = Literal["holds", "fails", "open"]
HEADER = ("", "rows as claimed", "rows against", "mean", "least", "p for", "p against", "published")


@dataclass(frozen=True)
class ClaimResult:
    """A claim, its outcome, and what was compared."""

    claim: Claim
    outcome: Outcome
    #: A line for each comparison, unit, row and x: the test of the differences, less the margin
    #: that the claim states, see `stats.paired_tests`; the difference in the published tables; and
    #: why runs are missing.
    tests: pd.DataFrame
    #: A line for each comparison: its mean difference, and the p for the claim and against it, see
    #: `stats.decide`. Empty if runs are missing.
    decisions: pd.DataFrame
    reason: str = ""
    #: The smallest difference that matters, on the scale that is compared.
    matters: float = 0.0
    #: The number of units over which the claim is tested; 0 if it is about the rows.
    n_units: int = 0
    #: A sentence for each claim under `read_with`, with its outcome.
    related: tuple[str, ...] = ()


#: Returns another experiment and its cells, by name.
Others = Callable[[str], tuple[Experiment, Sequence[Cell]]]
#: In place of a column that a row does not have.
NO_RUNS = Cell(row="", column="", metric="", reason="no runs")


@dataclass(frozen=True)
class ScaledRow:
    """A row that a claim compares, its values scaled so that more is better."""

    #: Its label, after the name of its experiment if that is not the claim's.
    label: str
    #: The unit that the row is a sample of, or "".
    unit: str
    #: Groups of columns that are the same on every row of the experiment.
    identical: list[list[str]]
    #: The largest value of a score; 0 for costs and objectives, which are not of documents.
    scale_max: int
    #: The domain that the row shows; None for all.
    domain: str | None
    #: True if the runs may say which documents are right.
    by_document: bool
    #: The share of the errors that counts as avoided, by rival.
    avoided: Mapping[str, float]
    #: Cells by column and x; x is None in a table and for level lines.
    cells: dict[str, dict[float | None, Cell]] = field(default_factory=dict)

    def at(self, column: str, span: Span | None) -> dict[float | None, Cell]:
        """Return the cells of a column by x: those in the span (all if None) and its level line."""
        first, last = span if isinstance(span, tuple) else (span, span)
        inside = {
            x: cell
            for x, cell in self.cells.get(column, {}).items()
            if x is None or first is None or last is None or first <= x <= last
        }
        return inside or {None: NO_RUNS}

    def mean(self, column: str, span: Span) -> Cell:
        """Return the mean of a column over a span by seed, for the seeds that every x has."""
        cells = list(self.at(column, span).values())
        seeds = set.intersection(*(set(cell.by_seed) for cell in cells))
        return replace(
            cells[0],
            by_seed={seed: fmean(cell.by_seed[seed] for cell in cells) for seed in seeds},
            reason=next((cell.reason for cell in cells if cell.reason), ""),
            variance=fmean(cell.variance for cell in cells),  # the same documents at every x
            records=tuple(record for cell in cells for record in cell.records),
            repeats=tuple(seed for cell in cells for seed in cell.repeats),
        )

    def right(self, cell: Cell, seeds: Container[int | None]) -> CorrectDocuments:
        """Return the share of runs in which each document is right; empty if it is not known."""
        runs = [
            record.correct(self.domain)
            for seed, record in zip(cell.repeats, cell.records, strict=True)
            if self.by_document and (seed is None or seed in seeds)
        ]
        if not runs or any(run.keys() != runs[0].keys() for run in runs):
            return {}
        avoided = self.avoided.get(cell.column, 0.0)
        return {
            key: avoided + (1 - avoided) * np.mean([run[key] for run in runs], axis=0)
            for key in runs[0]
        }

    def pair(self, comparison: str, ours: Cell, theirs: Cell, margin: float) -> dict[str, Any]:
        """Return the line of two cells: ours less theirs and the margin, paired by seed."""
        # A method without seeds has one value, which is paired with each seed of the other.
        # `margin`: What the difference must exceed.
        seeds = {**ours.by_seed, **theirs.by_seed}
        if len(seeds) > 1:  # None stands for the one value of a method without seeds
            seeds.pop(None, None)
        by_seed = {}
        for seed in seeds:
            a = ours.by_seed.get(seed, ours.by_seed.get(None))
            b = theirs.by_seed.get(seed, theirs.by_seed.get(None))
            if a is not None and b is not None:
                by_seed[seed] = a - b - margin
        reason = "" if by_seed else "no seed in common"
        if any(map(math.isnan, by_seed.values())):
            reason = "a value that is not above 0 has no logarithm"
        return {
            "comparison": comparison,
            "unit": self.unit or self.label,
            "row": self.label,
            "by_seed": {NO_SEED if seed is None else seed: d for seed, d in by_seed.items()},
            "identical": False,
            "n_pairs": 1,
            "published": math.nan,
            "missing": ours.reason or theirs.reason or reason,
        } | self.document_error(ours, theirs, by_seed, margin)

    def document_error(
        self, ours: Cell, theirs: Cell, by_seed: Mapping[int | None, float], margin: float
    ) -> dict[str, float]:
        """Return what the choice of documents does to a difference."""
        # If both methods are scored on the same documents, and it is known which are right, they
        # are paired. Otherwise the error is as if they were scored on different ones. A stated
        # value has no error: ours counts as if it were the stated one. Two single runs of methods
        # without seeds have an exact test.
        # `margin`: What the difference must exceed.
        error, exact = math.sqrt(ours.variance + theirs.variance), (math.nan, math.nan)
        single, scale_max = by_seed.keys() == {None}, self.scale_max
        right, other = self.right(ours, by_seed), self.right(theirs, by_seed)
        if right and right.keys() == other.keys():
            paired = [right[key] - other[key] for key in right]
            error = scale_max * stats.paired_error(paired, margin / scale_max)
            if single and len(paired) == 1 and not margin and not np.any(paired[0] % 1):
                exact = stats.mcnemar_p(paired[0])
        elif error > 0 and not theirs.records:
            stated = (fmean(theirs.by_seed.values()) + margin) / scale_max
            share, n = min(max(stated, 0.0), 1.0), self.documents(ours)
            squares = (share * (1 - share) + stats.ADDED_DOCUMENTS / n) / n
            error = scale_max * math.sqrt(squares.sum()) / len(n)
            if single and len(n) == 1:
                n_right = (by_seed[None] / scale_max + stated) * n[0]
                exact = stats.binomial_p(round(n_right), int(n[0]), share)
        scored = [self.documents(cell).sum() for cell in (ours, theirs) if cell.records]
        known = math.isnan(error) and min(scored, default=0)
        least = scale_max / min(scored) if known else 0.0
        return {
            "error": error,
            "least_error": least,
            "exact_for": exact[0],
            "exact_against": exact[1],
        }

    def documents(self, cell: Cell) -> np.ndarray:
        """Return the number of scored documents of each domain of a cell."""
        done = [record for record in cell.records if record.done]
        return np.array([
            min(record.documents.get(domain, 0) for record in done)
            for domain in (done[0].metrics if done else ())
            if domain == (self.domain or domain)
        ])  # fmt: skip


def judge(
    experiment: Experiment, cells: Sequence[Cell], others: ReadCells | Path | None = None
) -> list[ClaimResult]:
    """Judge every claim of an experiment by its cells."""
    # `others`: The other experiments that claims name, or the folder of their runs. Without runs,
    # they count as not run.
    read = ReadCells(others) if isinstance(others, Path) else others

    @cache
    def named(name: str) -> tuple[Experiment, Sequence[Cell]]:
        if read and (read.results / name / store.NAME).is_file():
            file, _, its_cells = read.named(name)
            return file, its_cells
        file = experiments.load(name, read.results if read else None)
        return file, summarise(file, observations(file, {}))

    judged = []
    for claim in experiment.spec.claims:
        related = []
        for name, says in claim.read_with.items():
            other, its_cells = named(name)
            its_claim = next(claim for claim in other.spec.claims if claim.says == says)
            outcome = _judge(other, its_cells, its_claim, named).outcome
            related.append(f"See also {name} ({outcome}): {says}")
        judged.append(replace(_judge(experiment, cells, claim, named), related=tuple(related)))
    return judged


def _judge(
    experiment: Experiment, cells: Sequence[Cell], claim: Claim, others: Others
) -> ClaimResult:
    """Judge a claim."""
    # For `some`, one significant comparison makes the claim hold. Otherwise one makes it fail.
    matters = claim.matters_on(_compares_ratios(claim, experiment), experiment.spec.scale_max)
    predicate, competitors = claim.predicate, experiment.spec.competitors
    columns = {getattr(predicate, "column", "")}
    if isinstance(predicate, Better):
        columns = {*predicate.columns, *predicate.rivals(competitors)}
    rows = [
        row
        for i, (file, its_cells) in enumerate([(experiment, cells), *map(others, claim.also)])
        for row in _rows(claim, file, its_cells, columns, f"{file.name}, " if i else "")
    ]
    lines = pd.DataFrame([*_lines(claim, rows, competitors)])
    tests = lines.set_index(["comparison", "unit", "row"])
    differences = pd.DataFrame([*tests.pop("by_seed")], tests.index)
    if missing := [(*index, why) for index, why in tests["missing"].items() if why]:
        comparison, _, row, why = missing[0]
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        reason = f"{comparison}, {row}: {why}{more}"
        return ClaimResult(claim, "open", tests, pd.DataFrame(), reason, matters)
    tests = stats.paired_tests(differences, tests, matters)
    extent = _extent(claim)
    over_units = extent in ("most", "average") and all(row.unit for row in rows)
    decisions = stats.decide(differences, tests, extent, matters, over_units)
    # Bonferroni: multiply p by the number of comparisons if one of them suffices.
    holds_if, fails_if, corrected_side = (
        (any, all, "for_") if extent == "some" else (all, any, "against_")
    )
    shared = decisions.filter(like=corrected_side)
    decisions[shared.columns] = shared.mul(len(shared)).clip(upper=1.0)
    outcome: Outcome = "open"
    if holds_if(decisions["for_p"] <= ALPHA):
        outcome = "holds"
    elif fails_if(decisions["against_p"] <= ALPHA):
        outcome = "fails"
    n_units = tests.index.unique("unit").size if over_units else 0
    return ClaimResult(claim, outcome, tests, decisions, "", matters, n_units)


def _rows(
    claim: Claim, file: Experiment, cells: Sequence[Cell], columns: set[str], prefix: str
) -> list[ScaledRow]:
    """Return the rows of an experiment that show the claim's measure."""
    # `prefix`: Start of the rows' labels; empty for the claim's experiment, of which `among` may
    # select rows.
    measure, better = claim.measure or file.spec.metric, claim.better
    sign = -1 if measure in LOWER_IS_BETTER else 1
    ratio, scale_max = _compares_ratios(claim, file), file.spec.scale_max

    def scale(value: float, avoided: float) -> float:
        value += avoided * (scale_max - value)
        if ratio:
            value = math.log10(value) if value > 0 else math.nan
        return sign * value

    same = identical_columns(file, cells)
    avoided = dict.fromkeys(columns - {*better.columns}, better.fewer_errors) if better else {}
    # A curve has other decisions at each iteration, which are not recorded.
    by_document = measure == "accuracy" and not (file.spec.figure and file.spec.figure.iterations)
    rows: dict[str, ScaledRow] = {}
    for cell in cells:
        spec = file.spec.rows[cell.row]
        by_default = not spec.reading_of and (prefix or not claim.among)
        if not (cell.row in claim.among or by_default) or file.metric(cell.row) != measure:
            continue
        label = prefix + cell.row
        if label not in rows:
            unit, top = file.unit(cell.row), 0 if ratio else scale_max
            rows[label] = ScaledRow(label, unit, same, top, spec.domain, by_document, avoided)
        if cell.column not in columns:
            continue
        share, x = avoided.get(cell.column, 0.0), None if math.isnan(cell.x) else cell.x
        scaled = {seed: scale(value, share) for seed, value in cell.by_seed.items()}
        rows[label].cells.setdefault(cell.column, {})[x] = replace(
            cell, by_seed=scaled, published=scale(cell.published, share)
        )
        if better and better.value is not None:
            stated: dict[int | None, float] = {None: scale(better.value, better.fewer_errors)}
            cell = replace(NO_RUNS, reason="", by_seed=stated, variance=0.0)
            rows[label].cells[f"{better.value:g}"] = {None: cell}
    return list(rows.values())


def _compares_ratios(claim: Claim, file: Experiment) -> bool:
    """Return True if the claim is about costs or objectives, which are compared by log10."""
    objective = bool(file.spec.figure and file.spec.figure.objective)
    return objective or (claim.measure or file.spec.metric) in COSTS


def _lines(
    claim: Claim, rows: Sequence[ScaledRow], competitors: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield a line for each comparison, row and x; see `ScaledRow.pair`."""
    predicate, margin = claim.predicate, _margin(claim)
    if isinstance(predicate, Better):
        for column, rival in product(predicate.columns, predicate.rivals(competitors)):
            for row in rows:
                same = any(column in group and rival in group for group in row.identical)
                theirs = row.at(rival, predicate.x)
                for x, ours in row.at(column, predicate.x).items():
                    other = theirs.get(x, theirs.get(None, NO_RUNS))
                    published = ours.published - other.published - margin
                    line = row.pair(f"{column} over {rival}", ours, other, margin)
                    yield line | {"identical": same, "published": published}
        return
    column = predicate.column
    for row in rows:
        if isinstance(predicate, Higher):
            label = (
                f"{column} at {words('span', predicate.at)} over {words('span', predicate.than)}"
            )
            at, than = row.mean(column, predicate.at), row.mean(column, predicate.than)
            yield row.pair(label, at, than, margin)
        else:
            label = f"{column} at {words('span', predicate.x)}"
            points = list(row.at(column, predicate.x).values())
            low, high = _least_favourable(points, predicate.within)
            line = row.pair(label, low, high, margin)
            line["n_pairs"] = max(1, math.perm(len(points), 2))
            # A statement about these documents, which are the same at every x: they have no error.
            line |= {"error": 0.0, "exact_for": math.nan, "exact_against": math.nan}
            yield line


def _margin(claim: Claim) -> float:
    """Return what a difference must exceed, on the scale that is compared."""
    match claim.predicate:
        case Better(by=by, times=times):
            return by + math.log10(times)
        case Higher(by=by):
            return by
        case Stable(within=within):
            return -within


def _least_favourable(points: Sequence[Cell], within: float) -> tuple[Cell, Cell]:
    """Return the points, low and high, of a stable column with the largest p for it."""
    # They may differ from the points of the lowest and the highest mean.
    complete = [point for point in points if not point.reason] or points
    seeds = min(len(point.by_seed) for point in complete)
    values = np.array([list(point.by_seed.values())[:seeds] or [0.0] for point in complete])
    gaps = values[:, None] - values + within
    mean, spread = gaps.mean(axis=-1), gaps.std(axis=-1) / math.sqrt(max(seeds - 1, 1))
    n = math.inf if None in complete[0].by_seed else seeds
    of_equal = np.where(mean > 0, 2.0**-n, 1 - 2.0**-n)  # the sign test
    p = np.where(spread > ROUNDING, stats.one_sided_p(mean, spread, n, 0.0), of_equal)
    np.fill_diagonal(p, -1.0)  # no pair
    p[np.isnan(mean)] = 2.0  # values without a logarithm make the test incomplete
    least = np.lexsort((mean.ravel(), -p.ravel()))[0]
    low, high = (complete[i] for i in np.unravel_index(least, p.shape))
    # An incomplete point in place of the lowest one makes the test incomplete, too.
    return next((point for point in points if point.reason), low), high


def _extent(claim: Claim) -> Extent:
    """Return the rows on which the claim is to be true: every, some, most, or their average."""
    predicate = claim.predicate
    return predicate.rows if isinstance(predicate, Better) else "every"


def explanation(experiment: Experiment, result: ClaimResult) -> str:
    """Return sentences on what was tested and, if nothing could be decided, why."""
    if result.decisions.empty:
        return f"{result.reason}."
    sentences = [meaning(result.claim)]
    if result.matters:
        ratio = _compares_ratios(result.claim, experiment)
        least = f"{10**result.matters:g} times" if ratio else f"{result.matters:g}"
        sentences.append(f"Differences below {least} are too small to count")
    if n := result.n_units:
        few = ", so nothing can be decided" if 2.0**-n > ALPHA else ""
        unit = experiment.spec.units
        sentences.append(f"Tested over {n} units, each a {unit}: p ≥ {2.0**-n:.3g}{few}")
    why: dict[str, list[str]] = {}
    for label, rows in result.tests.groupby(level="comparison", sort=False):
        reason = _undecided(rows["undecided"], result)
        if reason and result.decisions.loc[label, ["for_p", "against_p"]].min() > ALPHA:
            why.setdefault(reason, []).append(label)
    sentences += [f"{reason}: {', '.join(labels)}" for reason, labels in why.items()]
    return ". ".join([*sentences, *result.related]) + "."


def _undecided(of_rows: pd.Series, result: ClaimResult) -> str:
    """Return why the tests of a comparison can decide nothing, "" if they can."""
    # Over units the errors of rows do not count. An average has the errors of all rows.
    reasons = [reason for reason in of_rows if reason]
    if result.n_units:
        reasons = [each for each in reasons if each in (stats.IDENTICAL, stats.SMALL)]
    if len(reasons) < len(of_rows):
        if result.n_units or _extent(result.claim) == "average":
            return ""
        reasons = [each for each in reasons if each != stats.SMALL]
    n = reasons.count(reasons[0]) if reasons else 0
    where = f", on {n} of {len(of_rows)} rows" if n < len(of_rows) else ""
    return f"{reasons[0]}{where}" if reasons else ""


def identical(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return a sentence for each group of identical columns."""
    return [
        f"{', '.join(names[:-1])} and {names[-1]} are identical: the same values on every row and "
        "seed"
        for names in identical_columns(experiment, cells)
    ]


def meaning(claim: Claim) -> str:
    """Return the predicate of a claim in words."""
    return words("claim", claim, TITLES[claim.measure] if claim.measure else "")


def comparisons(experiment: Experiment, result: ClaimResult) -> list[tuple[str, ...]]:
    """Return a line under HEADER for each comparison; margins are added back to differences."""
    # For a column claimed to be stable, the line has the difference of the least favourable pair.
    lines: list[tuple[str, ...]] = []
    text = partial(_difference_text, experiment, result.claim)
    for decision in result.decisions.itertuples():
        rows = result.tests.xs(decision.Index, level="comparison")
        as_claimed = (rows["mean"] > 0) & (rows["mean"] >= result.matters)
        against = rows["against_p"] <= ALPHA / result.tests["n_pairs"].sum()
        _, least_row = rows["mean"].idxmin()
        published = rows.loc[~rows.index.duplicated(), "published"].dropna()  # once for all x
        in_paper = f"{(published > 0).sum()} of {len(published)}" if len(published) else ""
        if len(published) and _extent(result.claim) == "average":
            in_paper = text(published.mean())
        lines.append((
            decision.Index,
            f"{as_claimed.sum()} of {len(rows)}",
            f"{against.sum()}",
            text(decision.mean),
            f"{text(rows['mean'].min())} {least_row}",
            _number(decision.for_p),
            _number(decision.against_p),
            in_paper,
        ))  # fmt: skip
    return lines


def _difference_text(experiment: Experiment, claim: Claim, difference: float) -> str:
    """Return a difference, with the margin added back."""
    digits = 3 if experiment.spec.unit == "fraction" else 2
    value = difference + _margin(claim)
    if claim.stable:
        return f"difference {-value:.{digits}f}".replace("-", "−")
    if (claim.measure or experiment.spec.metric) in COSTS:
        return f"× {10**value:.2f}"
    return f"{value:+.{digits}f}".replace("-", "−")


def _number(p: float) -> str:
    """Return a p with two digits; it is never 0, but may be too small for a number."""
    return f"{p:.2g}" if p else "under 1e-300"
