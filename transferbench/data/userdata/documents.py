"""What is read from a file of one's own, and how much of it at most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import scipy.sparse as sp

from transferbench.errors import UserError

#: Bytes of a file, characters of all its texts together.
MOST = 2**30
#: Bytes of a line, characters of a text.
LONGEST = 2**24
#: Rows of a matrix, and columns.
MOST_DOCUMENTS, MOST_FEATURES = 10_000_000, 2**24

#: Must every document have a label, may one have none, or are labels not even looked at?
Labels = Literal["all", "some", "none"]


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table; an `id` of None is a column "id" where there is one."""

    text: str = "text"
    label: str = "label"
    id: str | None = None


@dataclass(frozen=True)
class Documents:
    """Documents of one file.

    content : texts, or a matrix (n, d) of nonnegative numbers, documents by features.
    labels  : (n,) names of classes, "" where a document has none.
    ids     : (n,) what the file calls its documents, or None.
    """

    path: Path
    content: list[str] | sp.csr_array
    labels: list[str]
    ids: list[str] | None = None

    def __len__(self) -> int:
        return len(self.labels)


def fault(path: Path, line: int, message: str) -> UserError:
    """The error for a line of a file (a row, where it has no lines)."""
    return UserError(f"{path}:{line}: {message}")


def check_size(path: Path) -> None:
    """Raises UserError where there is no such file, or it is empty or too large."""
    if not path.is_file():
        what = "not a file" if path.exists() else "no such file"
        raise UserError(f"{path}: {what}; give the path of a file of documents.")
    size = path.stat().st_size
    if not size:
        raise UserError(f"{path}: the file is empty; expected documents.")
    if size > MOST:
        raise UserError(
            f"{path}: {size / 2**30:.2f} GiB, of which at most {MOST / 2**30:.0f} GiB is read; "
            "cut it into several files."
        )


def check_label(path: Path, line: int, label: str, labels: Labels) -> str:
    """The label. Raises UserError where there is none and there must be one."""
    if labels == "all" and not label:
        raise fault(path, line, "no label; every document of a source needs one.")
    return label


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, never more than one of them in memory.

    Raises UserError for a line that is too long or is not UTF-8 text.
    """
    number = 0
    with path.open("rb") as file:
        while line := file.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise fault(path, number, f"a line of more than {LONGEST:,} bytes; cut it.")
            if b"\0" in line:
                raise fault(path, number, "a NUL byte; expected text in UTF-8.")
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                message = f"byte {error.start + 1} is not UTF-8; save the file in UTF-8."
                raise fault(path, number, message) from None
