"""Printed accuracies of methods, and the file in which a user has those of another paper."""

import re
import warnings
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from transferbench.errors import UserError, brief
from transferbench.messages import counted
from transferbench.user_files import check_files, read_table

#: Limits of a file: its suffixes, its size, and the largest numbers of documents and runs.
SUFFIXES = (".csv", ".tsv")
MAX_BYTES = 2**24
MAX_DOCUMENTS, MAX_RUNS = 999_999, 999
#: Columns that are no methods; `runs` may be missing.
KEYS = ("row", "documents", "runs")
#: Name of the finding about all methods together.
ALL = "all columns"
#: Texts of cells without a value.
NO_VALUE = ("", "-", "–", "—", "−", "n/a")
#: A number with up to four decimals, then perhaps a per cent sign; and perhaps its deviation.
NUMBER = r"([0-9]{1,3}(?:[.,][0-9]{1,4})?)\s*%?"
PER_CENT = re.compile(
    rf"\$?{NUMBER}\$?(?:\s*\$?(?:±|\+/?[-−]|\\pm)\$?\s*{NUMBER}|\s*\({NUMBER}\))?\$?"
)
#: A whole number, perhaps in groups of three digits, or with decimals of 0.
WHOLE = re.compile(r"[1-9][0-9]{0,5}(?:\.0)?|[1-9][0-9]{0,2}([.,'’ \u00a0\u2009\u202f])[0-9]{3}")
#: Name of a column that has the deviations of another one.
OF_DEVIATIONS = re.compile(r"(.+?)(?:\s*±|[ _]std|[ _]sd)", re.IGNORECASE)


@dataclass(frozen=True)
class PrintedColumn:
    """Printed accuracies of one method."""

    name: str
    #: The accuracies by row, as fractions.
    values: Mapping[str, float]
    #: Number of decimals of the fractions.
    decimals: int = 4
    #: Rows that have a printed standard deviation above 0.
    deviations: frozenset[str] = frozenset()
    #: True for a method that gives the same result in every run.
    fixed: bool = False
    #: Number of decimals of the fractions by row, where it differs.
    digits: Mapping[str, int] = field(default_factory=dict)
    #: Printed standard deviations by row, as units of their last decimal and decimals of the
    #: fraction.
    spreads: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def without(self, rows: Container[str]) -> Self:
        """Return the column without some rows."""
        left = {row: value for row, value in self.values.items() if row not in rows}
        return replace(self, values=left)

    def units(self, row: str) -> tuple[int, int]:
        """Return a value as units of its last decimal, and the decimals of the fraction."""
        decimals = self.digits.get(row, self.decimals)
        return round(self.values[row] * 10**decimals), decimals


@dataclass(frozen=True)
class PrintedTable:
    """A table of another paper."""

    columns: list[PrintedColumn]
    #: The stated number of scored documents by row.
    documents: Mapping[str, int]
    #: The stated number of runs that each value is the mean of, by row; rows without are left out.
    runs: Mapping[str, int]


