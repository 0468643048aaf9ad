"""Read a user's documents from tables and matrices; a file with an error gets a one-line message.

.csv .tsv .jsonl            tables with a text and a label for each document; names of columns are
                            compared without case, and rows whose values are all blank are skipped
.svm .svmlight .libsvm      lines "<label> <feature>:<number> …", features ascending; the label is a
                            text without blanks and colons, "?" for no label; # starts a comment at
                            the start of a line, after a blank or after a number
NAME.npz                    a matrix written by `scipy.sparse.save_npz`; its labels are in
                            NAME.labels.txt, one a line

A label is the text in the file, character for character; a blank text is no label.
"""

from __future__ import annotations

import codecs
import csv
import functools
import io
import json
import os
import re
import reprlib
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import scipy.sparse as sp

from transferbench.errors import MAX_LISTED, UserError, brief, unknown
from transferbench.messages import CONTROL, reason
from transferbench.problem import canonical
from transferbench.userdata.documents import (
    MATRICES,
    Documents,
    DomainFiles,
    Labels,
    ReadOptions,
    check_kind,
    file_kind,
    labels_file,
)

if TYPE_CHECKING:
    import pandas as pd

#: Rows or columns of a matrix.
MAX_SIDE = 2**24
#: Bytes of a line of a text file, and characters of a value in CSV.
MAX_LINE = 2**24
#: A line of SVMlight, and the label of one without a label.
NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
LINE = re.compile(rf"([^\s:#][^\s:]*)((?:\s+[0-9]{{1,9}}:{NUMBER})*)\s*(?:#.*)?", re.ASCII)
UNKNOWN = "?"
#: Largest number of columns of JSON rows that have different keys; in memory each row has all.
MAX_VARYING = 1000
#: Number of a line, and its values by column.
Rows = Iterator[tuple[int, dict[str, Any]]]


def read_domain(
    domain: DomainFiles, options: ReadOptions = ReadOptions(), labels: Labels = "none"
) -> Documents:
    """Read the documents of all files of a domain.

    Parameters
    ----------
    domain
        The files.
    options
        How files are read.
    labels
        Which documents must have a label.

    Raises
    ------
    UserError
        As `read` does, and for files of several kinds.
    """
    import pandas as pd

    parts = [read(file, options, labels) for file in domain.files]
    check_kind(parts)
    kind = parts[0].kind
    return Documents(
        domain.path,
        [text for part in parts for text in part.content] if kind == "texts" else stack(parts),
        [label for part in parts for label in part.labels],
        pd.concat([part.table for part in parts]),
        kind,
        domain.name,
    )


def read(path: Path, options: ReadOptions = ReadOptions(), labels: Labels = "none") -> Documents:
    """Read the documents of a CSV, TSV, JSONL, SVMlight or npz file.

    Parameters
    ----------
    path
        A file that passed `check_files`.
    options
        How files are read.
    labels
        Which documents must have a label.

    Raises
    ------
    UserError
        For a file that cannot be read; with the number of a wrong line.
    """
    import pandas as pd

    suffix = path.suffix.lower()
    content: Sequence[str] | sp.csr_array
    if suffix in TABLES:
        table = read_table(path, options.encoding)
        content, names = _texts(path, table, options, labels)
    elif suffix in MATRICES:
        read_matrix = _npz if suffix == ".npz" else _svmlight
        X, names = read_matrix(path, labels, options.encoding)
        content = _checked(X, path)
        table = pd.DataFrame(index=range(len(names)))
    else:
        kinds = ", ".join([*TABLES, *MATRICES])
        raise UserError(f"{path}: unknown kind of file; expected {kinds}.")
    if not names:
        raise UserError(f"{path}: there are no documents in it.")
    # pandas refuses bytes of a file name that are no text; they become escapes.
    file = str(path).encode(errors="backslashreplace").decode()
    files_and_rows = [[file] * len(names), range(1, len(names) + 1)]
    table = table.set_index(pd.MultiIndex.from_arrays(files_and_rows, names=("file", "row")))
    return Documents(path, content, names, table, file_kind(path))


