"""Records to the entries of a table: ours, the published value, a verdict; nothing runs a model."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, NamedTuple

from transferbench.evidence.frame import by_cell
from transferbench.experiments.experiment import Experiment
from transferbench.runs.record import Run, short

#: Fewer finished runs of a random model than this say too little.
ENOUGH = 3
#: What a choice among settings by this measure is called.
CHOICE = {"explained": "label-free"}

#: Lines of a runs.csv by cell and domain.
Lines = dict[tuple[str, str, str, str], dict[str, Any]]


@dataclass(frozen=True)
class Entry:
    """One cell of a table, in the table's unit; mean and std are None where no run finished.

    chosen: the setting taken of the column's grid, as NAME=VALUE. values: those of the finished
    runs by seed, which is "" where the method takes none. cells: the runs themselves.
    """

    row: str
    column: str
    mean: float | None
    std: float | None
    runs: int
    planned: int
    published: float | None
    published_std: float | None
    verdict: str
    reason: str
    chosen: str = ""
    values: dict[str, float] = field(default_factory=dict, hash=False)
    cells: tuple[Run, ...] = ()

    @property
    def open(self) -> bool:
        """Whether the runs are too few or lost to say anything."""
        return self.verdict in ("inconclusive", "unavailable")

    @property
    def difference(self) -> float | None:
        """Ours less the published value."""
        if self.mean is None or self.published is None:
            return None
        return self.mean - self.published


class Shown(NamedTuple):
    """A column of the table: its label, the experiment's column, how a setting is chosen."""

    label: str
    column: str
    choose: str | None
    published: bool


def shown(experiment: Experiment) -> Iterator[Shown]:
    """The table's columns: the experiment's, and one for each further way to choose a setting."""
    for name, column in experiment.spec.columns.items():
        for i, choose in enumerate(column.choose or (None,)):
            label = f"{name} ({CHOICE.get(choose, choose)})" if i and choose else name
            yield Shown(label, name, choose, not i)


def entries(experiment: Experiment, lines: list[dict[str, str]]) -> list[Entry]:
    """Every cell of the table, row by row, then the averages of each group of rows.

    Lines whose task, model, parameters or seed are not the experiment's count as not run.
    """
    planned: dict[tuple[str, str], dict[str, list[Run]]] = {}
    for run in experiment.runs():
        settings = planned.setdefault((run.row, run.column), {})
        settings.setdefault(run.run.identity[2], []).append(run.run)
    found = by_cell(lines)
    columns = list(shown(experiment))
    made = []
    for row in experiment.spec.rows:
        for column in columns:
            settings = planned[row, column.column]
            best = _best(settings, column.choose, found)
            made.append(_entry(experiment, row, column, settings[best], found))
    groups = Counter(row.group for row in experiment.spec.rows.values())
    return made + [
        _average(experiment, group, column.label, made)
        for group, rows in groups.items()
        for column in columns
        if rows > 1 or not group  # of one row under its own name there is no mean
    ]


def _best(settings: dict[str, list[Run]], choose: str | None, found: Lines) -> str:
    """The setting that is best on average by a measure; the first where nothing can be said."""
    means = {}
    for setting, cells in settings.items():
        lines = [line for cell in cells for line in found.get(cell.identity, {}).values()]
        if choose and lines and all(line["status"] == "done" for line in lines):
            means[setting] = fmean(float(line[choose] or "nan") for line in lines)
    known = {setting: mean for setting, mean in means.items() if math.isfinite(mean)}
    return max(known, key=lambda setting: known[setting], default=next(iter(settings)))


def _entry(
    experiment: Experiment, row: str, column: Shown, cells: list[Run], found: Lines
) -> Entry:
    spec, grid = experiment.spec, experiment.spec.columns[column.column].grid
    metric = experiment.metric(row)
    scale = experiment.scale(row)
    by_seed: dict[str, float] = {}
    statuses = []
    for cell in cells:
        domains = found.get(cell.identity, {})
        statuses += [(line["status"], line["reason"]) for line in domains.values()]
        scored = [
            float(line[metric] or "nan") * scale
            for domain, line in domains.items()
            if line["status"] == "done" and spec.rows[row].domain in (None, domain)
        ]
        if scored:
            by_seed[cell.identity[3]] = fmean(scored)
    values = list(by_seed.values())
    published = experiment.published(row, column.column) if column.published else None
    lost = [(status, why) for status, why in statuses if status != "done"]
    finite = bool(values) and all(map(math.isfinite, values))
    verdict, reason = "", ""
    if any(status == "unavailable" for status, _ in lost):
        verdict, reason = "unavailable", lost[0][1]
    elif lost or not finite or len(values) < min(ENOUGH, len(cells)):
        verdict = "inconclusive"
        reason = ": ".join(lost[0]) if lost else f"{len(values)} of {len(cells)} runs"
    mean = fmean(values) if finite else None
    tolerance = experiment.tolerance(row)
    if not verdict and published and mean is not None and tolerance is not None:
        verdict = _verdict(mean - published[0], tolerance)
    return Entry(
        row,
        column.label,
        mean,
        stdev(values) if finite and len(values) > 1 else None,
        len(values),
        len(cells),
        published[0] if published else None,
        published[1] if published else None,
        verdict,
        reason,
        ", ".join(f"{name}={value(cells[0].params[name])}" for name in grid),
        by_seed,
        tuple(cells),
    )


def value(parameter: Any) -> str:
    """A parameter's value as tables write it."""
    return short(parameter) if isinstance(parameter, float) else json.dumps(parameter)


def _average(experiment: Experiment, group: str, column: str, made: list[Entry]) -> Entry:
    """The mean over the rows of a group that are in the table; of the published values likewise."""
    spec = experiment.spec
    rows = [e for e in made if e.column == column and spec.rows[e.row].group == group]
    ours = [entry.mean for entry in rows if entry.mean is not None]
    printed = [entry.published for entry in rows if entry.published is not None]
    mean = fmean(ours) if len(ours) == len(rows) else None
    published = fmean(printed) if len(printed) == len(rows) else None
    open_ = next((e for e in rows if e.open), None)
    verdict = open_.verdict if open_ else "" if mean is not None else "inconclusive"
    reason = f"{open_.row} is {open_.verdict}" if open_ else ""
    tolerance = experiment.tolerance(rows[0].row) if rows else None
    if open_ is None and mean is not None and published is not None and tolerance is not None:
        verdict = _verdict(mean - published, tolerance)
    runs = min((entry.runs for entry in rows), default=0)
    planned = max((entry.planned for entry in rows), default=0)
    name = f"average {group}".strip()
    return Entry(name, column, mean, None, runs, planned, published, None, verdict, reason)


def _verdict(difference: float, tolerance: float) -> str:
    if abs(difference) <= tolerance:
        return "within"
    return "above" if difference > 0 else "below"
