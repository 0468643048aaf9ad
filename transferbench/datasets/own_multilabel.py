"""Your own multi-label data, from a folder: `multilabel/own:path=FOLDER`.

Without a path, it is the folder `own/multilabel` of the data folder. It has

    views/        one file for each view, documents × features, in alphabetical order:
                  NAME.npz   a sparse matrix written by `scipy.sparse.save_npz`
                  NAME.svm   SVMlight lines "0 3:1.5 17:2": features from 1, the first 0 is not used
                  NAME.csv   a line of feature names, then a line of numbers for each document
    labels.csv    a line of label names, then a line of 0 and 1 for each document
    tasks.csv     optional: the word "task", then the name of the task (domain) of each document
    train.csv     optional: the word "train", then 1 if a method may see the labels, else 0

Documents are in the same order in all files; entries of views are 0 or more. Without tasks.csv
there is one task. Without train.csv a fraction `train` of the documents is drawn at random,
differently for each `split`. If a file changes, the task is built again. Nothing in a file is
executed.

The proprietary AL-SMELT data of the multi-label paper (174 process variables in 4 views, smelters
in 5 groups, 2 labels) fit this layout: four files in views/, two columns in labels.csv, the group
of the smelter in tasks.csv.
"""

from __future__ import annotations

import csv
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.data.fetch import File
from transferbench.data.problems import TrainFraction, problem_from_views, train_mask
from transferbench.datasets._user_files import check_nonnegative, own_folder, read_numbers
from transferbench.errors import UserError
from transferbench.files import open_regular
from transferbench.parameters import CountOrZero
from transferbench.problem import Matrix, Problem, Truth
from transferbench.userdata.documents import check_size
from transferbench.userdata.matrices import load_npz

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"multilabel/own": "Your own multi-label data: multilabel/own:path=FOLDER"}
FACTS: dict[str, dict[str, Any]] = {"multilabel/own": {}}
LAYOUT = "use the layout that `transferbench describe multilabel/own` shows"


def own_files(folder: Path) -> list[Path]:
    """Return the files that the task is built from."""
    tables = (folder / f"{name}.csv" for name in ("labels", "tasks", "train"))
    return [*sorted(folder.glob("views/[!.]*")), *(file for file in tables if file.is_file())]


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    train: TrainFraction = 0.5,
    split: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Build the task.

    path: the folder, if it is not own/multilabel. train, split: used without train.csv. Raises
    Unavailable without a folder, UserError, in one line with the file at fault, for a folder with
    another layout.
    """
    folder = own_folder(path, task, "multilabel/own: there is no folder", LAYOUT)
    for file in own_files(folder):
        check_size(file)
    try:
        classes, rows = _table(folder / "labels.csv")
        Y = _binary(rows, "labels.csv")
        names, assigned = _tasks(folder, len(Y))
        seen = _seen(folder, len(Y), train, split)
        views = {f"views/{file.name}": _view(file) for file in sorted(folder.glob("views/[!.]*"))}
        if not views:
            raise ValueError("views/ has no file")
        sizes = {"tasks.csv": len(assigned), "train.csv": len(seen)}
        for name, size in (sizes | {name: X.shape[0] for name, X in views.items()}).items():
            if size != len(Y):
                raise ValueError(f"{name} has {size} documents, labels.csv has {len(Y)}")
        if seen.all() or not seen.any():
            raise ValueError("some documents must be for training and some must not")
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: {error}; {LAYOUT}.") from error
    return problem_from_views(task, classes, list(views.values()), Y, assigned, seen, names)


def _tasks(folder: Path, n: int) -> tuple[list[str], np.ndarray]:
    """Return the names of the tasks, and the index of each document's task."""
    file = folder / "tasks.csv"
    tasks = [row[0] for row in _table(file, "task")[1]] if file.is_file() else ["all"] * n
    names = list(dict.fromkeys(tasks))
    return names, np.array([names.index(name) for name in tasks], np.intp)


def _seen(folder: Path, n: int, train: float, split: int) -> np.ndarray:
    """Return (n,) bool: True if a method may see the labels."""
    file = folder / "train.csv"
    if not file.is_file():
        return train_mask(n, train, split)
    return _binary(_table(file, "train")[1], file.name)[:, 0] > 0


def _table(file: Path, only: str = "") -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table; with `only`, it must have that one column."""
    try:
        with TextIOWrapper(open_regular(file), "utf-8-sig", newline="") as lines:
            header, *rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"{file.name} cannot be read ({error})") from error
    if only and header != [only]:
        raise ValueError(f"{file.name}: expected the one column {only!r}, got {header}")
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(f"{file.name}, line {number}: expected {len(header)} columns")
    if not rows or len(set(header)) < len(header) or not all(header):
        raise ValueError(f"{file.name}: expected a line of different names, then documents")
    return header, rows


def _binary(rows: list[list[str]], name: str) -> np.ndarray:
    """Return the rows as numbers 0 and 1."""
    for number, row in enumerate(rows, 2):
        if not {*row} <= {"0", "1"}:
            raise ValueError(f"{name}, line {number}: expected 0 or 1 everywhere")
    return np.array(rows, np.int8)


def _view(file: Path) -> Matrix:
    from sklearn.datasets import load_svmlight_file

    name = f"views/{file.name}"
    if file.suffix == ".csv":
        return check_nonnegative(read_numbers(file, delimiter=",", header=1), name)
    try:
        if file.suffix == ".npz":
            X = load_npz(file)
        elif file.suffix == ".svm":
            X = sp.csr_array(load_svmlight_file(str(file), zero_based=False)[0])
        else:
            raise ValueError("expected the ending .npz, .svm or .csv")
    except Exception as error:  # libraries raise many types for a file in another format
        raise ValueError(f"{name}: {error}") from error
    check_nonnegative(X.data, name)
    return sp.csr_array(X, dtype=np.float32)
