"""The experiments: a YAML file for each published table or figure; the folder is the registry.

Importing this package, `names` and `titles` import no model and validate nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING

from transferbench import settings
from transferbench.errors import UserError, brief, unknown

if TYPE_CHECKING:
    from transferbench.experiments.experiment import Experiment

SUFFIXES = (".yaml", ".yml")
#: Names in the folder of results that are not those of experiments.
RESERVED = ("records", "slurm", "report.html")
REPEATS = re.compile(r"repeats-\d+", re.IGNORECASE)
#: A name that is that of a folder on every system: no "..", no device of Windows, no control code.
NAME = re.compile(r"(?!(con|prn|aux|nul|com\d|lpt\d)(\.|$))\w([\w .+,()-]*[\w+)])?", re.IGNORECASE)


def names() -> list[str]:
    """Return the names of all experiments in the folder."""
    return sorted(file.stem for file in settings.experiments_dir().glob("*.yaml"))


def titles() -> dict[str, str]:
    """Return the title of every experiment in the folder by name."""
    from transferbench import strict_yaml

    by_name = {}
    for name in names():
        data, lines = strict_yaml.load(path(name))
        if not isinstance(data, dict) or "title" not in data:
            raise lines.error((), "missing key title.")
        by_name[name] = str(data["title"])
    return by_name


def path(name: str) -> Path:
    """Return the file of an experiment in the folder, or the user's own file, given by its path.

    The user's own must not have the name of one in the folder, nor one that is no name of a folder
    of results. Raise UserError for such a name and for an unknown one.
    """
    file, folder = Path(name), settings.experiments_dir()
    if file.suffix not in SUFFIXES:
        if name not in names():
            raise unknown("experiment", name, names(), "See `transferbench list`.")
        return folder / f"{name}.yaml"
    if realpath(file.parent) == realpath(folder):  # Path.resolve raises for a loop of links
        return file
    # Some file systems do not distinguish case.
    taken = {*RESERVED, *map(str.casefold, names())}
    if file.stem.casefold() in taken or REPEATS.fullmatch(file.stem):
        raise UserError(f"{file}: the name {brief(file.stem)} is taken; give the file another.")
    if not NAME.fullmatch(file.stem):
        message = f"the results cannot be in a folder named {brief(file.stem)}"
        raise UserError(f"{file}: {message}; use letters, digits and -_.+ in the name.")
    return file


def load(name: str) -> Experiment:
    """Return an experiment by name, or by the path of the user's own file.

    Raise UserError with file and line for anything that is unknown, missing or of a wrong type.
    """
    from transferbench import strict_yaml

    file = path(name)
    return read(strict_yaml.read_text(file), file)


@lru_cache(maxsize=128)
def read(text: str, path: Path) -> Experiment:
    """Return the experiment of a YAML text; errors show `path`. Raise UserError as `load` does.

    The same text is checked once in a process.
    """
    from pydantic import ValidationError

    from transferbench import strict_yaml
    from transferbench.experiments.experiment import Experiment, check_names
    from transferbench.experiments.fault import first_fault
    from transferbench.experiments.schema import Schema

    data, lines = strict_yaml.read(text, path)
    if not isinstance(data, dict):
        raise lines.error((), "expected a mapping with title, paper, rows, columns, …")
    try:
        spec = Schema.model_validate(data)
    except ValidationError as error:
        raise first_fault(error, Schema, lines) from None
    check_names(spec, lines)
    return Experiment(path.stem, spec)