@contextmanager
def _at(path: Path, line: int) -> Iterator[None]:
    """Turn a ValueError of this block into a UserError with the file and the line."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{path}:{line}: {error}") from None


def _decoded(path: Path, encoding: str) -> TextIO:
    """Return the text of a file; a file that starts with the byte order mark of UTF-8 is UTF-8.

    Raises
    ------
    UserError
        For an unknown encoding, and for bytes that are not in it, with their line.
    """
    content = path.read_bytes()
    for number, row in enumerate(io.BytesIO(content), start=1):
        if len(row) > MAX_LINE < (size := max(map(len, row.split(b"\r")))):
            remedy = "split the document, or correct the line ends of the file"
            fault = f"a line of {size:,} bytes, expected at most {MAX_LINE:,}"
            raise UserError(f"{path}:{number}: {fault}; {remedy}.")
    if content.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = error.start - content.rfind(b"\n", 0, error.start)
        remedy = "name the encoding (Excel: --encoding cp1252), or save it in UTF-8"
        fault = f"byte {byte} is not {encoding.upper()}"
        raise UserError(f"{path}:{line}: {fault}; {remedy}.") from None
    except (LookupError, ValueError):
        expected = "expected one such as utf-8, cp1252 or shift_jis"
        raise UserError(f"encoding {brief(encoding)}: {expected}.") from None
    # StringIO would take four bytes for each character.
    return io.TextIOWrapper(io.BytesIO(content), encoding, newline="")


def _name(value: object, column: str) -> str:
    """Return a label as it is written, "" for none. Raise ValueError for lists and objects."""
    if value is None or value != value:  # NaN means none, too
        return ""
    if not isinstance(value, str | bool):
        raise ValueError(f"{column}: expected a text or a number, got {reprlib.repr(value)}.")
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    if CONTROL.search(text):
        raise ValueError(f"{column}: {ascii(text)[:60]} has control characters; remove them.")
    return text if text.strip() else ""


def _label(value: object, column: str, labels: Labels) -> str:
    """Return a label, "" for none. Raise ValueError as `_name` does, and for a missing label."""
    label = "" if labels == "none" else _name(value, column)
    if labels == "all" and not label:
        raise ValueError("no label; every document of a source needs one.")
    return label


def _texts(
    path: Path, table: pd.DataFrame, options: ReadOptions, labels: Labels
) -> tuple[list[str], list[str]]:
    """Return the texts and labels of a table; see `read`. A missing text or label is ""."""
    texts = column(path, table, options.text)
    values = column(path, table, options.label, needed=labels == "all")
    names = []
    for line, text, label in zip(table.index, texts, values, strict=True):
        with _at(path, line):
            if text != text:  # a row of JSON without the key
                raise ValueError(f"no {options.text!r}; expected it in every row, "
                                 "or another column (--text-column).")  # fmt: skip
            if isinstance(text, Number) or not isinstance(text, str | None):
                raise ValueError(f"{options.text}: expected text, got {reprlib.repr(text)}.")
            names.append(_label(label, options.label, labels))
    return [text or "" for text in texts], names


def with_labels(
    domains: Sequence[Documents],
    path: Path,
    options: ReadOptions = ReadOptions(),
    classes: Collection[str] = (),
) -> list[Documents]:
    """Return the documents with the labels of a table that has their file, row and label.

    Parameters
    ----------
    domains
        Documents of each domain.
    path
        The table, in UTF-8 or in the encoding of the documents. A document with a blank label keeps
        the label that it has.
    options
        How the documents were read.
    classes
        Allowed labels; if empty, any.

    Raises
    ------
    UserError
        If all labels are blank, and for a row that occurs twice, has a label outside the classes,
        matches no document, or has another text than the document.
    """
    try:
        table = read_table(path)
    except UserError:
        table = read_table(path, options.encoding)
    real_path = functools.cache(os.path.realpath)
    positions = {
        (real_path(file), str(row)): (d, i)
        for d, documents in enumerate(domains)
        for i, (file, row) in enumerate(documents.table.index)
    }
    labels = [[*documents.labels] for documents in domains]
    needed = [column(path, table, name) for name in ("file", "row", options.label)]
    saved_texts = column(path, table, options.text, needed=False)
    labelled = set()
    for line, saved, *values in zip(table.index, saved_texts, *needed, strict=True):
        with _at(path, line):
            file, row, label = (_name(value, "file, row and label") for value in values)
            if not label:
                continue
            if classes and label not in classes:
                raise ValueError(f"{unknown('label', label, classes)}")
            key = real_path(file), row
            if key not in positions:
                why = "is no document of a target; name its --target"
                raise ValueError(f"row {row} of {file} {why}.")
            if key in labelled:
                raise ValueError(f"row {row} is there twice in {file}.")
            labelled.add(key)
            d, i = positions[key]
            texts = domains[d].content
            if saved and isinstance(texts, Sequence) and not _same(saved, texts[i]):
                raise ValueError(f"row {row} has another text now in {file}; label anew.")
            labels[d][i] = label
    if not labelled:
        raise UserError(f"{path}: its column `{options.label}` is empty; fill it in.")
    return [replace(part, labels=names) for part, names in zip(domains, labels, strict=True)]


def _same(saved: object, text: object) -> bool:
    """Return True if two texts have the same letters and digits.

    Spreadsheets change other characters, and cut a text after 32,767.
    """
    saved_letters, letters = (re.sub(r"\W+", "", str(value)) for value in (saved, text))
    is_cut = len(str(saved)) > 32_000
    return saved_letters == letters or (is_cut and letters.startswith(saved_letters))


def numbers(path: Path, *, binary: bool = False) -> tuple[list[str], np.ndarray]:
    """Return the names of the columns and the numbers (n, d) of a table.

    Parameters
    ----------
    path
        The table.
    binary
        All numbers are 0 or 1.

    Raises
    ------
    UserError
        For anything but finite numbers of 0 or more, with the line.
    """
    import pandas as pd

    table = read_table(path)
    values = table.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    valid = np.isin(values, (0, 1)) if binary else (values >= 0) & np.isfinite(values)
    if not valid.all():
        line = table.index[~valid.all(axis=1)][0]
        expected = "0 or 1 everywhere" if binary else "finite numbers of at least 0"
        raise UserError(f"{path}:{line}: expected {expected}.")
    return [*table], values


def read_table(path: Path, encoding: str = "utf-8") -> pd.DataFrame:
    """Return the rows of a table that are not blank, indexed by line; warn of blank ones.

    Cells are texts or values of JSON; numbers are texts as they are written.

    Parameters
    ----------
    path
        A CSV, TSV or JSONL file.
    encoding
        Encoding of the file.

    Raises
    ------
    UserError
        For a file in another format, with the line.
    """
    import pandas as pd

    read_rows = TABLES.get(path.suffix.lower())
    if not read_rows:
        raise UserError(f"{path}: unknown kind of table; expected {', '.join(TABLES)}.")
    rows, blank = {}, 0
    for line, row in read_rows(path, _decoded(path, encoding)):
        if all(value is None or not str(value).strip() for value in row.values()):
            blank += 1
        else:
            rows[line] = row
    if blank:
        warnings.warn(f"{path}: {blank} blank rows are skipped", stacklevel=2)
    if not rows:
        raise UserError(f"{path}: there are no documents in it.")
    names = {name for row in rows.values() for name in row}
    if len(names) > max(MAX_VARYING, *map(len, rows.values())):
        raise UserError(f"{path}: {len(names)} different keys; expected the same in every row.")
    return pd.DataFrame([*rows.values()], index=[*rows], dtype=object)


def column(path: Path, table: pd.DataFrame, name: str, *, needed: bool = True) -> list[Any]:
    """Return the values of a column.

    Parameters
    ----------
    path
        The file that errors show.
    table
        Rows of the file.
    name
        Name of the column, or of the only one whose name differs in case alone.
    needed
        If false and there is no such column, all values are None.

    Raises
    ------
    UserError
        If the column is needed and there is none.
    """
    similar = [header for header in table if header.casefold() == name.casefold()]
    if name in similar or len(similar) == 1:
        return [*table[name if name in similar else similar[0]]]
    if not needed:
        return [None] * len(table)
    more = ", …" if len(table.columns) > MAX_LISTED else ""
    listed = f"{', '.join(map(brief, table.columns[:MAX_LISTED]))}{more}"
    remedy = "name yours (--text-column, --label-column)"
    if len(table.columns) == 1:
        remedy += ", or separate columns by a comma, semicolon or tab"
    raise UserError(f"{path}:1: no column {name!r} among {listed}; {remedy}.")


def _csv(path: Path, lines: TextIO) -> Rows:
    csv.field_size_limit(MAX_LINE)
    head = lines.readline()
    lines.seek(0)
    # Spreadsheets write ; where the comma is decimal.
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    delimiter = max((usual, ";", "\t", ","), key=re.sub('"[^"]*"', "", head).count)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    try:
        for row in filter(None, reader):
            if not header:
                header = row
                with _at(path, reader.line_num):
                    _check_names(row)
            elif not "".join(row).strip():
                yield reader.line_num, {}
            elif len(row) != len(header):
                raise csv.Error(f"{len(row)} columns, but the first line has {len(header)}")
            else:
                yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        remedy = f"put values that contain {delimiter!r} or line ends in '\"'"
        raise UserError(f"{path}:{reader.line_num}: {error}; {remedy}.") from None


def _check_names(names: Sequence[str]) -> None:
    """Raise ValueError if a column, or a key of JSON, occurs twice."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise ValueError(f"column {brief(name)} occurs twice.")


