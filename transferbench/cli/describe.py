"""transferbench describe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from transferbench.cli._names import (
    all_names,
    completing,
    experiment_names,
    model_names,
    task_names,
)
from transferbench.cli._terminal import echo
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.data.tasks import Task


@click.command()
@click.argument("name", shell_complete=completing(all_names))
@click.pass_obj
def command(settings: Settings, name: str) -> None:
    """Describe a model, a task (also your own: FILE.yaml) or an experiment.

    A model: objective and parameters. A task: facts, options and original files. An experiment:
    the paper, rows, columns and settings.
    """
    if name in model_names():
        lines = _model(name)
    elif name in experiment_names():
        lines = _experiment(name)
    else:
        lines = _task(name, settings)
    echo("\n".join(lines))


def _model(name: str) -> list[str]:
    import importlib
    import inspect

    from transferbench import models, parameters

    fit = models.load(name)
    module = importlib.import_module(fit.__module__)
    lines = [f"{name} ({models.get(name).family} model)", "", inspect.getdoc(module) or "", ""]
    lines += ["Parameters (--set NAME=VALUE):"]
    lines += [f"  {parameter}" for parameter in parameters.schema(fit).values()] or ["  none"]
    random = parameters.takes_seed(fit)
    return [*lines, "", "Random: one run for each seed." if random else "Deterministic: run once."]


def _task(name: str, settings: Settings) -> list[str]:
    from transferbench.data import tasks
    from transferbench.errors import unknown

    base = name.partition(":")[0]
    if base not in task_names() and not base.endswith(tasks.YAML_SUFFIXES):
        raise unknown("name", name, all_names(), "See `transferbench list`.")
    task = tasks.Task.named(name)
    if not task.options.get("path"):
        return _known_task(task)
    facts = tasks.facts(task, settings)  # only the user's own files have them
    head = [task.name, "", f"A {facts.family} task of your own.", "", "Facts:"]
    return [*head, *_facts(facts.to_json())]


def _known_task(task: Task) -> list[str]:
    from transferbench import parameters
    from transferbench.data import datasets, tasks

    name, module = task.base, datasets.tasks()[task.base]
    doc = (module.__doc__ or "").strip()
    lines = [
        name,
        "",
        module.TASKS[name],
        "",
        doc,
        "",
        "Facts, checked at every build with the default options:",
    ]
    lines += _facts(module.FACTS.get(name, {})) or ["  none but those above"]
    options = parameters.schema(module.build)
    lines += ["", f"Options ({name}:NAME=VALUE,…):", *(f"  {value}" for value in options.values())]
    lines += ["", "Built from:"]
    files = tasks.needed(task).values()
    for file in files:
        size = f"{file.size:,} bytes" if file.size else "of unknown size"
        lines.append(f"  {file.name}, {size}, {file.digest}")
    if not files:
        lines.append("  your own files" if "path" in options else "  nothing: it is generated")
    return [*lines, "", *dict.fromkeys(f"Licence: {file.licence}" for file in files)]


def _facts(facts: Mapping[str, object]) -> list[str]:
    return [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]


def _experiment(name: str) -> list[str]:
    from transferbench import experiments

    spec = experiments.load(name).spec
    paper, tolerance = spec.paper, spec.tolerance
    columns = []
    for label, column in spec.columns.items():
        params = ", ".join(f"{key}={value}" for key, value in column.params.items())
        control = " (control)" if column.control else ""
        options = ", ".join(f"{key}={value}" for key, value in column.options.items())
        on = f", tasks with {options}" if options else ""
        columns.append(f"  {label}{control}: {column.model}({params}){on}")
    return [
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
        *columns,
        "",
        *(f"Note: {note}" for note in spec.notes),
    ]
