"""transferbench describe."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from transferbench import experiments
from transferbench.cli import _options
from transferbench.cli._terminal import echo, echo_json
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.parameters import Parameter


@click.command()
@click.argument("name", shell_complete=_options.completing(_options.all_names))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(settings: Settings, name: str, as_json: bool) -> None:
    """Describe a model, a task, a dataset or an experiment, by name or by your FILE.yaml.

    A model: objective and parameters. A task: facts, options and original files. A dataset: its
    tasks. An experiment: the paper, rows, columns and settings; `list gtl` lists those of a paper.

    \b
    With --json, an object with kind, name and
      model       family, text, parameters (name, type, default), random
      task        summary, text, facts, options, files (name, size, digest,
                  licence); of your own: family and facts
      dataset     text, tasks
      experiment  the keys of its file
    """
    if name in _options.model_names():
        found, lines = _model(name)
    elif _options.experiments_named(name) or name in experiments.own_names(settings.results):
        found, lines = _experiment(name, settings)
    else:
        found, lines = _task(name, settings)
    if as_json:
        echo_json(found)
        return
    first, *others = lines
    echo(first, bold=True)
    echo("\n".join(others))


def _section(title: str, content: Iterable[object] | Mapping[str, object]) -> list[str]:
    """Return an empty line, the title, and a line for each part of the content."""
    if isinstance(content, Mapping):
        content = [f"{key}: {json.dumps(v, ensure_ascii=False)}" for key, v in content.items()]
    return ["", f"{title}:", *([f"  {part}" for part in content] or ["  none"])]


def _assigned(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _parameters(known: Iterable[Parameter]) -> list[dict[str, Any]]:
    from transferbench.parameters import describe_type

    return [{"name": p.name, "type": describe_type(p.type), "default": p.default} for p in known]


def _model(name: str) -> tuple[dict[str, Any], list[str]]:
    from transferbench import models, parameters

    fit, family = models.load(name), models.get(name).family
    known = parameters.schema(fit).values()
    found: dict[str, Any] = {
        "kind": "model",
        "name": name,
        "family": family,
        "text": inspect.getdoc(importlib.import_module(fit.__module__)) or "",
        "parameters": _parameters(known),
        "random": parameters.takes_seed(fit),
    }
    last = "Random: one run for each seed." if found["random"] else "Deterministic: run once."
    head = [f"{name} ({family} model)", "", found["text"]]
    return found, [*head, *_section("Parameters (--set NAME=VALUE)", known), "", last]


def _task(name: str, settings: Settings) -> tuple[dict[str, Any], list[str]]:
    from transferbench import datasets, parameters
    from transferbench.data import tasks
    from transferbench.errors import unknown

    found: dict[str, Any]
    base = name.partition(":")[0]
    if base not in _options.task_names() and (module := datasets.modules().get(base)):
        listed = [{"name": each, "summary": text} for each, text in module.TASKS.items()]
        found = {"kind": "dataset", "name": base, "text": inspect.getdoc(module), "tasks": listed}
        return found, [f"{base} (dataset)", "", found["text"], *_section("Tasks", module.TASKS)]
    if base not in _options.task_names() and not base.endswith(tasks.YAML_SUFFIXES):
        raise unknown("name", name, _options.all_names(), "See `transferbench list`.")
    task = tasks.Task.named(name)
    found = {"kind": "task", "name": task.name}
    if task.options.get("path"):  # the user's own files
        facts = tasks.facts(task, settings)
        found |= {"family": facts.family, "facts": facts.to_json()}
        head = [task.name, "", f"A {facts.family} task of your own."]
        return found, head + _section("Facts", found["facts"])
    name, module = task.base, datasets.tasks()[task.base]
    options = parameters.schema(module.build)
    files = tasks.needed(task).values()
    found |= {
        "name": name,
        "summary": module.TASKS[name],
        "text": (module.__doc__ or "").strip(),
        "facts": module.FACTS.get(name, {}),
        "options": _parameters(options.values()),
        "files": [
            {"name": f.name, "size": f.size, "digest": f.digest, "licence": f.licence}
            for f in files
        ],
    }
    built_from = [
        f"{f.name}, {f'{f.size:,} bytes' if f.size else 'of unknown size'}, {f.digest}"
        for f in files
    ] or ["your own files" if "path" in options else "nothing: it is generated"]
    return found, [
        name, "", found["summary"], "", found["text"],
        *_section("Facts, checked at every build with the default options", found["facts"]),
        *_section(f"Options ({name}:NAME=VALUE,…)", options.values()),
        *_section("Built from", built_from), "",
        *dict.fromkeys(f"Licence: {file.licence}" for file in files),
    ]  # fmt: skip


def _experiment(name: str, settings: Settings) -> tuple[dict[str, Any], list[str]]:
    experiment = experiments.load(name, settings.results)
    spec, paper, tolerance = experiment.spec, experiment.spec.paper, experiment.compared.tolerance
    reading = {n: f" (reading of {r.reading_of})" for n, r in spec.rows.items() if r.reading_of}
    columns = []
    for label, column in spec.columns.items():
        kind = " (control)" if column.control else ""
        kind += f" (reading of {column.reading_of})" if column.reading_of else ""
        on = f", tasks with {_assigned(column.data)}" if column.data else ""
        columns.append(f"{label}{kind}: {column.model}({_assigned(column.params)}){on}")
    found = {"kind": "experiment", "name": experiment.name} | spec.model_dump(mode="json")
    return found, [
        f"{experiment.name}: {spec.title}",
        f"{paper.authors}: {paper.title}, {paper.venue}, {paper.place}",
        "",
        f"Metric: {spec.metric} ({spec.unit}), {spec.repeats} repeats",
        *([f"Tolerance: {tolerance.value:g}; {tolerance.reason}"] if tolerance else []),
        *([f"Control of: {spec.control_of}"] if spec.control_of else []),
        *_section("Rows", (f"{n}: {row.task}{reading.get(n, '')}" for n, row in spec.rows.items())),
        *_section("Columns", columns),
        *_section("Notes", spec.notes),
    ]