class Number(str):
    """A number of JSON, as it is written in the file."""


def _json_lines(path: Path, lines: TextIO) -> Rows:
    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _check_names([name for name, _ in pairs])
        return dict(pairs)

    def constant(name: str) -> Number | None:  # no JSON, but Python's module writes it
        return None if name == "NaN" else Number(name)

    parsers: Any = {"parse_int": Number, "parse_float": Number, "parse_constant": constant}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        with _at(path, number):
            try:
                row = json.loads(line, object_pairs_hook=checked, **parsers)
            except (json.JSONDecodeError, RecursionError) as error:
                raise ValueError(f"{error}; expected a JSON object on each line.") from None
            if not isinstance(row, dict):
                raise ValueError(f"expected a JSON object, got {reprlib.repr(row)}.")
            "".join(row).encode()  # a ValueError if a name of a column is no text
        yield number, row


TABLES: dict[str, Callable[[Path, TextIO], Rows]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _json_lines,
}


def stack(documents: Sequence[Documents]) -> sp.csr_array:
    """Return the matrices of one kind below each other.

    Parameters
    ----------
    documents
        Documents with matrices. Features of SVMlight that a file lacks are zero there.

    Raises
    ------
    UserError
        If the numbers of columns of npz differ.
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
        fault = f"document {row} has {X.data[wrong[0]]:g}"
        remedy = "use HashingVectorizer with alternate_sign=False, texts in place of embeddings"
        raise UserError(f"{path}: {fault}; expected finite numbers of 0 or more; {remedy}.")
    return X


def _svmlight(path: Path, labels: Labels, encoding: str) -> tuple[sp.csr_array, list[str]]:
    names: list[str] = []
    indices, data, starts = array("i"), array("d"), array("q", [0])
    for number, line in enumerate(_decoded(path, encoding), start=1):
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
    for number, line in enumerate(_decoded(file, encoding), start=1):
        with _at(file, number):
            names.append(_label(line.rstrip("\r\n"), "label", labels))
    if len(names) != n:
        raise UserError(f"{file}: {len(names)} labels for the {n} documents of {path.name}.")
    return X, names
