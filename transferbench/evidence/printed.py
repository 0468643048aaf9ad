"""Printed numbers of methods, and the file in which a user has those of another paper."""

import math
import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from transferbench.errors import UserError, brief
from transferbench.evidence.grim import Number
from transferbench.evidence.triples import MAX_LABELS, Triple
from transferbench.user_files import check_files, read_table

#: Limits of a file: its suffixes, its size, and the largest numbers of documents and runs.
SUFFIXES = (".csv", ".tsv")
MAX_BYTES = 2**20
MAX_DOCUMENTS, MAX_RUNS = 999_999, 999
LARGEST = {"documents": MAX_DOCUMENTS, "runs": MAX_RUNS, "labels": MAX_LABELS}
#: Before the number of runs that a value is the median of.
MEDIAN = "median of "
#: Most decimals of a fraction; per cent have two fewer.
MAX_DECIMALS = 6
#: What is stated of values: by a column for each row, or by a row for each column.
STATED = ("documents", "runs", "measure", "labels", "set")
#: Names of rows and columns that have averages of the others.
AVERAGES = ("average", "avg", "avg.", "mean")
#: Measures that are shares of documents.
SHARES = ("accuracy", "error")
#: Measures of documents with several labels, which are judged together.
TRIPLE = ("f1", "accuracy", "hamming loss")
#: Name of the finding about all columns together.
ALL = "all columns"
#: Texts of cells without a value.
NO_VALUE = ("", "-", "–", "—", "−", "n/a")
#: A number with up to six decimals, then perhaps a per cent sign; and perhaps its deviation.
NUMBER = r"([0-9]{1,3}(?:[.,][0-9]{1,6})?|[.,][0-9]{1,6})\s*%?"
VALUE = re.compile(
    rf"\$?{NUMBER}\$?(?:\s*\$?(?:±|\+/?[-−]|\\pm)\$?\s*{NUMBER}|\s*\({NUMBER}\))?\$?"
)
#: A whole number, perhaps in groups of three digits, or with decimals of 0.
WHOLE = re.compile(r"[1-9][0-9]{0,5}(?:\.0)?|[1-9][0-9]{0,2}([.,'’ \u00a0\u2009\u202f])[0-9]{3}")
#: Name of a column that has the deviations of another one.
OF_DEVIATIONS = re.compile(r"(.+?)(?:\s*±|[ _]std|[ _]sd)", re.IGNORECASE)

Key = TypeVar("Key")


@dataclass(frozen=True)
class PrintedCell:
    """A printed value, and what is stated of it."""

    row: str
    column: str
    value: Number
    deviation: Number | None = None
    #: Number of scored documents in each run; None if it is not known.
    documents: int | None = None
    #: Number of runs that the value is of; None if it is not stated.
    runs: int | None = None
    #: True if the value is the median of the runs, and not their mean.
    median: bool = False
    #: What the value measures; one of SHARES is a share of documents.
    measure: str = SHARES[0]
    #: Source of the number of documents.
    source: str = "stated"
    #: Number of labels, if documents can have several; None if they have one.
    labels: int | None = None

    @property
    def is_share(self) -> bool:
        """True if the value is a share of documents."""
        return self.labels is None and self.measure.casefold() in SHARES

    @property
    def is_average(self) -> bool:
        """True if it is in a row or a column of averages."""
        return _is_average(self.row) or _is_average(self.column)


class PrintedAverage(NamedTuple):
    """A printed average, and the cells that it is of."""

    average: PrintedCell
    cells: Sequence[PrintedCell]


class PrintedTriple(NamedTuple):
    """A method's printed F1, accuracy and Hamming loss on documents with several labels."""

    set: str
    method: str
    triple: Triple
    labels: int
    #: Label density of the documents; NaN if it is not known.
    density: float = math.nan


class PrintedTable(NamedTuple):
    """A table of another paper."""

    cells: list[PrintedCell]
    averages: list[PrintedAverage]
    triples: Sequence[PrintedTriple] = ()

    @property
    def unit(self) -> str:
        """The unit of the printed values."""
        values = [*(c.value for c in self.cells), *(t.triple.f1 for t in self.triples)]
        return "per cent" if any(value.shift for value in values) else "fractions"


