"""The experiments: a YAML file for each published table or figure; the folder is the registry.

Importing this package, `names` and `titles` import no model and validate nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import lru_cache
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench import settings
from transferbench.errors import UserError, brief, unknown

if TYPE_CHECKING:
    from transferbench.experiments.experiment import Experiment

SUFFIXES = (".yaml", ".yml")
#: The copy of the user's own file in its folder of results.
COPY = "experiment.yaml"
#: Names in the folder of results that are not those of experiments.
RESERVED = ("records", "report", "index", "data-statistics", "boards", "submitted")
REPEATS = re.compile(r"repeats-\d+", re.IGNORECASE)
#: A published table, figure, part of a figure or sentence; groups: its name without the part, its
#: paper.
PUBLISHED = re.compile(r"((\w+)-(?:(?:table|figure)\d+|text-\w+))[a-z]?")
#: A name that is that of a folder on every system: no "..", no device of Windows, no control code.
NAME = re.compile(r"(?!(con|prn|aux|nul|com\d|lpt\d)(\.|$))\w([\w .+,()-]*[\w+)])?", re.IGNORECASE)


def names() -> list[str]:
    """Return the names of all experiments in the folder."""
    return sorted(file.stem for file in settings.experiments_dir().glob("*.yaml"))


def papers() -> list[str]:
    """Return the short names of the papers that have published tables or figures."""
    return sorted({found[2] for found in map(PUBLISHED.fullmatch, names()) if found})


def expand(given: Iterable[str], own: Container[str] = ()) -> list[str]:
    """Return the names of the experiments that the given names stand for, each once.

    The short name of a paper, as gtl, stands for its published tables and figures, "gtl figure 2"
    for the parts of the figure, and "GTL Table 3" for gtl-table3; its words may be separate names.
    Paths, names of the user's own experiments (`own`) and unknown names stay as they are.
    """
    meant: dict[str, list[str]] = {}
    for name in names():
        found = PUBLISHED.fullmatch(name)
        for key in {name, *(found.groups() if found else ())}:
            meant.setdefault(_letters(key), []).append(name)
    meant |= {name: [name] for name in names()} | {name: [name] for name in given if name in own}
    joined = re.sub(r"(?i)\n(tab\.?|table|fig\.?|figure)\n(?=\d)", r" \1 ", "\n".join(given))
    lists = (meant.get(each) or meant.get(_letters(each), [each]) for each in joined.split("\n"))
    return list(dict.fromkeys(name for each in lists for name in each))


def _letters(name: str) -> str:
    """Return the letters and digits of a name, with `tab` for table and `fig` for figure."""
    return re.sub(r"[\W_]|(?<=tab)le|(?<=fig)ure", "", name.casefold())


def titles(results: Path | None = None) -> dict[str, str]:
    """Return the title of every experiment by name; those of the user are in `results`.

    The title of a damaged file of the user is what is wrong with it.
    """
    by_name = {name: _title(path(name)) for name in names()}
    for name in own_names(results) if results else ():
        try:
            by_name[name] = _title(path(name, results))
        except UserError as error:
            by_name[name] = f"({error})"
    return by_name


def _title(file: Path) -> str:
    from transferbench import strict_yaml

    data, lines = strict_yaml.load(file)
    if not isinstance(data, dict) or "title" not in data:
        raise lines.error((), "missing key title.")
    return str(data["title"])


def committed_runs(name: str, results: Path) -> Path:
    """Return the runs.csv of an experiment in `results`, or else the one shipped with the suite."""
    own = results / name / "runs.csv"
    return own if own.is_file() else settings.experiments_dir() / name / "runs.csv"


def own_names(results: Path) -> list[str]:
    """Return the names of the user's own experiments in a folder of results."""
    return sorted({file.parent.name for file in results.glob(f"*/{COPY}")}.difference(names()))


def path(name: str, results: Path | None = None) -> Path:
    """Return the file of an experiment: in our folder, in that of the results, or given by path.

    The user's own must not have a name that stands for one in our folder, nor one that is no name
    of a folder of results. Raise UserError for such a name, an unknown one and one of several.
    """
    file, folder = Path(name), settings.experiments_dir()
    if file.suffix not in SUFFIXES:
        if results and name in own_names(results):
            return results / name / COPY
        if name in names():  # quicker than to expand it
            return folder / f"{name}.yaml"
        first, *others = expand([name])
        if others:
            raise UserError(f"{name} stands for {first}, {', '.join(others)}; name one of them.")
        if first not in names():
            raise _unknown(name, results)
        return folder / f"{first}.yaml"
    if realpath(file.parent) == realpath(folder):  # Path.resolve raises for a loop of links
        return file
    # Some file systems do not distinguish case.
    reserved = file.stem.casefold() in RESERVED or REPEATS.fullmatch(file.stem)
    if reserved or expand([file.stem])[0] in names():
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
    """Return an experiment by name, or by the path of the user's own file.

    results: folder of results; the user's own experiments in it are known by name, too. Raise
    UserError with file and line for anything that is unknown, missing or of a wrong type.
    """
    from transferbench import strict_yaml

    file = path(name, results)
    own = file.name == COPY and Path(name).suffix not in SUFFIXES
    return read(strict_yaml.read_text(file), file, name if own else file.stem)


def _extended(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a file with those of the experiment that it extends, except its claims."""
    from transferbench import strict_yaml

    name = data["extends"]
    if name not in names():
        raise unknown("experiment", str(name), names(), "See `transferbench list experiments`.")
    base = strict_yaml.load(path(name))[0] | {"claims": []}
    base = _extended(base) if "extends" in base else base
    joined = {
        key: base[key] | value
        for key, value in data.items()
        if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return base | data | joined


@lru_cache(maxsize=128)
def read(text: str, path: Path, name: str = "") -> Experiment:
    """Return the experiment of a YAML text; errors show `path`. Raise UserError as `load` does.

    name: of the experiment; by default that of the file. The same text is checked once in a
    process. All wrong keys and types are reported at once; of a file without them, all wrong names.
    """
    from pydantic import ValidationError

    from transferbench import strict_yaml
    from transferbench.experiments import checks
    from transferbench.experiments.experiment import Experiment, Schema

    data, lines = strict_yaml.read(text, path)
    if not isinstance(data, dict):
        raise lines.error((), "expected a mapping with title, paper, rows, columns, …")
    if "extends" in data:
        with lines.at("extends"):
            data = _extended(data)
    errors = checks.ErrorList(lines)
    try:
        spec = Schema.model_validate(data)
    except ValidationError as error:
        errors.add_all(error)
        errors.check()
    checks.check(spec, errors)
    errors.check()
    return Experiment(name or path.stem, spec, text, path)
