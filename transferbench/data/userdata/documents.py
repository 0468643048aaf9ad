"""Documents of a user's file, and the limits on its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import scipy.sparse as sp

from transferbench.errors import UserError

#: Bytes of a file, and characters of all its texts together.
MAX_SIZE = 2**30
#: Bytes of a line, and characters of a text.
MAX_LINE_SIZE = 2**24
#: Rows and columns of a matrix.
MAX_DOCUMENTS, MAX_FEATURES = 10_000_000, 2**24

#: Documents that must have a label: all or some; with "none", labels are not read.
Labels = Literal["all", "some", "none"]


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table; an `id` of None means the column "id" if it exists."""

    text: str = "text"
    label: str = "label"
    id: str | None = None


@dataclass(frozen=True)
class Documents:
    """Documents of one file.

    content : texts, or a matrix (n, d) of nonnegative numbers, documents by features.
    labels  : (n,) names of classes, "" for a document without a label.
    ids     : (n,) ids of the documents, or None.
    """

    path: Path
    content: list[str] | sp.csr_array
    labels: list[str]
    ids: list[str] | None = None

    def __len__(self) -> int:
        return len(self.labels)


def line_error(path: Path, line: int, message: str) -> UserError:
    """Return the error for a line (or row) of a file."""
    return UserError(f"{path}:{line}: {message}")


def check_size(path: Path) -> None:
    """Raise UserError if the file does not exist, is empty or is too large."""
    if not path.is_file():
        problem = "not a file" if path.exists() else "no such file"
        raise UserError(f"{path}: {problem}; give the path of a file of documents.")
    size = path.stat().st_size
    if not size:
        raise UserError(f"{path}: the file is empty; expected documents.")
    if size > MAX_SIZE:
        raise UserError(
            f"{path}: {size / 2**30:.2f} GiB, expected at most {MAX_SIZE / 2**30:.0f} GiB; "
            "split it into several files."
        )


def check_label(path: Path, line: int, label: str, labels: Labels) -> str:
    """Return the label. Raises UserError if it is empty and every document needs one."""
    if labels == "all" and not label:
        raise line_error(path, line, "no label; every document of a source needs one.")
    return label


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers and lines of a file, with one line in memory at a time.

    Raises UserError for a line that is too long or is not UTF-8 text.
    """
    number = 0
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE_SIZE + 1):
            number += 1
            if len(line) > MAX_LINE_SIZE:
                raise line_error(
                    path, number, f"a line of more than {MAX_LINE_SIZE:,} bytes; shorten it."
                )
            if b"\0" in line:
                raise line_error(path, number, "a NUL byte; expected text in UTF-8.")
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                message = f"byte {error.start + 1} is not UTF-8; save the file in UTF-8."
                raise line_error(path, number, message) from None
