"""Read documents from a file; the suffix determines the format."""

from __future__ import annotations

from pathlib import Path

from transferbench.data.userdata import matrices, tables
from transferbench.data.userdata.documents import Columns, Documents, Labels, check_size
from transferbench.errors import UserError

MATRICES = (".svm", ".svmlight", ".libsvm", ".npz")


def read(path: Path, columns: Columns = Columns(), labels: Labels = "none") -> Documents:
    """Read the documents of a CSV, TSV, JSONL, Parquet, SVMlight or npz file.

    Raises UserError for a file that cannot be read, with the line at fault if there is one.
    """
    check_size(path)
    suffix = path.suffix.lower()
    if suffix in tables.READERS:
        return tables.read(path, columns, labels)
    if suffix in MATRICES:
        return matrices.read(path, labels)
    known = ", ".join([*tables.READERS, *MATRICES])
    raise UserError(f"{path}: unknown kind of file; expected {known}.")


def companion_files(path: Path) -> list[Path]:
    """Return existing files that belong to a file: the labels of a matrix in an npz."""
    labels = matrices.labels_file(path)
    return [labels] if path.suffix.lower() == ".npz" and labels.is_file() else []
