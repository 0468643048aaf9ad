"""Files that the user has: found in the folder that a task's option `path` names.

Where the option is not given and the data folder has `own/<dataset>`, `path` is that: see `tasks`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from transferbench.errors import Unavailable, UserError


def folder(path: str, task: str, what: str, remedy: str) -> Path:
    """The folder. Raises Unavailable where none is given, UserError where there is none."""
    place = f"own/{task.partition('/')[0]} of the data folder"
    if not path:
        raise Unavailable(f"{what}; {remedy}, in {place} or one you name: {task}:path=FOLDER.")
    found = Path(path).expanduser()
    if not found.is_dir():
        raise UserError(f"{task}: {found} is no folder; {remedy}, in {place} or one you name.")
    return found


def present(files: Iterable[Path]) -> list[Path]:
    """Those of the files that are there."""
    return [file for file in files if file.is_file()]


def numbers(path: Path, delimiter: str | None = None, header: int = 0) -> np.ndarray:
    """The (n, d) numbers of a text file, after `header` lines.

    Raises ValueError for a missing file and for what is not a table of numbers.
    """
    try:
        with path.open(encoding="utf-8") as lines, warnings.catch_warnings():
            warnings.simplefilter("error")  # of a file without numbers
            return np.loadtxt(
                lines, np.float32, delimiter=delimiter, skiprows=header, ndmin=2, comments=None
            )
    except (OSError, ValueError, UserWarning) as error:
        raise ValueError(f"{path.name}: not a table of numbers ({error})") from error


def nonnegative(X: np.ndarray, name: str) -> np.ndarray:
    """X, if it may be factorised. Raises ValueError where an entry is negative or no number."""
    if not np.isfinite(X).all() or (X < 0).any():
        raise ValueError(f"{name}: expected finite numbers of at least 0")
    return X
