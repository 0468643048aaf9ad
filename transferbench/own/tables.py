"""Read tables: CSV, TSV and lines of JSON, and numbers in them.

Names of columns are compared without case, and rows whose values are all blank are skipped.
"""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

from transferbench.errors import MAX_LISTED, UserError, brief
from transferbench.messages import counted
from transferbench.own import dialect as dialects
from transferbench.own.dialect import (
    Dialect,
    decode,
    find_delimiter,
    named_delimiter,
    warn,
)
from transferbench.own.documents import ReadOptions
from transferbench.own.quoting import Span, is_regular, joined_rows, unquoted_rows

if TYPE_CHECKING:
    import pandas as pd

#: Suffixes of tables.
TABLES = (".csv", ".tsv", ".jsonl")
#: Largest number of columns of JSON rows that have different keys; in memory each row has all.
MAX_VARYING = 1000
#: The first line of CSV for Excel that names the separator.
SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)
#: Most rows of lines that a warning names.
MAX_NAMED = 5


@contextmanager
def located(path: Path, line: int) -> Iterator[None]:
    """Turn a ValueError of this block into a UserError with the file and the line."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{path}:{line}: {error}") from None


def read_table(path: Path, options: ReadOptions | None = None) -> pd.DataFrame:
    """Return the rows of a table that are not blank, indexed by line; warn of blank rows."""
    # Cells are texts or values of JSON. Numbers stay texts as they are written.
    # `options`: Options to read it; None for a table without columns of texts and labels.
    return read_with_dialect(path, options)[0]


def read_with_dialect(
    path: Path, options: ReadOptions | None = None
) -> tuple[pd.DataFrame, Dialect]:
    """Return the rows of a table as `read_table` does, and its dialect."""
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        raise UserError(f"{path}: unknown kind of table; expected {', '.join(TABLES)}.")
    lines, dialect = decode(path, options.encoding if options else "utf-8")
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


def column(path: Path, table: pd.DataFrame, name: str, *, needed: bool = True) -> list[Any]:
    """Return the values of a column."""
    # `name`: If only one column's name differs from it only in case or outer blanks, that column is
    # taken. In JSON, `doc.body` is the key `body` of the object `doc`; it is NaN where there is
    # none.
    # `needed`: If false and there is no such column, all values are None.
    if (header := _match(name, table)) is not None:
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
    more = ", …" if len(table.columns) > MAX_LISTED else ""
    listed = f"{', '.join(map(brief, table.columns[:MAX_LISTED]))}{more}"
    remedy = "name yours (--text-column, --label-column; of sources alone --source-text-column, "
    remedy += "--source-label-column)"
    if len(table.columns) == 1 and path.suffix.lower() != ".jsonl":
        remedy += ", or separate columns by a comma, semicolon or tab (another: --delimiter, of "
        remedy += "sources alone --source-delimiter)"
    raise UserError(f"{path}:1: no column {name!r} among {listed}; {remedy}.")


def _match(name: str, names: Iterable[str]) -> str | None:
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
    if (key := _match(path, value)) is not None:
        return value[key]
    ends = [match.start() for match in re.finditer(r"\.", path)]
    for end in reversed(ends):
        if (key := _match(path[:end], value)) is not None:
            return _nested(value[key], path[end + 1 :], name)
    return float("nan")


def _csv(
    path: Path, lines: TextIO, dialect: Dialect, options: ReadOptions | None
) -> tuple[pd.DataFrame, Dialect]:
    """Read a table of lines with separators."""
    # A file with tabs is read without quoting if only this makes each line a row; a warning says
    # so. For other files a warning names rows that seem to be several rows.
    head, start = lines.readline(), 0
    named = SEPARATOR_LINE.fullmatch(head)
    if named:  # for Excel; the table begins in the next line
        lines, start = io.StringIO(lines.read(), newline=""), 1
        head = lines.readline()
    quoting = options.quoting if options else "auto"
    if options and options.delimiter:
        delimiter = named_delimiter(options.delimiter)
    elif named:
        delimiter = named[1]
    else:
        wanted = (options.text, options.label) if options else ()
        suffix = path.suffix.lower()
        delimiter = find_delimiter(head, suffix, wanted, quoted=quoting != "none")
    line_end = head[len(head.rstrip("\r\n")) :] or "\n"
    dialect = replace(dialect, delimiter=delimiter, line_end=line_end, quoted=quoting != "none")
    columns = head.count(delimiter) + 1
    unquoted_tabs = quoting == "auto" and delimiter == "\t" and columns > 1
    try:
        table = _CsvTable.read(lines, dialect)
        joined = []
        if quoting == "auto" and table.spans:
            joined = joined_rows(table.rows, table.spans, delimiter, lines)
        regular = bool(joined) and is_regular(lines, delimiter, columns)
    except _CsvError as error:
        regular = (
            error.fault != "header" and dialect.quoted and is_regular(lines, delimiter, columns)
        )
        if not (regular and unquoted_tabs):
            raise UserError(f"{path}:{error.message(dialect, regular, columns, start)}") from None
        joined = [(error.first, error.last)]
    if joined:
        first, last = (line + start for line in joined[0])
        several = f", and {counted(len(joined) - 1, 'more group')} of lines" if joined[1:] else ""
        if regular and unquoted_tabs:
            dialect = replace(dialect, quoted=False)
            table = _CsvTable.read(lines, dialect)
            joins = f"quoting would join lines {first} to {last}{several}"
            if first == last:
                joins = f"with quoting line {first} is no row"
            remedy = "if quotes enclose values, use --quoting minimal"
            warn(f"{path}: quotes were read as characters: {joins}; {remedy}")
        else:
            remedy = f"correct the quotes of lines {first} and {last}"
            if regular:
                remedy = "if quotes are characters of the texts, use --quoting none"
            joins = (
                f"quotes join lines {first} to {last}{several}, which look like rows, to one row"
            )
            joins += " each" if several else ""
            lost = sum(last - first for first, last in joined)
            joins += f"; {counted(lost, 'row')} {'is' if lost == 1 else 'are'} lost"
            warn(f"{path}: {joins}; {remedy}; if they enclose a value, use --quoting minimal")
    return table.frame(path, start), dialect


Fault = Literal["open", "after", "long", "columns", "header"]


class _CsvError(ValueError):
    """A row that is no CSV, with its first and last line, counted from the names of the columns."""

    # `fault`: "open" if a quote is not closed, "after" if a character follows a closing quote,
    # "long" if a value is too long, "columns" if the number of columns differs from that of the
    # first line, and "header" if the first line differs.

    def __init__(self, fault: Fault, first: int, last: int, text: str) -> None:
        super().__init__(text)
        self.fault, self.first, self.last = fault, first, last

    @classmethod
    def of_lines(cls, lines: TextIO, delimiter: str, first: int, last: int) -> Self:
        """Return the error of a row that Python's `csv` refuses."""
        # The texts of Python's errors may change, so the cause is searched in the lines.
        lines.seek(0)
        row = [*islice(lines, first - 1, last)]
        try:
            # Quotes may be wrong here, so that only a limit is an error. An open one takes the
            # blank line, too.
            is_open = len([*csv.reader([*row, ""], delimiter=delimiter)]) == 1
        except csv.Error:
            text = f"a value of more than {csv.field_size_limit():,} characters"
            return cls("long", first, last, text)
        if is_open and not lines.readline():
            return cls("open", first, last, "a quote opens in this row and is not closed")
        return cls("after", first, last, f"{delimiter!r} expected after '\"'")

    def message(self, dialect: Dialect, regular: bool, columns: int, start: int) -> str:
        """Return the message; it begins with the number of the line."""
        # `columns`: Number of columns without quoting.
        text, line, delimiter = str(self), self.last + start, dialect.delimiter
        if self.fault == "open":
            line = self.first + start
        elif self.first < self.last:
            text += f" in the row that begins in line {self.first + start}"
        if self.fault == "header":
            remedy = "give the files separately"
        elif columns == 1 and self.fault == "columns" and dialect.quoted:
            remedy = f"put values that contain {delimiter!r} in '\"', "
            remedy += "or name --quoting none if each line is one text"
        elif regular:
            remedy = "name --quoting none if quotes are characters of the texts"
        elif not dialect.quoted:
            remedy = f"without quoting no value can contain {delimiter!r} or line ends"
        elif self.fault == "long":
            remedy = "correct its quotes, or split the document"
        elif self.fault in ("open", "after"):
            remedy = "put a value with quotes in '\"', and double each quote in it"
        else:
            remedy = f"put values that contain {delimiter!r} or line ends in '\"'"
        return f"{line}: {text}; {remedy}."


