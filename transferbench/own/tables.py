"""Read tables: CSV, TSV and lines of JSON, and numbers in them.

Names of columns are compared without case, and rows whose values are all blank are skipped.
"""

from __future__ import annotations

import csv
import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from transferbench.errors import MAX_LISTED, UserError, brief
from transferbench.messages import counted
from transferbench.own import dialect as dialects
from transferbench.own.dialect import (
    Dialect,
    decode,
    find_delimiter,
    warn,
)
from transferbench.own.documents import ReadOptions

if TYPE_CHECKING:
    import pandas as pd

#: Suffixes of tables.
TABLES = (".csv", ".tsv", ".jsonl")
#: Largest number of columns of JSON rows that have different keys; in memory each row has all.
MAX_VARYING = 1000
#: The first line of CSV for Excel that names the separator.
SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)
LINE_END = re.compile(r"\r\n|\r|\n")
#: What may stand around a name of a column; files that were joined have marks within.
AROUND = "\ufeff \t"
#: What a blank line may have.
BLANK = f"{AROUND}\r\n"


@contextmanager
def located(path: Path, line: int) -> Iterator[None]:
    """Turn a ValueError of this block into a UserError with the file and the line."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{path}:{line}: {error}") from None


def read_table(path: Path, options: ReadOptions) -> tuple[pd.DataFrame, Dialect]:
    """Return the rows of a table that are not blank, indexed by line, and its dialect."""
    # Cells are texts or values of JSON. Numbers stay texts as they are written.
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        raise UserError(f"{path}: unknown kind of table; expected {', '.join(TABLES)}.")
    lines, dialect = decode(path, options)
    if suffix == ".jsonl":
        return _json_lines(path, lines), dialect
    return _csv(path, lines, dialect, options)


def _frame(
    path: Path, rows: Mapping[int, Any], blank: int, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return rows by line as a table, and warn of the number of blank rows."""
    import pandas as pd

    if blank:
        warn(f"{path}: {blank} blank rows are skipped")
    if not rows:
        raise UserError(f"{path}: there are no documents in it.")
    return pd.DataFrame([*rows.values()], index=[*rows], columns=columns, dtype=object)


def column(
    path: Path,
    table: pd.DataFrame,
    options: ReadOptions,
    kind: Literal["text", "label"],
    *,
    needed: bool = True,
) -> list[Any]:
    """Return the values of the column of texts or labels."""
    # A column whose name differs only in case or outer blanks is taken if it is the only one. In
    # JSON, `doc.body` is the key `body` of the object `doc`; it is NaN where there is none.
    # `needed`: If false and there is no such column, all values are None.
    name: str = getattr(options, kind)
    if (header := match(name, table)) is not None:
        return [*table[header]]
    parents = [header for header in table if name.casefold().startswith(f"{header}.".casefold())]
    for parent in sorted(parents, key=len, reverse=True):
        if any(isinstance(value, dict | list) for value in table[parent]):
            values = []
            for line, value in table[parent].items():
                with located(path, int(line)):
                    values.append(_nested(value, name[len(parent) + 1 :], name))
            if any(value == value for value in values):
                return values
    if not needed:
        return [None] * len(table)
    keys = dict.fromkeys(
        key for header in table for each in table[header] for key in _keys(header, each)
    )
    ends = f".{name}".casefold()  # keys of this name come first
    names = sorted(keys, key=lambda key: not key.casefold().endswith(ends))
    more = ", …" if len(names) > MAX_LISTED else ""
    listed = f"{', '.join(map(brief, names[:MAX_LISTED]))}{more}"
    remedy = f"name yours: {options.setting(kind)}"
    if len(names) == 1 and path.suffix.lower() != ".jsonl":
        remedy += ", or separate columns by a comma, semicolon or tab, or by a sign that you name: "
        remedy += options.setting("delimiter")
    raise UserError(f"{path}:1: no column {name!r} among {listed}; {remedy}.")


