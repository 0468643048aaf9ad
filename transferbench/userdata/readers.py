"""Read a user's documents from tables and matrices, or refuse a file in one line.

.csv .tsv .jsonl .parquet   tables with a text and a label for each document; names of columns are
                            compared without case, and rows whose values are all blank are skipped
.svm .svmlight .libsvm      lines "<label> <feature>:<number> …", features ascending; the label is a
                            text without blanks and colons, "?" for no label; # starts a comment at
                            the start of a line, after a blank or after a number
NAME.npz                    a matrix written by `scipy.sparse.save_npz`; its labels are in
                            NAME.labels.txt, one a line

A label is the text that the file has, character for character; a blank one is none.
"""

import codecs
import csv
import functools
import json
import os
import re
import reprlib
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.errors import MAX_LISTED, UserError, brief, unknown
from transferbench.files import open_regular
from transferbench.messages import CONTROL, install_hint, reason
from transferbench.problem import canonical
from transferbench.userdata.documents import (
    MATRICES,
    Documents,
    DomainFiles,
    Labels,
    Reading,
    check_kind,
    labels_file,
)

#: Rows or columns of a matrix.
MAX_SIDE = 2**24
#: A line of SVMlight, and the label of one without a label.
NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
LINE = re.compile(rf"([^\s:#][^\s:]*)((?:\s+[0-9]{{1,9}}:{NUMBER})*)\s*(?:#.*)?", re.ASCII)
UNKNOWN = "?"
#: Number of a line (or row), and its values by column.
Rows = Iterator[tuple[int, dict[str, Any]]]


def read_domain(
    domain: DomainFiles, reading: Reading = Reading(), labels: Labels = "none"
) -> Documents:
    """Read the documents of all files of a domain.

    Raises
    ------
    UserError
        As `read` does, and for files of several kinds.
    """
    parts = [read(file, reading, labels) for file in domain.files]
    check_kind(parts)
    texts, with_ids = parts[0].kind == "texts", any(part.ids for part in parts)
    return Documents(
        domain.path,
        [text for part in parts for text in part.content] if texts else stack(parts),
        [label for part in parts for label in part.labels],
        [id_ for part in parts for id_ in part.ids or [""] * len(part)] if with_ids else None,
        domain.name,
        tuple((part.path, len(part)) for part in parts),
    )


def read(path: Path, reading: Reading = Reading(), labels: Labels = "none") -> Documents:
    """Read the documents of a CSV, TSV, JSONL, Parquet, SVMlight or npz file.

    The file passed `check_files`.

    Raises
    ------
    UserError
        For one that cannot be read, with the line at fault if there is one.
    """
    suffix = path.suffix.lower()
    if suffix in TABLES:
        documents = _table(path, reading, labels)
    elif suffix in MATRICES:
        read_matrix = _npz if suffix == ".npz" else _svmlight
        X, names = read_matrix(path, labels, reading.encoding)
        documents = Documents(path, _checked(X, path), names)
    else:
        kinds = ", ".join([*TABLES, *MATRICES])
        raise UserError(f"{path}: unknown kind of file; expected {kinds}.")
    if not documents.labels:
        raise UserError(f"{path}: there are no documents in it.")
    return documents


@contextmanager
def _at(path: Path, line: int) -> Iterator[None]:
    """Turn a ValueError of this block into a UserError with the file and the line (or row)."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{path}:{line}: {error}") from None


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers and lines of a file; one that starts with UTF-8's mark is UTF-8.

    Raise UserError for an encoding that is unknown or not by lines, and bytes that are not of it.
    """
    try:
        by_lines = "a\n".encode(encoding) == b"a\n"
    except LookupError:
        by_lines = False
    if not by_lines:
        expected = "expected one such as utf-8, cp1252 or shift_jis"
        raise UserError(f"encoding {brief(encoding)}: {expected}; save the file in UTF-8.")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1 and line.startswith(codecs.BOM_UTF8):
                line, encoding = line.removeprefix(codecs.BOM_UTF8), "utf-8"
            try:
                yield number, line.decode(encoding)
            except UnicodeDecodeError as error:
                place = f"{path}:{number}: byte {error.start + 1} is not {encoding.upper()}"
                remedy = "name the encoding (Excel: --encoding cp1252), or save it in UTF-8"
                raise UserError(f"{place}; {remedy}.") from None


