"""Provenance of a number: its runs, the command that repeats them, their code and data."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from statistics import fmean
from typing import Any

import pandas as pd

from transferbench import models, parameters
from transferbench.evidence.frame import CELL
from transferbench.experiments.experiment import Experiment
from transferbench.runs.record import Run

#: Columns of the observations that `sources` lists.
LISTED = ["run", "seconds", "peak_mib", "data", "code", "versions", "threads", "finished", "key",
          "trace", "iterations"]  # fmt: skip


def sources(experiment: Experiment, observed: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of a table, or points of a figure, with what their runs report.

    observed: the observations; cells: their cells. To the columns of the cells are added, over the
    runs of the cell: command, which repeats them; runs_behind (`Run` objects); seconds of a fit
    (mean) and peak_mib (largest), NaN if none finished; the different values of data, code,
    versions, threads and finished; and for each run its key, trace (None if runs.csv has none) and
    iterations. Of a curve over iterations there is the last point alone.
    """
    figure = experiment.spec.figure
    place = CELL
    if figure and figure.iterations:
        place = CELL[:2]
        cells = cells.drop_duplicates(place, keep="last")
    runs = observed[observed["chosen"]].drop_duplicates([*place, "seed"])
    listed = runs.groupby(place, dropna=False, sort=False)[LISTED].agg(list).reset_index(drop=True)
    listed["command"] = listed["run"].map(command)
    listed["seconds"] = [fmean(given(values) or [math.nan]) for values in listed["seconds"]]
    listed["peak_mib"] = [max(given(values), default=math.nan) for values in listed["peak_mib"]]
    for name in ("data", "code", "versions", "threads", "finished"):
        listed[name] = [list(dict.fromkeys(given(values))) for values in listed[name]]
    listed = listed.rename(columns={"run": "runs_behind"})
    return pd.concat([cells.reset_index(drop=True), listed], axis=1)


def given(values: Iterable[Any]) -> list[Any]:
    """Return the values that are neither NaN nor empty."""
    return [value for value in values if value == value and value != ""]


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
