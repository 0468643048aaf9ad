"""Where a number comes from: its runs, the command that repeats them, their code and data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from statistics import fmean
from typing import Any

import pandas as pd

from transferbench import models, parameters
from transferbench.evidence.frame import CELL, cells
from transferbench.experiments.experiment import Experiment
from transferbench.runs.record import Run


def sources(experiment: Experiment, observed: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of a table, or points of a figure, with what their runs report.

    To the columns of `cells` are added, over the runs of the cell: command, which repeats them;
    seconds of a fit (mean) and peak_mib (largest), NaN if none finished; the different values of
    data, code, versions, threads and finished (sorted), a list each; and `behind`, a line of the
    observations for each run, that of its first scored domain. Of a curve over iterations there is
    the last point alone.
    """
    figure = experiment.spec.figure
    made = cells(experiment, observed)
    place = CELL
    if figure and figure.iterations:
        place = CELL[:2]
        made = made.drop_duplicates(place, keep="last")
    shown = observed[observed["chosen"]].drop_duplicates([*place, "seed"])
    reports = []
    for _, behind in shown.groupby(place, dropna=False, sort=False):
        known = {name: different(behind[name]) for name in ("data", "code", "versions", "threads")}
        seconds = behind["seconds"].dropna()
        reports.append(
            {
                "command": command(behind["run"]),
                "seconds": fmean(seconds) if len(seconds) else float("nan"),
                "peak_mib": behind["peak_mib"].max(),
                "finished": sorted(different(behind["finished"])),
                "behind": behind,
                **known,
            }
        )
    return pd.concat([made.reset_index(drop=True), pd.DataFrame(reports)], axis=1)


def different(values: pd.Series) -> list[Any]:
    """Return the different values that are given, in their order."""
    return [value for value in values.dropna().unique() if value != ""]


def command(runs: Iterable[Run]) -> str:
    """Return the command line that performs runs of one task, model and setting, and no others."""
    runs = list(runs)
    first = runs[0]
    words = ["transferbench", "run", first.task, "--model", first.model]
    for name, known in parameters.schema(models.load(first.model)).items():
        if first.params[name] != known.default:
            words += ["--set", f"{name}={_text(first.params[name])}"]
    seeds = [run.seed for run in runs if run.seed is not None]
    if seeds == list(range(len(seeds))):
        words += ["--repeats", str(len(seeds))] if len(seeds) > 1 else []
    else:
        words += ["--seeds", ",".join(map(str, seeds))]
    return shlex.join(words)


def _text(value: Any) -> str:
    """Return a parameter as --set reads it."""
    if isinstance(value, tuple | list):
        return ",".join(map(_text, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
