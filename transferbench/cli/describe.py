"""transferbench describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from transferbench.cli._names import all_names, completing
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.data.tasks import Task


@click.command()
@click.argument("name", shell_complete=completing(all_names))
@click.pass_obj
def command(settings: Settings, name: str) -> None:
    """Tell all about a model, task (also of your own: FILE.yaml) or experiment.

    Objective and parameters; facts, options and origins; published values' place and settings.
    """
    from transferbench import models
    from transferbench.cli._names import task_names
    from transferbench.data import tasks
    from transferbench.errors import unknown
    from transferbench.experiments import experiment

    bare = name.partition(":")[0]
    if name in models.registry():
        click.echo(_model(name))
    elif bare in task_names() or bare.endswith(tasks.YAML):
        task = tasks.Task.named(name)
        click.echo(_own(task, settings) if task.options.get("path") else _task(task.base))
    elif name in experiment.names():
        click.echo(_experiment(name))
    else:
        raise unknown("name", name, all_names(), "See `transferbench list`.")


def _model(name: str) -> str:
    import importlib
    import inspect

    from transferbench import models, parameters

    function = models.load(name)
    module = importlib.import_module(function.__module__)
    lines = [f"{name} ({models.get(name).family} model)", "", inspect.getdoc(module) or "", ""]
    lines += ["Parameters (--set NAME=VALUE):"]
    lines += [f"  {parameter}" for parameter in parameters.schema(function).values()] or ["  none"]
    random = parameters.takes_seed(function)
    lines += ["", "Random: one run for each seed." if random else "Deterministic: run once."]
    return "\n".join(lines)


def _task(name: str) -> str:
    import json

    from transferbench import parameters
    from transferbench.data import datasets, tasks

    module = datasets.tasks()[name]
    doc = (module.__doc__ or "").strip()
    lines = [name, "", module.TASKS[name], "", doc, "", "Facts, checked at every build:"]
    facts = module.FACTS.get(name, {})
    lines += [f"  {key}: {json.dumps(value)}" for key, value in facts.items()] or ["  none yet"]
    options = parameters.schema(module.build)
    lines += ["", f"Options ({name}:NAME=VALUE,…):", *(f"  {value}" for value in options.values())]
    lines += ["", "Built from:"]
    files = tasks.needed(tasks.Task.named(name))
    for file in files.values():
        size = f"{file.size:,} bytes" if file.size else "of unknown size"
        lines.append(f"  {file.name}, {size}, {file.digest}")
    source = "files of yours" if "path" in options else "nothing: it is generated"
    lines += [] if files else [f"  {source}"]
    lines += ["", *dict.fromkeys(f"Licence: {file.licence}" for file in files.values())]
    return "\n".join(lines)


def _own(task: Task, settings: Settings) -> str:
    """What a task from the user's own files is, which only the files tell."""
    import json

    from transferbench.data import tasks

    facts = tasks.facts(task, settings)
    lines = [task.name, "", f"A {facts.family} task of your own.", "", "Facts:"]
    items = facts.to_json().items()
    lines += [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in items]
    return "\n".join(lines)


def _experiment(name: str) -> str:
    from transferbench.experiments import experiment

    spec = experiment.load(name).spec
    paper = spec.paper
    lines = [
        f"{name}: {spec.title}",
        f"{paper.authors}: {paper.title}, {paper.venue}, {paper.place}",
        "",
        f"Metric: {spec.metric} ({spec.unit}), {spec.repeats} repeats",
        f"Tolerance: {spec.tolerance.value:g}; {spec.tolerance.reason}" if spec.tolerance else "",
        "",
        "Rows:",
        *(f"  {label}: {row.task}" for label, row in spec.rows.items()),
        "",
        "Columns:",
    ]
    for label, column in spec.columns.items():
        params = ", ".join(f"{key}={value}" for key, value in column.params.items())
        control = " (control)" if column.control else ""
        lines.append(f"  {label}{control}: {column.model}({params})")
    return "\n".join([*lines, "", *(f"Note: {note}" for note in spec.notes)])
