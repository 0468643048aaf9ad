"""Judged claims as words and numbers: what a claim comes to, its comparisons, a page of them."""

from __future__ import annotations

from statistics import fmean

from transferbench.evidence import ranks
from transferbench.evidence.claims import Judged, extent, span
from transferbench.evidence.entries import Entry
from transferbench.evidence.stats import ALPHA, Pair
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import COSTS, NAMES, Better, Claim, Higher

MARKS = {"holds": "✓", "fails": "✗", "undetermined": "?"}
ROWS = {
    "every": "on every row",
    "most": "on most rows",
    "some": "on some row",
    "average": "on the rows' average",
}
HOW = (
    "✓ holds, ✗ fails, ? undetermined, at 5 per cent. A claim about every or some row is judged "
    "row by row, by paired t-tests over the seeds (clearly not: where they tell the contrary); one "
    "about most rows, or their average, by Wilcoxon's signed-rank test over the rows, each the "
    "mean of its seeds (p for and against); under five rows, which it could not tell, most are "
    "counted by the seeds. Controls are no competitors unless named."
)
HEADER = ("", "as claimed", "clearly not", "mean", "least", "p for", "p against", "in the paper")


def meaning(claim: Claim) -> str:
    """The predicate in words."""
    given = claim.predicate
    if isinstance(given, Better):
        relation = "ahead of"
        if given.times != 1:
            as_ = "small" if claim.measure == "peak_mib" else "fast"
            relation = f"at least {given.times:g} times as {as_} as"
        elif given.by:
            far = f"{abs(given.by):g}"
            relation = f"more than {far} ahead of" if given.by > 0 else f"less than {far} behind"
        over = " and ".join(given.over) if given.over else "every other method"
        words = f"{' and '.join(given.columns)} {relation} {over} {ROWS[given.rows]}"
        words += f", at x = {span(given.x)}" if given.x is not None else ""
    elif isinstance(given, Higher):
        words = f"{given.column} higher at x = {span(given.at)} than at {span(given.than)}"
        words += f" by more than {given.by:g}" if given.by else ""
    else:
        words = f"{given.column} at x = {span(given.x)} within {given.within:g}"
    words += f"; among {', '.join(claim.among)}" if claim.among else ""
    words += f"; by {NAMES.get(claim.measure, claim.measure)}" if claim.measure else ""
    return words + (f"; with the rows of {', '.join(claim.also)}" if claim.also else "")


def comparisons(experiment: Experiment, judged: Judged) -> list[tuple[str, ...]]:
    """A line under HEADER for each pair; differences are ours, margins not taken off.

    For a column that is to be stable, the range of its means in place of a difference.
    """
    if judged.reason:
        return []
    total = sum(case.tests for pair in judged.pairs for case in pair.cases)
    return [_line(experiment, judged.claim, pair, total) for pair in judged.pairs]


def _line(experiment: Experiment, claim: Claim, pair: Pair, total: int) -> tuple[str, ...]:
    digits = 3 if experiment.spec.unit == "fraction" else 2

    def text(difference: float) -> str:
        value = difference + pair.margin
        if claim.stable:
            return f"range {-value:.{digits}f}"
        if (claim.measure or experiment.spec.metric) in COSTS:
            return f"× {10**value:.2f}"
        return f"{value:+.{digits}f}".replace("-", "−")

    least = min(pair.cases, key=lambda case: case.mean)
    against = sum(case.p(contrary=True) <= ALPHA / total for case in pair.cases)
    rows = pair.rows
    if not pair.printed:
        printed = ""
    elif extent(claim) == "average":
        printed = text(fmean(pair.printed))
    else:
        printed = f"{sum(d > 0 for d in pair.printed)} of {len(pair.printed)}"
    return (
        pair.label,
        f"{sum(case.mean > 0 for case in pair.cases)} of {len(pair.cases)}",
        str(against),
        text(fmean(rows.values())),
        f"{text(least.mean)} {least.row}",
        *(f"{pair.p(contrary):.2g}" if len(rows) > 1 else "" for contrary in (False, True)),
        printed,
    )


def page(experiment: Experiment, judged: list[Judged], made: list[Entry]) -> str:
    """claims.md."""
    paper = experiment.spec.paper
    lines = [
        f"# {experiment.name}: what the paper says of it, and what our runs say",
        "",
        f"{paper.authors}: *{paper.title}*, {paper.venue}. Claims in our words.",
        HOW,
        "",
        *_table(("", "claim", "in the paper"), [
            (f"{MARKS[one.outcome]} {one.outcome}", one.claim.says, one.claim.place)
            for one in judged
        ]),
    ]  # fmt: skip
    for one in judged:
        lines += ["", f"## {one.claim.says}", "", f"{MARKS[one.outcome]} {one.outcome}: "]
        lines[-1] += one.reason or f"{meaning(one.claim)}."
        if found := comparisons(experiment, one):
            lines += ["", *_table(HEADER, found)]
    if ranking := ranks.ranking(experiment, made):
        lines += ["", "## Ranks", "", ranks.words(ranking), "", f"![{ranks.TITLE}](ranks.svg)"]
    return "\n".join(lines) + "\n"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    both = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return [both[0], "|" + "---|" * len(header), *both[1:]]
