"""The datasets: one file each, with its origins, its tasks, facts that must hold, and `build`.

A dataset module has
    FILES  {name: fetch.File}   origins of the original files and their digests; may be empty
    TASKS  {task: one line}     the tasks it makes, `<paper or set>/<name>` or `<set>`
    FACTS  {task: facts}        what must be true of a task built with the default options
    build(task, files, **options) → (Problem, Truth)   its keyword-only arguments are the options
    stated_options(task) → {option: value}   optional: what the value 0 of an option means
    needed(task) → names in FILES       optional: the files of one task, if it does not need all
    user_files(path) → files            if `build` has an option `path` for a file or folder of the
                                        user: the files to read; none if the path does not exist

Other packages add datasets by entry points in the group `transferbench.datasets`.
"""

import importlib
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from transferbench import plugins
from transferbench.errors import unknown

FOLDER = Path(__file__).parent


@cache
def modules() -> dict[str, ModuleType]:
    """Return the dataset modules by name (the file's, with hyphens)."""
    stems = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    by_name = {s.replace("_", "-"): importlib.import_module(f"{__name__}.{s}") for s in stems}
    for point in entry_points(group="transferbench.datasets"):
        with plugins.left_out_if_broken(point.name):
            module = point.load()
            for name in ("FILES", "TASKS", "FACTS", "build"):
                getattr(module, name)
            by_name.setdefault(point.name, module)
    return by_name


@cache
def tasks() -> dict[str, ModuleType]:
    """Return the dataset module of every task, by full task name."""
    by_task: dict[str, ModuleType] = {}
    for module in modules().values():  # our own first: no plug-in takes their tasks
        by_task |= {task: module for task in module.TASKS if task not in by_task}
    return by_task


def full_name(name: str) -> str:
    """Return the full name of a task: 'comp-vs-rec' → 'gtl/comp-vs-rec'.

    Raises
    ------
    UserError
        For an unknown task.
    """
    if name in tasks():
        return name
    alike = [task for task in tasks() if task.partition("/")[2] == name]
    if alike:  # of several papers' tasks, the first of these is meant
        return next((f"{p}/{name}" for p in ("gtl", "dtl") if f"{p}/{name}" in alike), alike[0])
    short = {task.rpartition("/")[2] for task in tasks()}
    # dtl/comp-vs-rec: the same of a named collection.
    longer = {task for task in tasks() if task.startswith(f"{name}-")}
    meant = longer or (short if "/" not in name else tasks())
    raise unknown("task", name, meant, "See `transferbench list`.")
