"""Documents from a file, by its suffix."""

from __future__ import annotations

from pathlib import Path

from transferbench.data.userdata import matrices, tables
from transferbench.data.userdata.documents import Columns, Documents, Labels, check_size
from transferbench.errors import UserError

MATRICES = (".svm", ".svmlight", ".libsvm", ".npz")


def read(path: Path, columns: Columns = Columns(), labels: Labels = "none") -> Documents:
    """The documents of a CSV, TSV, JSONL, Parquet, SVMlight or npz file.

    Raises UserError, with the line at fault where there is one, for what cannot be read.
    """
    check_size(path)
    suffix = path.suffix.lower()
    if suffix in tables.ROWS:
        return tables.read(path, columns, labels)
    if suffix in MATRICES:
        return matrices.read(path, labels)
    known = ", ".join([*tables.ROWS, *MATRICES])
    raise UserError(f"{path}: unknown kind of file; expected {known}.")


def beside(path: Path) -> list[Path]:
    """Files that belong to a file: the labels of a matrix in an npz, where they are there."""
    labels = matrices.labels_file(path)
    return [labels] if path.suffix.lower() == ".npz" and labels.is_file() else []
