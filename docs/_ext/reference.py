"""Pages of the reference, made from the code: commands, Python, models, datasets, files."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, get_args

import click
from docstrings import cell, escape, meanings, to_markdown, without_parameters
from pydantic import BaseModel

import transferbench
from transferbench import datasets, estimators, measures, models, parameters
from transferbench.cli import main
from transferbench.data import tasks
from transferbench.experiments.experiment import Claim, Schema
from transferbench.runs import record

FAMILIES = {
    "transfer": "Transfer: labels for other domains",
    "clustering": "Clustering of several tasks",
    "multilabel": "Several labels for each document",
}
METHODS = ("fit", "fit_predict", "predict", "predict_proba", "score", "set_params")
#: Parameters that mean the same in every model, for docstrings that do not explain them.
COMMON = {
    "dtype": "Precision of the matrices and factors during the fit.",
    "pool_tasks": "Fit all targets (tasks) at once, or each alone.",
    "max_iter": "Iterations.",
    "C": "Inverse regularisation of the logistic regression.",
}


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of every page of the reference."""
    makers: dict[str, Callable[[], Iterator[str]]] = {
        "command-line": command_line,
        "python": python,
        "estimators": estimator_classes,
        "experiment-file": experiment_file,
        "records": records,
    }
    for name, make in makers.items():
        yield f"{name}.md", "".join(make())
    registry = models.registry()
    for name in registry:
        yield f"models/{name}.md", "".join(model(name))
    yield "models/index.md", "".join(model_index())
    for name in datasets.modules():
        yield f"datasets/{name}.md", "".join(dataset(name))
    yield "datasets/index.md", "".join(dataset_index())


def json_schema() -> str:
    """Return the JSON schema of an experiment file, for editors."""
    return json.dumps(Schema.model_json_schema(), indent=1, ensure_ascii=False) + "\n"


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> str:
    """Return a Markdown table, or "" without rows."""
    lines = [" | ".join(row) for row in rows]
    if not lines:
        return ""
    return (
        "\n".join(
            f"| {line} |" for line in (" | ".join(head), "|".join("---" for _ in head), *lines)
        )
        + "\n\n"
    )


def command_line() -> Iterator[str]:
    """Yield the parts of the page of all commands."""
    yield "# Command line\n\nThe commands, as `transferbench COMMAND --help` shows them.\n\n"
    yield "Exit codes: 0 success; 1 a failure of a run or of transferbench; 2 a mistake that you\n"
    yield "can correct; 130 interrupted.\n\n"
    yield "## transferbench\n\n" + _command(main, "transferbench [OPTIONS] COMMAND")
    for name in main.list_commands(click.Context(main)):
        command = main.get_command(click.Context(main), name)
        assert command is not None
        context = click.Context(command, info_name=f"transferbench {name}")
        usage = " ".join([f"transferbench {name}", *command.collect_usage_pieces(context)])
        yield f"## transferbench {name}\n\n" + _command(command, usage)


def _command(command: click.Command, usage: str) -> str:
    help_text = inspect.cleandoc(command.help or "")
    blocks = []
    for block in help_text.split("\n\n"):
        lines = block.replace("\b", "").strip("\n").splitlines()
        code = "\b" in block or all(line.startswith("transferbench ") for line in lines)
        text = "\n".join(lines)
        blocks.append(f"```text\n{text}\n```" if code else escape(text))
    options = [
        (
            ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts)),
            cell(option.help or ""),
            _default(option),
        )
        for option in command.params
        if isinstance(option, click.Option)
    ]
    return (
        f"```text\n{usage}\n```\n\n"
        + "\n\n".join(blocks)
        + "\n\n"
        + table(("option", "meaning", "default"), options)
    )


def _default(option: click.Option) -> str:
    if option.is_flag:
        return f"`{option.opts[0]}`" if option.default is True else ""
    shown = option.show_default if isinstance(option.show_default, str) else option.default
    if shown is None or callable(shown) or isinstance(shown, Enum) or shown in ((), "", False):
        return "required" if option.required else ""
    return f"`{shown}`"


