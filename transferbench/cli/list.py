"""transferbench list."""

from collections.abc import Mapping
from typing import Any

import click

from transferbench import experiments
from transferbench.cli._options import Command
from transferbench.cli._terminal import echo, echo_json
from transferbench.settings import Settings

WIDTH = 80
WHAT = click.Choice(["all", "models", "tasks", "experiments", *experiments.papers()])
FAMILIES = {"transfer": "Transfer", "clustering": "Clustering", "multilabel": "Multi-label"}


@click.command(cls=Command)
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
    found = _read(settings, what)
    if as_json:
        echo_json(found)
        return
    models = found.get("models", [])
    for family, title in FAMILIES.items():
        names = {m["name"] + "*" * bool(m["missing"]): m for m in models if m["family"] == family}
        _print(f"{title} models", {name: model["summary"] for name, model in names.items()})
    if missing := sorted({library for model in models for library in model["missing"]}):
        echo(f"* needs {', '.join(missing)}, not installed; see `doctor`.\n")
    _print("Tasks", {each["name"]: each["summary"] for each in found.get("tasks", ())})
    for own, title in ((False, "Experiments"), (True, "Your own experiments")):
        listed = [each for each in found.get("experiments", ()) if each["own"] is own]
        _print(title, {each["name"]: each["title"] for each in listed})
    if what in experiments.papers():
        places = {each["name"]: f"{each['place']}: {each['title']}" for each in found[what]}
        _print(f"Experiments on {what}", places)


def _read(settings: Settings, what: str) -> dict[str, list[dict[str, Any]]]:
    """Return what --json prints."""
    from transferbench import datasets, models
    from transferbench.fingerprint import missing_libraries, summary

    found: dict[str, list[dict[str, Any]]] = {}
    if what in ("all", "models"):
        found["models"] = [
            {
                "name": model.name,
                "family": model.family,
                "summary": summary(model.path),
                "missing": missing_libraries(model.path),
            }
            for model in models.registry().values()
        ]
    if what in ("all", "tasks"):
        known = datasets.tasks()
        found["tasks"] = [{"name": n, "summary": known[n].TASKS[n]} for n in known]
    if what in ("all", "experiments"):
        own, titles = experiments.own_names(settings.results), experiments.titles(settings.results)
        found["experiments"] = [
            {"name": name, "title": title, "own": name in own} for name, title in titles.items()
        ]
    if what in experiments.papers():
        found[what] = of_paper(what)
    return found


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


def _print(title: str, summaries: Mapping[str, str]) -> None:
    """Print a title and a line for each name, at most WIDTH characters long; nothing without."""
    if not summaries:
        return
    echo(f"{title}:", bold=True)
    width = max(map(len, summaries))
    for name, text in summaries.items():
        line = f"  {name:<{width}}  {text}"
        echo(line if len(line) <= WIDTH else f"{line[: WIDTH - 1].rstrip()}…")
    echo()
