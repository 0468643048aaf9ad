"""What the papers say, judged by our runs: holds, fails or undetermined, with the numbers.

The tests (see `paired`) are fixed by the kind of predicate, before anything is run. A claim about
every row, or some row, is judged row by row; one about most rows, or their average, over the rows
(about most of less than five, which no test over rows can tell, by how many rows are clear).
It holds where the comparisons come out as said and every test that this takes agrees at 5 per cent.
It fails where the tests say the contrary, of which one is enough, so that they share those 5.
Otherwise, or where runs are missing, it is undetermined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Literal

from transferbench.evidence.frame import read_runs
from transferbench.evidence.observations import Field, Lines, Seen, field, observed
from transferbench.evidence.stats import ALPHA, Case, Pair
from transferbench.experiments import experiment as experiments
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Better, Claim, Higher, Span, Stable

#: Rows that the signed-rank test takes to come to 5 per cent: 2⁻⁴ is more, 2⁻⁵ is less.
FEWEST = 5

Outcome = Literal["holds", "fails", "undetermined"]


@dataclass(frozen=True)
class Judged:
    """A claim, what becomes of it, why it stays open where runs are missing, its comparisons."""

    claim: Claim
    outcome: Outcome
    pairs: tuple[Pair, ...]
    reason: str = ""


def judge(experiment: Experiment, lines: Lines, others: Mapping[str, Lines]) -> list[Judged]:
    """Every claim of the experiment; `others` are the runs of those its claims name under `also`.

    Raises UserError where one of those lacks a column of the claim.
    """
    seen = {experiment.name: (experiment, observed(experiment, lines))}
    for name in dict.fromkeys(name for claim in experiment.spec.claims for name in claim.also):
        other = experiments.load(name)
        seen[name] = other, observed(other, others.get(name, []))
    made = []
    for claim in experiment.spec.claims:
        about = field(claim, [seen[name] for name in (experiment.name, *claim.also)])
        pairs = tuple(_pairs(claim, about, competitors(experiment)))
        missing = [f"{p.label}, {c.row}: {c.open}" for p in pairs for c in p.cases if c.open]
        if missing:
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            made.append(Judged(claim, "undetermined", pairs, missing[0] + more))
        else:
            made.append(Judged(claim, _outcome(claim, pairs), pairs))
    return made


def others(experiment: Experiment, results: Path) -> dict[str, Lines]:
    """The runs of the experiments that claims name under `also`, those that are there."""
    found = {name: results / name / "runs.csv" for c in experiment.spec.claims for name in c.also}
    return {name: read_runs(path) for name, path in found.items() if path.is_file()}


def competitors(experiment: Experiment) -> list[str]:
    """The columns that are no controls."""
    return [name for name, column in experiment.spec.columns.items() if not column.control]


def _pairs(claim: Claim, field: Field, rivals: Sequence[str]) -> list[Pair]:
    """The comparisons that a claim comes to."""
    given = claim.predicate
    if isinstance(given, Better):
        over = given.over or [rival for rival in rivals if rival not in given.columns]
        return [_better(given, field, *names) for names in product(given.columns, over)]
    if isinstance(given, Higher):
        return [_higher(given, field)]
    return [_stable(given, field)]


def _better(given: Better, field: Field, column: str, rival: str) -> Pair:
    margin = given.by + math.log10(given.times)
    cases = []
    for row in field.rows:
        theirs = field.at(row, rival, given.x)
        for x, ours in field.at(row, column, given.x).items():
            cases.append(_case(row, ours, theirs.get(x) or theirs.get(None), margin))
    both = [row for row in field.rows if {(row, column), (row, rival)} <= field.printed.keys()]
    printed = tuple(field.printed[r, column] - field.printed[r, rival] - margin for r in both)
    return Pair(f"{column} over {rival}", tuple(cases), margin, printed)


def _higher(given: Higher, field: Field) -> Pair:
    cases = []
    for row in field.rows:
        one, two = (_mean(field.at(row, given.column, x)) for x in (given.at, given.than))
        cases.append(_case(row, one, two, given.by))
    label = f"{given.column} at {span(given.at)} over {span(given.than)}"
    return Pair(label, tuple(cases), given.by)


def _stable(given: Stable, field: Field) -> Pair:
    """By row, what is left of the room between the highest and the lowest of the means."""
    cases = []
    for row in field.rows:
        found = list(field.at(row, given.column, given.x).values())
        whole = [seen for seen in found if not seen.open] or found
        low, high = (f(whole, key=lambda s: fmean(s.values.values() or [0])) for f in (min, max))
        lost = next((seen for seen in found if seen.open), low)
        tests = max(1, math.comb(len(found), 2))
        cases.append(_case(row, lost, high, -given.within, tests))
    return Pair(f"{given.column} at {span(given.x)}", tuple(cases), -given.within)


def _case(row: str, ours: Seen, theirs: Seen | None, margin: float, tests: int = 1) -> Case:
    """By seed, ours less theirs and the margin; a method without seeds has one value for all."""
    theirs = theirs or Seen({}, "no runs")
    if ours.open or theirs.open:
        return Case(row, (), ours.open or theirs.open, tests)
    seeds = [seed for seed in {**ours.values, **theirs.values} if seed] or [""]

    def value(seen: Seen, seed: str) -> float | None:
        return seen.values.get(seed, seen.values.get(""))

    both = [(value(ours, seed), value(theirs, seed)) for seed in seeds]
    found = tuple(a - b - margin for a, b in both if a is not None and b is not None)
    return Case(row, found, "" if found else "no seed in common", tests)


def _mean(found: Mapping[float | None, Seen]) -> Seen:
    """By seed, the mean over the x at which all are."""
    seeds = set.intersection(*(set(seen.values) for seen in found.values()))
    values = {s: fmean(seen.values[s] for seen in found.values()) for s in sorted(seeds)}
    return Seen(values, next((seen.open for seen in found.values() if seen.open), ""))


def _outcome(claim: Claim, pairs: Sequence[Pair]) -> Outcome:
    rows = extent(claim)
    cases = [case for pair in pairs for case in pair.cases]
    share = ALPHA / sum(case.tests for case in cases)

    def clearly(pair: Pair, contrary: bool = False) -> bool:
        """On more than half of the rows, by the seeds."""
        return 2 * sum(case.p(contrary) <= share for case in pair.cases) > len(pair.cases)

    if rows == "every":
        holds = all(case.p() <= ALPHA for case in cases)
        fails = any(case.p(contrary=True) <= share for case in cases)
    elif rows == "some":
        holds = any(case.p() <= share for case in cases)
        fails = all(case.p(contrary=True) <= ALPHA for case in cases)
    elif rows == "most" and len(pairs[0].rows) < FEWEST:
        holds = all(clearly(pair) for pair in pairs)
        fails = any(clearly(pair, contrary=True) for pair in pairs)
    else:
        holds = all(_said(rows, pair) and pair.p() <= ALPHA for pair in pairs)
        fails = any(pair.p(contrary=True) <= ALPHA / len(pairs) for pair in pairs)
    return "holds" if holds else "fails" if fails else "undetermined"


def _said(rows: str, pair: Pair) -> bool:
    found = list(pair.rows.values())
    return fmean(found) > 0 if rows == "average" else 2 * sum(d > 0 for d in found) > len(found)


def extent(claim: Claim) -> str:
    """On which rows the claim is to be true: every, some, most, or their average."""
    given = claim.predicate
    return given.rows if isinstance(given, Better) else "every"


def span(x: Span) -> str:
    """3, or 3 to 5."""
    return " to ".join(f"{value:g}" for value in (x if isinstance(x, tuple) else (x,)))
