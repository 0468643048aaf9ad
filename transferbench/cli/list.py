"""transferbench list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from transferbench import experiments
from transferbench.cli._terminal import echo, echo_json
from transferbench.settings import Settings

WIDTH = 80
WHAT = click.Choice(["all", "models", "tasks", "experiments", *experiments.papers()])


@click.command()
@click.argument("what", type=WHAT, default="all")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(settings: Settings, what: str, as_json: bool) -> None:
    """List models, tasks and experiments, or the experiments of a paper.

    A model marked * needs a library that is not installed. Long lines are cut; `describe NAME`
    shows all. Your own experiments are listed once they have results.

    \b
    With --json, an object with the lists that were asked for:
      models       name, family, summary, missing (libraries that are not installed)
      tasks        name, summary
      experiments  name, title, own (true for your own)
      a paper      name, title, place (in the paper)
    """
    sections = {"models": _models, "tasks": _tasks, "experiments": _experiments}
    found = {title: read(settings) for title, read in sections.items() if what in ("all", title)}
    if what in experiments.papers():
        found[what] = _of_paper(what)
    if as_json:
        echo_json(found)
        return
    if "models" in found:
        _print_models(found["models"])
    if "tasks" in found:
        _print("Tasks", {each["name"]: each["summary"] for each in found["tasks"]})
    for own, title in ((False, "Experiments"), (True, "Your own experiments")):
        titles = {e["name"]: e["title"] for e in found.get("experiments", ()) if e["own"] is own}
        if titles:
            _print(title, titles)
    if what in experiments.papers():
        places = {each["name"]: f"{each['place']}: {each['title']}" for each in found[what]}
        _print(f"Experiments on {what}", places)


def _models(settings: Settings) -> list[dict[str, Any]]:
    from transferbench import models
    from transferbench.fingerprint import missing_libraries, summary

    return [
        {
            "name": model.name,
            "family": model.family,
            "summary": summary(model.path),
            "missing": missing_libraries(model.path),
        }
        for model in models.registry().values()
    ]


def _tasks(settings: Settings) -> list[dict[str, Any]]:
    from transferbench import datasets

    return [
        {"name": name, "summary": module.TASKS[name]} for name, module in datasets.tasks().items()
    ]


def _experiments(settings: Settings) -> list[dict[str, Any]]:
    own = set(experiments.own_names(settings.results))
    return [
        {"name": name, "title": title, "own": name in own}
        for name, title in experiments.titles(settings.results).items()
    ]


def _of_paper(paper: str) -> list[dict[str, Any]]:
    """Return the experiments on a paper with their places in it: tables, figures, others."""
    from transferbench import strict_yaml

    files = {name: strict_yaml.load(experiments.path(name))[0] for name in experiments.names()}
    published = experiments.expand([paper])
    names = [
        n for n in files if files[n]["paper"]["title"] == files[published[0]]["paper"]["title"]
    ]
    names.sort(key=lambda name: (name not in published, "-text-" in name, len(name), name))
    return [
        {"name": name, "title": files[name]["title"], "place": files[name]["paper"]["place"]}
        for name in names
    ]


def _print_models(found: list[dict[str, Any]]) -> None:
    """Print the models by family, and which libraries those marked * need."""
    for family in dict.fromkeys(model["family"] for model in found):
        of_family = [model for model in found if model["family"] == family]
        summaries = {m["name"] + "*" * bool(m["missing"]): m["summary"] for m in of_family}
        _print(
            {"multilabel": "Multi-label"}.get(family, family.capitalize()) + " models", summaries
        )
    if missing := sorted({library for model in found for library in model["missing"]}):
        echo(f"* needs {', '.join(missing)}, not installed; see `doctor`.\n")


def _print(title: str, summaries: Mapping[str, str]) -> None:
    """Print a title and a line for each name, at most WIDTH characters long."""
    echo(f"{title}:", style="header")
    width = max(map(len, summaries), default=0)
    for name, text in summaries.items():
        line = f"  {name:<{width}}  {text}"
        echo(line if len(line) <= WIDTH else f"{line[: WIDTH - 1].rstrip()}…")
    echo()
