"""Compare committed results, and bundles, with the same runs made again on this machine."""

import hashlib
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from transferbench import experiments, models, parameters
from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.evidence.frame import IDENTITY, no_runs, read_runs
from transferbench.measures import SCORES
from transferbench.runs import runner
from transferbench.runs.engines.local import Local, total_memory
from transferbench.runs.record import Limits, Record, Run
from transferbench.settings import Settings

#: Tolerance of a measure: rounding differs between processors, and may change the class of one
#: document in 500. A method whose seeds differ by more has a larger tolerance.
ROUNDING = 0.002
#: Estimators that a bundle may name: public classes of libraries that others know.
ESTIMATOR = re.compile(r"(sklearn|skada|adapt)(\.[a-z][a-z_]*)*:[A-Z]\w*")
COLUMNS = ["experiment", "run", "model", "seconds", "domain", "measure", "committed", "jitter"]


def committed(names: Iterable[str], settings: Settings) -> pd.DataFrame:
    """Return `measured` of the planned runs of experiments by name.

    Raise UserError if a runs.csv is missing, or if there is none.
    """
    parts = []
    for name in names:
        file = experiments.load(name, settings.results)
        runs = read_runs(settings.results / file.name / "runs.csv")
        planned = {each.run.identity for each in file.runs()}
        known = [place in planned for place in runs[IDENTITY].itertuples(index=False, name=None)]
        parts.append(measured(runs[known], file.name))
    if not parts:
        raise no_runs(settings.results)
    return pd.concat(parts, ignore_index=True)


def measured(runs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the measures of every finished run of `read_runs`.

    A line for each run, domain and measure, with the columns experiment (the given name), run (a
    `Run`), model, seconds of its fit, committed (the value, a fraction) and jitter: the standard
    deviation over the seeds of the run's model, parameters and task, at least ROUNDING.
    """
    lines = runs.melt(
        [*IDENTITY, "domain", "status", "seconds"], SCORES, "measure", "committed"
    ).dropna(subset="committed")
    alike = lines.groupby([*IDENTITY[:3], "domain", "measure"])["committed"]
    lines["jitter"] = alike.transform("std").fillna(0.0).clip(lower=ROUNDING)
    places = lines[IDENTITY].itertuples(index=False)
    lines["run"] = [Run(t, m, json.loads(p), int(s) if s else None) for t, m, p, s in places]
    return lines[lines["status"] == "done"].assign(experiment=name)[COLUMNS]


def quickest(measured: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Return of `measured` the run of each model that took least, if at most `seconds`."""
    runs = measured[measured["seconds"] <= seconds].sort_values("seconds", kind="stable")
    first = runs.drop_duplicates("model")[["experiment", "run"]]
    return measured.merge(first, on=["experiment", "run"]).sort_values("model", kind="stable")


def repeatable(
    chosen: pd.DataFrame, files: Mapping[str, bytes], trusted: Path | None
) -> tuple[pd.DataFrame, list[list[str]]]:
    """Return `quickest` with runs as they can be made here, and rows of `table` on the others.

    files: of the bundle that the runs are from; {} for those of an experiment. trusted: folder for
    model files of the bundle, which are code; None refuses them, and estimators of any package.
    """
    ready: dict[Run, Run] = {}
    left = []
    for name, run in chosen[["experiment", "run"]].drop_duplicates().itertuples(index=False):
        try:
            ready[run] = _checked(run, files, trusted)
        except UserError as error:
            left.append(["–", f"{run}", "not repeated", "", "", "", f"{name}: {error}"])
    chosen = chosen[chosen["run"].isin(list(ready))]
    return chosen.assign(run=chosen["run"].map(ready.__getitem__)), left


def _checked(run: Run, files: Mapping[str, bytes], trusted: Path | None) -> Run:
    """Return a run as it can be made here. Raise UserError if it cannot."""
    name = Path(run.model).name
    content = files.get(f"models/{name}")
    digest = hashlib.sha256(content or b"").hexdigest()
    if not trusted and content is not None:
        raise UserError(f"a Python file, SHA-256 {digest}; --trust runs it")
    if files and not trusted and ":" in run.model and not ESTIMATOR.fullmatch(run.model):
        raise UserError("not an estimator of scikit-learn, skada or adapt; --trust runs it")
    if files and tasks.Task.named(run.task).options.get("path"):
        raise UserError("files of the author's own, which the bundle does not have")
    model = run.model
    if trusted and content is not None:
        path = trusted / digest / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        model = str(path)
    params = parameters.resolve(models.load(model), dict(run.params), model)
    return replace(run, model=model, params=params)


def run_again(
    measured: pd.DataFrame, settings: Settings, jobs: int, limits: Limits
) -> list[Record]:
    """Perform the runs of `committed` from scratch; records go to a temporary folder.

    On Linux this process, which builds the tasks that bundles name, takes the memory that a run may
    take, at most; past it raise MemoryError.
    """
    memory = total_memory()
    if sys.platform == "linux" and memory:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        if hard == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_DATA, (int(0.8 * memory), hard))
    with tempfile.TemporaryDirectory() as folder:
        anew = settings.replace(results=Path(folder), max_artefacts=0)
        runs = list(measured["run"].unique())
        return runner.run(runs, anew, engine=Local(jobs), limits=lambda run: limits)


