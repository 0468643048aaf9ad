"""A runs.csv of an experiment with results that a test makes up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from transferbench.evidence.frame import observations, read_runs, summarise
from transferbench.experiments.experiment import Experiment, PlannedRun
from transferbench.runs.record import Record, runs_csv


def write_runs(
    folder: Path, file: Experiment, outcome: Callable[[PlannedRun], Any], domain: str = "target"
):
    """Write folder/runs.csv and return it as `read_runs` does.

    outcome gives of each planned run its accuracy, fields of `Record`, a status, or None if the
    run is missing.
    """
    lines, written = [], set()
    for i, planned in enumerate(file.runs()):
        row, column, x, run = planned
        end = outcome(planned)
        if end is None or (column, x, run.identity) in written:
            continue
        written.add((column, x, run.identity))
        if isinstance(end, str):
            record = Record.of(f"k{i}", run, end, "why")
        else:
            fields = end if isinstance(end, dict) else {"metrics": {domain: {"accuracy": end}}}
            record = replace(Record.of(f"k{i}", run, "done"), **fields)
        lines += record.rows(row, column, x)
    (folder / "runs.csv").write_text(runs_csv(lines))
    return read_runs(folder / "runs.csv")


def cells_of(file: Experiment, runs):
    """Return the cells of an experiment with these runs."""
    return summarise(file, observations(file, runs))