def read_printed(path: Path) -> PrintedTable:
    """Return a user's table."""
    check_files([path], MAX_BYTES, "printed numbers")
    lines, of_columns, columns = _texts(path)

    def stated(key: str, line: int, column: str) -> str:
        texts = lines[line].get(key, ""), of_columns.get(key, {}).get(column, "")
        return next((text for text in texts if text not in NO_VALUE), "")

    texts = {
        (line, column): of_line[column]
        for line, of_line in lines.items()
        for column in columns
        if of_line[column] not in NO_VALUE
    }
    if not texts:
        raise UserError(f"{path}: no numbers in it; expected a column for each method.")
    about = {place: {key: stated(key, *place) for key in STATED} for place in texts}
    for of in about.values():
        of["measure"] = of["measure"] or SHARES[0]
    judged = {p for p, of in about.items() if of["labels"] or of["measure"].casefold() in SHARES}
    numbers = _numbers(path, texts, judged)
    signs = {sign for sign in ".," if any(sign in text for text in texts.values())} or {"."}
    cells = dict[tuple[int, str], PrintedCell]()
    sets = dict[tuple[str, str], list[PrintedCell]]()
    for (line, column), (value, deviation) in numbers.items():
        place, of = f"{path}:{line}", about[line, column]
        cell = PrintedCell(lines[line]["row"], column, value, deviation, measure=of["measure"])
        if of["labels"]:
            cell = replace(cell, labels=_whole(place, "labels", of["labels"], signs))
            if key := next((key for key in ("documents", "runs") if of[key]), ""):
                form = "expected only labels"
                raise UserError(f"{place}: {key} beside labels; {form}; remove {key}.")
            if cell.is_average:
                raise UserError(f"{place}: average beside labels; expected none; remove it.")
            method = cell.row if of_columns.get("measure") else column
            sets.setdefault((of["set"], method), []).append(cell)
            continue
        if of["set"]:
            form = "expected the number of labels beside it"
            raise UserError(f"{place}: set without labels; {form}.")
        documents, runs = of["documents"].casefold(), of["runs"].casefold()
        if not cell.is_average and (documents or cell.is_share):
            cell = replace(cell, documents=_whole(place, "documents", documents, signs))
        if not cell.is_average and runs:
            number = _whole(place, "runs", runs.removeprefix(MEDIAN), signs)
            cell = replace(cell, runs=number, median=runs.startswith(MEDIAN))
        cells[line, column] = cell
    triples, parts = list[PrintedTriple](), list[PrintedCell]()
    for (name, method), of_set in sets.items():
        if triple := _triple(path, name, method, of_set):
            triples.append(triple)
        else:  # a measure has no value
            parts += [replace(cell, measure="an incomplete triple") for cell in of_set]
    averages = []
    for line, others in _averages({line: texts["row"] for line, texts in lines.items()}):
        averages += [((line, column), [(n, column) for n in others]) for column in columns]
    for column, names in _averages({name: name for name in columns}):
        of_rows = [line for line in lines if not _is_average(lines[line]["row"])]
        averages += [((line, column), [(line, name) for name in names]) for line in of_rows]
    return PrintedTable(
        [*(cell for cell in cells.values() if not cell.is_average), *parts],
        [
            PrintedAverage(cells[average], of_cells)
            for average, places in averages
            if average in cells and (of_cells := [cells[p] for p in places if p in cells])
        ],
        triples,
    )


def _triple(
    path: Path, name: str, method: str, cells: Sequence[PrintedCell]
) -> PrintedTriple | None:
    """Return the triple of a method on a set of documents with several labels, None if in part."""
    values = {cell.measure.casefold(): cell.value for cell in cells}
    of = f"{path}: {method}{f' on {name}' * bool(name)}"
    if len(values) < len(cells) or not values.keys() <= {*TRIPLE}:
        found = ", ".join(cell.measure for cell in cells)
        form = f"measures {found}; expected F1, accuracy and Hamming loss, once each, beside labels"
        raise UserError(f"{of}: {form}; give rows of several sets of documents a column named set.")
    if len({cell.labels for cell in cells}) > 1:
        raise UserError(f"{of}: other labels on each row; expected one number for a set.")
    if len(values) < len(TRIPLE):
        return None
    triple = Triple(*(values[measure] for measure in TRIPLE))
    return PrintedTriple(name, method, triple, cells[0].labels or 0)


def _is_average(name: str) -> bool:
    return name.casefold() in AVERAGES


def _averages(names: Mapping[Key, str]) -> Iterator[tuple[Key, list[Key]]]:
    """Yield each average with the others since the last average, or if there are none, with all."""
    since = list[Key]()
    for key, name in names.items():
        if _is_average(name):
            yield key, since or [other for other in names if not _is_average(names[other])]
            since = []
        else:
            since.append(key)


