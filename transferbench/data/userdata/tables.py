"""Tables of texts: CSV (or TSV), JSON lines, Parquet."""

from __future__ import annotations

import csv
import json
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from transferbench.data.userdata.documents import (
    LONGEST,
    MOST,
    Columns,
    Documents,
    Labels,
    check_label,
    fault,
    lines,
)
from transferbench.errors import UserError, brief

#: A line's (or row's) number and its values by column.
Rows = Iterator[tuple[int, dict[str, Any]]]
BATCH = 32  # rows of Parquet in memory at a time
CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def read(path: Path, columns: Columns, labels: Labels) -> Documents:
    """The documents of a table.

    Labels and ids are texts or numbers, null stands for nothing, and so do blanks. Raises UserError
    with the line at fault for a missing column or what is no text, no label or too much.
    """
    needed = [columns.text, *([columns.label] if labels != "none" else [])]
    needed += [columns.id] if columns.id else []
    texts: list[str] = []
    found: list[str] = []
    ids: list[str] = []
    total, id_column = 0, columns.id
    for line, row in ROWS[path.suffix.lower()](path, {*needed, "id"}):
        for name in needed:
            if name not in row:
                there = f"no column {name!r} among {reprlib.repr(list(row))}"
                remedy = "say which you mean: --text-column, --label-column, --id-column"
                raise fault(path, line, f"{there}; {remedy}.")
        if not texts and id_column is None and "id" in row:
            id_column = "id"
        text = "" if row[columns.text] is None else row[columns.text]
        if not isinstance(text, str):
            raise fault(path, line, f"{columns.text}: expected text, got {reprlib.repr(text)}.")
        if len(text) > LONGEST:
            raise fault(path, line, f"a text of more than {LONGEST:,} characters; cut it.")
        total += len(text)
        if total > MOST:
            raise fault(path, line, f"more than {MOST:,} characters of text; cut the file.")
        label = _plain(path, line, columns.label, row[columns.label]) if labels != "none" else ""
        texts.append(text)
        found.append(check_label(path, line, label, labels))
        if id_column:
            ids.append(_plain(path, line, id_column, row.get(id_column)))
    if not texts:
        raise UserError(f"{path}: there are no documents in it.")
    return Documents(path, texts, found, ids if id_column else None)


def _plain(path: Path, line: int, column: str, value: Any) -> str:
    """A label or id as text."""
    if value is None or value != value:  # NaN stands for nothing, too
        return ""
    if not isinstance(value, str | bool | int | float):
        expected = f"{column}: expected a text or a number"
        raise fault(path, line, f"{expected}, got {reprlib.repr(value)}.")
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as another file may have it
    text = value.strip() if isinstance(value, str) else json.dumps(value)
    if CONTROL.search(text):
        raise fault(path, line, f"{column}: {ascii(text)[:60]} has characters not to be printed.")
    return text


def _csv(path: Path, wanted: Collection[str]) -> Rows:
    csv.field_size_limit(LONGEST)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.reader((text for _, text in lines(path)), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        if len(set(header)) < len(header):
            name = Counter(header).most_common(1)[0][0]
            raise fault(path, 1, f"column {brief(name)} stands here twice.")
        for row in reader:
            if row and len(row) != len(header):
                message = f"{len(row)} columns, where the first line has {len(header)}; quote what "
                raise fault(path, reader.line_num, f"{message}holds a {delimiter!r}.")
            if row:
                yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise fault(path, reader.line_num, f"{error}; expected CSV, quoted by '\"'.") from None


def _json_lines(path: Path, wanted: Collection[str]) -> Rows:
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise fault(path, number, f"{error}; expected a JSON object on each line.") from None
        if not isinstance(row, dict):
            raise fault(path, number, f"expected a JSON object, got {reprlib.repr(row)}.")
        yield number, row


def _parquet(path: Path, wanted: Collection[str]) -> Rows:
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq
    except ImportError:
        raise UserError(
            f"{path}: Parquet is read by pyarrow; pip install 'transferbench[parquet]', or save "
            "the table as CSV or JSONL."
        ) from None
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            schema, meta = file.schema_arrow, file.metadata
            groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(meta.num_columns)]
        size = sum(c.total_uncompressed_size for c in columns if c.path_in_schema in wanted)
        if size > MOST:
            raise ValueError(f"{size:,} bytes unpacked, at most {MOST:,} are read")
        names = [name for name in schema.names if name in wanted]
        # As dictionaries: a text that stands in many rows comes once, and is looked at before.
        texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(batch_size=BATCH, columns=names):
                for column in batch.columns:
                    values = getattr(column, "dictionary", pa.array([]))
                    if pa.types.is_string(values.type) and len(values):
                        longest = pc.max(pc.binary_length(values)).as_py() or 0
                        if longest > LONGEST:
                            raise ValueError(f"a text of {longest:,} bytes")
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        text = f"{error}".partition("\n")[0] or type(error).__name__
        raise fault(path, number + 1, f"not to be read as Parquet ({text}).") from None


ROWS: dict[str, Callable[[Path, Collection[str]], Rows]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
