"""transferbench describe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from transferbench.cli._names import (
    all_names,
    completing,
    experiment_names,
    model_names,
    task_names,
)
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.data.fetch import File
    from transferbench.data.tasks import Task
    from transferbench.experiments.schema import Column


@click.command()
@click.argument("name", shell_complete=completing(all_names))
@click.pass_obj
def command(settings: Settings, name: str) -> None:
    """Describe a model, a task (also your own: FILE.yaml) or an experiment.

    A model: objective and parameters. A task: facts, options and original files. An experiment:
    the paper, rows, columns and settings.
    """
    if name in model_names():
        click.echo(_model(name))
    elif name in experiment_names():
        click.echo(_experiment(name))
    else:
        click.echo(_task(name, settings))


def _model(name: str) -> str:
    import importlib
    import inspect

    from transferbench import models, parameters

    fit = models.load(name)
    module = importlib.import_module(fit.__module__)
    lines = [f"{name} ({models.get(name).family} model)", "", inspect.getdoc(module) or "", ""]
    lines += ["Parameters (--set NAME=VALUE):"]
    lines += [f"  {parameter}" for parameter in parameters.schema(fit).values()] or ["  none"]
    random = parameters.takes_seed(fit)
    lines += ["", "Random: one run for each seed." if random else "Deterministic: run once."]
    return "\n".join(lines)


def _task(name: str, settings: Settings) -> str:
    from transferbench.data.tasks import YAML, Task
    from transferbench.errors import unknown

    base = name.partition(":")[0]
    if base not in task_names() and not base.endswith(YAML):
        raise unknown("name", name, all_names(), "See `transferbench list`.")
    task = Task.named(name)
    return _own_task(task, settings) if task.options.get("path") else _known_task(task.base)


def _known_task(name: str) -> str:
    from transferbench import parameters
    from transferbench.data import datasets, tasks

    module = datasets.tasks()[name]
    doc = (module.__doc__ or "").strip()
    lines = [name, "", module.TASKS[name], "", doc, "", "Facts, checked at every build:"]
    lines += _facts(module.FACTS.get(name, {})) or ["  none yet"]
    options = parameters.schema(module.build)
    lines += ["", f"Options ({name}:NAME=VALUE,…):", *(f"  {value}" for value in options.values())]
    files = tasks.needed(tasks.Task.named(name)).values()
    source = "your own files" if "path" in options else "nothing: it is generated"
    lines += ["", "Built from:", *(map(_file, files) if files else [f"  {source}"])]
    lines += ["", *dict.fromkeys(f"Licence: {file.licence}" for file in files)]
    return "\n".join(lines)


def _file(file: File) -> str:
    size = f"{file.size:,} bytes" if file.size else "of unknown size"
    return f"  {file.name}, {size}, {file.digest}"


def _facts(facts: Mapping[str, object]) -> list[str]:
    return [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]


def _own_task(task: Task, settings: Settings) -> str:
    """Describe a task from the user's own files; only the files have its facts."""
    from transferbench.data import tasks

    facts = tasks.facts(task, settings)
    lines = [task.name, "", f"A {facts.family} task of your own.", "", "Facts:"]
    lines += _facts(facts.to_json())
    return "\n".join(lines)


def _experiment(name: str) -> str:
    from transferbench import experiments

    spec = experiments.load(name).spec
    paper, tolerance = spec.paper, spec.tolerance
    lines = [
        f"{name}: {spec.title}",
        f"{paper.authors}: {paper.title}, {paper.venue}, {paper.place}",
        "",
        f"Metric: {spec.metric} ({spec.unit}), {spec.repeats} repeats",
        f"Tolerance: {tolerance.value:g}; {tolerance.reason}" if tolerance else "",
        "",
        "Rows:",
        *(f"  {label}: {row.task}" for label, row in spec.rows.items()),
        "",
        "Columns:",
        *_columns(spec.columns.items()),
        "",
        *(f"Note: {note}" for note in spec.notes),
    ]
    return "\n".join(lines)


def _columns(columns: Iterable[tuple[str, Column]]) -> Iterable[str]:
    for label, column in columns:
        params = ", ".join(f"{key}={value}" for key, value in column.params.items())
        control = " (control)" if column.control else ""
        yield f"  {label}{control}: {column.model}({params})"
