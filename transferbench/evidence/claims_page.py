"""Judged claims in words and numbers, as claims.md and the report show them."""

from __future__ import annotations

from statistics import fmean

from transferbench.evidence.claims import ClaimResult, extent, span
from transferbench.evidence.stats import ALPHA, Comparison
from transferbench.experiments.claim import Better, Claim, Higher
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.measures import COSTS, NAMES

MARKS = {"holds": "✓", "fails": "✗", "undetermined": "?"}
ROWS = {
    "every": "on every row",
    "most": "on most rows",
    "some": "on some row",
    "average": "on the rows' average",
}
HOW = (
    "✓ holds, ✗ fails, ? undetermined, at a significance level of 5 per cent. A claim about every "
    "row or some row is tested on each row by paired t-tests over the seeds; 'clearly not' counts "
    "the rows that show the contrary. A claim about most rows or their average is tested over the "
    "rows, each the mean of its seeds, by Wilcoxon's signed-rank test (p for, p against). Fewer "
    "than five rows are too few for that test, so the rows with a clear result are counted. "
    "Controls are competitors only if the claim names them."
)
HEADER = ("", "as claimed", "clearly not", "mean", "least", "p for", "p against", "in the paper")


def meaning(claim: Claim) -> str:
    """Return the predicate of a claim in words."""
    given = claim.predicate
    if isinstance(given, Better):
        words = _better(given, claim)
    elif isinstance(given, Higher):
        words = f"{given.column} higher at x = {span(given.at)} than at {span(given.than)}"
        words += f" by more than {given.by:g}" if given.by else ""
    else:
        words = f"{given.column} at x = {span(given.x)} within {given.within:g}"
    words += f"; among {', '.join(claim.among)}" if claim.among else ""
    words += f"; by {NAMES.get(claim.measure, claim.measure)}" if claim.measure else ""
    return words + (f"; with the rows of {', '.join(claim.also)}" if claim.also else "")


def _better(given: Better, claim: Claim) -> str:
    relation = "ahead of"
    if given.times != 1:
        adjective = "small" if claim.measure == "peak_mib" else "fast"
        relation = f"at least {given.times:g} times as {adjective} as"
    elif given.by:
        margin = f"{abs(given.by):g}"
        relation = f"more than {margin} ahead of" if given.by > 0 else f"less than {margin} behind"
    over = " and ".join(given.over) if given.over else "every other method"
    place = f", at x = {span(given.x)}" if given.x is not None else ""
    return f"{' and '.join(given.columns)} {relation} {over} {ROWS[given.rows]}{place}"


def comparisons(experiment: Experiment, result: ClaimResult) -> list[tuple[str, ...]]:
    """Return a line under HEADER for each comparison; margins are added back to differences.

    For a column claimed to be stable, the line has the range of its means.
    """
    if result.reason:
        return []
    total = sum(test.n_comparisons for c in result.comparisons for test in c.tests)
    return [_line(experiment, result.claim, c, total) for c in result.comparisons]


def _line(
    experiment: Experiment, claim: Claim, comparison: Comparison, total: int
) -> tuple[str, ...]:
    digits = 3 if experiment.spec.unit == "fraction" else 2

    def text(difference: float) -> str:
        value = difference + comparison.margin
        if claim.stable:
            return f"range {-value:.{digits}f}"
        if (claim.measure or experiment.spec.metric) in COSTS:
            return f"× {10**value:.2f}"
        return f"{value:+.{digits}f}".replace("-", "−")

    tests, rows, printed = comparison.tests, comparison.rows, comparison.printed
    least = min(tests, key=lambda test: test.mean)
    contrary = sum(test.p(contrary=True) <= ALPHA / total for test in tests)
    if not printed:
        in_paper = ""
    elif extent(claim) == "average":
        in_paper = text(fmean(printed))
    else:
        in_paper = f"{sum(d > 0 for d in printed)} of {len(printed)}"
    return (
        comparison.label,
        f"{sum(test.mean > 0 for test in tests)} of {len(tests)}",
        str(contrary),
        text(fmean(rows.values())),
        f"{text(least.mean)} {least.row}",
        *(f"{comparison.p(side):.2g}" if len(rows) > 1 else "" for side in (False, True)),
        in_paper,
    )
