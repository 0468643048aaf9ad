"""Compare committed results with the same runs made again on this machine."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from transferbench import experiments
from transferbench.evidence.frame import no_runs
from transferbench.measures import SCORES
from transferbench.runs import store
from transferbench.runs.record import Record
from transferbench.settings import Settings

#: Tolerance of a measure: rounding differs between processors, and may change the class of one
#: document in 500. A method whose seeds differ by more has a larger tolerance.
ROUNDING = 0.002
#: Larger tolerances. ML-kNN takes neighbours at equal distances, which binary features have, in the
#: order of rounding: on mulan/medical its F1 was .567 on one processor and .523 on another.
TIES = {"ml-knn": 0.05}
#: Seconds that the repeated runs of models in files may have taken together.
OWN_SECONDS = 120.0
COLUMNS = ["experiment", "run", "model", "seconds", "domain", "measure", "committed", "jitter"]


def committed(names: Iterable[str], settings: Settings) -> pd.DataFrame:
    """Return the measures of every finished, planned run of experiments by name.

    A line for each run, domain and measure, with the columns experiment, run (a `Run`), model,
    seconds of its fit, committed (the value, a fraction) and jitter: the standard deviation over
    the seeds of the run's model, parameters and task, at least ROUNDING. Raise UserError if an
    experiment has no runs, or if none is named.
    """
    lines = []
    for name in names:
        experiment = experiments.load(name, settings.results)
        records = store.read(settings.with_runs(experiment.name) / experiment.name / store.NAME)
        for run in dict.fromkeys(planned.run for planned in experiment.runs()):
            record = records.get(run.identity)
            if record is None or not record.done:
                continue
            for domain, scores in record.metrics.items():
                lines += [
                    (experiment.name, record.run, run.model, record.seconds, domain, measure,
                     scores[measure], run.identity[:3])
                    for measure in SCORES if measure in scores
                ]  # fmt: skip
    if not lines:
        raise no_runs(settings.results)
    table = pd.DataFrame(lines, columns=[*COLUMNS[:-1], "setting"])
    alike = table.groupby(["experiment", "setting", "domain", "measure"])["committed"]
    least = [TIES.get(model, ROUNDING) for model in table["model"]]
    table["jitter"] = alike.transform("std").fillna(0.0).clip(lower=least)
    return table[COLUMNS]


def quickest(measured: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Return of `committed` the run of each model that took least, if at most `seconds`.

    Of models in files, return every run, the quickest first, up to OWN_SECONDS together.
    """
    runs = measured[measured["seconds"] <= seconds].drop_duplicates(["experiment", "run"])
    runs = runs.sort_values("seconds", kind="stable")
    own = runs["model"].str.endswith(".py")
    soon = runs["seconds"].where(own, 0).cumsum() <= OWN_SECONDS
    first = runs[(own & soon) | ~runs.duplicated("model")][["experiment", "run"]]
    return measured.merge(first, on=["experiment", "run"]).sort_values("model", kind="stable")


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
        shown_run = f"{run}"
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


def summary(compared: pd.DataFrame, measured: pd.DataFrame) -> tuple[str, bool]:
    """Return a sentence on the comparison, and True if measures were compared and none differs.

    measured: the lines of `committed` that were chosen from.
    """
    runs = compared.groupby("run", sort=False)
    unavailable = int((runs["status"].first() == "unavailable").sum())
    differ = int((~runs["same"].all()).sum()) - unavailable
    figures = int((compared["status"] == "done").sum())
    what = f"{differ} runs differ" if differ else "none differs"
    what += f"; {unavailable} unavailable here" if unavailable else ""
    made, known = (
        each.drop_duplicates("run")["model"].value_counts() for each in (compared, measured)
    )
    own = [f"{made[m]} of {known[m]} of {Path(m).name}" for m in made.index if m.endswith(".py")]
    again = ", ".join([f"{len(runs) - unavailable} runs made again", *own])
    sentence = f"{again}, {figures} figures compared: {what}"
    return sentence, bool(figures and not differ)
