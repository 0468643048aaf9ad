"""The report that `run` prints: a table of all models, with the published values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

from transferbench.data import tasks
from transferbench.data.facts import Facts
from transferbench.experiments.experiment import Experiment
from transferbench.runs.record import Record
from transferbench.runs.store import Store
from transferbench.settings import Settings, experiments_dir


def report(facts: Facts, records: Sequence[Record], settings: Settings) -> str:
    """Return the task's sizes, a table with a line for each model and domain, and record paths."""
    sizes = ", ".join(f"{name} {count}" for name, count in facts.documents.items())
    lines = [f"{records[0].task}: documents: {sizes}; features: {facts.features[0]}", ""]
    lines += aligned(_rows(records))
    store = Store(settings.results)
    lines += ["", *(f"record: {_short(store.path(record.key))}" for record in records)]
    return "\n".join(lines)


def aligned(rows: list[list[str]]) -> list[str]:
    """Return the rows as lines whose columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _short(path: Path) -> Path:
    """Return the path relative to the current folder if it is inside."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _rows(records: Sequence[Record]) -> list[list[str]]:
    by_model: dict[str, list[Record]] = {}
    for record in records:
        by_model.setdefault(record.model, []).append(record)
    done = [record for record in records if record.done]
    measures = list(next(iter(done[0].metrics.values()))) if done else ["result"]
    first, *others = [f"{measure} %" for measure in measures]
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


def _mean(values: list[float]) -> str:
    """Return mean and, of several values, standard deviation."""
    mean = f"{fmean(values):.2f}"
    return f"{mean} ± {stdev(values):.2f}" if len(values) > 1 else mean


def _published(record: Record, domain: str, measure: str) -> tuple[str, str]:
    """Return the value that a paper prints for this run, and where; empty texts if none does."""
    only = len(record.metrics) == 1
    for file in _experiments(record.task, record.model):
        for row, column, _, run in file.runs(repeats=1):
            value = file.published(row, column)
            scored = file.spec.rows[row].domain
            if (
                value
                and run.params == record.params
                and file.metric(row) == measure
                and (scored == domain or (only and scored is None))
            ):
                return f"{value[0]:.2f}", f"{file.name}, {row}"
    return "", ""


@cache
def _experiments(task: str, model: str) -> list[Experiment]:
    """Return our experiments with published percentages, cut down to this task and model.

    Only files that mention both are parsed, and no other model is imported.
    """
    import yaml

    from transferbench.experiments.schema import Schema

    short = task.partition(":")[0].rpartition("/")[2]
    found = []
    for path in sorted(experiments_dir().glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if not all(word in text for word in ("published:", f"model: {model}", short)):
            continue
        spec = Schema.model_validate(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        rows = {
            label: row
            for label, row in spec.rows.items()
            if short in row.task and tasks.Task.named(row.task).name == task
        }
        columns = {label: each for label, each in spec.columns.items() if each.model == model}
        if spec.unit == "percent" and rows and columns:
            spec = spec.model_copy(update={"rows": rows, "columns": columns})
            found.append(Experiment(path.stem, spec))
    return found
