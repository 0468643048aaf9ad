"""What a command would run: a line for each column and state, its rows, setting and seeds."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transferbench.cli._terminal import echo
from transferbench.experiments.experiment import PlannedRun
from transferbench.messages import aligned
from transferbench.runs.record import Run

HEADER = ["rows", "column", "model", "varied", "seeds", "done", "to run"]
#: A varied parameter with more values than this shows the first and the last.
MAX_VALUES = 4


def by_task(runs: Iterable[Run]) -> list[PlannedRun]:
    """Return runs without an experiment as planned ones: a row for each task, no column."""
    return [PlannedRun(run.task, "", None, run) for run in runs]


def show(planned: Sequence[PlannedRun], done: Mapping[Run, bool]) -> None:
    """Print the planned runs. done: True for each run that needs not be performed."""
    header, *lines = aligned(table(planned, done))
    echo(header, style="header")
    for line in lines:
        echo(line)


def table(planned: Sequence[PlannedRun], done: Mapping[Run, bool]) -> list[list[str]]:
    """Return the rows of the table.

    Rows of the experiment that have the same column, model and counts of runs, done and to run,
    share a line. `varied` are the parameters that differ between the runs of the line, with their
    values. Columns of the table that are empty on every line are left out.
    """
    cells: dict[tuple[str, str, str], list[PlannedRun]] = {}
    for each in planned:
        cells.setdefault((each.row, each.column, each.run.model), []).append(each)
    groups: dict[tuple[Any, ...], list[PlannedRun]] = {}
    for (_, column, model), runs in cells.items():
        ready = sum(done[each.run] for each in runs)
        facts = (column, model, _varied(runs), _seeds(runs), ready, len(runs) - ready)
        groups.setdefault(facts, []).extend(runs)
    all_rows = len({each.row for each in planned})
    lines = [HEADER]
    for (*texts, _, _), runs in groups.items():
        rows = list(dict.fromkeys(each.row for each in runs))
        states = Counter(done[run] for run in {each.run for each in runs})  # rows may share runs
        lines.append([_rows(rows, all_rows), *texts, f"{states[True]}", f"{states[False]}"])
    used = [i for i, cells in enumerate(zip(*lines[1:], strict=True)) if any(cells)]
    return [[line[i] for i in used] for line in lines]


def _rows(rows: Sequence[str], of: int) -> str:
    """Return the names of a few rows, or how many there are."""
    if len(rows) == 1:
        return rows[0]
    if len(rows) == of:
        return f"all {of}"
    return ", ".join(rows) if len(rows) <= 3 else f"{len(rows)} of {of}: {rows[0]}, …"


def _varied(runs: Sequence[PlannedRun]) -> str:
    """Return the parameters that differ between runs: 'lam=0.1, 1, 10'."""
    values: dict[str, dict[str, None]] = {}
    for each in runs:
        for name, value in each.run.params.items():
            values.setdefault(name, {})[_text(value)] = None
    return "; ".join(f"{name}={_values(list(v))}" for name, v in values.items() if len(v) > 1)


def _values(values: Sequence[str]) -> str:
    if len(values) <= MAX_VALUES:
        return ", ".join(values)
    return f"{values[0]} … {values[-1]} ({len(values)} values)"


def _seeds(runs: Sequence[PlannedRun]) -> str:
    seeds = {each.run.seed for each in runs} - {None}
    return str(len(seeds)) if seeds else "none"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
