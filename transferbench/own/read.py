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

import functools
import json
import os
import re
import reprlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import scipy.sparse as sp

from transferbench.data import matrices
from transferbench.errors import UserError, unknown
from transferbench.messages import CONTROL
from transferbench.own.dialect import DEFAULT, decode, warn
from transferbench.own.documents import (
    Documents,
    DomainFiles,
    Labels,
    ReadOptions,
    check_kind,
    file_kind,
    labels_file,
)
from transferbench.own.labels import difference, is_blank, like
from transferbench.own.tables import (
    TABLES,
    JsonNumber,
    QuoteError,
    column,
    located,
    match,
    read_table,
)
from transferbench.user_files import MATRICES

if TYPE_CHECKING:
    import pandas as pd

#: Label of a line of SVMlight that has none.
UNKNOWN = "?"


def read_domain(
    domain: DomainFiles, options: ReadOptions = ReadOptions(), labels: Labels = "none"
) -> Documents:
    """Read the documents of all files of a domain."""
    # `labels`: Documents that must have a label.
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
        parts[0].dialect,
    )


def read(path: Path, options: ReadOptions = ReadOptions(), labels: Labels = "none") -> Documents:
    """Read the documents of a CSV, TSV, JSONL, SVMlight or npz file."""
    # `labels`: Documents that must have a label.
    import pandas as pd

    suffix = path.suffix.lower()
    content: Sequence[str] | sp.csr_array
    dialect = DEFAULT
    if suffix in TABLES:
        table, dialect = read_table(path, options)
        content, names = _texts(path, table, options, labels)
    elif suffix in MATRICES:
        read_matrix = _npz if suffix == ".npz" else _svmlight
        X, names = read_matrix(path, labels, options)
        content = matrices.nonnegative(X, path)
        table = pd.DataFrame(index=range(len(names)))
    else:
        kinds = ", ".join([*TABLES, *MATRICES])
        excel = " In Excel, save it as CSV UTF-8." if path.suffix.startswith(".xls") else ""
        raise UserError(f"{path}: unknown kind of file; expected {kinds}.{excel}")
    if not names:
        raise UserError(f"{path}: there are no documents in it.")
    # pandas refuses bytes of a file name that are no text; they become escapes.
    file = str(path).encode(errors="backslashreplace").decode()
    files_and_rows = [[file] * len(names), range(1, len(names) + 1)]
    table = table.set_index(pd.MultiIndex.from_arrays(files_and_rows, names=("file", "row")))
    return Documents(path, content, names, table, file_kind(path), dialect=dialect)


def _name(value: object, column: str) -> str:
    """Return a label as it is written, "" for none."""
    if value is None or value != value:  # NaN means none, too
        return ""
    if not isinstance(value, str | bool):
        raise ValueError(f"{column}: expected a text or a number, got {reprlib.repr(value)}.")
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    if CONTROL.search(text):
        raise ValueError(f"{column}: {ascii(text)[:60]} has control characters; remove them.")
    return "" if is_blank(text) else text


def _label(value: object, column: str, labels: Labels) -> str:
    """Return a label, "" for none."""
    label = "" if labels == "none" else _name(value, column)
    if labels == "all" and not label:
        raise ValueError("no label; every document of a source needs one.")
    return label


def _texts(
    path: Path, table: pd.DataFrame, options: ReadOptions, labels: Labels
) -> tuple[list[str], list[str]]:
    """Return the texts and labels of a table; see `read`."""
    # A missing text or label is "".
    texts = column(path, table, options, "text")
    values = column(path, table, options, "label", needed=labels == "all")
    names: list[str] = []
    try:
        for text, label in zip(texts, values, strict=True):
            if text != text:  # a row of JSON without the key
                other = f"or another column: {options.setting('text')}"
                raise ValueError(f"no {options.text!r}; expected it in every row, {other}.")
            if isinstance(text, JsonNumber) or not isinstance(text, str | None):
                raise ValueError(f"{options.text}: expected text, got {reprlib.repr(text)}.")
            names.append(_label(label, options.label, labels))
    except ValueError as error:
        raise UserError(f"{path}:{table.index[len(names)]}: {error}") from None
    return [text or "" for text in texts], names


