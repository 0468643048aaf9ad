"""Where a number comes from: the runs behind it and the command that runs them again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from transferbench import models, parameters
from transferbench.evidence import figures
from transferbench.evidence.entries import Entry, entries
from transferbench.evidence.frame import by_cell
from transferbench.experiments.experiment import Experiment
from transferbench.runs.record import Run

Lines = list[dict[str, str]]


@dataclass(frozen=True)
class Origin:
    """One cell of a table, or one point of a figure: its runs, and their lines of runs.csv.

    values: by seed ("" where there is none), in the table's unit. lines: one for each run, of its
    first domain that is scored. entry: None in a figure. x: None in a table and for level lines; of
    a curve, the number of its last iteration.
    """

    row: str
    column: str
    x: float | None
    cells: tuple[Run, ...]
    values: dict[str, float]
    lines: tuple[dict[str, str], ...]
    entry: Entry | None = None

    @property
    def mean(self) -> float | None:
        """The mean over the runs."""
        return fmean(self.values.values()) if self.values else None

    @property
    def command(self) -> str:
        """What runs all of it again: the task, the model, what is not its default, the seeds."""
        return command(self.cells)

    @property
    def seconds(self) -> float | None:
        """Mean seconds of a fit."""
        found = [float(line["seconds"]) for line in self.lines if line["seconds"]]
        return fmean(found) if found else None

    def told(self, name: str) -> list[str]:
        """The different values of a column of runs.csv over the runs, where there are any."""
        return list(dict.fromkeys(line[name] for line in self.lines if line[name]))


def origins(experiment: Experiment, lines: Lines) -> Iterator[Origin]:
    """Every cell of a table, or point of a figure; of curves over iterations the last point."""
    found = by_cell(lines)

    def behind(row: str, cells: tuple[Run, ...]) -> tuple[dict[str, str], ...]:
        domain = experiment.spec.rows[row].domain
        each = (found.get(cell.identity, {}) for cell in cells)
        return tuple(runs.get(domain or "", next(iter(runs.values()))) for runs in each if runs)

    if not experiment.spec.figure:
        for entry in entries(experiment, lines):
            if entry.cells:
                yield Origin(
                    entry.row, entry.column, None, entry.cells, entry.values,
                    behind(entry.row, entry.cells), entry,
                )  # fmt: skip
        return
    series = figures.series(experiment, lines)
    planned: dict[tuple[str, str, float | None], list[Run]] = {}
    for row, column, x, cell in experiment.runs():
        planned.setdefault((row, column, x), []).append(cell)
    for (row, column, x), cells in planned.items():
        places = [place for r, c, place in series if (r, c) == (row, column)]
        if (row, column, x) not in series and x is None:
            x = max((place for place in places if place is not None), default=None)
        values = series.get((row, column, x), {})
        yield Origin(row, column, x, tuple(cells), values, behind(row, tuple(cells)))


def command(cells: Sequence[Run]) -> str:
    """The command line that runs cells of one task, model and setting, and nothing else."""
    first = cells[0]
    words = ["transferbench", "run", first.task, "--model", first.model]
    for name, known in parameters.schema(models.load(first.model)).items():
        if first.params[name] != known.default:
            words += ["--set", f"{name}={_text(first.params[name])}"]
    seeds = [cell.seed for cell in cells if cell.seed is not None]
    if seeds == list(range(len(seeds))):
        words += ["--repeats", str(len(seeds))] if len(seeds) > 1 else []
    else:
        words += ["--seeds", ",".join(map(str, seeds))]
    return shlex.join(words)


def _text(value: Any) -> str:
    """A parameter as --set reads it."""
    if isinstance(value, tuple | list):
        return ",".join(map(_text, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
