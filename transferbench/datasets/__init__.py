"""The datasets: one module each, with a JSON file beside it; see `data.declared` for its content.

A dataset module has
    FILES  {name: fetch.File}   origins of the original files and their digests; may be empty
    TASKS  {task: one line}     the tasks it makes, `<paper or set>/<name>` or `<set>`
    build(task, files, **options) → (Problem, Truth)   its keyword-only arguments are the options
    needed(task) → names in FILES       optional: the files of one task, if it does not need all
    user_files(path) → files            the files to read, none if the path does not exist; needed
                                        if `build` has an option `path` for the user's file or
                                        folder
    FACTS  {task: facts}        optional: facts that must hold for a task built with the default
                                options
    doubts(problem, model, params, fit) → doubts       optional: reasons to doubt a result on it

Every module in this folder is a dataset. Other modules add datasets by entry points in the group
`transferbench.datasets`. A module without a JSON file is imported to list its tasks, and its terms
are unknown.
"""

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from transferbench import plugins
from transferbench.data import declared
from transferbench.errors import UserError, unknown
from transferbench.messages import reason

FOLDER = Path(__file__).parent
#: Start of the names of modules of this package.
PACKAGE = "transferbench."
#: The form of its documents, at the end of the name of a task.
FORM = re.compile("-(bydate|19997|rebuilt|reversed)$")


class Dataset(NamedTuple):
    """A dataset whose module need not be imported yet."""

    #: Name of the dataset: of its file, with hyphens, or of its entry point.
    name: str
    #: Full name of its module, and its file.
    module: str
    path: Path
    #: What it declares, see `data.declared`.
    content: dict[str, Any]

    @property
    def terms(self) -> tuple[str, ...]:
        """What its licences forbid, demand or leave open, see `terms.TERMS`."""
        return tuple(self.content.get("terms", ["unknown"]))

    @property
    def is_plugin(self) -> bool:
        """True if it is of another package."""
        return not self.module.startswith(PACKAGE)


@cache
def of_package() -> tuple[Dataset, ...]:
    """Return the datasets of this folder."""
    files = sorted(FOLDER.glob("[!_]*.py"))
    return tuple(
        _dataset(file.stem.replace("_", "-"), f"{__name__}.{file.stem}", file) for file in files
    )


@cache
def of_plugins() -> tuple[Dataset, ...]:
    """Return the datasets of entry points, those in other folders of this package first."""
    names = {dataset.name for dataset in of_package()}
    found: dict[str, Dataset] = {}
    points = plugins.points().select(group="transferbench.datasets")
    for point in sorted(points, key=lambda point: not point.module.startswith(PACKAGE)):
        file = FOLDER.parents[1].joinpath(*point.module.split(".")).with_suffix(".py")
        is_gone = point.module.startswith(PACKAGE) and not file.is_file()
        if is_gone or point.name in names or point.name in found:
            continue
        with plugins.left_out_if_broken(point.name):
            if not point.module.startswith(PACKAGE):
                file = plugins.origin(point)
            found[point.name] = _dataset(point.name, point.module, file)
    return tuple(found.values())


def _dataset(name: str, module: str, file: Path) -> Dataset:
    """Return a dataset; import its module only if there is no JSON file beside it."""
    if file.with_suffix(".json").is_file():
        content = declared.read(f"{file}")
        if not content.get("tasks"):
            path = file.with_suffix(".json")
            raise UserError(f'{path}: no tasks; name each with one line, "tasks": {{NAME: LINE}}.')
        return Dataset(name, module, file, content)
    imported = _imported(module)
    facts = getattr(imported, "FACTS", {})
    content = {"files": imported.FILES, "tasks": imported.TASKS, "facts": facts}
    return Dataset(name, module, file, content)


def _imported(name: str) -> ModuleType:
    module = importlib.import_module(name)
    for attribute in ("FILES", "TASKS", "build"):
        getattr(module, attribute)
    if not isinstance(module.TASKS, dict):
        raise TypeError("TASKS is no dict")
    return module


def every() -> Iterator[Dataset]:
    """Yield all datasets, ours first, so that no plug-in takes their tasks."""
    yield from of_package()
    yield from of_plugins()


def modules() -> dict[str, ModuleType]:
    """Return the dataset modules by name, all imported."""
    by_name = {}
    for dataset in every():
        with plugins.left_out_if_broken(dataset.name):
            by_name[dataset.name] = _imported(dataset.module)
    return by_name


def tasks() -> dict[str, str]:
    """Return one line for each task, by full task name; our modules are not imported."""
    lines: dict[str, str] = {}
    for dataset in every():
        for task, line in dataset.content["tasks"].items():
            lines.setdefault(task, line)
    return lines


def module(task: str) -> ModuleType:
    """Return the dataset module of a task, by full task name; import no other one."""
    dataset = of_task(task)
    try:
        return _imported(dataset.module)
    except Exception as error:  # of another package, whose file declares the task
        raise UserError(
            f"{task}: the dataset {dataset.name} cannot be used ({reason(error)}); "
            "expected a module with FILES, TASKS and build."
        ) from error


def of_task(task: str) -> Dataset:
    """Return the dataset of a task, by full task name."""
    return next(dataset for dataset in every() if task in dataset.content["tasks"])


def full_name(name: str) -> str:
    """Return the full name of a task: 'comp-vs-rec' → 'gtl/comp-vs-rec'."""
    # `name`: A full name, or a name without prefix. A name without prefix means the first task of
    # that name, in the order of the datasets.
    for datasets in (of_package, of_plugins):
        names: list[str] = [task for dataset in datasets() for task in dataset.content["tasks"]]
        if name in names:
            return name
        if short := [task for task in names if task.rpartition("/")[2] == name]:
            return short[0]
    # dtl/comp-vs-rec exists only with the name of a collection at its end.
    names = list(tasks())
    longer = {task for task in names if task.startswith(f"{name}-")}
    meant = longer or (names if "/" in name else {task.rpartition("/")[2] for task in names})
    raise unknown("task", name, meant, "See `transferbench list`.")


def facts(task: str) -> dict[str, Any]:
    """Return the facts of a task by name, see `data.facts.Facts`; empty if there are none."""
    return dict(of_task(task).content.get("facts", {}).get(task, {}))


def owner(file: str) -> Dataset | None:
    """Return the dataset that declares an original file, ours first; None if none does."""
    return next((one for one in every() if file in one.content.get("files", {})), None)
