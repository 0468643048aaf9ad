"""Read files of R's `save` (.rda, xz) as plain values: numbers, texts and lists of these.

A small reader of the part of R's binary format that data frames need ("R Internals", Serialization
Formats). A package that reads the whole format stores every number: for a data frame of 47,337
columns and 6,000 rows it takes 6.8 GB and 20 s, although one entry in 700 is not zero. Here the
file is read once from start to end, and only nonzero numbers are stored. Nothing in a file is
executed; types that data frames do not need are refused.
"""

from __future__ import annotations

import lzma
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# R's type codes.
NULL, SYMBOL, PAIRS, CHARS, LOGICAL, INTEGER, REAL, TEXTS, LIST = 254, 1, 2, 9, 10, 13, 14, 16, 19
REFERENCE = 255
# Flags of a value.
HAS_ATTRIBUTES, HAS_NAME = 0x200, 0x400
MAX_DEPTH = 20  # lists within lists
MAX_VALUES = 1_000_000  # a vector of numbers is one value
MAX_VALUE_SIZE = 1 << 27  # bytes
# Errors that bytes in another format lead to.
FORMAT_ERRORS = (lzma.LZMAError, EOFError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True)
class Numbers:
    """A vector of `size` numbers: `values` at `positions` (ascending), zero elsewhere."""

    size: int
    positions: np.ndarray
    values: np.ndarray


def read(path: Path, *, limit: int = 4 << 30) -> dict[str, Any]:
    """Return the saved variables by name: Numbers, lists of texts, and lists (dicts if named).

    Raises ValueError for a file that is no xz-compressed .rda of such values, is cut off, or
    unpacks to more than `limit` bytes, MAX_VALUES values or MAX_VALUE_SIZE bytes in one.
    """
    try:
        with lzma.open(path) as stream:
            reader = _Reader(stream, limit)
            if reader.take(7) != b"RDX2\nX\n":
                raise ValueError("not R data of version 2")
            reader.take(12)  # versions of the format and of R
            variables = reader.item(0)
            if stream.read(1):  # reading to the end also verifies the checksum
                raise ValueError("goes on after its end")
    except FORMAT_ERRORS as error:
        raise ValueError(f"{path.name}: {error}") from error
    if not isinstance(variables, dict):
        raise ValueError(f"{path.name}: has no saved variables")
    return variables


class _Reader:
    """Reads values from a stream of at most `limit` bytes."""

    def __init__(self, stream: Any, limit: int) -> None:
        self.stream, self.remaining = stream, limit
        self.symbols: list[str] = []
        self.values = 0

    def take(self, size: int) -> bytes:
        self.remaining -= size
        if size < 0 or size > MAX_VALUE_SIZE or self.remaining < 0:
            raise ValueError("unpacks to too many bytes")
        data: bytes = self.stream.read(size)
        if len(data) != size:
            raise ValueError("is cut off")
        return data

    def integer(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def item(self, depth: int) -> Any:
        """Read the next value: a list with names as a dict, a symbol as its name."""
        self.values += 1
        if self.values > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES:,} values")
        flags = self.integer()
        kind, has_attributes = flags & 0xFF, bool(flags & HAS_ATTRIBUTES)
        if depth > MAX_DEPTH:
            raise ValueError("lists are nested too deep")
        if kind == NULL:
            return None
        if kind == REFERENCE:
            return self.symbols[(flags >> 8 or self.integer()) - 1]
        if kind == SYMBOL:
            self.symbols.append(str(self.item(depth + 1)))
            return self.symbols[-1]
        if kind == CHARS:
            size = self.integer()
            return None if size == -1 else self.take(size).decode()
        if kind == PAIRS:
            return self.pairs(flags, depth)
        if kind not in (LOGICAL, INTEGER, REAL, TEXTS, LIST):
            raise ValueError(f"has a value of R's type {kind}, which is not supported")
        size = self.integer()
        value: Any
        if kind in (TEXTS, LIST):
            value = [self.item(depth + 1) for _ in range(size)]
        else:
            dtype = np.dtype(">f8" if kind == REAL else ">i4")
            numbers = np.frombuffer(self.take(size * dtype.itemsize), dtype)
            positions = np.flatnonzero(numbers)
            value = Numbers(size, positions, numbers[positions].astype(float))
        names = (self.item(depth + 1) or {}).get("names") if has_attributes else None
        return dict(zip(names, value, strict=True)) if names and kind == LIST else value

    def pairs(self, flags: int, depth: int) -> dict[str, Any]:
        """Read a linked list of named values."""
        values: dict[str, Any] = {}
        while flags & 0xFF == PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.item(depth + 1)
            name = self.item(depth + 1) if flags & HAS_NAME else str(len(values))
            values[name] = self.item(depth + 1)
            flags = self.integer()
        if flags & 0xFF != NULL:
            raise ValueError("a list does not end as it should")
        return values
