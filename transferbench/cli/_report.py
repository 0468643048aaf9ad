"""What `run` prints: every model's figures beside the published ones."""

from __future__ import annotations

from statistics import fmean, stdev

from transferbench import experiment, tasks
from transferbench.records import Record, Store
from transferbench.settings import Settings


def report(task: str, records: list[Record], settings: Settings) -> str:
    """A small table, a line for each model, then where the records lie."""
    problem, _ = tasks.load(tasks.Task.named(task), settings)
    sizes = ", ".join(f"{domain.name} {len(domain.seen)}" for domain in problem.domains)
    lines = [f"{task}: documents: {sizes}; features: {problem.domains[0].X.shape[1]}", ""]
    lines += _table(_rows(task, records))
    store = Store(settings.results)
    lines += ["", *(f"record: {store.path(record['key'])}" for record in records)]
    return "\n".join(lines)


def _rows(task: str, records: list[Record]) -> list[list[str]]:
    by_model: dict[str, list[Record]] = {}
    for record in records:
        by_model.setdefault(record["model"], []).append(record)
    rows = [["model", "measure", "ours", "published", "where", "runs", "seconds"]]
    for model, runs in by_model.items():
        done = [run for run in runs if run["status"] == "done"]
        if not done:
            reason = f"{runs[0]['status']}: {runs[0]['reason']}"
            rows.append([model, reason, "", "", "", f"0 of {len(runs)}", ""])
            continue
        seconds = f"{fmean(run['seconds']['fit'] for run in done):.2f}"
        for domain, measures in done[0]["metrics"].items():
            for measure in measures:
                values = [100 * run["metrics"][domain][measure] for run in done]
                ours = f"{fmean(values):.2f}"
                if len(values) > 1:
                    ours += f" ± {stdev(values):.2f}"
                value, where = _published(task, domain, measure, done[0])
                label = measure if len(done[0]["metrics"]) == 1 else f"{measure} {domain}"
                rows.append([model, f"{label} %", ours, value, where, f"{len(done)}", seconds])
    return rows


def _published(task: str, domain: str, measure: str, record: Record) -> tuple[str, str]:
    """The value a paper prints for this task and model with these parameters, and where."""
    for name in experiment.names():
        file = experiment.load(name)
        if file.spec.metric != measure or file.spec.unit != "percent":
            continue
        for row, column, cell in file.cells(repeats=1):
            same = (cell.task, cell.model, cell.params) == (task, record["model"], record["params"])
            value = file.published(row, column)
            if same and value and file.spec.rows[row].domain in (None, domain):
                return f"{value[0]:.2f}", f"{name}, {row}"
    return "", ""


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