def _keys(name: str, value: object) -> Iterator[str]:
    """Yield the name of a column, or of an object in it the names of all its values."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _keys(f"{name}.{key}", each)
    else:
        yield name


def match(name: str, names: Iterable[str]) -> str | None:
    """Return the equal name, or else the only one that differs only in case or outer blanks."""
    folded = name.strip().casefold()
    similar = [other for other in names if other.strip().casefold() == folded]
    return name if name in similar else similar[0] if len(similar) == 1 else None


def _nested(value: object, path: str, name: str) -> object:
    """Return the value at the path of keys of an object, NaN if there is none."""
    # A key that itself has a dot is preferred. Raise ValueError for a list or a text on the path.
    if value is None or value != value:
        return float("nan")
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else reprlib.repr(value)
        what = f"{name}: expected an object with the key {path!r}, got {kind}"
        raise ValueError(f"{what}; write one text of a document into each row.")
    if (key := match(path, value)) is not None:
        return value[key]
    ends = [match.start() for match in re.finditer(r"\.", path)]
    for end in reversed(ends):
        if (key := match(path[:end], value)) is not None:
            return _nested(value[key], path[end + 1 :], name)
    return float("nan")


class QuoteError(UserError):
    """A row with wrong quotes; `plain` is the message without the option for quoting."""

    def __init__(self, plain: str, option: str) -> None:
        super().__init__(f"{plain}{option}.")
        self.plain = f"{plain}."


class _RowError(ValueError):
    """A row that is wrong, with its first line; `remedy` is "" if its quotes may be wrong."""

    def __init__(self, line: int, fault: str, remedy: str = "") -> None:
        super().__init__(fault)
        self.line, self.remedy = line, remedy


def _csv(
    path: Path, content: TextIO, dialect: Dialect, options: ReadOptions
) -> tuple[pd.DataFrame, Dialect]:
    """Read a table of lines with separators."""
    # Quotes are read strictly by RFC 4180. If they are wrong or seem to join rows, a file with tabs
    # is read without quoting, if this makes each line a row; a warning says so. In other files rows
    # that seem to be joined are warned of, and wrong quotes are refused.
    if named := SEPARATOR_LINE.fullmatch(content.readline()):
        options = replace(options, delimiter=options.delimiter or named[1])
    head = next((line for line in _lines(content) if line.strip(BLANK)), "")
    delimiter = find_delimiter(head, path.suffix.lower(), options)
    line_end = head[len(head.rstrip("\r\n")) :] or "\n"
    quoted, is_auto = options.quoting != "none", options.quoting == "auto"
    dialect = replace(dialect, delimiter=delimiter, quoted=quoted, line_end=line_end)
    none, minimal = (options.setting("quoting", value) for value in ("none", "minimal"))
    try:
        table = _read_rows(_numbered(content, dialect, head), delimiter)
        joined = table.joined if is_auto else []
        if joined and _is_regular(content, head, delimiter):
            raise _RowError(joined[0][0], f"quotes would join it to line {joined[0][1]}")
    except _RowError as error:
        place = f"{path}:{error.line}: {error}"
        if error.remedy:
            raise UserError(f"{place}; {error.remedy}.") from None
        if not (is_auto and _is_regular(content, head, delimiter)):
            remedy = f"put a value with {delimiter!r}, quotes or line ends in '\"'"
            other = f", or, if quotes are characters of the texts, name {none}" if quoted else ""
            raise QuoteError(f"{place}; {remedy}, and double its quotes", other) from None
        warn(f"{place}; so quotes are read as characters; if they enclose values, name {minimal}")
        content.seek(0)
        return _csv(path, content, dialect, replace(options, quoting="none"))
    if joined:
        places = "{}, first in lines {} to {}".format(counted(len(joined), "place"), *joined[0])
        lost = counted(sum(last - first for first, last in joined), "row")
        remedy = f"if quotes are characters of the texts, {lost} would be lost: name {none}"
        remedy += f"; if they enclose values, name {minimal}"
        warn(f"{path}: quotes enclose lines that look like rows, in {places}; {remedy}")
    if table.repeated:
        times = f"{counted(len(table.repeated), 'time')}, first in line {table.repeated[0]}"
        warn(f"{path}: the first line is repeated {times}; these lines are skipped")
    alone = table.rows if len(table.header) == 1 else {}
    if same := [line for line, row in alone.items() if _folded(row) == _folded(table.header)]:
        what = f"line {same[0]} is like the first line and is read as a document"
        warn(f"{path}: {what}; remove it if files were joined")
    with located(path, 1 + bool(named)):
        _check_names(table.header)
    return _frame(path, table.rows, table.blank, table.header), dialect


def _lines(content: TextIO) -> Iterator[str]:
    """Yield the lines without byte order marks, and a blank one for that of Excel."""
    # Files that were joined may have a mark before any line.
    content.seek(0)
    for number, line in enumerate(content):
        is_setting = number == 0 and SEPARATOR_LINE.fullmatch(line)
        yield "\n" if is_setting else line.lstrip("\ufeff")


def _is_regular(content: TextIO, head: str, delimiter: str) -> bool:
    """Return True if tabs divide each line into as many values as the first, which has no quote."""
    n = head.count(delimiter) if delimiter == "\t" and '"' not in head else 0
    return n > 0 and all(line.count(delimiter) == n or not line.strip() for line in _lines(content))


def _numbered(content: TextIO, dialect: Dialect, head: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the first and the last line of each row, and its values."""
    # A carriage return would divide a text, as would any other end than that of the first line if
    # each line is a text. If `head` has no separator and quotes are characters, each line is one.
    end, is_text = "", not dialect.quoted and dialect.delimiter not in head

    def physical() -> Iterator[str]:
        nonlocal end
        for line in _lines(content):
            end = line[len(line.rstrip("\r\n")) :]
            yield line

    def check_end(number: int, row: list[str]) -> None:
        is_other = end not in ("", dialect.line_end)
        if is_other and (end == "\r" or (len(row) == 1 and row[0].strip())):
            sign = {"\r": "a carriage return", "\n": "a line feed"}.get(end, "CR LF")
            fault = f"{sign} stands outside quotes, and other lines end otherwise"
            raise _RowError(number, fault, "end all lines alike, or put its value in quotes")

    limit = csv.field_size_limit(dialects.MAX_LINE)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE
    reader = csv.reader(physical(), delimiter=dialect.delimiter, quoting=quoting, strict=True)
    last = 0
    try:
        for row in reader:
            row = [dialect.delimiter.join(row)] if is_text else row
            check_end(reader.line_num, row)
            yield last + 1, reader.line_num, row
            last = reader.line_num
    except csv.Error as error:
        place = f" in line {reader.line_num}" if reader.line_num > last + 1 else ""
        is_open = "end of data" in f"{error}"
        fault = "a quote opens in this row and is not closed" if is_open else f"{error}{place}"
        raise _RowError(last + 1, fault) from None
    finally:
        csv.field_size_limit(limit)