def _name(value: object, column: str) -> str:
    """Return a label or id as it is written, "" for none. Raise ValueError for another value."""
    if value is None or value != value:  # NaN means none, too
        return ""
    if not isinstance(value, str | bool | int | float):
        raise ValueError(f"{column}: expected a text or a number, got {reprlib.repr(value)}.")
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # Parquet has integers beside a null as 1.0
    text = str(value) if isinstance(value, str) else json.dumps(value)
    if CONTROL.search(text):
        raise ValueError(f"{column}: {ascii(text)[:60]} has control characters; remove them.")
    return text if text.strip() else ""


def _label(value: object, column: str, labels: Labels) -> str:
    """Return a label, "" for none. Raise ValueError as `_name` does, and for one that is needed."""
    label = "" if labels == "none" else _name(value, column)
    if labels == "all" and not label:
        raise ValueError("no label; every document of a source needs one.")
    return label


def _table(path: Path, reading: Reading, labels: Labels) -> Documents:
    """Read the texts, labels and ids of the documents of a table.

    Labels and ids are texts or numbers; null and blanks mean none. Raise UserError, with the line
    at fault, for a missing column, a value of another type or a missing label.
    """
    needed = [reading.text]
    if labels == "all":
        needed.append(reading.label)
    elif reading.id:  # ids of sources are not used
        needed.append(reading.id)
    texts, names, ids = list[str](), list[str](), list[str]()
    id_column = reading.id or "id"
    for line, row in rows(path, needed, ("id", reading.label), reading.encoding):
        with _at(path, line):
            text = "" if row[reading.text] is None else row[reading.text]
            if not isinstance(text, str) or isinstance(text, Number):
                raise ValueError(f"{reading.text}: expected text, got {reprlib.repr(text)}.")
            texts.append(text)
            names.append(_label(row.get(reading.label), reading.label, labels))
            ids.append(_name(row.get(id_column), id_column))
    return Documents(path, texts, names, ids if any(ids) else None)


def with_labels(
    domains: Sequence[Documents],
    path: Path,
    reading: Reading = Reading(),
    classes: Collection[str] = (),
) -> list[Documents]:
    """Return the documents with the labels of a table that has their file, row and label.

    A blank label changes nothing. The table is in UTF-8, as it was written, or in the encoding of
    the documents.

    Parameters
    ----------
    classes
        The labels that there may be; with none, any.

    Raises
    ------
    UserError
        If all are blank, or for a row that is there twice, with a label that is none of the
        classes, without a document in the domains, or with another text.
    """
    encoding = reading.encoding
    with open_regular(path) as stream, suppress(UnicodeDecodeError):
        stream.read().decode()
        encoding = "utf-8"
    labelled = {}
    needed = "file", "row", reading.label
    for line, row in rows(path, needed, (reading.text,), encoding):
        with _at(path, line):
            name, at, label = (_name(row[column], column) for column in needed)
            if label and classes and label not in classes:
                raise ValueError(f"{unknown('label', label, classes)}")
            place = os.path.realpath(name), at
            if label and place in labelled:
                raise ValueError(f"row {at} is there twice in {name}.")
            if label:
                labelled[place] = line, label, row.get(reading.text)
    if not labelled:
        raise UserError(f"{path}: its column `{reading.label}` is empty; fill it in.")
    changed = []
    for documents in domains:
        labels, texts = list(documents.labels), documents.content
        for i, (file, number) in enumerate(documents.rows()):
            place = os.path.realpath(file), f"{number}"
            line, labels[i], text = labelled.pop(place, (0, labels[i], ""))
            with _at(path, line):
                if text and isinstance(texts, Sequence) and not _same(text, texts[i]):
                    raise ValueError(f"row {number} has another text now in {file}; label anew.")
        changed.append(replace(documents, labels=labels))
    for (name, at), (line, *_) in labelled.items():
        with _at(path, line):
            raise ValueError(f"row {at} of {name} is no document of a target; name its --target.")
    return changed


def _same(saved: object, text: object) -> bool:
    """True if letters and digits are equal: spreadsheets change others, and cut at 32,767."""
    part, whole = (re.sub(r"\W+", "", str(each)) for each in (saved, text))
    return part == whole or (len(str(saved)) > 32_000 and whole.startswith(part))


def numbers(path: Path, *, binary: bool = False) -> tuple[list[str], np.ndarray]:
    """Return the names of the columns and the numbers (n, d) of a table.

    Parameters
    ----------
    binary
        All numbers are 0 or 1.

    Raises
    ------
    UserError
        With the line at fault, for anything but finite numbers of 0 or more.
    """
    import pandas as pd

    table = pd.DataFrame.from_dict(dict(rows(path)), orient="index")
    if table.empty:
        raise UserError(f"{path}: there are no documents in it.")
    values = table.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    right = np.isin(values, (0, 1)) if binary else (values >= 0) & np.isfinite(values)
    if not right.all():
        line = table.index[~right.all(axis=1)][0]
        expected = "0 or 1 everywhere" if binary else "finite numbers of at least 0"
        raise UserError(f"{path}:{line}: expected {expected}.")
    return [*table], values