def _texts(path: Path) -> tuple[dict[int, dict[str, str]], dict[str, dict[str, str]], list[str]]:
    """Return the texts of each line by column, of each row of STATED, and the names of columns."""
    # A column NAME ± (or std, sd) has deviations of the column NAME; they are put after its values.
    header, rows = read_table(path)
    names = [_name(name) for name in header]
    bases = {name: match[1] for name in names if (match := OF_DEVIATIONS.fullmatch(name))}
    bases = {name: base for name, base in bases.items() if base in names}
    columns = [name for name in names if name not in ("row", *STATED, *bases)]
    if len({*names}) < len(names) or "row" not in names or ALL in names:
        form = f"expected a column row, each column once, and none named {ALL!r}"
        raise UserError(f"{path}:1: {form}; separate columns by a comma, semicolon or tab.")
    for name, base in bases.items():
        if base not in columns:
            form = "expected the deviations of a method"
            raise UserError(f"{path}:1: column {brief(name)}; {form}, {base} is none.")
    lines, of_columns, seen = dict[int, dict[str, str]](), dict[str, dict[str, str]](), set[str]()
    for line, row in rows.items():
        texts = dict(zip(names, map(str.strip, row), strict=True))
        for name, base in bases.items():
            if texts[name] not in NO_VALUE:
                texts[base] += f" ± {texts[name]}"
        name = _name(texts["row"])
        if not name or name in seen:
            form = "expected the name of each row once"
            raise UserError(f"{path}:{line}: row {brief(name)}; {form}.")
        if name in STATED:
            of_columns[name] = texts
        else:
            lines[line] = texts
        if not _is_average(name):
            seen.add(name)
    return lines, of_columns, columns


def _name(text: str) -> str:
    """Return the name of a row or a column; that of what is stated is in small letters."""
    name = text.strip()
    return name.casefold() if name.casefold() in ("row", *STATED) else name


def _numbers(
    path: Path, texts: Mapping[tuple[int, str], str], judged: Collection[tuple[int, str]]
) -> dict[tuple[int, str], tuple[Number, Number | None]]:
    """Return each value, and its deviation if it has one."""
    # `judged`: The values that are shares. They are fractions if all are at most 1 and none has a
    # per cent sign, else they are per cent.
    parts = {}
    for place, text in texts.items():
        match = VALUE.fullmatch(text)
        parts[place] = [part.replace(",", ".") for part in match.groups() if part] if match else []
    per_cent = any("%" in texts[p] or (parts[p] and float(parts[p][0]) > 1) for p in judged)
    numbers, shift = {}, 2 if per_cent else 0
    for place, text in texts.items():
        found = []
        for part in parts[place]:
            whole, _, rest = part.partition(".")
            found.append(Number(int(whole + rest), len(rest) + shift, shift))
        in_range = all(n.value <= 1 and n.decimals <= MAX_DECIMALS for n in found)
        wrong = ""
        if not found or (place in judged and not in_range):
            wrong = (
                "expected per cent from 0 to 100 with at most 4 decimals, such as 87.4 or "
                "87.4 ± 2.1, or fractions up to 1 in the whole file"
            )
        elif place in judged and per_cent and "%" not in text and 0 < float(parts[place][0]) <= 1:
            wrong = "other values are per cent; expected only per cent or only fractions; write "
            wrong += f"{parts[place][0]}% if it is per cent, and a fraction as per cent"
        if wrong:
            raise UserError(f"{path}:{place[0]}: {place[1]} {brief(text)}; {wrong}.")
        numbers[place] = found[0], found[1] if len(found) > 1 else None
    return numbers


def _whole(place: str, key: str, text: str, signs: Container[str]) -> int:
    """Return a whole number of a user's file, which may have separators of thousands."""
    # `signs`: The decimal signs of the file. They separate no thousands.
    match, largest = WHOLE.fullmatch(text), LARGEST[key]
    number = int(re.sub(r"\.0$|\D", "", text)) if match else 0
    if not match or number > largest:
        form = f"expected a whole number from 1 to {largest:,} here or in a row named {key}"
        form += ", or labels if documents can have several" * (key == "documents" and not text)
        raise UserError(f"{place}: {key} {brief(text)}; {form}.")
    if match[1] and match[1] in signs:
        remedy = f"write {number} if it separates thousands"
        raise UserError(f"{place}: {key} {text!r}: {match[1]!r} may be decimal; {remedy}.")
    return number
