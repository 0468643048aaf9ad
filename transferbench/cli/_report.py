"""The report that `run` prints: a table of all models, with the published values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from transferbench import experiments, models
from transferbench.data.facts import Facts
from transferbench.experiments.experiment import Experiment
from transferbench.measures import headings
from transferbench.messages import aligned
from transferbench.runs.record import Record, Store
from transferbench.settings import Settings

if TYPE_CHECKING:
    from pandas import DataFrame


def report(facts: Facts, records: Sequence[Record], settings: Settings) -> str:
    """Return the task's sizes, a table with a line for each model and domain, and record paths."""
    sizes = ", ".join(f"{name} {count}" for name, count in facts.documents.items())
    lines = [f"{records[0].task}: documents: {sizes}; features: {facts.features[0]}", ""]
    lines += aligned(_rows(records))
    lines.append("")
    for record in records:
        path = Store(settings.results).path(record.key)
        inside = path.is_relative_to(Path.cwd())
        lines.append(f"record: {path.relative_to(Path.cwd()) if inside else path}")
    return "\n".join(lines)


def _rows(records: Sequence[Record]) -> list[list[str]]:
    by_model: dict[str, list[Record]] = {}
    for record in records:
        by_model.setdefault(record.model, []).append(record)
    done = [record for record in records if record.done]
    measures = list(next(iter(done[0].metrics.values()))) if done else ["result"]
    titles = headings(models.get(records[0].model).family)
    first, *others = [f"{titles.get(measure, measure)} %" for measure in measures]
    rows = [["model", "domain", first, "published", *others, "runs", "seconds", ""]]
    for model, of_model in by_model.items():
        finished = [record for record in of_model if record.done]
        if not finished:
            reason = f"{of_model[0].status}: {of_model[0].reason}"
            rows.append([model, "", "none", "", *["" for _ in others], "0", "", reason])
            continue
        seconds = f"{fmean(record.seconds or 0 for record in finished):.2f}"
        for domain in finished[0].metrics:
            ours = [_mean([100 * r.metrics[domain][m] for r in finished]) for m in measures]
            value, place = _published(finished[0], domain, measures[0])
            count = f"{len(finished)}"
            rows.append([model, domain, ours[0], value, *ours[1:], count, seconds, place])
    return rows


def json_lines(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a frame, with None for NaN, which JSON lacks."""
    return [
        {k: None if isinstance(v, float) and v != v else v for k, v in line.items()}
        for line in frame.to_dict("records")
    ]


def percent(value: float, std: float = math.nan) -> str:
    """Return a fraction in per cent with its standard deviation, "" for NaN."""
    if value != value:
        return ""
    return f"{100 * value:.1f}" + ("" if std != std else f"±{100 * std:.1f}")


def _mean(values: list[float]) -> str:
    """Return mean and, of several values, standard deviation."""
    mean = f"{fmean(values):.2f}"
    return f"{mean} ± {stdev(values):.2f}" if len(values) > 1 else mean


def _published(record: Record, domain: str, measure: str) -> tuple[str, str]:
    """Return the value that a paper prints for this run, and where; empty texts if none does."""
    domains = [domain, *([None] if len(record.metrics) == 1 else [])]
    ours = record.task, record.model, record.params
    for file in _experiments(record):
        for row, column, _, run in file.runs(repeats=1):
            value = file.published(row, column)
            is_ours = (run.task, run.model, run.params) == ours and file.metric(row) == measure
            if value and is_ours and file.spec.rows[row].domain in domains:
                return f"{value[0]:.2f}", f"{file.name}, {row}"
    return "", ""


def _experiments(record: Record) -> Iterator[Experiment]:
    """Yield our experiments with published percentages that mention the task and model of a run.

    No other is parsed, so few models are imported.
    """
    words = (f"model: {record.model}", record.task.partition(":")[0].rpartition("/")[2])
    for name in experiments.names():
        text = experiments.path(name).read_text(encoding="utf-8")
        compared = "\npublished:" in text or "\ncontrol_of:" in text
        if compared and all(word in text for word in words):
            file = experiments.load(name)
            if file.spec.unit == "percent":
                yield file
