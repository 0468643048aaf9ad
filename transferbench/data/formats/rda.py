"""What R's `save` wrote (.rda, xz), read as plain values: numbers, texts and lists of these.

A small reader of the part of R's binary format that data frames are made of ("R Internals",
Serialization Formats), because a package that reads all of it holds every number: a data frame of
47,337 columns over 6,000 rows takes it 6.8 GB and 20 s, of which one entry in 700 is not zero. Here
the file is read once from start to end and of numbers only the nonzeros are kept. Nothing in a file
is executed; whatever is not needed for data frames is refused.
"""

from __future__ import annotations

import lzma
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NULL, SYMBOL, PAIRS, CHARS, LOGICAL, INTEGER, REAL, TEXTS, LIST = 254, 1, 2, 9, 10, 13, 14, 16, 19
REFERENCE = 255
DEPTH = 20  # lists within lists
MOST = 1_000_000  # values; a vector of numbers is one
LONGEST = 1 << 27  # bytes of a value
# What bytes lead to that are not of the format.
DAMAGE = (lzma.LZMAError, EOFError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True)
class Numbers:
    """A vector of `size` numbers: those at `places` (ascending) are `values`, the others zero."""

    size: int
    places: np.ndarray
    values: np.ndarray


def read(path: Path, *, limit: int = 4 << 30) -> dict[str, Any]:
    """The saved variables by name: Numbers, lists of texts, and lists, as dicts where named.

    Raises ValueError for a file that is no xz-compressed .rda of such values, is cut off, or
    unpacks to more than `limit` bytes, MOST values or LONGEST bytes in one.
    """
    try:
        with lzma.open(path) as stream:
            reader = _Reader(stream, limit)
            if reader.take(7) != b"RDX2\nX\n":
                raise ValueError("not R data of version 2")
            reader.take(12)  # versions of the format and of R
            found = reader.item(0)
            if stream.read(1):  # at the end, too, is where the checksum is looked at
                raise ValueError("goes on after its end")
    except DAMAGE as error:
        raise ValueError(f"{path.name}: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path.name}: has no saved variables")
    return found


class _Reader:
    def __init__(self, stream: Any, limit: int) -> None:
        self.stream, self.left = stream, limit
        self.symbols: list[str] = []
        self.values = 0

    def take(self, size: int) -> bytes:
        self.left -= size
        if size < 0 or size > LONGEST or self.left < 0:
            raise ValueError("unpacks to too many bytes")
        data: bytes = self.stream.read(size)
        if len(data) != size:
            raise ValueError("is cut off")
        return data

    def integer(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def item(self, depth: int) -> Any:
        """The next value; lists with names come as dicts, symbols as their names."""
        self.values += 1
        if self.values > MOST:
            raise ValueError(f"has more than {MOST:,} values")
        flags = self.integer()
        kind, has_attributes = flags & 0xFF, bool(flags & 0x200)
        if depth > DEPTH:
            raise ValueError("lists lie too deep in lists")
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
            raise ValueError(f"holds a value of R's type {kind}, which is not read")
        size = self.integer()
        value: Any
        if kind in (TEXTS, LIST):
            value = [self.item(depth + 1) for _ in range(size)]
        else:
            dtype = np.dtype(">f8" if kind == REAL else ">i4")
            numbers = np.frombuffer(self.take(size * dtype.itemsize), dtype)
            places = np.flatnonzero(numbers)
            value = Numbers(size, places, numbers[places].astype(float))
        names = (self.item(depth + 1) or {}).get("names") if has_attributes else None
        return dict(zip(names, value, strict=True)) if names and kind == LIST else value

    def pairs(self, flags: int, depth: int) -> dict[str, Any]:
        """R's linked list of named values."""
        found: dict[str, Any] = {}
        while flags & 0xFF == PAIRS:
            if flags & 0x200:
                self.item(depth + 1)
            name = self.item(depth + 1) if flags & 0x400 else str(len(found))
            found[name] = self.item(depth + 1)
            flags = self.integer()
        if flags & 0xFF != NULL:
            raise ValueError("a list does not end as it should")
        return found
