"""Runs of an experiment with results that a test makes up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from transferbench.evidence.frame import Records, observations, summarise
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.plan import PlannedRun
from transferbench.runs import store
from transferbench.runs.record import Record


def write_runs(
    folder: Path, file: Experiment, outcome: Callable[[PlannedRun], Any], domain: str = "target"
) -> Records:
    """Write folder/runs.jsonl and return its records.

    outcome gives of each planned run its accuracy, fields of `Record`, a status, or None if the
    run is missing.
    """
    lines = []
    for planned in file.runs():
        end = outcome(planned)
        if isinstance(end, str):
            lines.append(Record.of(planned.run, end, "why"))
        elif end is not None:
            fields = end if isinstance(end, dict) else {"metrics": {domain: {"accuracy": end}}}
            lines.append(replace(Record.of(planned.run, "done"), **fields))
    (folder / store.NAME).write_text("".join(f"{line.line}\n" for line in lines))
    return store.read(folder / store.NAME)


def cells_of(file: Experiment, records: Records):
    """Return the cells of an experiment with these records."""
    return summarise(file, observations(file, records))