def rows(
    path: Path,
    needed: Sequence[str] = (),
    optional: Sequence[str] = (),
    encoding: str = "utf-8",
) -> Rows:
    """Yield number and values of each row that is not blank; warn of the number of blank ones.

    A named column that a row lacks has the value of the only one of that name in another case.

    Raises
    ------
    UserError
        For a file in another format or a row without a needed column, with the line at fault.
    """

    @functools.cache
    def in_another_case(names: tuple[str, ...]) -> dict[str, str]:
        """Return for each named column that is not there the only one that differs in case."""
        found = {}
        for column in {*needed, *optional}.difference(names):
            same = [name for name in names if name.casefold() == column.casefold()]
            if len(same) == 1:
                found[column] = same[0]
        return found

    blank = 0
    read_rows = _reader(path)
    for line, row in read_rows(path, [*needed, *optional], encoding):
        if _is_blank(row):
            blank += 1
            continue
        names = [*row]
        others = in_another_case((*names,))
        row |= {column: row[name] for column, name in others.items()}
        for column in needed:
            if column not in row:
                at = 1 if read_rows is _csv else line  # the header
                flags = "--text-column, --label-column, --id-column"
                more = ", …" if len(names) > MAX_LISTED else ""
                other = ", or separate columns by a comma, semicolon or tab" * (len(names) == 1)
                listed = f"{', '.join(map(brief, names[:MAX_LISTED]))}{more}"
                raise UserError(
                    f"{path}:{at}: no column {column!r} among {listed}; name yours ({flags})"
                    f"{other}."
                )
        yield line, row
    if blank:
        warnings.warn(f"{path}: {blank} blank rows are skipped", stacklevel=2)


def whole_rows(path: Path, encoding: str = "utf-8") -> Iterator[dict[str, Any]]:
    """Yield all values of each row that is not blank, as `rows` numbers them."""
    for _, row in _reader(path)(path, (), encoding):
        if not _is_blank(row):
            yield row


def _is_blank(row: dict[str, Any]) -> bool:
    return all(value is None or not str(value).strip() for value in row.values())


def _reader(path: Path) -> "Reader":
    """Return the function that reads a table. Raise UserError for another file."""
    read_rows = TABLES.get(path.suffix.lower())
    if not read_rows:
        raise UserError(f"{path}: unknown kind of table; expected {', '.join(TABLES)}.")
    return read_rows


