"""What `run` prints: every model's figures beside the published ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import fmean, stdev

from transferbench.data import tasks
from transferbench.experiments import experiment
from transferbench.runs.record import Record
from transferbench.runs.store import Store
from transferbench.settings import Settings


def report(task: str, records: list[Record], settings: Settings) -> str:
    """A small table, a line for each model, then where the records lie."""
    facts = tasks.facts(tasks.Task.named(task), settings)
    sizes = ", ".join(f"{name} {documents}" for name, documents in facts.documents.items())
    lines = [f"{task}: documents: {sizes}; features: {facts.features[0]}", ""]
    lines += aligned(_rows(task, records))
    store = Store(settings.results)
    lines += ["", *(f"record: {_near(store.path(record.key))}" for record in records)]
    return "\n".join(lines)


def _near(path: Path) -> Path:
    """The path from here where it lies below, else the whole path."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _rows(task: str, records: list[Record]) -> list[list[str]]:
    by_model: dict[str, list[Record]] = {}
    for record in records:
        by_model.setdefault(record.model, []).append(record)
    done = [record for record in records if record.done]
    measures = list(next(iter(done[0].metrics.values()))) if done else ["result"]
    first, *others = [f"{measure} %" for measure in measures]
    rows = [["model", "domain", first, "published", *others, "runs", "seconds", ""]]
    for model, runs in by_model.items():
        finished = [run for run in runs if run.done]
        if not finished:
            reason = f"{runs[0].status}: {runs[0].reason}"
            rows.append([model, "", "none", "", *["" for _ in others], "0", "", reason])
            continue
        seconds = f"{fmean(run.seconds or 0 for run in finished):.2f}"
        for domain in finished[0].metrics:
            ours = [_spread([100 * r.metrics[domain][m] for r in finished]) for m in measures]
            value, where = _published(task, domain, measures[0], finished[0])
            count = f"{len(finished)}"
            rows.append([model, domain, ours[0], value, *ours[1:], count, seconds, where])
    return rows


def _spread(values: list[float]) -> str:
    mean = f"{fmean(values):.2f}"
    return f"{mean} ± {stdev(values):.2f}" if len(values) > 1 else mean


@cache
def _experiments() -> list[experiment.Experiment]:
    return [experiment.load(name) for name in experiment.names()]


def _published(task: str, domain: str, measure: str, record: Record) -> tuple[str, str]:
    """The value a paper prints for this task and model with these parameters, and where."""
    for file in _experiments():
        if file.spec.unit != "percent":
            continue
        for row, column, _, cell in file.runs(repeats=1):
            same = (cell.task, cell.model, cell.params) == (task, record.model, record.params)
            value = file.published(row, column)
            alone = len(record.metrics) == 1
            scored = file.spec.rows[row].domain
            same = same and file.metric(row) == measure
            if same and value and (scored == domain or (alone and scored is None)):
                return f"{value[0]:.2f}", f"{file.name}, {row}"
    return "", ""


def aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
