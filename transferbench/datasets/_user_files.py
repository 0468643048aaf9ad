"""Find and read files that the user has, in the folder that a task's option `path` names.

If the option is not given and the data folder has `own/<dataset>`, `path` is that: see `tasks`.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from transferbench.errors import Unavailable, UserError
from transferbench.files import user_path


def own_folder(path: str, task: str, problem: str, remedy: str) -> Path:
    """Return the user's folder.

    Raises Unavailable, with `problem` and `remedy`, if none is given; UserError if it does not
    exist.
    """
    place = f"own/{task.partition('/')[0]} of the data folder"
    if not path:
        raise Unavailable(f"{problem}; {remedy}, in {place} or one you name: {task}:path=FOLDER.")
    folder = user_path(path)
    if not folder.is_dir():
        raise UserError(f"{task}: {folder} is no folder; {remedy}, in {place} or one you name.")
    return folder


def read_numbers(path: Path, delimiter: str | None = None, header: int = 0) -> np.ndarray:
    """Return the (n, d) numbers of a text file, after `header` lines.

    Raises ValueError if the file is missing or is not a table of numbers.
    """
    try:
        with path.open(encoding="utf-8") as lines, warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns about a file without numbers
            return np.loadtxt(
                lines, np.float32, delimiter=delimiter, skiprows=header, ndmin=2, comments=None
            )
    except (OSError, ValueError, UserWarning) as error:
        raise ValueError(f"{path.name}: not a table of numbers ({error})") from error


def check_nonnegative(X: np.ndarray, name: str) -> np.ndarray:
    """Return X. Raises ValueError if an entry is negative or not finite."""
    if not np.isfinite(X).all() or (X < 0).any():
        raise ValueError(f"{name}: expected finite numbers of at least 0")
    return X
