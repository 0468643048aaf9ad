"""Compare committed results with the same runs made again on this machine."""

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from transferbench import experiments, repeats
from transferbench.evidence.frame import no_runs
from transferbench.measures import SCORES
from transferbench.messages import counted
from transferbench.runs import store
from transferbench.settings import Settings

#: Tolerance of a measure: rounding differs between processors, and may change the class of one
#: document in 500. A method whose seeds differ by more has a larger tolerance.
ROUNDING = 0.002
#: Larger tolerances. ML-kNN takes neighbours at equal distances, which binary features have, in the
#: order of rounding: on mulan/medical its F1 was .567 on one processor and .523 on another.
TIES = {"ml-knn": 0.05}
#: Seconds that the repeated runs of models in the user's files may have taken together.
USER_SECONDS = 120.0
COLUMNS = ["experiment", "run", "model", "seconds", "domain", "measure", "committed", "jitter"]


def committed(found: Iterable[tuple[Settings, str]], results: Path) -> pd.DataFrame:
    """Return the measures of every finished, planned run of experiments."""
    # Returns: A line for each run, domain and measure, with these columns.
    # - experiment, run (a `Run`), model, domain, measure.
    # - seconds: seconds of the fit.
    # - committed: the value, a fraction.
    # - jitter: the standard deviation over the seeds of the run's model, parameters and task, at
    #   least ROUNDING.
    lines = []
    for settings, name in found:
        experiment = experiments.load(name, settings.results)
        records = store.read(settings.with_runs(experiment.name) / experiment.name / store.NAME)
        repeated = experiments.repeats_of(settings.results)
        shown = f"repeats-{repeated}/{experiment.name}" if repeated else experiment.name
        for run in dict.fromkeys(planned.run for planned in experiment.runs()):
            record = records.get(run.identity)
            if record is None or not record.done:
                continue
            for domain, scores in record.metrics.items():
                lines += [
                    (shown, record.run, run.model, record.seconds, domain, measure,
                     scores[measure], run.identity[:3])
                    for measure in SCORES if measure in scores
                ]  # fmt: skip
    if not lines:
        raise no_runs(results)
    table = pd.DataFrame(lines, columns=[*COLUMNS[:-1], "setting"])
    alike = table.groupby(["experiment", "setting", "domain", "measure"])["committed"]
    least = [TIES.get(model, ROUNDING) for model in table["model"]]
    table["jitter"] = alike.transform("std").fillna(0.0).clip(lower=least)
    return table[COLUMNS]


def quickest(measured: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Return the lines of each model's quickest run of at most so many seconds."""
    # Of models in the user's files, return every run, the quickest first, up to USER_SECONDS
    # together.
    keys = ["experiment", "run"]
    runs = measured[[*keys, "model", "seconds"]].drop_duplicates(keys).itertuples()

    def traits(row: Any) -> set[str]:
        return {f"{row.run}" if row.model.endswith(".py") else row.model}

    chosen, _ = repeats.choose(runs, traits, seconds)
    users = itertools.accumulate(row.seconds * row.model.endswith(".py") for row in chosen)
    first = [row for row, together in zip(chosen, users, strict=True) if together <= USER_SECONDS]
    rows = pd.DataFrame([(row.experiment, row.run) for row in first], columns=keys)
    return measured.merge(rows, on=keys).sort_values("model", kind="stable")


def compare(measured: pd.DataFrame, answers: Sequence[repeats.Answer]) -> pd.DataFrame:
    """Compare committed values with the answers of the repeated runs, in the order of the lines."""
    # The columns status and reason of the run, now (the new value, NaN if there is none), distance
    # (from the committed value, in jitters) and same (True if the distance is at most 1) are added.
    by_run = dict(zip(measured["run"].unique(), answers, strict=True))
    again = [by_run[run] for run in measured["run"]]
    keys = zip(again, measured["domain"], measured["measure"], strict=True)
    compared = measured.assign(
        status=["done" if "measures" in a else "unavailable" if "unavailable" in a else "failed"
                for a in again],
        reason=[answer.get("unavailable") or answer.get("error", "") for answer in again],
        now=[a.get("measures", {}).get(domain, {}).get(name, math.nan) for a, domain, name in keys],
    )  # fmt: skip
    compared["distance"] = (compared["now"] - compared["committed"]).abs() / compared["jitter"]
    compared["same"] = compared["distance"] <= 1
    return compared


def measures_table(compared: pd.DataFrame) -> list[list[str]]:
    """Return the rows of a table: each run's measures that differ, or the one furthest apart."""
    rows = [["", "run", "furthest apart", "saved", "now", "may differ by", "experiment"]]
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
            mark, measure = "=" if line.same else "NO", f"{line.measure}, {line.domain}"
            rows.append([mark, shown_run, measure, *values, line.experiment])
    return rows


def summary(compared: pd.DataFrame, measured: pd.DataFrame) -> tuple[str, bool]:
    """Return a sentence on the comparison, and True if measures were compared and none differs."""
    runs = compared.groupby("run", sort=False)
    unavailable = int((runs["status"].first() == "unavailable").sum())
    differ = int((~runs["same"].all()).sum()) - unavailable
    figures = int((compared["status"] == "done").sum())
    what = f"{counted(differ, 'run')} differ{'s' * (differ == 1)}" if differ else "none differs"
    what += f"; {unavailable} unavailable here" if unavailable else ""
    made, known = (
        lines.drop_duplicates("run")["model"].value_counts() for lines in (compared, measured)
    )
    by_user = [
        f"{made[m]} of {known[m]} of {Path(m).name}" for m in made.index if m.endswith(".py")
    ]
    again = ", ".join([f"{counted(len(runs) - unavailable, 'run')} made again", *by_user])
    sentence = f"{again}, {figures} figures compared: {what}"
    return sentence, bool(figures and not differ)