class _CsvRows(NamedTuple):
    """The rows of a table with separators; its columns have a name or are the first."""

    header: list[str]
    #: Values of rows that are not blank, by last line.
    rows: dict[int, list[str]]
    #: First and last line of each row that seems to be several rows, joined by stray quotes.
    joined: list[tuple[int, int]]
    #: Number of blank rows.
    blank: int
    #: Lines that repeat the header.
    repeated: list[int]


def _read_rows(numbered: Iterator[tuple[int, int, list[str]]], delimiter: str) -> _CsvRows:
    """Return the rows; raise _RowError for a row that does not fit the header."""
    header = next((row for _, _, row in numbered if "".join(row).strip()), [])
    names = {j: name for j, name in enumerate(header) if name.strip() or not j}
    # A row may have the numbers that are the names of columns.
    can_repeat = len(names) > 1 and any(map(str.isalpha, "".join(header)))
    folded = _folded(header) if can_repeat else []
    rows, looks = dict[int, list[str]](), dict[tuple[int, int], list[tuple[bool, bool]]]()
    blank, gap, has_gaps, repeated = 0, 0, False, list[int]()
    for first, last, row in numbered:
        if not "".join(row).strip():
            if len(row) < 2:
                has_gaps, gap = has_gaps or gap == first - 1, last
            blank += row not in ([], [""])
            continue
        if row[0].strip(AROUND).casefold() in folded and sorted(_folded(row)) == sorted(folded):
            if _folded(row) != folded:
                fault = "another header, as of joined files, in another order"
                raise _RowError(first, fault, "give the files separately")
            repeated.append(last)
            continue
        if first < last:
            # Would each of its lines be a row? Is it blank?
            parts = LINE_END.split(delimiter.join(row))
            most = max(len(header), len(row)) - 1
            looks[first, last] = [
                (max(names) <= part.count(delimiter) <= most, not part.strip()) for part in parts
            ]
        if len(row) != len(header) or len(names) < len(header):
            # Values beyond the names may be blank, and columns without a name may be missing.
            extra = [cell for j, cell in enumerate(row) if j not in names]
            if any(map(str.strip, [*extra, *header[len(row) :]])):
                fault = f"{counted(len(row), 'value')}, but the first line has "
                fault += counted(len(names), "name")
                raise _RowError(first, fault)
            row = [row[j] if j < len(row) else "" for j in names]
        rows[last] = row
    # In joined rows, the first, the last and most lines would be rows. Blank lines say nothing if
    # two follow each other outside quotes; single ones between rows are fewer than the rows.
    joined = []
    for span, lines_of_row in looks.items():
        fits = [fit for fit, is_blank in lines_of_row if not (has_gaps and is_blank)]
        if fits and fits[0] and fits[-1] and 2 * sum(fits) > len(fits):
            joined.append(span)
    return _CsvRows([*names.values()], rows, joined, blank, repeated)