def compare(measured: pd.DataFrame, records: Sequence[Record]) -> pd.DataFrame:
    """Add to `committed` what the records of its runs report.

    The columns are status and reason of the run, now (the value, NaN if the run did not finish),
    distance (from the committed value, in jitters) and same (True if the distance is at most 1).
    """
    by_run = dict(zip(measured["run"].unique(), records, strict=True))
    again = [by_run[run] for run in measured["run"]]
    places = zip(again, measured["domain"], measured["measure"], strict=True)
    compared = measured.assign(
        status=[record.status for record in again],
        reason=[record.reason for record in again],
        now=[r.metrics.get(domain, {}).get(name, math.nan) for r, domain, name in places],
    )
    compared["distance"] = (compared["now"] - compared["committed"]).abs() / compared["jitter"]
    compared["same"] = compared["distance"] <= 1
    return compared


def table(compared: pd.DataFrame) -> list[list[str]]:
    """Return the rows of a table: of each run the measures that differ, or the furthest apart."""
    rows = [["", "run", "furthest apart", "committed", "now", "may differ by", "experiment"]]
    for (_, run), measures in compared.groupby(["experiment", "run"], sort=False):
        first = measures.iloc[0]
        # Without a folder of this machine.
        shown_run = f"{replace(run, model=Path(run.model).name)}"
        if first["status"] != "done":
            mark = "–" if first["status"] == "unavailable" else "NO"
            rows.append([mark, shown_run, first["status"], "", "", "", first["reason"]])
            continue
        furthest = measures.sort_values("distance", ascending=False, kind="stable")
        shown = furthest.head(1) if furthest["same"].all() else furthest[~furthest["same"]]
        for line in shown.itertuples():
            values = [f"{value:.4f}" for value in (line.committed, line.now, line.jitter)]
            mark, place = "=" if line.same else "NO", f"{line.measure}, {line.domain}"
            rows.append([mark, shown_run, place, *values, line.experiment])
    return rows


def summary(compared: pd.DataFrame) -> tuple[str, bool]:
    """Return a sentence on the comparison, and True if measures were compared and none differs."""
    runs = compared.groupby("run", sort=False)
    unavailable = int((runs["status"].first() == "unavailable").sum())
    differ = int((~runs["same"].all()).sum()) - unavailable
    figures = int((compared["status"] == "done").sum())
    what = f"{differ} runs differ" if differ else "none differs"
    what += f"; {unavailable} unavailable here" if unavailable else ""
    sentence = f"{len(runs) - unavailable} runs made again, {figures} figures compared: {what}"
    return sentence, bool(figures and not differ)
