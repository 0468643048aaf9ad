"""transferbench describe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from transferbench import experiments
from transferbench.cli import _names
from transferbench.cli._terminal import echo, echo_json
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.data.tasks import Task
    from transferbench.parameters import Parameter


@click.command()
@click.argument("name", shell_complete=_names.completing(_names.all_names))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(settings: Settings, name: str, as_json: bool) -> None:
    """Describe a model, a task or an experiment, by name or by your own FILE.yaml.

    A model: objective and parameters. A task: facts, options and original files. An experiment:
    the paper, rows, columns and settings.

    \b
    With --json, an object with kind, name and
      model       family, text, parameters (name, type, default), random
      task        summary, text, facts, options, files (name, size, digest,
                  licence); of your own: family and facts
      experiment  the keys of its file
    """
    if name in _names.model_names():
        found, lines = _model(name)
    elif _names.experiments_named(name) or name in experiments.own_names(settings.results):
        found, lines = _experiment(name, settings)
    else:
        found, lines = _task(name, settings)
    if as_json:
        echo_json(found)
        return
    first, *others = lines
    echo(first, style="header")
    for line in others:
        echo(line)


def _parameters(known: Iterable[Parameter]) -> list[dict[str, Any]]:
    from transferbench.parameters import describe_type

    return [
        {"name": each.name, "type": describe_type(each.type), "default": each.default}
        for each in known
    ]


def _model(name: str) -> tuple[dict[str, Any], list[str]]:
    import importlib
    import inspect

    from transferbench import models, parameters

    fit = models.load(name)
    family, known = models.get(name).family, parameters.schema(fit).values()
    text = inspect.getdoc(importlib.import_module(fit.__module__)) or ""
    random = parameters.takes_seed(fit)
    found = {
        "kind": "model",
        "name": name,
        "family": family,
        "text": text,
        "parameters": _parameters(known),
        "random": random,
    }
    lines = [f"{name} ({family} model)", "", text, "", "Parameters (--set NAME=VALUE):"]
    lines += [f"  {parameter}" for parameter in known] or ["  none"]
    last = "Random: one run for each seed." if random else "Deterministic: run once."
    return found, [*lines, "", last]


def _task(name: str, settings: Settings) -> tuple[dict[str, Any], list[str]]:
    from transferbench.data import tasks
    from transferbench.errors import unknown

    base = name.partition(":")[0]
    if base not in _names.task_names() and not base.endswith(tasks.YAML_SUFFIXES):
        raise unknown("name", name, _names.all_names(), "See `transferbench list`.")
    task = tasks.Task.named(name)
    if not task.options.get("path"):
        return _known_task(task)
    facts = tasks.facts(task, settings)  # only the user's own files have them
    found = {"kind": "task", "name": task.name, "family": facts.family, "facts": facts.to_json()}
    head = [task.name, "", f"A {facts.family} task of your own.", "", "Facts:"]
    return found, [*head, *_facts(facts.to_json())]


def _known_task(task: Task) -> tuple[dict[str, Any], list[str]]:
    from transferbench import datasets, parameters
    from transferbench.data import tasks

    name, module = task.base, datasets.tasks()[task.base]
    doc, facts = (module.__doc__ or "").strip(), module.FACTS.get(task.base, {})
    options = parameters.schema(module.build)
    files = tasks.needed(task).values()
    found = {
        "kind": "task",
        "name": name,
        "summary": module.TASKS[name],
        "text": doc,
        "facts": facts,
        "options": _parameters(options.values()),
        "files": [
            {"name": f.name, "size": f.size, "digest": f.digest, "licence": f.licence}
            for f in files
        ],
    }
    lines = [name, "", module.TASKS[name], "", doc, ""]
    lines += ["Facts, checked at every build with the default options:"]
    lines += _facts(facts) or ["  none but those above"]
    lines += ["", f"Options ({name}:NAME=VALUE,…):", *(f"  {value}" for value in options.values())]
    lines += ["", "Built from:"]
    for file in files:
        size = f"{file.size:,} bytes" if file.size else "of unknown size"
        lines.append(f"  {file.name}, {size}, {file.digest}")
    if not files:
        lines.append("  your own files" if "path" in options else "  nothing: it is generated")
    return found, [*lines, "", *dict.fromkeys(f"Licence: {file.licence}" for file in files)]


def _facts(facts: Mapping[str, object]) -> list[str]:
    return [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]


def _experiment(name: str, settings: Settings) -> tuple[dict[str, Any], list[str]]:
    experiment = experiments.load(name, settings.results)
    name, spec = experiment.name, experiment.spec
    paper, tolerance = spec.paper, experiment.compared.tolerance
    columns = []
    for label, column in spec.columns.items():
        params = ", ".join(f"{key}={value}" for key, value in column.params.items())
        control = " (control)" if column.control else ""
        control += f" (reading of {column.reading_of})" if column.reading_of else ""
        options = ", ".join(f"{key}={value}" for key, value in column.data.items())
        on = f", tasks with {options}" if options else ""
        columns.append(f"  {label}{control}: {column.model}({params}){on}")
    found = {"kind": "experiment", "name": name} | spec.model_dump(mode="json")
    return found, [
        f"{name}: {spec.title}",
        f"{paper.authors}: {paper.title}, {paper.venue}, {paper.place}",
        "",
        f"Metric: {spec.metric} ({spec.unit}), {spec.repeats} repeats",
        f"Tolerance: {tolerance.value:g}; {tolerance.reason}" if tolerance else "",
        f"Control of: {spec.control_of}" if spec.control_of else "",
        "",
        "Rows:",
        *(
            f"  {label}: {row.task}" + f" (reading of {row.reading_of})" * bool(row.reading_of)
            for label, row in spec.rows.items()
        ),
        "",
        "Columns:",
        *columns,
        "",
        *(f"Note: {note}" for note in spec.notes),
    ]
