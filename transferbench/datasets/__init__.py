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

from transferbench import parameters, plugins
from transferbench.data.fetch import File
from transferbench.errors import unknown

FOLDER = Path(__file__).parent
#: A task name without a prefix means the first of these that has it.
PREFIXES = (
    *("gtl", "dtl", "dai", "mrtl", "mtc", "zhuang", "reuters", "amazon", "email-spam"),
    *("generated", "rcv1", "eurlex", "mulan", "multilabel"),
    *("crisislex", "germeval", "webkb", "mtc-counts"),
)


@cache
def modules() -> dict[str, ModuleType]:
    """Return the dataset modules by name (the file's, with hyphens)."""
    stems = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    by_name = {s.replace("_", "-"): importlib.import_module(f"{__name__}.{s}") for s in stems}
    for point in entry_points(group="transferbench.datasets"):
        with plugins.left_out_if_broken(point.name):
            module = point.load()
            taken = {task for dataset in by_name.values() for task in dataset.TASKS}
            _check(module, taken)
            by_name.setdefault(point.name, module)
    return by_name


def _check(module: ModuleType, taken: set[str]) -> None:
    """Raise an error if a module is not a dataset as described above.

    taken: names of other tasks.
    """
    parameters.schema(module.build)
    if not all(isinstance(file, File) for file in module.FILES.values()):
        raise TypeError("expected a fetch.File for each name in FILES")
    if twice := taken & module.TASKS.keys():
        raise ValueError(f"tasks of another dataset: {', '.join(twice)}")
    if stray := module.FACTS.keys() - module.TASKS.keys():
        raise ValueError(f"FACTS of other tasks: {', '.join(stray)}")
    if hasattr(module, "needed"):
        lost = {name for task in module.TASKS for name in module.needed(task)} - module.FILES.keys()
        if lost:
            raise ValueError(f"needed: {', '.join(lost)} not in FILES")


@cache
def tasks() -> dict[str, ModuleType]:
    """Return the dataset module of every task, by full task name."""
    return {task: module for module in modules().values() for task in module.TASKS}


def full_name(name: str) -> str:
    """Return the full name of a task: 'comp-vs-rec' → 'gtl/comp-vs-rec'.

    Raises
    ------
    UserError
        For an unknown task.
    """
    for candidate in (name, *(f"{prefix}/{name}" for prefix in PREFIXES)):
        if candidate in tasks():
            return candidate
    short = {task.rpartition("/")[2] for task in tasks()}
    # dtl/comp-vs-rec: the same of a named collection.
    longer = {task for task in tasks() if task.startswith(f"{name}-")}
    meant = longer or (short if "/" not in name else tasks())
    raise unknown("task", name, meant, "See `transferbench list`.")
