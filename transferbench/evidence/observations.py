"""What was seen: values by seed of the rows that a claim is about, ours and the paper's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from transferbench.errors import unknown
from transferbench.evidence import figures
from transferbench.evidence.entries import ENOUGH, entries
from transferbench.evidence.frame import by_cell
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import COSTS, LOWER_IS_BETTER, Better, Claim, Span

Lines = list[dict[str, str]]


class Seen(NamedTuple):
    """Values by seed ("" where there is none), and why they say nothing, if they do not."""

    values: dict[str, float]
    open: str = ""


#: Row, column, x (None in a table) → what was seen there.
Observed = dict[tuple[str, str, float | None], Seen]


class Field(NamedTuple):
    """What a claim is about: its rows, and values of which more is better, ours and the paper's."""

    rows: list[str]
    seen: Observed
    printed: dict[tuple[str, str], float]

    def at(self, row: str, column: str, span: Span | None) -> dict[float | None, Seen]:
        """What was seen of a column at each x of the span, or at all; level lines are anywhere."""
        first, last = span if isinstance(span, tuple) else (span, span)
        found = {
            x: seen
            for (r, c, x), seen in self.seen.items()
            if (r, c) == (row, column)
            and (x is None or first is None or last is None or first <= x <= last)
        }
        return found or {None: Seen({}, "no runs")}


def observed(experiment: Experiment, lines: Lines) -> Observed:
    """The values of a table's cells or a figure's points, as tables and figures take them."""
    if not experiment.spec.figure:
        made = entries(experiment, lines)
        return {(e.row, e.column, None): Seen(e.values, e.reason * e.open) for e in made}
    found = by_cell(lines)
    planned: dict[tuple[str, str, float | None], list[str]] = {}
    for row, column, x, cell in experiment.runs():
        domains = found.get(cell.identity, {}).values()
        planned.setdefault((row, column, x), []).append(
            next((f"{d['status']}: {d['reason']}" for d in domains if d["status"] != "done"), "")
        )
    series = figures.series(experiment, lines)
    drawn = {(row, column) for row, column, x in series if x is not None}
    for row, column, x in planned:
        # A curve has its own x; anything else without a value is missing, and not just not drawn.
        if (row, column, x) not in series and not (x is None and (row, column) in drawn):
            series[row, column, x] = {}
    seen = {}
    for (row, column, x), values in series.items():
        lost = planned.get((row, column, x)) or planned[row, column, None]
        few = len(values) < min(ENOUGH, len(lost)) or not all(map(math.isfinite, values.values()))
        why = next(filter(None, lost), f"{len(values)} of {len(lost)} runs" if few else "")
        seen[row, column, x] = Seen(values, why)
    return seen


def field(claim: Claim, seen: Sequence[tuple[Experiment, Observed]]) -> Field:
    """The rows that show the claim's measure, of all its experiments."""
    made = Field([], {}, {})
    given = claim.predicate
    named = (*given.columns, *given.over) if isinstance(given, Better) else (given.column,)
    for i, (file, there) in enumerate(seen):
        for column in named:
            if column not in file.spec.columns:
                raise unknown(f"column of {file.name}", column, file.spec.columns)
        measure = claim.measure or file.spec.metric
        labels = {
            row: f"{file.name}, {row}" if i else row
            for row in file.spec.rows
            if file.metric(row) == measure and (i or not claim.among or row in claim.among)
        }
        objective = bool(file.spec.figure and file.spec.figure.objective)

        def scale(value: float, measure: str = measure, objective: bool = objective) -> float:
            if objective or measure in COSTS:
                value = math.log10(value) if value > 0 else math.nan
            return -value if measure in LOWER_IS_BETTER else value

        made.rows.extend(labels.values())
        for (row, column, x), (values, why) in there.items():
            if row in labels:
                scaled = {seed: scale(value) for seed, value in values.items()}
                made.seen[labels[row], column, x] = Seen(scaled, why)
        for row, column in product(labels, file.spec.columns):
            if printed := file.published(row, column):
                made.printed[labels[row], column] = scale(printed[0])
    return made
