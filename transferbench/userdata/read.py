"""Read documents from files; the suffix determines the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import scipy.sparse as sp

from transferbench.errors import UserError
from transferbench.userdata import matrices, tables
from transferbench.userdata.documents import (
    Columns,
    Documents,
    DomainFiles,
    Labels,
    check_size,
)

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


@dataclass(frozen=True)
class Chain:
    """The texts of several files, one file after the other."""

    parts: Sequence[Iterable[str]]

    def __iter__(self) -> Iterator[str]:
        for part in self.parts:
            yield from part


def read_domain(
    domain: DomainFiles, columns: Columns = Columns(), labels: Labels = "none"
) -> Documents:
    """Read the documents of all files of a domain.

    Raises UserError as `read` does, and for texts and matrices in one domain.
    """
    parts = [read(file, columns, labels) for file in domain.files]
    if len(parts) == 1:
        return replace(parts[0], name=domain.name)
    ids = None
    if any(part.ids for part in parts):
        ids = [id_ for part in parts for id_ in part.ids or [""] * len(part)]
    return Documents(
        domain.path,
        _content(parts),
        [label for part in parts for label in part.labels],
        ids,
        domain.name,
        tuple((part.path, len(part)) for part in parts),
    )


def _content(parts: Sequence[Documents]) -> Chain | sp.csr_array:
    if sp.issparse(parts[0].content):
        return matrices.stack(parts)
    for part in parts:
        if sp.issparse(part.content):
            raise UserError(f"{part.path}: a matrix among texts; expected files of one kind.")
    return Chain([part.content for part in parts])


def companion_files(path: Path) -> list[Path]:
    """Return existing files that belong to a file: the labels of a matrix in an npz."""
    labels = matrices.labels_file(path)
    return [labels] if path.suffix.lower() == ".npz" and labels.is_file() else []
