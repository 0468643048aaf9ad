"""transferbench describe."""

from __future__ import annotations

import click

from transferbench.cli._names import all_names, completing


@click.command()
@click.argument("name", shell_complete=completing(all_names))
def command(name: str) -> None:
    """Tell all about a model, task or experiment.

    Objective and parameters; facts, options and origins; published values' place and settings.
    """
    from transferbench import experiment, models, tasks
    from transferbench.cli._names import task_names
    from transferbench.errors import unknown

    bare = name.partition(":")[0]
    if name in models.registry():
        click.echo(_model(name))
    elif bare in task_names():
        click.echo(_task(tasks.Task.named(name).base))
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

    from transferbench import datasets, parameters, tasks

    module = datasets.tasks()[name]
    doc = (module.__doc__ or "").strip()
    lines = [name, "", module.TASKS[name], "", doc, "", "Facts, checked at every build:"]
    facts = module.FACTS.get(name, {})
    lines += [f"  {key}: {json.dumps(value)}" for key, value in facts.items()] or ["  none yet"]
    lines += ["", f"Options ({name}:NAME=VALUE,…):"]
    lines += [f"  {parameter}" for parameter in parameters.schema(module.build).values()]
    lines += ["", "Built from:"]
    files = tasks.needed(tasks.Task.named(name))
    for file in files.values():
        size = f"{file.size:,} bytes" if file.size else "of unknown size"
        lines.append(f"  {file.name}, {size}, {file.digest}")
    own = "path" in parameters.schema(module.build)
    lines += [] if files else ["  your own files" if own else "  nothing: it is generated"]
    lines += ["", *dict.fromkeys(f"Licence: {file.licence}" for file in files.values())]
    return "\n".join(lines)


def _experiment(name: str) -> str:
    from transferbench import experiment

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
