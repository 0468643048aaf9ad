"""The datasets: one file each, with its origins, its tasks, facts that must hold, and `build`.

A dataset module has
    FILES  {name: fetch.File}   origins of the original files and their digests; may be empty
    TASKS  {task: one line}     the tasks it makes, `<paper or set>/<name>` or `<set>`
    FACTS  {task: facts}        what must be true of a task built with the default options
    build(task, files, **options) → (Problem, Truth)   its keyword-only arguments are the options
    needed(task) → names in FILES       optional: the files of one task, if it does not need all
    own_files(path) → files             if `build` has an option `path` for a file or folder of the
                                        user: the files to read; none if the path does not exist

Other packages add datasets by entry points in the group `transferbench.datasets`.
"""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from transferbench.errors import unknown

FOLDER = Path(__file__).parent
#: A task name without a prefix means the first of these that has it.
PREFIXES = (
    *("gtl", "dtl", "mrtl", "mtc", "reuters", "amazon", "email-spam"),
    *("generated", "rcv1", "eurlex", "mulan", "multilabel"),
)


@cache
def modules() -> dict[str, ModuleType]:
    """Return the dataset modules by name (the file's, with hyphens)."""
    stems = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    by_name = {s.replace("_", "-"): importlib.import_module(f"{__name__}.{s}") for s in stems}
    for point in entry_points(group="transferbench.datasets"):
        try:
            by_name.setdefault(point.name, point.load())
        except ImportError as error:
            warnings.warn(f"plug-in {point.value} left out: {error}", stacklevel=2)
    return by_name


@cache
def tasks() -> dict[str, ModuleType]:
    """Return the dataset module of every task, by full task name."""
    return {task: module for module in modules().values() for task in module.TASKS}


def full_name(name: str) -> str:
    """Return the full name of a task: 'comp-vs-rec' → 'gtl/comp-vs-rec'.

    Raises UserError for an unknown task.
    """
    for candidate in (name, *(f"{prefix}/{name}" for prefix in PREFIXES)):
        if candidate in tasks():
            return candidate
    short = {task.rpartition("/")[2] for task in tasks()}
    raise unknown("task", name, short if "/" not in name else tasks(), "See `transferbench list`.")