def read_printed(path: Path) -> PrintedTable:
    """Return a user's table."""
    # The first line has the names row, documents and perhaps runs, and then those of the methods. A
    # column NAME ± (or std, sd) has deviations of the column NAME. Numbers are per cent as printed:
    # a comma may be decimal, deviations may follow after ± or in brackets, and cells may be empty
    # or have a dash. Numbers of documents may have separators of thousands, if they are not the
    # decimal sign of the file.
    check_files([path], MAX_BYTES, "printed accuracies")
    header, rows = read_table(path)
    names = [name.strip() for name in header]
    names = [name.casefold() if name.casefold() in KEYS else name for name in names]
    if len({*names}) < len(names) or not {"row", "documents"} <= {*names}:
        form = "expected the columns row and documents, and each method once"
        raise UserError(f"{path}:1: {form}; separate columns by a comma, semicolon or tab.")
    if ALL in names:
        raise UserError(f"{path}:1: expected another name than {ALL!r} for a method.")
    of_deviations = {
        name: match[1]
        for name in names
        if (match := OF_DEVIATIONS.fullmatch(name)) and match[1] in names
    }
    for name, base in of_deviations.items():
        if base in KEYS or base in of_deviations:
            form = "expected the deviations of a method"
            raise UserError(f"{path}:1: column {brief(name)}; {form}, {base} is none.")
    methods = [name for name in names if name not in KEYS and name not in of_deviations]
    lines = {line: dict(zip(names, map(str.strip, row), strict=True)) for line, row in rows.items()}
    of_methods = [text for texts in lines.values() for name, text in texts.items()
                  if name in methods or name in of_deviations]  # fmt: skip
    signs = {sign for sign in ".," if any(sign in text for text in of_methods)} or {"."}
    documents, runs = dict[str, int](), dict[str, int]()
    values: dict[str, dict[str, tuple[int, int]]] = {name: {} for name in methods}
    spreads: dict[str, dict[str, tuple[int, int]]] = {name: {} for name in methods}
    for line, texts in lines.items():
        place, row = f"{path}:{line}", texts.pop("row")
        if not row or row in documents:
            raise UserError(f"{place}: row {brief(row)}; expected the name of each row once.")
        documents[row] = _whole(place, "documents", texts["documents"], MAX_DOCUMENTS, signs)
        if texts.get("runs", "") not in NO_VALUE:
            runs[row] = _whole(place, "runs", texts["runs"], MAX_RUNS, signs)
        for name in methods:
            value, spread = _per_cent(place, name, texts[name])
            if value:
                values[name][row] = value
            if spread:
                spreads[name][row] = spread
        for name, method in of_deviations.items():
            spread, more = _per_cent(place, name, texts[name])
            if more or (spread and row in spreads[method]):
                raise UserError(f"{place}: {name}: a second deviation; expected one for a value.")
            if spread and row not in values[method]:
                raise UserError(f"{place}: {name}: a deviation without a value in {method}.")
            if spread:
                spreads[method][row] = spread
    values = {name: of_rows for name, of_rows in values.items() if of_rows}
    if not values:
        raise UserError(f"{path}: no per cent in it; expected a column for each method.")
    for name, of_rows in values.items():
        small = [u for u, d in of_rows.values() if d > 2 and 0 < u <= 10 ** (d - 2)]
        if small:
            shown = f"{name} has {counted(len(small), 'value')} of 1 or less"
            message = f"{path}: {shown}, and values are read as per cent; are they fractions?"
            warnings.warn(message, stacklevel=2)
    most = max(decimals for of_rows in values.values() for _, decimals in of_rows.values())
    columns = [_column(name, of_rows, spreads[name], most) for name, of_rows in values.items()]
    return PrintedTable(columns, documents, runs)


def _column(
    name: str,
    values: Mapping[str, tuple[int, int]],
    spreads: Mapping[str, tuple[int, int]],
    decimals: int,
) -> PrintedColumn:
    return PrintedColumn(
        name,
        {row: units / 10**digits for row, (units, digits) in values.items()},
        decimals,
        frozenset(row for row, (units, _) in spreads.items() if units),
        digits={row: digits for row, (_, digits) in values.items()},
        spreads=spreads,
    )


def _whole(place: str, name: str, text: str, largest: int, signs: Container[str]) -> int:
    """Return a whole number of a user's file, which may have separators of thousands."""
    match = WHOLE.fullmatch(text)
    number = int(re.sub(r"\.0$|\D", "", text)) if match else 0
    if not match or number > largest:
        raise UserError(
            f"{place}: {name} {brief(text)}; expected a whole number from 1 to {largest:,}; "
            "leave out rows of averages."
        )
    if match[1] and match[1] in signs:
        remedy = f"write {number} if it separates thousands"
        raise UserError(f"{place}: {name} {text!r}: {match[1]!r} may be decimal; {remedy}.")
    return number


def _per_cent(
    place: str, name: str, text: str
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return a value and its deviation, as units and decimals of the fraction; None for none."""
    if text in NO_VALUE:
        return None, None
    match = PER_CENT.fullmatch(text)
    numbers = [_units(number) for number in match.groups() if number] if match else []
    if not numbers or any(units > 10**decimals for units, decimals in numbers):
        form = "expected per cent from 0 to 100 with at most 4 decimals, such as 87.4 or 87.4 ± 2.1"
        raise UserError(f"{place}: {name} {brief(text)}; {form}.")
    return numbers[0], numbers[1] if len(numbers) > 1 else None


def _units(number: str) -> tuple[int, int]:
    """Return a number of per cent as units of its last decimal, and decimals of the fraction."""
    whole, _, rest = number.replace(",", ".").partition(".")
    return int(whole + rest), len(rest) + 2


def per_cent_text(units: int, decimals: int) -> str:
    """Return a number in per cent as it is printed; see `PrintedColumn.units`."""
    digits = max(decimals - 2, 0)
    return f"{units / 10 ** (decimals - 2):.{digits}f}"
