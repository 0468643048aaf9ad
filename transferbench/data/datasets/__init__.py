"""The datasets: a file for each, with its origins, tasks, facts that must hold, and `build`.

A dataset module has
    FILES  {name: fetch.File}   where the originals come from and their digests; may be empty
    TASKS  {task: one line}     the tasks it makes, `<paper or set>/<name>` or `<set>`
    FACTS  {task: facts}        what must be true of a task built with the default options
    build(task, files, **options) → (Problem, Truth)   its keyword-only arguments are the options
    needed(task) → names of FILES       optional: those that a task is built from, where not all
    own(path) → files                   where `build` has an option `path`, a file or folder of the
                                        user's: the files that are read, none where it is not there

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
#: A bare task name means the first of these that has it.
PREFIXES = (
    *("gtl", "dtl", "mrtl", "mtc", "reuters", "email-spam", "generated"),
    *("rcv1", "eurlex", "multilabel"),
)


@cache
def modules() -> dict[str, ModuleType]:
    """Dataset name (the file's, with hyphens) → module; they import nothing heavy until built."""
    files = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    found = {n.replace("_", "-"): importlib.import_module(f"{__name__}.{n}") for n in files}
    for point in entry_points(group="transferbench.datasets"):
        try:
            found.setdefault(point.name, point.load())
        except ImportError as error:
            warnings.warn(f"plug-in {point.value} left out: {error}", stacklevel=2)
    return found


@cache
def tasks() -> dict[str, ModuleType]:
    """Full task name → its dataset module, every task there is."""
    return {task: module for module in modules().values() for task in module.TASKS}


def full_name(name: str) -> str:
    """'comp-vs-rec' → 'gtl/comp-vs-rec'. Raises UserError for an unknown task."""
    for candidate in (name, *(f"{prefix}/{name}" for prefix in PREFIXES)):
        if candidate in tasks():
            return candidate
    short = {task.rpartition("/")[2] for task in tasks()}
    raise unknown("task", name, short if "/" not in name else tasks(), "See `transferbench list`.")
