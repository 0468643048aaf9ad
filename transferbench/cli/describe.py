"""transferbench describe."""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from transferbench import experiments
from transferbench.cli import _options
from transferbench.cli._terminal import echo
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.data.fetch import File


@click.command()
@click.argument("name", shell_complete=_options.completing(_options.all_names))
@click.pass_obj
def command(settings: Settings, name: str) -> None:
    """Describe a model, a task, a dataset or an experiment, by name or by your file.

    \b
    transferbench describe gcmf
    transferbench describe ./mymodel.py                  its code is run
    transferbench describe sklearn.svm:LinearSVC         an estimator as a model
    transferbench describe ./mytask.yaml

    The command prints the objective and the parameters of a model, the facts, options, original
    files and licences of a task, the tasks and licences of a dataset, or the complete YAML of an
    experiment.
    """
    base, colon, attribute = name.partition(":")
    is_estimator = colon and attribute.isidentifier() and base not in _options.task_names()
    if name in _options.model_names() or name.endswith(".py") or is_estimator:
        lines = _model(name)
    elif _options.experiments_named(name) or experiments.is_user_name(name, settings.results):
        lines = _experiment(name, settings)
    else:
        lines = _task(name, settings)
    echo("\n".join(lines))


def _section(title: str, content: Iterable[object] | Mapping[str, object]) -> list[str]:
    """Return an empty line, the title, and a line for each part of the content."""
    if isinstance(content, Mapping):
        content = [f"{key}: {json.dumps(v, ensure_ascii=False)}" for key, v in content.items()]
    return ["", f"{title}:", *([f"  {part}" for part in content] or ["  none"])]


def _model(name: str) -> list[str]:
    from transferbench import models, parameters

    fit, model = models.load(name), models.get(name)
    if models.is_external(name) and not name.endswith(".py"):
        text = inspect.getdoc(pkgutil.resolve_name(name)) or ""
    else:
        tree = ast.parse(model.path.read_bytes())  # in the encoding that it names
        text = ast.get_docstring(tree) or inspect.getdoc(fit) or "It has no docstring."
    texts = parameters.descriptions(fit)
    values = [f"{p}. {texts.get(p.name, '')}".rstrip() for p in parameters.schema(fit).values()]
    arguments = inspect.signature(fit).parameters.values()
    # The first one is the problem.
    if other := [p.name for p in arguments if p.kind is p.POSITIONAL_OR_KEYWORD][1:]:
        remedy = "write `*` before it in the function's head, `fit(problem, *, …)`"
        values.append(f"not {', '.join(other)}: {remedy}")
    is_random = parameters.takes_seed(fit)
    return [
        f"{name} ({model.family} model)",
        "",
        text,
        *_section("Parameters (--set NAME=VALUE)", values),
        "",
        "Random: one run for each seed." if is_random else "Deterministic: run once.",
    ]


def _task(name: str, settings: Settings) -> list[str]:
    from transferbench import datasets, parameters, tasks
    from transferbench.errors import unknown

    base, is_task = name.partition(":")[0], _options.is_task(name)
    if not is_task and (module := datasets.modules().get(base)):
        text = inspect.getdoc(module) or ""
        rights = _rights(next(iter(module.TASKS)), module.FILES.values())
        return [f"{base} (dataset)", "", text, *_section("Tasks", module.TASKS), *rights]
    if not is_task:
        raise unknown("name", name, _options.all_names(), "See `transferbench list`.")
    task = tasks.Task.parse(name)
    if task.options.get("path"):  # the user's own files
        facts = tasks.ensure_built(task, settings).facts
        head = [str(task), "", f"A {facts.family} task of your own."]
        return head + _section("Facts", facts.to_json())
    name, module = task.base, datasets.module(task.base)
    options = parameters.schema(module.build)
    order = f"{tasks.ORDER} (above 0: the documents of each domain in another order)"
    of_transfer = tasks.SUBSAMPLE.values()
    files = tasks.original_files(task).values()
    sizes = {f: f"{f.size:,} bytes" if f.size else "of unknown size" for f in files}
    built_from = [f"{f.name}, {size}, {f.digest}" for f, size in sizes.items()]
    if not files:
        without = "nothing to fetch: its documents are generated or in its package"
        built_from = ["your own files" if "path" in options else without]
    return [
        name, "", module.TASKS[name], "", (module.__doc__ or "").strip(),
        *_section("Facts, checked at every build with the default options", datasets.facts(name)),
        *_section(f"Options ({name}:NAME=VALUE,…)", [*options.values(), order]),
        *_section("Options of every transfer task, to use some documents", of_transfer),
        *_section("Built from", built_from), *_rights(name, files),
    ]  # fmt: skip


def _rights(task: str, files: Iterable[File]) -> list[str]:
    """Return the licences of a task's files and the terms of its data, each in a line."""
    from transferbench import datasets, tasks
    from transferbench.terms import TERMS

    licences = [*(file.licence for file in files), datasets.of_task(task).content.get("licence")]
    lines = [f"Licence: {licence}" for licence in dict.fromkeys(filter(None, licences))]
    terms = [f"{term}: {TERMS[term]}" for term in tasks.terms_of(tasks.Task.parse(task))]
    return [*([""] * bool(lines)), *lines, *(_section("Terms", terms) if terms else [])]


def _experiment(name: str, settings: Settings) -> list[str]:
    """Return the experiment as YAML, with what it extends, every parameter and every task."""
    import yaml

    experiment = experiments.load(name, settings.results)
    content = experiment.spec.model_dump(mode="json", exclude_defaults=True)
    for label, row in experiment.spec.rows.items():
        content["rows"][label]["task"] = str(row.data())
    text = yaml.safe_dump(
        content, allow_unicode=True, sort_keys=False, width=100, default_flow_style=None
    )
    return [f"{experiment.name}: {experiment.spec.title}", "", text.rstrip()]