@dataclass(frozen=True)
class _CsvTable:
    """Rows of a table with separators."""

    header: list[str]
    #: Values of rows that are not blank, by last line.
    rows: dict[int, list[str]]
    #: First and last line of each row on several lines, by last line.
    spans: dict[int, Span]
    blank: int
    #: Lines that repeat the header.
    repeated: list[int]

    @classmethod
    def read(cls, lines: TextIO, dialect: Dialect) -> Self:
        """Read the rows from the first line on."""
        limit = csv.field_size_limit(dialects.MAX_LINE)
        lines.seek(0)
        delimiter = dialect.delimiter
        reader: Any = csv.reader(lines, delimiter=delimiter, strict=True)
        source = reader if dialect.quoted else unquoted_rows(lines, delimiter)
        header: list[str] = []
        folded, starts = list[str](), set[str]()
        rows, spans = dict[int, list[str]](), dict[int, Span]()
        last, blank, repeated = 0, 0, list[int]()
        try:
            for number, row in enumerate(source, start=1):
                first, last = last + 1, reader.line_num if dialect.quoted else number
                if not row:
                    continue
                if not header:
                    header = row
                    # Files that were joined may have a byte order mark before their first line. A
                    # row may have the numbers that are the names of columns.
                    if len(row) > 1 and any(map(str.isalpha, "".join(row))):
                        folded = [name.strip().casefold() for name in row]
                        starts = {*folded, f"\ufeff{folded[0]}"}
                    continue
                if not "".join(row).strip():
                    blank += 1
                    continue
                if len(row) != len(header):
                    row = _fitted(row, header, first, last)
                if row[0].strip().casefold() in starts:
                    row_names = [row[0].removeprefix("\ufeff"), *row[1:]]
                    names = [name.strip().casefold() for name in row_names]
                    if names == folded:
                        repeated.append(last)
                        continue
                    if sorted(names) == sorted(folded):
                        text = "another header, as of joined files, in another order"
                        raise _CsvError("header", first, last, text)
                rows[last] = row
                if first < last:
                    spans[last] = first, last
        except csv.Error:
            raise _CsvError.of_lines(lines, delimiter, last + 1, reader.line_num) from None
        finally:
            csv.field_size_limit(limit)
        return cls(header, rows, spans, blank, repeated)

    def frame(self, path: Path, start: int) -> pd.DataFrame:
        """Return the table without columns of neither name nor value; warn of skipped rows."""
        # One column with values may have no name, as in tables of pandas with their index. If there
        # are more such columns, they get the names that pandas gives.
        header = [*self.header]
        dropped, late = set[int](), set[int]()
        named = next((j for j, name in enumerate(header) if name.strip()), 0)
        has_unnamed = False
        for j in [j for j, name in enumerate(header) if not name.strip()]:
            filled = [line for line, row in self.rows.items() if row[j].strip()]
            if not filled:
                dropped.add(j)
                has_unnamed |= not header[j]
                continue
            header[j] = f"Unnamed: {j}" if has_unnamed else ""
            has_unnamed = True
            late.update(filled if j > named else ())
        if late:
            rows = f"{counted(len(late), 'row')}, first in line {min(late) + start}"
            remedy = "quote values that contain separators, or name the columns in the first line"
            fault = "columns without a name have values that are not read as texts"
            warn(f"{path}: {fault} ({rows}); {remedy}")
        if self.repeated:
            where = ", ".join(str(line + start) for line in self.repeated[:MAX_NAMED])
            more = ", …" if len(self.repeated) > MAX_NAMED else ""
            warn(f"{path}: the first line is repeated in line {where}{more} and skipped there")
        kept = [j for j in range(len(header)) if j not in dropped]
        with located(path, 1 + start):
            _check_names([header[j] for j in kept])
        lines = {line + start: row for line, row in self.rows.items()} if start else self.rows
        if dropped:
            lines = {line: [row[j] for j in kept] for line, row in lines.items()}
        return _frame(path, lines, self.blank, [header[j] for j in kept])


def _fitted(row: list[str], header: Sequence[str], first: int, last: int) -> list[str]:
    """Return a row as long as the header, if only blank values are missing or too many."""
    # A missing value counts as blank if its column has no name. Raise _CsvError for other rows.
    n = len(header)
    if any(map(str.strip, [*row[n:], *header[len(row) :]])):
        text = f"{len(row)} columns, but the first line has {n}"
        raise _CsvError("columns", first, last, text)
    return [*row[:n], *[""] * (n - len(row))]


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
        text = line.strip(" \t\r\n")
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
