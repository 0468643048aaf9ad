"""Tables: CSV (or TSV), JSON lines, Parquet."""

import csv
import json
import math
import reprlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transferbench.errors import UserError, brief
from transferbench.messages import install_hint
from transferbench.userdata.documents import (
    CONTROL_CHARACTERS,
    MAX_LINE_SIZE,
    Documents,
    Labels,
    Reading,
    check_label,
    check_unpacked,
    line_error,
    lines,
    max_size,
    size_remedy,
)

#: Number of a line (or row), and its values by column.
Rows = Iterator[tuple[int, dict[str, Any]]]
BATCH_SIZE = 32  # rows of Parquet in memory at a time


@dataclass(frozen=True)
class Texts:
    """The texts of tables, read from the files each time they are iterated.

    files: each with its size and time when its texts were checked.
    """

    files: tuple[tuple[Path, tuple[int, int]], ...]
    column: str

    def __iter__(self) -> Iterator[str]:
        for path, version in self.files:
            if _version(path) != version:
                raise UserError(f"{path}: the file has changed meanwhile; repeat the command.")
            for _, row in rows(path, {self.column}):
                yield row[self.column] or ""


def _version(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def rows(path: Path, wanted: Collection[str] = ()) -> Rows:
    """Yield number and values of each row; columns that are not wanted may be missing.

    Raises UserError for a file in another format, with the line at fault.
    """
    return READERS[path.suffix.lower()](path, wanted)


def read(path: Path, reading: Reading, labels: Labels) -> Documents:
    """Read labels and ids of the documents of a table, and check their texts.

    Labels and ids are texts or numbers; null and blanks mean none. Raises UserError, with the line
    at fault, for a missing column, a value of another type, a missing label or too much text.
    """
    needed = [reading.text, *([reading.label] if labels in ("all", "some") else [])]
    needed += [reading.id] if reading.id else []
    names: list[str] = []
    ids: list[str] = []
    version, total, limit, id_column = _version(path), 0, max_size(), reading.id
    for line, row in rows(path, {*needed, reading.label, "id"}):
        try:
            for column in needed:
                if column not in row:
                    problem = f"no column {column!r} among {reprlib.repr(list(row))}"
                    remedy = "name yours: --text-column, --label-column, --id-column"
                    raise ValueError(f"{problem}; {remedy}.")
            if not names and id_column is None and "id" in row:
                id_column = "id"
            total += len(_text(row[reading.text], reading.text))
            if total > limit:
                raise ValueError(f"more than {limit:,} characters of text; {size_remedy()}.")
            label = "" if labels == "none" else _name(row.get(reading.label), reading.label)
            if id_column:
                ids.append(_name(row.get(id_column), id_column))
        except ValueError as error:
            raise line_error(path, line, f"{error}") from None
        names.append(check_label(path, line, label, labels))
    if not names:
        raise UserError(f"{path}: there are no documents in it.")
    return Documents(
        path, Texts(((path, version),), reading.text), names, ids if id_column else None
    )


def numbers(path: Path, *, binary: bool = False) -> tuple[list[str], np.ndarray]:
    """Return the names of the columns and the numbers (n, d) of a table; binary: all are 0 or 1.

    Raises UserError, with the line at fault, for anything but finite numbers of 0 or more.
    """
    names: list[str] = []
    values = array("f")
    for line, row in rows(path):
        names = [name.strip() for name in row]
        try:
            of_line = [float(value) for value in row.values()]
        except ValueError:
            of_line = [math.nan]
        if not all(v in (0, 1) if binary else 0 <= v < math.inf for v in of_line):
            expected = "0 or 1 everywhere" if binary else "finite numbers of at least 0"
            raise line_error(path, line, f"expected {expected}.")
        values.extend(of_line)
    if not names:
        raise UserError(f"{path}: there are no documents in it.")
    return names, np.asarray(values).reshape(-1, len(names))


def _text(value: Any, column: str) -> str:
    """Return the text of a document, "" for none. Raises ValueError for another value."""
    text = "" if value is None else value
    if not isinstance(text, str):
        raise ValueError(f"{column}: expected text, got {reprlib.repr(text)}.")
    if len(text) > MAX_LINE_SIZE:
        raise ValueError(f"a text of more than {MAX_LINE_SIZE:,} characters; shorten it.")
    return text


def _name(value: Any, column: str) -> str:
    """Return a label or id as text, "" for none. Raises ValueError for another value."""
    if value is None or value != value:  # NaN means none, too
        return ""
    if not isinstance(value, str | bool | int | float):
        raise ValueError(f"{column}: expected a text or a number, got {reprlib.repr(value)}.")
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1 and 1.0 are one class
    text = value.strip() if isinstance(value, str) else json.dumps(value)
    if CONTROL_CHARACTERS.search(text):
        raise ValueError(f"{column}: {ascii(text)[:60]} has control characters; remove them.")
    return text


def _check_names(path: Path, names: Collection[str]) -> None:
    """Raise UserError if a column occurs twice."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise line_error(path, 1, f"column {brief(name)} occurs twice.")


def _csv(path: Path, wanted: Collection[str]) -> Rows:
    csv.field_size_limit(MAX_LINE_SIZE)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.reader((text for _, text in lines(path)), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        _check_names(path, header)
        for row in filter(None, reader):
            if len(row) != len(header):
                message = f"{len(row)} columns, but the first line has {len(header)}; quote values "
                raise line_error(path, reader.line_num, f"{message}that contain {delimiter!r}.")
            yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise line_error(path, reader.line_num, f"{error}; expected CSV, quoted by '\"'.") from None


def _json_lines(path: Path, wanted: Collection[str]) -> Rows:
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            message = f"{error}; expected a JSON object on each line."
            raise line_error(path, number, message) from None
        if not isinstance(row, dict):
            raise line_error(path, number, f"expected a JSON object, got {reprlib.repr(row)}.")
        yield number, row


def _parquet(path: Path, wanted: Collection[str]) -> Rows:
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq
    except ImportError:
        raise UserError(
            f"{path}: Parquet is read by pyarrow; {install_hint('parquet')}, or save the "
            "table as CSV or JSONL."
        ) from None
    number = 0
    try:
        meta = pq.read_metadata(path)
        schema = meta.schema.to_arrow_schema()
        _check_names(path, schema.names)
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(meta.num_columns)]
        size = sum(c.total_uncompressed_size for c in columns if c.path_in_schema in wanted)
        check_unpacked(size, max_size())
        names = [name for name in schema.names if name in wanted]
        # As dictionaries: a text of many rows is stored once, and its length is checked before.
        texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(batch_size=BATCH_SIZE, columns=names):
                for column in batch.columns:
                    values = getattr(column, "dictionary", pa.array([]))
                    if pa.types.is_string(values.type) and len(values):
                        longest = pc.max(pc.binary_length(values)).as_py() or 0
                        if longest > MAX_LINE_SIZE:
                            raise ValueError(f"a text of {longest:,} bytes")
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        text = f"{error}".partition("\n")[0] or type(error).__name__
        raise line_error(path, number + 1, f"cannot be read as Parquet ({text}).") from None


#: Suffix → function that yields the rows; it may skip columns that are not wanted.
READERS: dict[str, Callable[[Path, Collection[str]], Rows]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