def python() -> Iterator[str]:
    """Yield the parts of the page of the Python interface."""
    example = (inspect.getdoc(transferbench) or "").partition("\n\n")[2]
    yield f"# Python\n\nThe command line uses the same code.\n\n```text\n{example}\n```\n\n"
    yield "## Functions\n\n"
    public = {name: getattr(transferbench, name) for name in transferbench.__all__}
    for name, thing in public.items():
        if not inspect.isclass(thing):
            yield _described("function", f"transferbench.{name}", thing)
    yield "## Classes\n\n"
    for name, thing in public.items():
        if inspect.isclass(thing):
            yield _described("class", f"transferbench.{name}", thing)
    modules = {
        "transferbench.measures": "Measures and decision rules",
        "transferbench.choose.doubts": "Reasons to doubt a result",
    }
    for module, heading in modules.items():
        yield f"## {heading}\n\n`{module}`\n\n"
        found = importlib.import_module(module)
        for name, thing in vars(found).items():
            own = getattr(thing, "__module__", "") == module and not name.startswith("_")
            if own and inspect.isfunction(thing):
                yield _described("function", f"{module}.{name}", thing)


def estimator_classes() -> Iterator[str]:
    """Yield the parts of the page of scikit-learn estimators."""
    yield "# Estimators\n\n" + to_markdown(inspect.getdoc(estimators) or "") + "\n\n"
    for name, thing in vars(estimators).items():
        own = inspect.isclass(thing) and thing.__module__.startswith(estimators.__name__)
        if not own or name.startswith("_"):
            continue
        yield f"## {name}\n\n" + _described("class", f"transferbench.estimators.{name}", thing)
        for method in METHODS:
            found = getattr(thing, method, None)
            if found and found.__module__.startswith(estimators.__name__):
                full = f"transferbench.estimators.{name}.{method}"
                yield _described("method", full, found)


def _described(kind: str, name: str, thing: Any) -> str:
    """Return an entry of the index of Python objects, with signature and docstring."""
    signature = str(inspect.signature(thing)).replace("'", "")
    return f"::::{{py:{kind}}} {name}{signature}\n\n{_doc(thing)}\n::::\n\n"


def _doc(thing: Any) -> str:
    return to_markdown(inspect.getdoc(thing) or "")


def model(name: str) -> Iterator[str]:
    """Yield the parts of a model's page: objective, parameters with their meaning, randomness."""
    fit = models.load(name)
    doc = inspect.getdoc(importlib.import_module(models.get(name).module)) or ""
    yield f"# {name}\n\n" + to_markdown(doc) + "\n\n"
    # What is on the page of every model is not searched: all of them would be found.
    yield f":::{{container}} no-search\nFamily: {models.get(name).family}. "
    random = parameters.takes_seed(fit)
    yield "Random: one run for each seed." if random else "Deterministic: run once."
    yield "\n:::\n\n"
    known = parameters.schema(fit)
    meaning = parameter_meanings(name)
    yield "## Parameters\n\n" if known else "It has no parameters.\n\n"
    yield (
        ":::{container} no-search\n"
        + table(
            ("name", "type", "default", "meaning"),
            [
                (
                    f"`{each.name}`",
                    cell(parameters.describe_type(each.type)),
                    f"`{each.default!r}`",
                    cell(meaning.get(each.name, "")),
                )
                for each in known.values()
            ],
        ).rstrip()
        + "\n:::\n\n"
    )
    returned = without_parameters(inspect.getdoc(fit) or "", known)
    yield f"## What it returns\n\n{to_markdown(returned)}\n\n"
    yield ":::{container} no-search\nSet a parameter with `--set NAME=VALUE`, in Python as a "
    yield f'keyword argument of `transferbench.fit("{name}", …)`.\n:::\n'


