"""transferbench list."""

import re
from itertools import groupby
from typing import Any

import click

from transferbench import experiments
from transferbench.cli._options import completing
from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.errors import UserError
from transferbench.settings import Settings

KINDS = ("all", "models", "tasks", "datasets", "experiments", *experiments.papers())
#: Tasks that are other forms of listed ones, or made up; only --all and a text print them.
OTHER_FORM = re.compile(r"(embedded|generated|dtl|dai)/.*|gtl/.*-bydate|.*-rebuilt")
#: Fields of a model, task, dataset or experiment by name.
Listed = dict[str, Any]


@click.command()
@click.argument("what", default="all", shell_complete=completing(lambda: KINDS))
@click.argument("text", default="")
@click.option(
    "--all", "everything", is_flag=True, help="Print each task, also other forms of tasks."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with each task.")
@click.pass_obj
def command(settings: Settings, what: str, text: str, everything: bool, as_json: bool) -> None:
    """List models, tasks, datasets and experiments, or the tables and figures of a paper.

    \b
    transferbench list tasks               one line for each family of tasks
    transferbench list tasks newsgroups    each task with this text in its line
    transferbench list newsgroups          also models and experiments with this text
    transferbench list datasets            what their licences forbid or demand
    transferbench list gtl                 the tables and figures of a paper

    The column `missing` names libraries that a model needs and that are not installed. Your own
    experiments are listed as soon as they have results.
    """
    if what not in KINDS:
        what, text = "all", f"{what} {text}".strip()
    lists = {
        kind: [fields for fields in listed if text.casefold() in f"{fields}".casefold()]
        for kind, listed in _read(settings, what).items()
    }
    if not any(lists.values()):
        raise UserError(f"nothing with {text!r} is listed; expected a part of a name or summary.")
    if as_json:
        echo_json(lists)
        return
    if not (text or everything):
        lists = {kind: _families(v) if kind == "tasks" else v for kind, v in lists.items()}
    for kind, printed in lists.items():
        if printed:
            heads = [head for head in printed[0] if any(fields[head] for fields in printed)]
            rows = [[_text(fields[head]) for head in heads] for fields in printed]
            echo_table([[kind, *heads[1:]], *rows])
            echo()


def _families(tasks: list[Listed]) -> list[Listed]:
    """Return one line for the tasks of each family, without those that only --all prints."""
    shown = [task for task in tasks if not OTHER_FORM.fullmatch(task["name"])]
    lines = []
    for _, group in groupby(shown, lambda task: task["name"].partition("/")[0]):
        first, *others = group
        sizes = sorted(filter(None, (task["documents"] for task in (first, *others))))
        name = first["name"] + (f" and {len(others)} more" if others else "")
        documents = " to ".join(dict.fromkeys(map(_text, sizes[:1] + sizes[-1:])))
        lines.append(first | {"name": name, "documents": documents})
    return lines


def _text(value: object) -> str:
    """Return the text to print for a value."""
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else f"{value or ''}"


def _read(settings: Settings, what: str) -> dict[str, list[Listed]]:
    """Return the data that --json prints."""
    from transferbench import datasets, models
    from transferbench.fingerprint import missing_libraries, summary

    lists: dict[str, list[Listed]] = {}
    if what in ("all", "models"):
        lists["models"] = [
            {
                "name": model.name, "family": model.family,
                "missing": missing_libraries(model.path), "summary": summary(model.path),
            }
            for model in models.registry().values()
        ]  # fmt: skip
    if what in ("all", "tasks"):
        summaries = datasets.tasks()
        sizes = {n: datasets.facts(n).get("documents", {}).values() for n in summaries}
        lists["tasks"] = [
            {"name": name, "documents": sum(sizes[name]) or None, "summary": summary}
            for name, summary in summaries.items()
        ]
    if what in ("all", "datasets"):
        lists["datasets"] = [
            {
                "name": dataset.name, "tasks": len(dataset.content["tasks"]),
                "terms": list(dataset.terms), "summary": summary(dataset.path),
            }
            for dataset in datasets.every()
        ]  # fmt: skip
    if what not in ("models", "tasks", "datasets"):
        users = experiments.user_names(settings.results)
        in_paper = experiments.papers().get(what)
        lists["experiments"] = [
            {"name": name, "title": title, "place": "yours" if name in users else None}
            for name, title in experiments.titles(settings.results).items()
            if in_paper is None or name in in_paper
        ]
    return lists
