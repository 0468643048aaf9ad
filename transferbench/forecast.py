"""Forecast what reproducing experiments will take, from the times of earlier runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import pandas as pd

from transferbench.data import fetch, tasks
from transferbench.errors import UserError
from transferbench.evidence.frame import IDENTITY, read_runs, to_runs
from transferbench.experiments.experiment import PlannedRun
from transferbench.messages import counted
from transferbench.runs import runner
from transferbench.settings import Settings


def forecasts(planned: Mapping[str, Sequence[PlannedRun]], settings: Settings) -> pd.DataFrame:
    """Return by experiment: todo and finished runs, seconds of one core, unknown runs.

    `seconds` are for the runs to do of which earlier runs are known; `unknown` counts the others.
    A run that several experiments share counts for the first of them.
    """
    plan = pd.DataFrame(
        [(name, each.run, *each.run.identity) for name, runs in planned.items() for each in runs],
        columns=["experiment", "run", *IDENTITY],
    ).drop_duplicates(IDENTITY)
    plan["finished"] = runner.done(list(plan["run"]), settings)
    spent = _seconds(planned, settings)
    by_setting = spent.groupby(IDENTITY[:3])["spent"].agg(fmean).rename("seconds")
    by_model = spent.groupby("model")["spent"].agg(fmean)
    plan = plan.merge(by_setting, on=IDENTITY[:3], how="left")
    plan["todo"] = ~plan["finished"]
    plan["seconds"] = plan["seconds"].fillna(plan["model"].map(by_model)).where(plan["todo"])
    plan["unknown"] = plan["todo"] & plan["seconds"].isna()
    columns = ["todo", "finished", "seconds", "unknown"]
    return plan.groupby("experiment")[columns].sum().reindex(list(planned), fill_value=0)


def summary(forecast: pd.DataFrame) -> str:
    """Return the forecast of all experiments together as a sentence."""
    total = forecast.sum()
    count = f"{counted(total.todo, 'run')} to do, {total.finished:.0f} finished"
    if not total.seconds and total.unknown:
        return f"{count}; no times of earlier runs"
    known = f"about {total.seconds / 60:.0f} minutes of one core, from the times of earlier runs"
    unknown = f", and {total.unknown:.0f} without an estimate" if total.unknown else ""
    return f"{count}; {known}{unknown}"


def megabytes(planned: Mapping[str, Sequence[PlannedRun]], settings: Settings) -> float:
    """Return how much is to be fetched, as far as sizes are known."""
    names = {each.run.task for runs in planned.values() for each in runs}
    files: dict[str, fetch.File] = {}
    for name in names:
        task = tasks.Task.named(name)
        if not task.built_path(settings).is_file():
            files |= tasks.needed(task)
    plans = [fetch.plan(file, settings) for file in files.values()]
    return sum(plan.size or 0 for plan in plans if plan.source and not plan.cached) / 1e6


def _seconds(names: Iterable[str], settings: Settings) -> pd.DataFrame:
    """Return the time really spent on each finished run of experiments, to load and to fit."""
    parts = []
    for name in names:
        try:
            runs = read_runs(settings.results / name / "runs.csv")
        except UserError:  # not reproduced yet
            runs = to_runs([])
        runs = runs.drop_duplicates(IDENTITY)  # all domains of a run took the same time
        runs = runs[(runs["status"] == "done") & runs["seconds"].notna()]
        extra = runs["load_seconds"].fillna(0) - runs["reused_seconds"].fillna(0)
        parts.append(runs[IDENTITY].assign(spent=runs["seconds"] + extra))
    return pd.concat(parts)
