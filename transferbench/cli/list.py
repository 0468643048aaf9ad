"""transferbench list."""

import json
import re
import shutil
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import click

from transferbench import experiments
from transferbench.cli._terminal import echo, echo_json
from transferbench.files import read_regular
from transferbench.messages import aligned, short_number
from transferbench.settings import Settings

WHAT = click.Choice(["all", "models", "tasks", "experiments", *experiments.papers()])
#: Tasks that are other forms of listed ones, or made up; only --all prints them.
OTHER_FORM = re.compile(r"(embedded|generated|dtl|dai)/.*|gtl/.*-bydate|.*-rebuilt")
#: Printed where anything listed has them.
COLUMNS = (
    *("name", "family", "documents", "cached", "seconds"),
    *("missing", "summary", "title", "place"),
)


@click.command()
@click.argument("what", type=WHAT, default="all")
@click.option("--all", "everything", is_flag=True, help="Also other forms of tasks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with everything.")
@click.pass_obj
def command(settings: Settings, what: str, everything: bool, as_json: bool) -> None:
    """List models, tasks and experiments, or the experiments of a paper.

    Seconds are those of a committed fit (the median) or of all fits of an experiment. A task is
    cached if its original files are here. Missing are libraries that a model needs and that are not
    installed. Lines are cut at the width of a terminal. Your own experiments are listed once they
    have results.
    """
    lists = _read(settings, what)
    if as_json:
        echo_json(lists)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for kind, listed in lists.items():
        printed = [each for each in listed if everything or not OTHER_FORM.fullmatch(each["name"])]
        columns = [name for name in COLUMNS if any(each.get(name) for each in printed)]
        rows = [[_text(each.get(name)) for name in columns] for each in printed]
        for line in aligned([[kind, *columns[1:]], *rows]):
            echo(line if len(line) <= width else f"{line[: width - 1].rstrip()}…")
        echo()


def _text(value: object) -> str:
    """Return a value as it is printed."""
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, float):
        return short_number(value)
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _read(settings: Settings, what: str) -> dict[str, list[dict[str, Any]]]:
    """Return what --json prints."""
    from transferbench import datasets, models
    from transferbench.fingerprint import missing_libraries, summary

    lists: dict[str, list[dict[str, Any]]] = {}
    if what in ("all", "models"):
        lists["models"] = [
            {
                "name": model.name, "family": model.family, "summary": summary(model.path),
                "missing": missing_libraries(model.path),
            }
            for model in models.registry().values()
        ]  # fmt: skip
    if what in ("all", "tasks"):
        lists["tasks"] = [
            {
                "name": name,
                "documents": sum(datasets.facts(name).get("documents", {}).values()) or None,
                "cached": _cached(settings, name),
                "summary": module.TASKS[name],
            }
            for name, module in datasets.tasks().items()
        ]
    if what in ("all", "experiments"):
        users = experiments.own_names(settings.results)
        titles = experiments.titles(settings.results)
        lists["experiments"] = [
            {"name": n, "title": title, "own": n in users, "place": "yours" if n in users else None}
            for n, title in titles.items()
        ]
    if what in experiments.papers():
        lists["experiments"] = of_paper(what)
    spent = _seconds(settings.results)
    for kind, listed in lists.items():
        for each in listed:
            seconds = spent[kind, each["name"]] or [0]
            each["seconds"] = (sum if kind == "experiments" else median)(seconds) or None
    return lists


def _seconds(results: Path) -> dict[tuple[str, str], list[float]]:
    """Return the seconds of the finished fits, by experiment, by model and by task."""
    spent: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path in results.glob("*/runs.jsonl"):
        with suppress(OSError, ValueError):
            for line in map(json.loads, read_regular(path).splitlines()):
                places = path.parent.name, line["model"], line["task"]
                for place in zip(("experiments", "models", "tasks"), places, strict=True):
                    if line["status"] == "done":
                        spent[place].append(line["seconds"])
    return spent


def _cached(settings: Settings, task: str) -> bool | None:
    """True if the original files of a task are here; None if it has none."""
    from transferbench.data import tasks

    files = [settings.data / "raw" / name for name in tasks.needed(tasks.Task.parse(task))]
    return all(file.is_file() for file in files) if files else None


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