def parameter_meanings(name: str) -> dict[str, str]:
    """Return the meaning of each parameter of a model, from the docstring of its `fit`.

    A docstring may refer to another model's: "those of `himls.fit`".
    """
    fit = models.load(name)
    doc = inspect.getdoc(fit) or ""
    other = re.search(r"those of `(\w+)\.fit`", doc)
    inherited = parameter_meanings(other[1].replace("_", "-")) if other else {}
    module = inspect.getdoc(importlib.import_module(fit.__module__)) or ""
    return COMMON | meanings(doc, parameters.schema(fit), module) | inherited


def model_index() -> Iterator[str]:
    """Yield the parts of the list of models by family."""
    yield "# Models\n\n"
    yield f"{len(models.registry())} models. A model of a family solves the problems of that "
    yield "family; the page of a model shows its objective and its parameters.\n\n"
    for family, heading in FAMILIES.items():
        yield f"## {heading}\n\n"
        names = [each.name for each in models.registry().values() if each.family == family]
        yield table(("model", ""), [(f"[{n}]({n}.md)", cell(_first_line(n))) for n in names])
    yield "```{toctree}\n:hidden:\n\n" + "\n".join(models.registry()) + "\n```\n"


def _first_line(name: str) -> str:
    module = importlib.import_module(models.get(name).module)
    return (inspect.getdoc(module) or "").partition("\n")[0]


def dataset(name: str) -> Iterator[str]:
    """Yield the parts of a dataset's page: tasks, facts, options, files, licence."""
    module = datasets.modules()[name]
    yield f"# {name}\n\n" + to_markdown(inspect.getdoc(module) or "") + "\n\n## Tasks\n\n"
    yield table(
        ("task", "content", "documents", "features"),
        [(f"`{task}`", cell(text), *_facts(module, task)) for task, text in module.TASKS.items()],
    )
    yield "The counts are checked at every build with the default options.\n\n"
    options = {"order": tasks.ORDER, **tasks.CUT, **parameters.schema(module.build)}
    yield "## Options\n\n`TASK:NAME=VALUE,…`; an `order` above 0 permutes the documents; "
    yield f"`{'`, `'.join(tasks.CUT)}` take some of the documents of a transfer task.\n\n"
    yield table(
        ("name", "type", "default"),
        [
            (f"`{o.name}`", cell(parameters.describe_type(o.type)), f"`{o.default!r}`")
            for o in options.values()
        ],
    )
    files = module.FILES.values()
    yield "## Files\n\n" if files else "## Files\n\nNothing is fetched.\n\n"
    yield table(
        ("file", "bytes", "digest"),
        [(f"`{f.name}`", f"{f.size:,}" if f.size else "", f"`{f.digest[:24]}…`") for f in files],
    )
    for licence in dict.fromkeys(file.licence for file in files):
        yield f"Licence: {escape(licence)}\n\n"


def _facts(module: Any, task: str) -> tuple[str, str]:
    facts = module.FACTS.get(task, {})
    documents, features = facts.get("documents", {}), facts.get("features", [])
    shown = ", ".join(f"{domain} {n:,}" for domain, n in documents.items())
    return cell(shown), ", ".join(f"{n:,}" for n in features)


def dataset_index() -> Iterator[str]:
    """Yield the parts of the list of datasets."""
    modules = datasets.modules()
    yield f"# Datasets\n\n{len(datasets.tasks())} tasks of {len(modules)} datasets. Files are "
    yield "fetched on first use, verified by digest and cached.\n\n"
    rows = [
        (f"[{name}]({name}.md)", cell((inspect.getdoc(m) or "").partition("\n")[0]),
         str(len(m.TASKS)))
        for name, m in modules.items()
    ]  # fmt: skip
    yield table(("dataset", "", "tasks"), rows)
    yield "```{toctree}\n:hidden:\n\n" + "\n".join(modules) + "\n```\n"