def _folded(row: Sequence[str]) -> list[str]:
    """Return the names of a header without case and without what stands around them."""
    return [name.strip(AROUND).casefold() for name in row]


def _check_names(names: Sequence[str]) -> None:
    """Raise ValueError if a column, or a key of JSON, occurs twice."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise ValueError(f"column {brief(name)} occurs twice.")


class JsonNumber(str):
    """A number of JSON, as it is written in the file."""


def _json_lines(path: Path, lines: TextIO) -> pd.DataFrame:
    """Read a table of JSON objects, one on each line."""

    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            _check_names([name for name, _ in pairs])
        return row

    def constant(name: str) -> JsonNumber | None:  # no JSON, but Python's module writes it
        return None if name == "NaN" else JsonNumber(name)

    parsers: Any = {"parse_int": JsonNumber, "parse_float": JsonNumber, "parse_constant": constant}
    decoder = json.JSONDecoder(object_pairs_hook=checked, **parsers)
    rows, blank = dict[int, dict[str, Any]](), 0
    for number, line in enumerate(lines, start=1):
        text = line.strip(BLANK)
        if not text:
            continue
        with located(path, number):
            try:
                row = decoder.decode(text)
            except (json.JSONDecodeError, RecursionError) as error:
                raise ValueError(f"{error}; expected a JSON object on each line.") from None
            if not isinstance(row, dict):
                raise ValueError(f"expected a JSON object, got {reprlib.repr(row)}.")
            "".join(row).encode()  # a ValueError if a name of a column is no text
        if all(value is None or not str(value).strip() for value in row.values()):
            blank += 1
        else:
            rows[number] = row
    names = {name for row in rows.values() for name in row}
    if len(names) > max(MAX_VARYING, *map(len, rows.values()), 0):
        raise UserError(f"{path}: {len(names)} different keys; expected the same in every row.")
    return _frame(path, rows, blank)
