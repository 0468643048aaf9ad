"""Several views of your own documents in a folder: `multilabel/own:path=FOLDER`.

Without a path, the folder is `own/multilabel` of the data folder. It has the files

    views/        one for each view, documents × features: a matrix (.svm, .npz) without labels, or
                  NAME.csv, a line of feature names, then a line of numbers for each document
    labels.csv    a line of label names, then a line of 0 and 1 for each document
    tasks.csv     optional: the word "task", then the name of the task (domain) of each document
    train.csv     optional: the word "train", then 1 if a method may see the labels, else 0

Without train.csv a fraction `train` of the documents is drawn at random; each `split` draws other
documents. The page "Use your own data" of the documentation says more.
"""

import os
import unicodedata
import warnings
from pathlib import Path

import numpy as np

from transferbench.core.scale import safe_scale
from transferbench.data import matrices
from transferbench.data.declared import declared
from transferbench.data.problems import TrainFraction, problem_from_views, train_mask
from transferbench.errors import UserError
from transferbench.parameters import CountOrZero
from transferbench.problem import Matrix, Problem, Truth
from transferbench.user_files import MATRICES, check_files, read_table, read_text, user_folder

FILES, TASKS = declared(__file__)
LAYOUT = "use the layout that `transferbench describe multilabel/own` shows"


def user_files(path: Path) -> list[Path]:
    """Return the files that the task is built from."""
    parts = [path / f"{name}.csv" for name in ("labels", "tasks", "train")]
    # A link that leads nowhere, or a folder, is there, and refused when the files are checked.
    return [*_views(path), *(part for part in parts if os.path.lexists(part))]


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    train: TrainFraction = 0.5,
    split: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Build the task.

    Parameters
    ----------
    path
        The folder.
    train, split
        Fraction of documents to train on and number of the draw, if there is no train.csv.

    Raises
    ------
    Unavailable
        If there is no path.
    UserError
        If a file cannot be read, or if the files make no task. The message is one line with the
        file at fault.
    """
    folder = user_folder(path, task, f"{task}: there is no folder", LAYOUT)
    check_files([folder / "labels.csv", *user_files(folder)])
    classes, Y = _numbers(folder / "labels.csv", binary=True)
    _warn_of_alike(classes, folder)
    views = {f"views/{file.name}": _view(file) for file in _views(folder)}
    tasks, seen = ["all"] * len(Y), train_mask(len(Y), train, split)
    if (folder / "tasks.csv").is_file():
        tasks = _column(folder / "tasks.csv", "task")
    if (folder / "train.csv").is_file():
        words = _column(folder / "train.csv", "train")
        if not {*words} <= {"0", "1"}:
            raise UserError(f"{folder / 'train.csv'}: expected 0 or 1 everywhere.")
        seen = np.array(words) == "1"
    sizes = {"tasks.csv": len(tasks), "train.csv": len(seen)}
    for name, size in (sizes | {name: X.shape[0] for name, X in views.items()}).items():
        if size != len(Y):
            raise UserError(f"{folder}: {name} has {size} documents, labels.csv has {len(Y)}.")
    if not views or not all([*tasks, *classes]) or seen.all() or not seen.any():
        expected = "files in views/, names of all labels and tasks, documents for training and not"
        raise UserError(f"{folder}: expected {expected}; {LAYOUT}.")
    names = list(dict.fromkeys(tasks))
    assigned = np.array([names.index(name) for name in tasks], np.intp)
    return problem_from_views(task, classes, list(views.values()), Y, assigned, seen, names)


def _warn_of_alike(names: list[str], folder: Path) -> None:
    """Warn of labels that differ only in Unicode form, case or blanks."""
    by_form: dict[str, list[str]] = {}
    for name in names:
        form = unicodedata.normalize("NFKC", name).strip().casefold()
        by_form.setdefault(form, []).append(name)
    for group in by_form.values():
        if len(group) > 1:
            listed = ", ".join(map(repr, group))
            warnings.warn(
                f"{folder}: labels {listed} look alike, and each is a class of its own; write them "
                "alike if they are one",
                stacklevel=3,
            )


def _views(folder: Path) -> list[Path]:
    return sorted(folder.glob("views/[!.]*"))


def _view(file: Path) -> Matrix:
    if file.suffix == ".csv":
        X = _numbers(file)[1]
    elif file.suffix == ".npz":
        X = matrices.nonnegative(matrices.read_npz(file), file)
    elif file.suffix in MATRICES:
        X = matrices.read_svmlight(file, read_text(file).split("\n"))[0]
        X = matrices.nonnegative(X, file)
    else:
        raise UserError(f"{file}: expected the ending .csv, {', '.join(MATRICES)}.")
    return safe_scale([X], f"{file}")[0].astype(np.float32)


def _numbers(path: Path, *, binary: bool = False) -> tuple[list[str], np.ndarray]:
    """Return the names of the columns and the numbers (n, d) of a table; 0 or 1 if binary."""
    import pandas as pd

    names, rows = read_table(path)
    table = pd.DataFrame.from_dict(rows, orient="index", dtype=object)
    values = table.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    valid = np.isin(values, (0, 1)) if binary else (values >= 0) & np.isfinite(values)
    if not valid.all():
        line = table.index[~valid.all(axis=1)][0]
        expected = "0 or 1 everywhere" if binary else "finite numbers of at least 0"
        raise UserError(f"{path}:{line}: expected {expected}.")
    return names, values


def _column(path: Path, name: str) -> list[str]:
    """Return the texts of a column, whose name may differ in case and outer blanks."""
    header, rows = read_table(path)
    folded = [other.strip().casefold() for other in header]
    if name not in folded:
        listed = ", ".join(map(repr, header))
        raise UserError(f"{path}:1: no column {name!r} among {listed}; {LAYOUT}.")
    return [row[folded.index(name)].strip() for row in rows.values()]
