"""The experiments: a YAML file for each published table or figure; the folder is the registry.

Importing this package, `names` and `titles` import no model and validate nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from os import listdir
from os.path import isfile, realpath, splitext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench import settings
from transferbench.errors import UserError, brief, unknown

if TYPE_CHECKING:
    from transferbench.experiments.experiment import Experiment

SUFFIXES = (".yaml", ".yml")
#: The copy of a user's file in its folder of results.
COPY = "experiment.yaml"
#: The folder of boards in a folder of results.
BOARDS = "boards"
#: A published table, figure, part of a figure or sentence; the group is the paper's short name.
PUBLISHED = re.compile(r"(\w+)-(?:(?:table|figure)\d+[a-z]?|text-\w+)")
#: A folder of results in another one: of runs with this number of repeats in place of the file's.
REPEATS = re.compile(r"repeats-([1-9][0-9]{0,3})")
#: A name of a user's file that is also that of a folder.
NAME = re.compile(r"\w([\w .+,()-]*[\w+)])?")


def names() -> list[str]:
    """Return the names of all experiments in the folder."""
    # Asked for at every look-up of a name: `Path.glob` would take twenty times as long.
    files = map(splitext, listdir(settings.experiments_dir()))  # noqa: PTH208
    return sorted(stem for stem, suffix in files if suffix == ".yaml")


def papers() -> dict[str, list[str]]:
    """Return the names of the published tables and figures by the short name of their paper."""
    by_paper: dict[str, list[str]] = {}
    for name in names():
        if published := PUBLISHED.fullmatch(name):
            by_paper.setdefault(published[1], []).append(name)
    return by_paper


def expand(asked: Iterable[str]) -> list[str]:
    """Return the names without repetitions; replace a paper by its tables and figures."""
    by_paper = papers()
    return list(dict.fromkeys(n for name in asked for n in by_paper.get(name, [name])))


def titles(results: Path | None = None) -> dict[str, str]:
    """Return the title of every experiment by name."""
    # `results`: Folder of results; with it, the user's experiments are included.
    by_name = {name: _title(settings.experiments_dir() / f"{name}.yaml", 1) for name in names()}
    for name in user_names(results) if results else ():
        try:
            by_name[name] = _title(results / name / COPY)  # type: ignore[operator]
        except UserError as error:
            by_name[name] = f"({error})"
    return by_name


def _title(file: Path, lines: int | None = None) -> str:
    """Return the title in the first lines of a file, by default in all."""
    from transferbench import strict_yaml

    text = "".join(strict_yaml.read_text(file).splitlines(keepends=True)[:lines])
    data, _ = strict_yaml.read(text, file)
    title = data.get("title") if isinstance(data, dict) else None
    if not isinstance(title, str):
        raise UserError(f"{file}:1: missing key title, a text.")
    return title


def user_names(results: Path) -> list[str]:
    """Return the names of the user's experiments in a folder of results."""
    return sorted({file.parent.name for file in results.glob(f"*/{COPY}")}.difference(names()))


def folder_name(name: str) -> str:
    """Return the name of the folder of an experiment's results, also of a user's FILE.yaml."""
    file = Path(name)
    return file.stem if file.suffix in SUFFIXES else name


def repeats_of(results: Path | None) -> int | None:
    """Return the number of repeats of the runs in a folder of results; None for the files' own."""
    found = results and REPEATS.fullmatch(results.absolute().name)
    return int(found[1]) if found else None


def folders(results: Path) -> list[Path]:
    """Return a folder of results, and those in it of runs with another number of repeats."""
    return [results, *sorted(filter(repeats_of, results.glob("repeats-*")), key=str)]


def is_user_name(name: str, results: Path) -> bool:
    """Return True if a name is one of `user_names`; the other folders are not looked at."""
    is_folder = Path(name).name == name
    # Path.is_file raises for a name that is too long.
    return is_folder and isfile(results / name / COPY) and name not in names()  # noqa: PTH113


def path(name: str, results: Path | None = None) -> Path:
    """Return the file of an experiment."""
    # `results`: Folder of results; with it, the user's experiments in it are known by name.
    file, folder = Path(name), settings.experiments_dir()
    if file.suffix not in SUFFIXES:
        if results and is_user_name(name, results):
            return results / name / COPY
        if name in names():
            return folder / f"{name}.yaml"
        if tables := papers().get(name):
            raise UserError(f"{name} stands for {', '.join(tables)}; name one of them.")
        raise _unknown(name, results)
    if realpath(file.parent) == realpath(folder):  # Path.resolve raises for a loop of links
        return file
    # Some file systems do not distinguish case.
    if file.stem.casefold() in {*names(), *papers()}:
        raise UserError(f"{file}: the name {brief(file.stem)} is taken; give the file another.")
    if not NAME.fullmatch(file.stem):
        message = f"the results cannot be in a folder named {brief(file.stem)}"
        raise UserError(f"{file}: {message}; use letters, digits and -_.+ in the name.")
    return file


def _unknown(name: str, results: Path | None) -> UserError:
    """Return the error for an unknown experiment; for a task it names the command."""
    from transferbench import datasets

    try:
        datasets.full_name(name.partition(":")[0])
    except UserError:
        remedy = "See `transferbench list experiments`, or give the path of a YAML file."
        return unknown("experiment", name, titles(results), remedy)
    return UserError(f"{name} is a task: use `transferbench run {name} --model MODEL`.")


def load(name: str, results: Path | None = None) -> Experiment:
    """Return an experiment."""
    # `results`: Folder of results; with it, the user's experiments in it are known by name, and the
    # repeats are those of the folder, see `repeats_of`.
    from transferbench import strict_yaml

    file = path(name, results)
    experiment = read(strict_yaml.read_text(file), file, "" if file == Path(name) else name)
    return experiment.with_repeats(repeats_of(results))


def extended(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a file joined with those of the experiment that it extends."""
    # Every key but claims is inherited. Mappings are merged, other keys replaced.
    from transferbench import strict_yaml

    if "extends" not in data:
        return data
    name = data["extends"]
    if name not in names():
        raise unknown("experiment", str(name), names(), "See `transferbench list experiments`.")
    base: dict[str, Any] = strict_yaml.load(path(name))[0] | {"claims": []}
    joined = {
        key: base[key] | value
        for key, value in data.items()
        if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return base | data | joined


@lru_cache(maxsize=128)
def read(text: str, path: Path, name: str = "") -> Experiment:
    """Return the experiment of a YAML text."""
    # The same text is checked once in a process.
    # `name`: Name of the experiment; by default that of the file.
    from transferbench import strict_yaml
    from transferbench.experiments.experiment import Experiment
    from transferbench.experiments.schema import validate

    data, lines = strict_yaml.read(text, path)
    if not isinstance(data, dict):
        raise lines.error((), "expected a mapping with title, paper, rows, columns, …")
    with lines.at("extends"):
        data = extended(data)
    return Experiment(name or path.stem, validate(data, lines, is_new=not name), text, path)