def experiment_file() -> Iterator[str]:
    """Yield the parts of the page of the keys of an experiment file."""
    yield "# Experiment file\n\n"
    yield "An experiment is one YAML file. Every key is checked before anything runs, and a "
    yield "fault is shown with file and line. Editors that know JSON schemas can complete and "
    yield "check the keys: "
    yield "{download}`experiment.schema.json <../_static/experiment.schema.json>`. Many read its "
    yield "address from the first line of the YAML file:\n\n"
    yield "```yaml\n# yaml-language-server: $schema=experiment.schema.json\n```\n\n"
    seen: list[type[BaseModel]] = []
    _collect(Schema, seen)
    for each in seen:
        heading = "The file" if each is Schema else each.__name__
        yield f"## {heading}\n\n{_doc(each)}\n\n" + table(
            ("key", "type", "default"),
            [
                (f"`{name}`", cell(_type(field.annotation)), _field_default(field))
                for name, field in each.model_fields.items()
            ],
        )


def _collect(kind: type[BaseModel], seen: list[type[BaseModel]]) -> None:
    """Append a class of the schema and those that it contains, in the order of the keys."""
    if kind in seen:
        return
    seen.append(kind)
    for field in kind.model_fields.values():
        for inner in _classes(field.annotation):
            _collect(inner, seen)


def _classes(annotation: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _classes(argument)


def _type(annotation: Any) -> str:
    """Return an annotation in words."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation.__name__
    base, inner = getattr(annotation, "__origin__", None), get_args(annotation)
    if base is dict:
        return f"{_type(inner[1])}, by name"
    if base is tuple:
        return f"list of {_type(inner[0])}"
    if annotation is object:
        return "any value"
    if annotation is float:
        return "number"
    if base is not None and hasattr(annotation, "__metadata__"):
        simple = base in parameters.WORDS
        shown = parameters.describe_type(annotation) if simple else _type(base)
        return shown.replace(" > -inf", "")
    if inner and not all(isinstance(each, str) for each in inner):
        return " or ".join(dict.fromkeys(_type(each) for each in inner))
    return parameters.describe_type(annotation)


def _field_default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return ", ".join(f"`{name}: {each}`" for name, each in value)
    return "" if value in (None, "", (), {}) else f"`{json.dumps(value)}`"


def records() -> Iterator[str]:
    """Yield the parts of the page of records and runs.csv."""
    yield "# Records and runs.csv\n\n"
    yield "Each run leaves one record, a JSON file below `results/records/`. `runs.csv` of an "
    yield "experiment has a line for each run and each scored domain.\n\n"
    yield "## A record\n\n" + _doc(record.Record) + "\n\n"
    yield "## What identifies a run\n\n" + _doc(record.Run) + "\n\n"
    yield "## Columns of runs.csv\n\n"
    yield "A column named after a field of a record holds that field. The others:\n\n"
    yield "- `row`, `column`, `x`: the place in the table or figure.\n"
    yield "- `domain`: the scored domain.\n"
    yield f"- {', '.join(f'`{name}`' for name in measures.SCORES)}: the measures, as fractions.\n"
    yield "- `objective`, `iterations`: the last value and the length of the trace.\n"
    yield "- `documents`, `curve`: those of the line's domain.\n\n"
    yield "Each text of `params` and `versions` stands once in a file, after a number: "
    yield '`0 {"C": 1.0}`. The other lines have the number alone.\n\n'
    yield "In this order: " + ", ".join(f"`{name}`" for name in record.RUNS_COLUMNS) + ".\n\n"
    yield "## As a DataFrame\n\n`transferbench.results` joins the plan of an experiment with its "
    yield "runs.csv.\n\n" + _doc(transferbench.results) + "\n\n"
    yield "## Claims\n\n" + _doc(Claim) + "\n"


INDEX = """# Reference

Made from the code whenever the site is built.

- [Command line](command-line.md): every command and option
- [Python](python.md) and [Estimators](estimators.md)
- [Models](models/index.md): objective and parameters of each
- [Datasets](datasets/index.md): tasks, facts, options and files of each
- [Experiment file](experiment-file.md): the keys of the YAML file
- [Records and runs.csv](records.md): what a run leaves behind

```{toctree}
:hidden:

command-line
python
estimators
models/index
datasets/index
experiment-file
records
```
"""
