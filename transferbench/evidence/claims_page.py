"""Judged claims in words and numbers, as claims.md and the report show them."""

import math
from collections.abc import Sequence
from functools import partial
from statistics import fmean

from transferbench.evidence.claims import ClaimResult, compares_ratios, extent, span
from transferbench.evidence.frame import Cell, identical_columns
from transferbench.evidence.stats import ALPHA, Decision
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Better, Claim, Higher
from transferbench.measures import COSTS, TITLES

MARKS = {"holds": "✓", "fails": "✗", "undetermined": "?"}
ROWS = {
    "every": "on every row",
    "most": "on most rows",
    "some": "on some row",
    "average": "on the rows' average",
}
HOW = (
    "✓ holds, ✗ fails, ? undetermined, at a significance level of 5 per cent. A claim about every "
    "row or some row is tested on each row, by a paired t-test over the seeds and, for differences "
    "of accuracies, by the binomial error of the scored documents, if runs.csv has their number: "
    "the larger p decides, and both are shown. For other measures, and for a steady curve, only "
    "the seeds are tested. A claim about most rows or their average is tested over problems by "
    "Wilcoxon's signed-rank test; the rows of one task are one problem. Below five problems, those "
    "with a clear result are counted. A difference too small to matter, a single difference and "
    "one between identical columns count as p = 1. 'p for' and 'p against' are the p that decide, "
    "multiplied by the number of tests where one of several is enough. 'Clearly not' counts the "
    "rows that show the contrary. Controls are competitors only if the claim names them."
)
HEADER = ("", "as claimed", "clearly not", "mean", "least", "p for", "p against", "in the paper")


def explanation(experiment: Experiment, result: ClaimResult) -> str:
    """Return what was tested and, if nothing could be decided, why, in sentences."""
    if not result.decisions:
        return f"{result.reason}."
    sentences = [meaning(result.claim)]
    if result.matters:
        ratio = compares_ratios(result.claim, experiment)
        least = f"{10**result.matters:g} times" if ratio else f"{result.matters:g}"
        sentences.append(f"A difference below {least} decides nothing")
    why: dict[str, list[str]] = {}
    for comparison, (for_it, against) in zip(result.comparisons, result.decisions, strict=True):
        reason = comparison.undecided()
        if reason and min(for_it.p, against.p) > ALPHA:
            why.setdefault(reason, []).append(comparison.label)
    sentences += [f"{reason}: {', '.join(which)}" for reason, which in why.items()]
    return ". ".join(sentences) + "."


def identical(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return a sentence for each group of identical columns."""
    return [
        f"{', '.join(names[:-1])} and {names[-1]} are identical: the same values on every row and "
        "seed"
        for names in identical_columns(experiment, cells)
    ]


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
    words += f"; by {TITLES[claim.measure]}" if claim.measure else ""
    return words + (f"; with the rows of {', '.join(claim.also)}" if claim.also else "")


def _better(given: Better, claim: Claim) -> str:
    relation = "ahead of"
    if given.times != 1:
        adjective = "small" if claim.measure == "peak_mib" else "fast"
        relation = f"at least {given.times:g} times as {adjective} as"
    elif given.fewer_errors:
        relation = f"with at least {given.fewer_errors:.1%} fewer errors than"
    elif given.by:
        margin = f"{abs(given.by):g}"
        relation = f"more than {margin} ahead of" if given.by > 0 else f"less than {margin} behind"
    over = " and ".join(given.over) if given.over else "every other method"
    over = over if given.value is None else f"{given.value:g}"
    place = f", at x = {span(given.x)}" if given.x is not None else ""
    return f"{' and '.join(given.columns)} {relation} {over} {ROWS[given.rows]}{place}"


def comparisons(experiment: Experiment, result: ClaimResult) -> list[tuple[str, ...]]:
    """Return a line under HEADER for each comparison; margins are added back to differences.

    For a column claimed to be stable, the line has the range of its means.
    """
    claim, lines = result.claim, []
    total = sum(test.n_comparisons for c in result.comparisons for test in c.tests)
    for comparison, decisions in zip(result.comparisons, result.decisions, strict=False):
        tests, printed = comparison.tests, comparison.printed
        text = partial(_text, experiment, claim, comparison.margin)
        least = min(tests, key=lambda test: test.mean)
        as_claimed = sum(test.mean > 0 and test.mean >= test.matters for test in tests)
        in_paper = f"{sum(d > 0 for d in printed)} of {len(printed)}" if printed else ""
        lines.append((
            comparison.label,
            f"{as_claimed} of {len(tests)}",
            str(sum(test.p(contrary=True) <= ALPHA / total for test in tests)),
            text(fmean(test.mean for test in comparison.problems)),
            f"{text(least.mean)} {least.row}",
            *map(_p, decisions),
            text(fmean(printed)) if printed and extent(claim) == "average" else in_paper,
        ))  # fmt: skip
    return lines


def _text(experiment: Experiment, claim: Claim, margin: float, difference: float) -> str:
    """Return a difference, with the margin added back."""
    digits, value = 3 if experiment.spec.unit == "fraction" else 2, difference + margin
    if claim.stable:
        return f"range {-value:.{digits}f}"
    if (claim.measure or experiment.spec.metric) in COSTS:
        return f"× {10**value:.2f}"
    return f"{value:+.{digits}f}".replace("-", "−")


def _p(decision: Decision) -> str:
    """Return p and, if the documents were tested, its parts."""
    text = f"{decision.p:.2g}"
    if math.isnan(decision.documents):
        return text
    return f"{text} (seeds {decision.seeds:.2g}, documents {decision.documents:.2g})"
