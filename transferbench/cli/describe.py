"""transferbench describe."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterable, Mapping

import click

from transferbench import experiments
from transferbench.cli import _options
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("name", shell_complete=_options.completing(_options.all_names))
@click.pass_obj
def command(settings: Settings, name: str) -> None:
    """Describe a model, a task, a dataset, a paper or an experiment, by name or by your FILE.yaml.

    A model: objective and parameters. A task: facts, options and original files. A dataset: its
    tasks. A paper: its experiments. An experiment: the paper, rows, columns and settings.
    """
    if name in _options.model_names():
        lines = _model(name)
    elif name in experiments.papers():
        lines = _paper(name)
    elif _options.experiments_named(name) or name in experiments.own_names(settings.results):
        lines = _experiment(name, settings)
    else:
        lines = _task(name, settings)
    echo("\n".join(lines))


def _section(title: str, content: Iterable[object] | Mapping[str, object]) -> list[str]:
    """Return an empty line, the title, and a line for each part of the content."""
    if isinstance(content, Mapping):
        content = [f"{key}: {json.dumps(v, ensure_ascii=False)}" for key, v in content.items()]
    return ["", f"{title}:", *([f"  {part}" for part in content] or ["  none"])]


def _assigned(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _model(name: str) -> list[str]:
    from transferbench import models, parameters

    fit = models.load(name)
    text = inspect.getdoc(importlib.import_module(fit.__module__)) or ""
    texts = parameters.descriptions(fit)
    values = [f"{p}. {texts.get(p.name, '')}".rstrip() for p in parameters.schema(fit).values()]
    is_random = parameters.takes_seed(fit)
    return [
        f"{name} ({models.get(name).family} model)",
        "",
        text,
        *_section("Parameters (--set NAME=VALUE)", values),
        "",
        "Random: one run for each seed." if is_random else "Deterministic: run once.",
    ]


def _task(name: str, settings: Settings) -> list[str]:
    from transferbench import datasets, parameters
    from transferbench.data import tasks
    from transferbench.errors import unknown

    base = name.partition(":")[0]
    if base not in _options.task_names() and (module := datasets.modules().get(base)):
        text = inspect.getdoc(module) or ""
        return [f"{base} (dataset)", "", text, *_section("Tasks", module.TASKS)]
    if base not in _options.task_names() and not base.endswith(tasks.YAML_SUFFIXES):
        raise unknown("name", name, _options.all_names(), "See `transferbench list`.")
    task = tasks.Task.parse(name)
    if task.options.get("path"):  # the user's own files
        facts = tasks.ensure_built(task, settings).facts
        head = [str(task), "", f"A {facts.family} task of your own."]
        return head + _section("Facts", facts.to_json())
    name, module = task.base, datasets.tasks()[task.base]
    options = parameters.schema(module.build)
    order = f"{tasks.ORDER} (above 0: the documents of each domain in another order)"
    files = tasks.needed(task).values()
    built_from = [
        f"{f.name}, {f'{f.size:,} bytes' if f.size else 'of unknown size'}, {f.digest}"
        for f in files
    ] or ["your own files" if "path" in options else "nothing: it is generated"]
    return [
        name, "", module.TASKS[name], "", (module.__doc__ or "").strip(),
        *_section("Facts, checked at every build with the default options", datasets.facts(name)),
        *_section(f"Options ({name}:NAME=VALUE,…)", [*options.values(), order]),
        *_section("Options of every transfer task, to use some documents", tasks.CUT.values()),
        *_section("Built from", built_from), "",
        *dict.fromkeys(f"Licence: {file.licence}" for file in files),
    ]  # fmt: skip


def _paper(name: str) -> list[str]:
    from transferbench.cli.list import of_paper

    listed = of_paper(name)
    paper = experiments.load(listed[0]["name"]).spec.paper
    return [
        f"{name} (paper)",
        f"{paper.authors}: {paper.title}, {paper.venue}",
        *_section("Experiments", (f"{e['name']}: {e['place']}: {e['title']}" for e in listed)),
        "",
        f"`transferbench reproduce {name}` makes those that are published in it.",
    ]


def _experiment(name: str, settings: Settings) -> list[str]:
    experiment = experiments.load(name, settings.results)
    spec, paper, stated = experiment.spec, experiment.spec.paper, experiment.compared.tolerance
    reading = {n: f" (reading of {r.reading_of})" for n, r in spec.rows.items() if r.reading_of}
    columns = []
    for label, column in spec.columns.items():
        kind = " (control)" if column.control else ""
        kind += f" (reading of {column.reading_of})" if column.reading_of else ""
        on = f", tasks with {_assigned(column.data)}" if column.data else ""
        columns.append(f"{label}{kind}: {column.model}({_assigned(column.params)}){on}")
    return [
        f"{experiment.name}: {spec.title}",
        f"{paper.authors}: {paper.title}, {paper.venue}, {paper.place}",
        "",
        f"Metric: {spec.metric} ({spec.unit}), {spec.repeats} repeats",
        *(
            f"Tolerance: {t.value:g} ({', '.join(t.rows) or 'all rows'}); {t.reason}"
            for t in stated
        ),
        *([f"Control of: {spec.control_of}"] if spec.control_of else []),
        *_section(
            "Rows", (f"{n}: {row.data()}{reading.get(n, '')}" for n, row in spec.rows.items())
        ),
        *_section("Columns", columns),
        *_section("Notes", spec.notes),
    ]