def _check_names(names: Collection[str]) -> None:
    """Raise ValueError if a column, or a key of JSON, occurs twice."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise ValueError(f"column {brief(name)} occurs twice.")


def _csv(path: Path, wanted: Collection[str], encoding: str) -> Rows:
    csv.field_size_limit(2**31 - 1)
    _, head = next(_lines(path, encoding), (1, ""))

    def columns(delimiter: str) -> tuple[int, int]:
        """Return the numbers of wanted columns, and of all, if this is the separator."""
        try:
            names = {name.casefold() for name in next(csv.reader([head], delimiter=delimiter), [])}
        except csv.Error:  # reported below
            return 0, 0
        return len(names & {name.casefold() for name in wanted}), len(names)

    # Spreadsheets write ; where the comma is decimal.
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    delimiter = max((usual, ";", "\t", ","), key=columns)
    lines = (text for _, text in _lines(path, encoding))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    try:
        for row in filter(None, reader):
            if header and not "".join(row).strip():
                yield reader.line_num, {}
                continue
            with _at(path, reader.line_num):
                if not header:
                    _check_names(row)
                    header = row
                    continue
                if len(row) != len(header):
                    counts = f"{len(row)} columns, but the first line has {len(header)}"
                    raise ValueError(f"{counts}; quote values that contain {delimiter!r}.")
            yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        message = f"{error}; expected CSV, quoted by '\"'."
        raise UserError(f"{path}:{reader.line_num}: {message}") from None


class Number(str):
    """A number of JSON as it is written: of 1e2 and 100 neither changes."""


def _json_lines(path: Path, wanted: Collection[str], encoding: str) -> Rows:
    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _check_names([name for name, _ in pairs])
        return dict(pairs)

    for number, line in _lines(path, encoding):
        if not line.strip():
            continue
        with _at(path, number):
            try:
                row = json.loads(
                    line, object_pairs_hook=checked, parse_int=Number, parse_float=Number
                )
            except (json.JSONDecodeError, RecursionError) as error:
                raise ValueError(f"{error}; expected a JSON object on each line.") from None
            if not isinstance(row, dict):
                raise ValueError(f"expected a JSON object, got {reprlib.repr(row)}.")
        yield number, row


def _parquet(path: Path, wanted: Collection[str], encoding: str) -> Rows:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        remedy = f"{install_hint('parquet')}, or save the table as CSV"
        raise UserError(f"{path}: Parquet is read by pyarrow; {remedy}.") from None
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            with _at(path, 1):
                _check_names(names)
            table = file.read().to_pylist()
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise UserError(f"{path}: cannot be read as Parquet ({reason(error)}).") from None
    yield from enumerate(table, start=1)


#: Yields the rows of a file in an encoding; the wanted columns tell separators apart.
Reader = Callable[[Path, Collection[str], str], Rows]
TABLES: dict[str, Reader] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}


def stack(documents: Sequence[Documents]) -> sp.csr_array:
    """Return the matrices of one kind below each other.

    Features of SVMlight that a file lacks are zero there; raise UserError if the numbers of columns
    of npz differ.
    """
    first = documents[0]
    blocks = [sp.csr_array(part.content) for part in documents]
    widths = [block.shape[1] for block in blocks]
    for part, block, width in zip(documents, blocks, widths, strict=True):
        if first.kind == ".npz" and width != widths[0]:
            expected = f"{first.path} has {widths[0]}; expected as many"
            raise UserError(f"{part.path}: {width} features, {expected}.")
        block.resize(block.shape[0], max(widths))
    return sp.csr_array(sp.vstack(blocks))


def _checked(matrix: sp.sparray, path: Path) -> sp.csr_array:
    """Return the matrix as float64; raise UserError for negative and not finite entries."""
    X = sp.csr_array(canonical(matrix), dtype=np.float64)
    wrong = np.flatnonzero(~((X.data >= 0) & np.isfinite(X.data)))
    if len(wrong):
        row = int(np.searchsorted(X.indptr, wrong[0], "right"))
        found = f"document {row} has {X.data[wrong[0]]:g}"
        remedy = "use HashingVectorizer with alternate_sign=False, texts in place of embeddings"
        raise UserError(f"{path}: {found}; expected finite numbers of 0 or more; {remedy}.")
    return X


def _svmlight(path: Path, labels: Labels, encoding: str) -> tuple[sp.csr_array, list[str]]:
    names: list[str] = []
    indices, data, starts = array("i"), array("d"), array("q", [0])
    for number, line in _lines(path, encoding):
        line = line.strip(" \t\r\n")
        if not line or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        pairs = [pair.split(":") for pair in match[2].split()] if match else []
        columns = [int(column) for column, _ in pairs]
        with _at(path, number):
            if not match or any(b <= a for a, b in pairwise(columns)):
                form = '"<label> <feature>:<number> …", features ascending'
                raise ValueError(f"expected {form}; the label is ? if unknown.")
            if columns and columns[-1] >= MAX_SIDE:
                raise ValueError(f"expected numbers of features below {MAX_SIDE:,}.")
            names.append(_label("" if match[1] == UNKNOWN else match[1], "label", labels))
        data.extend(float(value) for _, value in pairs)
        indices.extend(columns)
        starts.append(len(indices))
    shape = len(names), max(indices, default=-1) + 1
    return sp.csr_array(tuple(map(np.asarray, (data, indices, starts))), shape=shape), names


def _npz(path: Path, labels: Labels, encoding: str) -> tuple[sp.sparray, list[str]]:
    try:
        X = sp.load_npz(path)  # without pickle
        if max(X.shape) > MAX_SIDE:
            raise ValueError(f"{X.shape[0]} × {X.shape[1]}, expected at most {MAX_SIDE:,} of each")
        X = canonical(X)  # checks indices
    except Exception as error:  # libraries raise many types for a file in another format
        message = f"{path}: not a matrix written by scipy.sparse.save_npz ({reason(error)})."
        raise UserError(message) from None
    n, file = X.shape[0], labels_file(path)
    if labels == "none" or (labels == "any" and not file):
        return X, [""] * n
    if not file:
        expected = path.with_suffix(".labels.txt")
        raise UserError(f"{path}: no labels; expected {expected}, one label a line.")
    names = []
    for number, line in _lines(file, encoding):
        with _at(file, number):
            names.append(_label(line.rstrip("\r\n"), "label", labels))
    if len(names) != n:
        raise UserError(f"{file}: {len(names)} labels for the {n} documents of {path.name}.")
    return X, names
