"""Read multi-label data in ARFF, dense or sparse.

The library liac-arff parses one row at a time, so only the numbers are in memory, not the text.
What it accepts in silence is refused here: a feature given twice in a row, missing values, numbers
that are not finite. An integer attribute may have fractions.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Matrix

MAX_LINE = 1 << 24  # bytes
MAX_VALUES = 1 << 27  # numbers of a file that are stored
LARGEST = float(np.finfo(np.float32).max)
SPARSE_ROW = "expected a row {index value, …} with numbers"
#: What is wrong, by the library's class of error, in a sparse file and in a dense one.
REASONS = {
    "BadDataFormat": ("an index is out of range", "wrong number of values"),
    "BadNominalValue": ("a value that its nominal attribute does not have",) * 2,
    "BadNumericalValue": ("expected numbers",) * 2,
    "BadLayout": (SPARSE_ROW, "expected a row of numbers"),
    "BadAttributeName": ("the name of an attribute occurs twice",) * 2,
    "BadAttributeType": ("unknown type of attribute",) * 2,
}
NO_HEADER = "not ARFF: expected @relation, then lines @attribute NAME TYPE, then @data"


@dataclass(frozen=True)
class Table:
    """Names of the d features and m labels; X (n, d) float32, sparse or dense; Y (n, m) int8 0/1.

    Features and labels are in the order of the file.
    """

    features: list[str]
    labels: list[str]
    X: Matrix
    Y: np.ndarray


def read(path: Path, labels: Collection[str] | None = None) -> Table:
    """Return the features and labels of a file.

    labels: names of the attributes that are labels; None for all those of the type {0,1}. Nominal
    values must be numbers. Raises ValueError, in one line with the file and its line, for a file in
    another format, missing values, or more than MAX_VALUES numbers.
    """
    import arff

    lines = _Lines()
    with path.open("rb") as stream, _located(path, lines):
        sparse = lines.sparse = _is_sparse(lines.read(stream))
    with path.open("rb") as stream:
        with _located(path, lines):
            kind = arff.LOD_GEN if sparse else arff.DENSE_GEN
            decoded = arff.ArffDecoder().decode(lines.read(stream), return_type=kind)
        try:
            is_label = _label_columns(decoded["attributes"], labels, sparse)
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error
        lines.in_rows = True
        with _located(path, lines):
            rows = _rows(decoded["data"], lines)
            table: Any = _sparse_table(rows, len(is_label)) if sparse else np.vstack(list(rows))
    if len(is_label) and table.shape[0] * int(is_label.sum()) > MAX_VALUES:
        raise ValueError(f"{path.name}: more than {MAX_VALUES:,} labels times documents")
    X, Y = table[:, np.flatnonzero(~is_label)], table[:, np.flatnonzero(is_label)]
    Y = Y.toarray() if sp.issparse(Y) else Y
    if not np.isin(Y, (0, 1)).all():
        raise ValueError(f"{path.name}: expected labels 0 and 1")
    names = [name for name, _ in decoded["attributes"]]
    return Table(
        [name for name, label in zip(names, is_label, strict=True) if not label],
        [name for name, label in zip(names, is_label, strict=True) if label],
        X,
        Y.astype(np.int8),
    )


class _Lines:
    """Yields the lines of a stream; `number` and `text` are those of the last one."""

    number, text = 0, ""
    sparse, in_rows = False, False

    def read(self, stream: IO[bytes]) -> Iterator[str]:
        """Yield the lines as the library can read them."""
        self.number = 0
        while line := stream.readline(MAX_LINE + 1):
            self.number += 1
            if len(line) > MAX_LINE:
                raise ValueError(f"longer than {MAX_LINE:,} bytes")
            self.text = line.decode("utf-8-sig" if self.number == 1 else "utf-8").strip()
            if self.text.startswith("@"):
                # The library expects spaces here, and cuts the values of integer attributes.
                self.text = self.text.replace("\t", " ")
                self.text = re.sub(r"(?i) integer$", " numeric", self.text)
            yield self.text


@contextmanager
def _located(path: Path, lines: _Lines) -> Iterator[None]:
    """Raise ValueError with the file, the line and what is wrong, for an error of the library."""
    import arff

    try:
        yield
    except (arff.ArffException, ValueError, LookupError, OverflowError, csv.Error) as error:
        place = f"line {lines.number}: " if lines.number else ""
        raise ValueError(f"{path.name}: {place}{_reason(error, lines)}") from error


def _reason(error: Exception, lines: _Lines) -> str:
    """Return in words what is wrong; messages of the library may contain a whole row."""
    name = type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return "expected text in UTF-8"
    if name in REASONS and (lines.in_rows or name != "BadLayout"):
        return REASONS[name][not lines.sparse]
    return str(error) if type(error) is ValueError and "unpack" not in str(error) else NO_HEADER


def _is_sparse(lines: Iterator[str]) -> bool:
    """Return True if the first row is in braces. Raises ValueError if there is no row."""
    in_data = False
    for line in lines:
        if in_data and line and not line.startswith("%"):
            return line.startswith("{")
        in_data = in_data or line.upper().startswith("@DATA")
    raise ValueError("expected rows after @data" if in_data else NO_HEADER)


def _label_columns(
    attributes: list[tuple[str, Any]], labels: Collection[str] | None, sparse: bool
) -> np.ndarray:
    """Return (d + m,) bool: True for the attributes that are labels."""
    for name, values in attributes:
        if values == "STRING" or (isinstance(values, list) and not all(map(_is_number, values))):
            raise ValueError(f"attribute {name!r}: expected a numeric type, or nominal numbers")
        if sparse and isinstance(values, list) and float(values[0]) != 0:
            raise ValueError(f"attribute {name!r}: expected 0 as the first value of a sparse file")
    names = [name for name, _ in attributes]
    if labels is None:
        labels = [
            name for name, kind in attributes if isinstance(kind, list) and {*kind} == {*"01"}
        ]
    if missing := sorted(set(labels) - set(names)):
        raise ValueError(f"has no attribute {missing[0]!r}, which is a label")
    wanted = set(labels)
    is_label = np.array([name in wanted for name in names])
    if is_label.all() or not is_label.any():
        raise ValueError(f"expected features and labels, got {len(wanted)} labels of {len(names)}")
    return is_label


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and abs(float(text)) <= LARGEST
    except ValueError:
        return False


def _rows(data: Iterator[Any], lines: _Lines) -> Iterator[Any]:
    """Yield the numbers of each row, float32; of a sparse row (indices, numbers)."""
    stored, sparse = 0, lines.sparse
    for row in data:
        values = list(row.values()) if sparse else row
        if None in values:
            raise ValueError("a value is missing; expected all values")
        if not sparse and lines.text.startswith("{"):
            raise ValueError("a sparse row among dense ones")
        if sparse and row and len(row) != lines.text.count(",") + 1:
            raise ValueError("an index occurs twice")
        numbers = np.array([float(value) for value in values])
        # NaN is not at most LARGEST either; Python reads 1_0 as 10.
        if not (np.abs(numbers) <= LARGEST).all() or "_" in lines.text:
            raise ValueError("expected finite numbers")
        stored += numbers.size + 1
        if stored > MAX_VALUES:
            raise ValueError(f"the file has more than {MAX_VALUES:,} values")
        numbers = numbers.astype(np.float32)
        yield (np.fromiter(row, np.int32, len(row)), numbers) if sparse else numbers


def _sparse_table(rows: Iterator[tuple[np.ndarray, np.ndarray]], columns: int) -> sp.csr_array:
    """Return the rows (n, columns) without stored zeros."""
    indices, numbers = zip(*rows, strict=True)
    indptr = np.cumsum([0, *map(len, indices)], dtype=np.int32)
    parts = (np.concatenate(numbers), np.concatenate(indices), indptr)
    table = sp.csr_array(parts, shape=(len(indices), columns))
    table.sort_indices()
    table.eliminate_zeros()
    return table
