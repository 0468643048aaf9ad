"""The datasets: one file each, with its origins, its tasks and `build`.

A dataset module has
    FILES  {name: fetch.File}   origins of the original files and their digests; may be empty
    TASKS  {task: one line}     the tasks it makes, `<paper or set>/<name>` or `<set>`; tasks.json
                                repeats those of the datasets here, so that they can be listed
                                quickly
    build(task, files, **options) → (Problem, Truth)   its keyword-only arguments are the options
    needed(task) → names in FILES       optional: the files of one task, if it does not need all
    user_files(path) → files            the files to read, none if the path does not exist; needed
                                        if `build` has an option `path` for the user's file or
                                        folder
    FACTS  {task: facts}        optional: facts that must hold for a task built with the default
                                options; for the datasets here they are in facts.json

Other packages add datasets by entry points in the group `transferbench.datasets`.
"""

import importlib
import json
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from transferbench import plugins
from transferbench.data.fetch import originals as originals
from transferbench.data.fetch import read_originals
from transferbench.errors import unknown

FOLDER = Path(__file__).parent
#: The form of its documents, at the end of the name of a task.
FORM = re.compile("-(bydate|19997|rebuilt|reversed)$")


def _stems() -> dict[str, str]:
    """Return the names of the files here by the names of their datasets."""
    stems = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    return {stem.replace("_", "-"): stem for stem in stems}


@cache
def modules() -> dict[str, ModuleType]:
    """Return the dataset modules by name; the name is that of the file, with hyphens."""
    by_name = {n: importlib.import_module(f"{__name__}.{stem}") for n, stem in _stems().items()}
    # The user's own files make tasks in the same way.
    by_name["user"] = importlib.import_module("transferbench.userdata.tasks")
    return by_name | {name: m for name, m in _plugins().items() if name not in by_name}


def _plugins(*, others: bool = False) -> dict[str, ModuleType]:
    """Return the dataset modules of entry points by name.

    With `others`, return only those of other packages.
    """
    by_name: dict[str, ModuleType] = {}
    own = {*_stems(), "user"}
    for point in plugins.points().select(group="transferbench.datasets"):
        if others and (point.module.startswith("transferbench.") or point.name in own):
            continue
        with plugins.left_out_if_broken(point.name):
            module = point.load()
            for name in ("FILES", "TASKS", "build"):
                getattr(module, name)
            if not isinstance(module.TASKS, dict):
                raise TypeError("TASKS is no dict")
            by_name.setdefault(point.name, module)
    return by_name


@cache
def tasks() -> dict[str, ModuleType]:
    """Return the dataset module of every task, by full task name."""
    by_task: dict[str, ModuleType] = {}
    for module in modules().values():  # our own first: no plug-in takes their tasks
        by_task |= {task: module for task in module.TASKS if task not in by_task}
    return by_task


def summaries() -> dict[str, str]:
    """Return one line for each task, by full task name, without importing the modules here."""
    lines = dict(read_json("tasks.json"))
    for module in _plugins(others=True).values():
        for task, line in module.TASKS.items():
            lines.setdefault(task, line)
    return lines


def full_name(name: str) -> str:
    """Return the full name of a task: 'comp-vs-rec' → 'gtl/comp-vs-rec'.

    Parameters
    ----------
    name
        A full name, or a name without prefix. A name without prefix means the first task of that
        name, in the order of the datasets.

    Raises
    ------
    UserError
        If the task is unknown.
    """
    short: dict[str, str] = {}
    for task in tasks():
        short.setdefault(task.rpartition("/")[2], task)
    if full := name if name in tasks() else short.get(name):
        return full
    # dtl/comp-vs-rec exists only with the name of a collection at its end.
    longer = {task for task in tasks() if task.startswith(f"{name}-")}
    meant = longer or (short if "/" not in name else tasks())
    raise unknown("task", name, meant, "See `transferbench list`.")


def facts(task: str) -> dict[str, Any]:
    """Return the facts of a task by name, see `data.facts.Facts`; empty if there are none."""
    own = task in read_json("tasks.json")
    known = read_json("facts.json") if own else getattr(tasks()[task], "FACTS", {})
    return dict(known.get(task, {}))


def dataset_of(file: str) -> str:
    """Return the dataset in originals.json that lists a file, or else the file's first folder."""
    entries = read_originals().items()
    return next((name for name, e in entries if file in e["files"]), file.partition("/")[0])


@cache
def read_json(name: str) -> dict[str, Any]:
    """Return the content of a JSON file in the folder of the datasets."""
    content: dict[str, Any] = json.loads((FOLDER / name).read_text("utf-8"))
    return content
