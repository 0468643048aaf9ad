"""Documents of a user's files: how they are read, what is read, and the limits on a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from unicodedata import normalize

from transferbench import settings
from transferbench.errors import UserError

if TYPE_CHECKING:
    import scipy.sparse as sp

#: Bytes of a line, and characters of a text.
MAX_LINE_SIZE = 2**24
#: Rows and columns of a matrix.
MAX_DOCUMENTS, MAX_FEATURES = 10_000_000, 2**24

CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

#: Documents that must have a label: all or some; "any": there may be no labels at all; with "none",
#: labels are not read.
Labels = Literal["all", "some", "any", "none"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read: options of commands, keys of a YAML task and arguments in Python."""

    text: Annotated[str, "Column of the texts."] = "text"
    label: Annotated[str, "Column of the labels."] = "label"
    id: Annotated[str | None, "Column of ids.  [default: id, if there is one]"] = None
    separator: Annotated[
        str | None,
        "Text between the labels of a document; '' if a label is always one.  "
        "[default: | for multi-label models]",
    ] = None
    each_file: Annotated[
        bool, "Make each file of a folder, pattern or list a domain of its own."
    ] = False


@dataclass(frozen=True)
class DomainFiles:
    """The files of one domain.

    name  : name of the domain: that of the file or folder, else of the first file; no suffix.
    path  : the file, or what the user gave for several; messages show it.
    files : paths of the files, in alphabetical order.
    """

    name: str
    path: Path
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Documents:
    """Documents of one file, or of the files of one domain.

    path    : the file, or what the user gave for several; messages show it.
    content : texts, which may be read from the file each time they are iterated, or a matrix (n, d)
              of nonnegative numbers, documents by features.
    labels  : (n,) names of classes, "" for a document without a label.
    ids     : (n,) ids of the documents, or None.
    name    : name of the domain; "" for that of the file.
    files   : each file with its number of documents; empty for one file at `path`.
    """

    path: Path
    content: Iterable[str] | sp.csr_array
    labels: list[str]
    ids: list[str] | None = None
    name: str = ""
    files: tuple[tuple[Path, int], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def first_file(self) -> Path:
        """The file, or the first of several."""
        return self.files[0][0] if self.files else self.path

    def rows(self) -> Iterator[tuple[Path, int]]:
        """Yield for each document its file and its number in that file, from 1."""
        for path, n in self.files or ((self.path, len(self)),):
            for row in range(1, n + 1):
                yield path, row


def max_size() -> int:
    """Return the largest number of bytes of a file, and of characters of its texts."""
    return int(settings.load().max_size * 2**30)


def check_unpacked(size: int, limit: int) -> None:
    """Raise ValueError if the bytes of an unpacked file are more than the limit."""
    if size > limit:
        message = f"{size:,} bytes unpacked, expected at most {limit:,}"
        raise ValueError(f"{message}; {size_remedy()}")


def size_remedy() -> str:
    """Return what to do about a file that is too large."""
    size = settings.load().max_size
    return (
        f"split it into several files, or raise the setting max_size (TRANSFERBENCH_MAX_SIZE), "
        f"now {size:g} GiB"
    )


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
    if size > (limit := max_size()):
        message = f"{size:,} bytes, expected at most {limit:,}"
        raise UserError(f"{path}: {message}; {size_remedy()}.")


def check_label(path: Path, line: int, label: str, labels: Labels) -> str:
    """Return the label with composed characters, so that equal-looking labels are one class.

    Raises UserError if it has control characters, or is empty and every document needs one.
    """
    if CONTROL_CHARACTERS.search(label):
        shown = ascii(label)[:60]
        raise line_error(path, line, f"label {shown} has control characters; remove them.")
    if labels == "all" and not label:
        raise line_error(path, line, "no label; every document of a source needs one.")
    return normalize("NFC", label)


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
