"""transferbench list."""

import re
from typing import Any

import click

from transferbench import experiments
from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.settings import Settings

WHAT = click.Choice(["all", "models", "tasks", "experiments", *experiments.papers()])
#: Tasks that are other forms of listed ones, or made up; only --all prints them.
OTHER_FORM = re.compile(r"(embedded|generated|dtl|dai)/.*|gtl/.*-bydate|.*-rebuilt")


@click.command()
@click.argument("what", type=WHAT, default="all")
@click.option("--all", "everything", is_flag=True, help="Also other forms of tasks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with everything.")
@click.pass_obj
def command(settings: Settings, what: str, everything: bool, as_json: bool) -> None:
    """List models, tasks and experiments, or the experiments of a paper.

    Missing are libraries that a model needs and that are not installed. Your own experiments are
    listed once they have results.
    """
    lists = _read(settings, what)
    if as_json:
        echo_json(lists)
        return
    for kind, listed in lists.items():
        printed = [each for each in listed if everything or not OTHER_FORM.fullmatch(each["name"])]
        heads = [head for head in printed[0] if any(each[head] for each in printed)]
        rows = [[_text(each[head]) for head in heads] for each in printed]
        echo_table([[kind, *heads[1:]], *rows])
        echo()


def _text(value: object) -> str:
    """Return a value as it is printed."""
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else f"{value or ''}"


def _read(settings: Settings, what: str) -> dict[str, list[dict[str, Any]]]:
    """Return what --json prints."""
    from transferbench import datasets, models
    from transferbench.fingerprint import missing_libraries, summary

    lists: dict[str, list[dict[str, Any]]] = {}
    if what in ("all", "models"):
        lists["models"] = [
            {
                "name": model.name, "family": model.family,
                "missing": missing_libraries(model.path), "summary": summary(model.path),
            }
            for model in models.registry().values()
        ]  # fmt: skip
    if what in ("all", "tasks"):
        sizes = {n: datasets.facts(n).get("documents", {}).values() for n in datasets.tasks()}
        lists["tasks"] = [
            {"name": name, "documents": sum(sizes[name]) or None, "summary": module.TASKS[name]}
            for name, module in datasets.tasks().items()
        ]
    if what in ("all", "experiments"):
        users = experiments.own_names(settings.results)
        lists["experiments"] = [
            {"name": name, "title": title, "place": "yours" if name in users else None}
            for name, title in experiments.titles(settings.results).items()
        ]
    if what in experiments.papers():
        lists["experiments"] = of_paper(what)
    return lists


def of_paper(paper: str) -> list[dict[str, Any]]:
    """Return the experiments on a paper with their places in it: tables, figures, others."""
    from transferbench import strict_yaml

    files = {name: strict_yaml.load(experiments.path(name))[0] for name in experiments.names()}
    published = experiments.expand([paper])
    title = files[published[0]]["paper"]["title"]
    names = [name for name in files if files[name]["paper"]["title"] == title]
    names.sort(key=lambda name: (name not in published, "-text-" in name, len(name), name))
    return [
        {"name": name, "title": files[name]["title"], "place": files[name]["paper"]["place"]}
        for name in names
    ]
