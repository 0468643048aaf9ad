"""Read ARFF, MATLAB and R files of original data.

Their digests are verified before they are parsed (see `fetch`), so the readers check nothing again.
Nothing in a file is executed.
"""

import lzma
import re
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Matrix

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.*?)\s*", re.IGNORECASE)


def read_arff(
    path: Path, labels: Collection[str] | None = None
) -> tuple[Matrix, np.ndarray, list[str]]:
    """Return features, labels and the names of the labels of an ARFF file of numbers."""
    # `labels`: Names of the attributes that are labels; None for all those of the type {0,1}.
    # `X`: (n, d) float32, sparse if the rows of the file are in braces; in the order of the file.
    # `Y`: (n, m) int8 0/1; in the order of the file.
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    start = [line.lower() for line in lines].index("@data")
    rows = lines[start + 1 :]
    declared = [match for line in lines[:start] if (match := _ATTRIBUTE.fullmatch(line))]
    names = [match[1].strip("'\"") for match in declared]
    if labels is None:
        is_label = np.array([match[2].replace(" ", "") == "{0,1}" for match in declared])
    else:
        is_label = np.isin(names, list(labels))
    table: Any
    if rows[0].startswith("{"):
        table = _sparse_rows(rows, len(names))
        Y = table[:, np.flatnonzero(is_label)].toarray()
    else:
        table = np.loadtxt(rows, delimiter=",", ndmin=2).astype(np.float32)
        Y = table[:, is_label]
    label_names = [names[i] for i in np.flatnonzero(is_label)]
    return table[:, np.flatnonzero(~is_label)], Y.astype(np.int8), label_names


def _sparse_rows(rows: list[str], columns: int) -> sp.csr_array:
    """Return the rows "{index value, …}" (n, columns) without stored zeros."""
    fields = [row.strip("{}").replace(",", " ").split() for row in rows]
    indptr = np.cumsum([0, *(len(row) // 2 for row in fields)], dtype=np.int32)
    indices = np.array([index for row in fields for index in row[::2]], np.int32)
    values = np.array([value for row in fields for value in row[1::2]], float)
    table = sp.csr_array((values.astype(np.float32), indices, indptr), shape=(len(rows), columns))
    table.sort_indices()
    table.eliminate_zeros()
    return table


def read_counts(path: Path, counts: str, labels: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return counts and class indices from two variables of a MATLAB file."""
    # `labels`: Name of the variable with the labels 1, 2, ….
    # `y`: (n,) class indices 0, 1, ….
    # Shapes: counts (n, d).
    from scipy.io import loadmat

    contents = loadmat(path, variable_names=[counts, labels])
    return sp.csr_array(contents[counts]), np.ravel(contents[labels]).astype(np.intp) - 1


@dataclass(frozen=True)
class Numbers:
    """A vector of `size` numbers: `values` at `positions` (ascending), zero elsewhere."""

    size: int
    positions: np.ndarray
    values: np.ndarray


def read_rda(path: Path) -> dict[str, Any]:
    """Return the variables of a file of R's `save` by name."""
    # Values are Numbers, lists of texts, and lists (dicts if named): the part of R's binary format
    # that data frames need ("R Internals", Serialization Formats). A package that reads the whole
    # format stores every number: for a data frame of 47,337 columns and 6,000 rows it takes 6.8 GB
    # and 20 s, although one entry in 700 is not zero.
    with lzma.open(path) as stream:
        stream.read(19)  # name and versions of the format
        variables: dict[str, Any] = _RReader(stream).item()
    return variables


# R's type codes, and flags of a value.
NULL, SYMBOL, PAIRS, CHARS, REFERENCE = 254, 1, 2, 9, 255
LOGICAL, INTEGER, REAL, TEXTS, LIST = 10, 13, 14, 16, 19
HAS_ATTRIBUTES, HAS_NAME = 0x200, 0x400


class _RReader:
    """Reads values from a stream; nonzero numbers alone are stored."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.symbols: list[str] = []

    def integer(self) -> int:
        return int(struct.unpack(">i", self.stream.read(4))[0])

    def item(self) -> Any:
        """Read the next value: a list with names as a dict, a symbol as its name."""
        flags = self.integer()
        kind = flags & 0xFF
        if kind == NULL:
            return None
        if kind == REFERENCE:
            return self.symbols[(flags >> 8 or self.integer()) - 1]
        if kind == SYMBOL:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == PAIRS:
            return self.pairs(flags)
        if kind not in (CHARS, LOGICAL, INTEGER, REAL, TEXTS, LIST):
            raise ValueError(f"R's type {kind} is not supported")
        size = self.integer()
        if kind == CHARS:
            return None if size == -1 else self.stream.read(size).decode()
        value: Any
        if kind in (TEXTS, LIST):
            value = [self.item() for _ in range(size)]
        else:
            dtype = np.dtype(">f8" if kind == REAL else ">i4")
            numbers = np.frombuffer(self.stream.read(size * dtype.itemsize), dtype)
            positions = np.flatnonzero(numbers)
            value = Numbers(size, positions, numbers[positions].astype(float))
        names = (self.item() or {}).get("names") if flags & HAS_ATTRIBUTES else None
        return dict(zip(names, value, strict=True)) if names and kind == LIST else value

    def pairs(self, flags: int) -> dict[str, Any]:
        """Read a linked list of named values, up to its final NULL."""
        values: dict[str, Any] = {}
        while flags & 0xFF == PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.item()
            name = self.item() if flags & HAS_NAME else str(len(values))
            values[name] = self.item()
            flags = self.integer()
        return values
