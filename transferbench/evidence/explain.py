"""One number of a table or figure explained: its runs, what has changed since, its model."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import platform
import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from transferbench import models
from transferbench.errors import UserError, unknown
from transferbench.evidence import tables
from transferbench.evidence.frame import observations, summarise
from transferbench.evidence.pages import fill
from transferbench.evidence.provenance import sources
from transferbench.experiments.experiment import Experiment
from transferbench.messages import counted
from transferbench.runs import worker
from transferbench.runs.store import Store


def find(experiment: Experiment, runs: pd.DataFrame, row: str, column: str, x: float | None) -> Any:
    """Return the cell or point with its sources (see `provenance.sources`) and, in a table, entry.

    Names may differ in case, blanks and punctuation. Raise UserError if there is no such cell, or
    if x is needed to tell which.
    """
    observed = observations(experiment, runs)
    cells = summarise(experiment, observed)
    known = sources(experiment, observed, cells)
    if not experiment.spec.figure:
        compared = tables.entries(experiment, cells)[["row", "column", "difference", "verdict"]]
        known = known.merge(compared, on=["row", "column"])
    known = known[known["row"] == _match("row", row, known["row"])]
    known = known[known["column"] == _match("column", column, known["column"])]
    at_x = known if x is None else known[known["x"] == x]
    if len(at_x) == 1:
        return next(at_x.itertuples())
    places = ", ".join(f"{place:g}" for place in known["x"].dropna())
    raise UserError(
        f"expected --x, one of {places}." if places else "there is no x; leave out --x."
    )


def _match(what: str, name: str, known: Iterable[str]) -> str:
    """Return the known name that equals `name` but for case, blanks and punctuation."""

    def bare(text: str) -> str:
        return re.sub(r"[\W_]+", "", text).casefold() or text

    known = list(dict.fromkeys(known))
    same = [name] if name in known else [each for each in known if bare(each) == bare(name)]
    if len(same) != 1:
        raise unknown(what, name, known)
    return same[0]


def objective(source: Any, store: Store) -> tuple[list[float], str]:
    """Return the trace of the first run that has one, and its seed; if none has, why."""
    for run, key, trace in zip(source.runs_behind, source.key, source.trace, strict=True):
        record = store.find(key) if key and trace is None else None
        trace = trace or list(record.trace if record else ())
        if trace:
            return trace, "" if run.seed is None else f"seed {run.seed}"
    if not source.by_seed:
        return [], "no run finished"
    if all(math.isnan(iterations) for iterations in source.iterations):
        return [], "the model reports none"
    return [], "its record is not here; run the command above, then ask again"


def facts(experiment: Experiment, source: Any, data: str) -> dict[str, Any]:
    """Return what `explain` says of a number; data: digest of the task built here, "" if none.

    experiment, row, column, x (None if there is none) : the place.
    mean, std, published : in the table's unit, None if there is none.
    number   : texts by name: ours, paper, verdict, again (the command), setting, ….
    since    : texts by name: when it was run, and what has changed since: data, code, versions.
    model    : title and text of the model's documentation.
    """
    module = importlib.import_module(models.get(source.runs_behind[0].model).module)
    doc = inspect.getdoc(module) or ""
    title, *paragraphs = doc.split("\n\n")
    objective = next((i for i, text in enumerate(paragraphs) if "min " in text), -1)
    return {
        "experiment": experiment.name,
        "row": source.row,
        "column": source.column,
        "x": None if math.isnan(source.x) else source.x,
        "mean": None if math.isnan(source.mean) else source.mean,
        "std": None if math.isnan(source.std) else source.std,
        "published": (experiment.published(source.row, source.column) or [None])[0],
        "number": _number(experiment, source),
        "since": _since(source, data),
        "model": {"title": title, "text": "\n\n".join(paragraphs[objective + 1 :])},
    }


def page(found: dict[str, Any], objective: str) -> str:
    """Return the explanation as text, from its `facts`; objective: its end."""
    x = "" if found["x"] is None else f", x = {found['x']:g}"
    return fill(
        "explain.txt.j2",
        place=f"{found['experiment']}, {found['row']}, {found['column']}{x}",
        sections=[found["number"], found["since"]],
        model=found["model"]["title"],
        text=found["model"]["text"],
        objective=objective,
    )


def _number(experiment: Experiment, source: Any) -> dict[str, str]:
    """Return the facts about the number itself."""
    spec, metric = experiment.spec, experiment.metric(source.row)
    paper = experiment.compared.paper
    unit = {"seconds": " s", "peak_mib": " MiB"}.get(metric, "")
    unit = " %" if experiment.scale(source.row) == 100 else unit

    text = ("{:.2f}" if spec.unit == "percent" else "{:.4g}").format
    ours = "none" if math.isnan(source.mean) else text(source.mean) + unit
    ours += "" if math.isnan(source.std) else f" ± {text(source.std)}"
    mean, std = experiment.published(source.row, source.column) or (None, None)
    printed = "no number" if mean is None else f"{mean:g}{unit}"
    printed += "" if std is None else f" ± {std:g}"
    by_seed = {seed: text(v) for seed, v in source.by_seed.items() if seed is not None}
    column = spec.columns.get(source.column)
    return {
        "ours": f"{ours}, {metric}, {source.runs} of {source.planned} runs",
        "paper": f"{printed}; {paper.title}, {paper.venue}, {paper.place}",
        "verdict": "" if spec.figure else _verdict(experiment, source),
        "again": source.command,
        "setting": ", ".join(f"{k}={v}" for k, v in source.runs_behind[0].params.items()),
        "chosen": source.setting,
        "by seed": ", ".join(f"{seed}: {value}" for seed, value in by_seed.items()),
        "took": _cost(source),
        "note": column.note if column else "",
    }


def _verdict(experiment: Experiment, source: Any) -> str:
    verdict, tolerance = (
        f"{source.verdict} {source.reason}".strip(),
        experiment.tolerance(source.row),
    )
    if math.isnan(source.difference) or tolerance is None:
        return verdict
    return f"{verdict}, {source.difference:+.2f}; within is up to {tolerance:g}"


def _cost(source: Any) -> str:
    if math.isnan(source.seconds):
        return ""
    peak = "" if math.isnan(source.peak_mib) else f", at most {source.peak_mib:.0f} MiB"
    threads = "".join(f", {counted(n, 'thread')}" for n in source.threads)
    return f"{source.seconds:.3g} s a fit{peak}{threads}"


def _since(source: Any, data: str) -> dict[str, str]:
    """Return date, data, code and versions of the runs, and what differs here."""
    now = {"python": platform.python_version()} | worker.versions()
    then: dict[str, str] = json.loads(source.versions[0]) if source.versions else {}
    changed = [f"{n} {v} (here {now.get(n)})" for n, v in then.items() if v != now.get(n)]
    unchanged = "unchanged" if then else "not known"
    ended = sorted(source.finished)
    return {
        "run on": " to ".join(dict.fromkeys(ended[:1] + ended[-1:])),
        "data": _compare(source.data, data, "task not built here; `transferbench run` builds it"),
        "code": _compare(source.code, source.runs_behind[0].code),
        "versions": f"changed: {', '.join(changed)}" if changed else unchanged,
    }


def _compare(then: list[str], now: str, without_now: str = "") -> str:
    change = "unchanged" if then == [now] else f"now {now}" if now else without_now
    return f"{', '.join(then) or 'not known'}; {change}"
