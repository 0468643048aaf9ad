"""Multi-label data of your own, from a folder: `multilabel/own:path=FOLDER`.

Without a path it is the folder `own/multilabel` of the data folder. It has

    views/        a file for each view, documents × features, in alphabetical order of their names:
                  NAME.npz   a sparse matrix as `scipy.sparse.save_npz` writes it
                  NAME.svm   SVMlight lines "0 3:1.5 17:2": features from 1, the first 0 is not used
                  NAME.csv   a line of feature names, then a line of numbers for each document
    labels.csv    a line of label names, then a line of 0 and 1 for each document
    tasks.csv     optional: the word "task", then the task (domain) of each document, by any name
    train.csv     optional: the word "train", then 1 where a method may see the labels, else 0

Documents stand in the same order everywhere; entries of views are 0 or more. Without tasks.csv
there is one task. Without train.csv a share `train` of the documents is drawn at random, another
for each `split`. A changed file makes the task anew. Nothing in a file is executed.

The proprietary AL-SMELT data of the multi-label paper (174 process variables in 4 views, smelters
in 5 groups, 2 labels) are of this shape: four files in views/, two columns in labels.csv, the group
of the smelter in tasks.csv.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt, Lt

from transferbench.data.fetch import File
from transferbench.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from transferbench.problem import Matrix, Problem, Truth

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"multilabel/own": "Multi-label data of your own: multilabel/own:path=FOLDER"}
FACTS: dict[str, dict[str, Any]] = {"multilabel/own": {}}
LAYOUT = "lay it out as `transferbench describe multilabel/own` says"


def own(folder: Path) -> list[Path]:
    """The files that the task is built from."""
    from transferbench.data.datasets._user_files import present

    tables = (folder / f"{name}.csv" for name in ("labels", "tasks", "train"))
    return [*sorted(folder.glob("views/[!.]*")), *present(tables)]


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    train: Annotated[float, Gt(0), Lt(1)] = 0.5,
    split: Annotated[int, Ge(0)] = 0,
) -> tuple[Problem, Truth]:
    """The task as a Problem and its Truth.

    path: the folder, where it is not own/multilabel. train, split: used without train.csv. Raises
    Unavailable without a folder, UserError for one that is not laid out as it should be, in one
    line with the file at fault.
    """
    import numpy as np

    from transferbench.data.datasets._multilabel import problem, share
    from transferbench.data.datasets._user_files import folder
    from transferbench.data.userdata.documents import check_size

    place = folder(path, task, "multilabel/own: there is no folder", LAYOUT)
    for file in own(place):
        check_size(file)
    try:
        classes, rows = _table(place / "labels.csv")
        Y = _binary(rows, "labels.csv")
        names, dealt = ["all"], np.zeros(len(Y), np.intp)
        if (place / "tasks.csv").is_file():
            given = [row[0] for row in _table(place / "tasks.csv", "task")[1]]
            names = list(dict.fromkeys(given))
            dealt = np.array([names.index(name) for name in given], np.intp)
        seen = share(len(Y), train, split)
        if (place / "train.csv").is_file():
            seen = _binary(_table(place / "train.csv", "train")[1], "train.csv")[:, 0] == 1
        views = {file.name: _view(file) for file in own(place) if file.parent.name == "views"}
        if not views:
            raise ValueError("views/ has no file")
        sizes = {"tasks.csv": len(dealt), "train.csv": len(seen)}
        for name, size in (sizes | {f"views/{n}": v.shape[0] for n, v in views.items()}).items():
            if size != len(Y):
                raise ValueError(f"{name} has {size} documents, labels.csv has {len(Y)}")
        if seen.all() or not seen.any():
            raise ValueError("some documents must be for training and some must not")
    except (OSError, ValueError) as error:
        raise UserError(f"{place}: {error}; {LAYOUT}.") from error
    return problem(task, classes, list(views.values()), Y, dealt, seen, names)


def _table(file: Path, only: str = "") -> tuple[list[str], list[list[str]]]:
    """The header and the other lines of a table; `only` is the one column it must have."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
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
    import numpy as np

    for number, row in enumerate(rows, 2):
        if not {*row} <= {"0", "1"}:
            raise ValueError(f"{name}, line {number}: expected 0 or 1 everywhere")
    return np.array(rows, np.int8)


def _view(file: Path) -> Matrix:
    import numpy as np
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    from transferbench.data.datasets._user_files import nonnegative, numbers
    from transferbench.data.userdata.matrices import load_npz

    name = f"views/{file.name}"
    if file.suffix == ".csv":
        return nonnegative(numbers(file, delimiter=",", header=1), name)
    try:
        if file.suffix == ".npz":
            X = load_npz(file)
        elif file.suffix == ".svm":
            X = sp.csr_array(load_svmlight_file(str(file), zero_based=False)[0])
        else:
            raise ValueError("expected the ending .npz, .svm or .csv")
    except Exception as error:  # whatever a library says of a file that is none of its kind
        raise ValueError(f"{name}: {error}") from error
    nonnegative(X.data, name)
    return sp.csr_array(X, dtype=np.float32)