def with_labels(
    domains: Sequence[Documents],
    path: Path,
    options: ReadOptions = ReadOptions(),
    classes: Collection[str] = (),
) -> list[Documents]:
    """Return the documents with the labels of a table that has their file, row and label."""
    # `path`: The table, in UTF-8 or in the encoding of the documents. A document with a blank label
    # keeps the label that it has.
    # `classes`: Allowed labels; if empty, any label is allowed.
    usual = replace(options, encoding="utf-8", delimiter=None, quoting="auto")
    try:
        table, _ = read_table(path, usual)
    except UserError:
        try:
            table, _ = read_table(path, replace(usual, encoding=options.encoding))
        except QuoteError as error:  # the option is not for this file
            raise UserError(error.plain) from None
    real_path = functools.cache(os.path.realpath)
    positions = {
        (real_path(file), str(row)): (d, i)
        for d, documents in enumerate(domains)
        for i, (file, row) in enumerate(documents.table.index)
    }
    files = {file for file, _ in positions}
    times = Counter(Path(file).name for file in files)
    by_name = {name: file for file in files if times[name := Path(file).name] == 1}
    labels = [[*documents.labels] for documents in domains]
    needed = []
    for name in ("file", "row"):
        if (header := match(name, table)) is None:
            expected = "expected a sample of documents, with its columns file and row"
            raise UserError(f"{path}:1: no column {name!r}; {expected}.")
        needed.append([*table[header]])
    needed.append(column(path, table, options, "label"))
    saved_texts = column(path, table, options, "text", needed=False)
    labelled = set()
    for line, saved, *values in zip(table.index, saved_texts, *needed, strict=True):
        with located(path, line):
            file, row, label = (_name(value, "file, row and label") for value in values)
            if not label:
                continue
            if classes and label not in classes:
                if other := like(label, classes):
                    raise ValueError(f"unknown label: {difference(label, other)}; write it so.")
                raise ValueError(str(unknown("label", label, classes)))
            place = real_path(file)
            if place not in files and saved:  # it was moved; its text is compared below
                place = by_name.get(Path(file).name, place)
            key = place, row
            if key not in positions:
                why = "is no document of a target; name its file as one, too"
                if key[0] in files:
                    why = "is none of its documents; correct the row, or label anew"
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
    if len(labelled) < len(table):
        warn(f"{path}: {len(labelled)} of {len(table)} rows are labelled")
    return [replace(part, labels=names) for part, names in zip(domains, labels, strict=True)]


def _same(saved: object, text: object) -> bool:
    """Return True if two texts have the same letters and digits."""
    # Spreadsheets change other characters, and cut a text after 32,767.
    # Halves of surrogate pairs are written as escapes.
    written = (str(v).encode(errors="backslashreplace").decode() for v in (saved, text))
    saved_letters, letters = (re.sub(r"\W+", "", value) for value in written)
    is_cut = len(str(saved)) > 32_000
    return saved_letters == letters or (is_cut and letters.startswith(saved_letters))


def stack(documents: Sequence[Documents]) -> sp.csr_array:
    """Return the matrices of one kind below each other."""
    # `documents`: Features of SVMlight that a file lacks are zero there.
    first = documents[0]
    blocks = [sp.csr_array(part.content) for part in documents]
    widths = [block.shape[1] for block in blocks]
    for part, block, width in zip(documents, blocks, widths, strict=True):
        if first.kind == ".npz" and width != widths[0]:
            expected = f"{first.path} has {widths[0]}; expected as many"
            raise UserError(f"{part.path}: {width} features, {expected}.")
        block.resize(block.shape[0], max(widths))
    return sp.csr_array(sp.vstack(blocks))


def warn_of_numbering(domains: Sequence[Documents]) -> None:
    """Warn if a file of SVMlight has feature 0 and another one has none."""
    has_first = dict[str, bool]()
    for documents in domains:
        if documents.kind == ".svm":
            rows = sp.csr_array(documents.content)[:, :1].sum(axis=1) > 0
            for path, has in zip(documents.table.index.get_level_values("file"), rows, strict=True):
                has_first[path] = has_first.get(path, False) or bool(has)
    from_zero = next((path for path, has in has_first.items() if has), None)
    for path in [path for path, has in has_first.items() if from_zero and not has]:
        why = f"no document has feature 0, but documents of {from_zero} have it"
        what = "are features numbered from 0 in one file and from 1 in the other?"
        remedy = "Number both alike (zero_based=False of scikit-learn's dump_svmlight_file)"
        warn(f"{path}: {why}; {what} {remedy}")


def _svmlight(path: Path, labels: Labels, options: ReadOptions) -> tuple[sp.csr_array, list[str]]:
    lines = (line.lstrip("\ufeff") for line in decode(path, options)[0])  # of joined files
    X, found = matrices.read_svmlight(path, lines)
    names = []
    for number, text in found.items():
        with located(path, number):
            names.append(_label("" if text == UNKNOWN else text, "label", labels))
    return X, names


def _npz(path: Path, labels: Labels, options: ReadOptions) -> tuple[sp.sparray, list[str]]:
    X = matrices.read_npz(path)
    n, file = X.shape[0], labels_file(path)
    if labels == "none" or (labels == "any" and not file):
        return X, [""] * n
    if not file:
        expected = path.with_suffix(".labels.txt")
        raise UserError(f"{path}: no labels; expected {expected}, one label a line.")
    names = []
    for number, line in enumerate(decode(file, options)[0], start=1):
        with located(file, number):
            names.append(_label(line.lstrip("\ufeff").rstrip("\r\n"), "label", labels))
    if len(names) != n:
        raise UserError(f"{file}: {len(names)} labels for the {n} documents of {path.name}.")
    return X, names
