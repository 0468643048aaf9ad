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
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from transferbench.data import matrices
from transferbench.errors import UserError, unknown
from transferbench.messages import CONTROL
from transferbench.own.dialect import DEFAULT, decode
from transferbench.own.documents import (
    Documents,
    DomainFiles,
    Labels,
    ReadOptions,
    check_kind,
    file_kind,
    labels_file,
)
from transferbench.own.labels import difference, like
from transferbench.own.tables import (
    TABLES,
    JsonNumber,
    column,
    located,
    read_table,
    read_with_dialect,
)
from transferbench.user_files import MATRICES

if TYPE_CHECKING:
    import pandas as pd

#: Label of a line of SVMlight that has none.
UNKNOWN = "?"
#: Probability from which a file lacks feature 0 by chance.
MIN_CHANCE = 0.001
#: Correlation of the frequencies of features in two files, and its gain, that count.
MIN_CORRELATION, MIN_GAIN = 0.2, 0.2
#: Fewer features may be correlated by chance.
MIN_FEATURES = 100


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
        table, dialect = read_with_dialect(path, options)
        content, names = _texts(path, table, options, labels)
    elif suffix in MATRICES:
        read_matrix = _npz if suffix == ".npz" else _svmlight
        X, names = read_matrix(path, labels, options.encoding)
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
    return text if text.strip() else ""


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
    texts = column(path, table, options.text)
    values = column(path, table, options.label, needed=labels == "all")
    names: list[str] = []
    try:
        for text, label in zip(texts, values, strict=True):
            if text != text:  # a row of JSON without the key
                raise ValueError(f"no {options.text!r}; expected it in every row, "
                                 "or another column (--text-column).")  # fmt: skip
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
    columns = ReadOptions(text=options.text, label=options.label)
    try:
        table = read_table(path, columns)
    except UserError:
        table = read_table(path, replace(columns, encoding=options.encoding))
    real_path = functools.cache(os.path.realpath)
    positions = {
        (real_path(file), str(row)): (d, i)
        for d, documents in enumerate(domains)
        for i, (file, row) in enumerate(documents.table.index)
    }
    files = {file for file, _ in positions}
    by_name = {Path(file).name: file for file in files}
    several = {name for name, n in Counter(Path(file).name for file in files).items() if n > 1}
    labels = [[*documents.labels] for documents in domains]
    headers = {header.strip().casefold() for header in table}
    if missing := [name for name in ("file", "row") if name not in headers]:
        raise UserError(
            f"{path}:1: no column {missing[0]!r}; expected a file that --label-sample wrote, with "
            "its columns file and row."
        )
    needed = [column(path, table, name) for name in ("file", "row", options.label)]
    saved_texts = column(path, table, options.text, needed=False)
    labelled = set()
    for line, saved, *values in zip(table.index, saved_texts, *needed, strict=True):
        with located(path, line):
            file, row, label = (_name(value, "file, row and label") for value in values)
            if not label:
                continue
            if classes and label not in classes:
                if other := like(label, classes):
                    what = difference(label, other)
                    raise ValueError(f"unknown label: {what}; write it so.")
                raise ValueError(str(unknown("label", label, classes)))
            place, name = real_path(file), Path(file).name
            if place not in files and saved and name not in several:
                place = by_name.get(name, place)  # it was moved; its text is compared below
            key = place, row
            if key not in positions:
                why = "is no document of a target; name its --target"
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
    return [replace(part, labels=names) for part, names in zip(domains, labels, strict=True)]


def _same(saved: object, text: object) -> bool:
    """Return True if two texts have the same letters and digits."""
    # Spreadsheets change other characters, and cut a text after 32,767.
    saved_letters, letters = (re.sub(r"\W+", "", str(value)) for value in (saved, text))
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
    """Warn of SVMlight files numbered from 0 beside others numbered from 1."""
    # There is a warning if a file lacks feature 0 and others have it. There is none if the
    # frequencies of the features agree clearly better as they are. There is also none if the file
    # reaches no further feature and the frequencies agree at least as well as they are. If no file
    # has feature 0, there is a warning only if the frequencies agree clearly better after a shift
    # by one.
    sizes, counts = dict[str, int](), dict[str, np.ndarray]()
    matrices = [(d, sp.csr_array(d.content)) for d in domains if d.kind == ".svm"]
    width = 1 + max((X.shape[1] for _, X in matrices), default=0)
    for documents, X in matrices:
        paths = documents.table.index.get_level_values("file")
        ends = np.flatnonzero(paths[1:] != paths[:-1]) + 1
        for start, end in pairwise([0, *ends.tolist(), len(paths)]):
            part = X[start:end]
            sizes[paths[start]] = end - start
            counts[paths[start]] = np.bincount(part.indices[part.data != 0], minlength=width)
    from_zero = [path for path in sizes if counts[path][0]]
    reference = from_zero or [*sizes][:1]
    for path in [path for path in sizes if path not in reference]:
        expected = np.sum([counts[other] for other in reference], axis=0)
        total = sum(sizes[other] for other in reference)
        one, other = np.log1p(expected), np.log1p(counts[path])
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN for equal frequencies
            same, *shifts = np.nan_to_num(
                [
                    np.corrcoef(one, other)[0, 1],
                    np.corrcoef(one[:-1], other[1:])[0, 1],
                    np.corrcoef(one[1:], other[:-1])[0, 1],
                ]
            )
        shifted = max(shifts)
        clearly_same = same > max(shifted, MIN_CORRELATION) + MIN_GAIN
        clearly_shifted = shifted > max(same, MIN_CORRELATION) + MIN_GAIN
        if from_zero:
            # Counts from 1 reach one feature further. Files numbered alike may differ in that, too.
            by_chance = (1 - expected[0] / total) ** sizes[path] >= MIN_CHANCE
            further = counts[path].nonzero()[0].max(initial=0) > expected.nonzero()[0].max()
            few = further and width <= MIN_FEATURES
            is_shifted = (few or not clearly_same) and (
                not by_chance or further or shifts[0] > same
            )
            have = f"{expected[0]} of {total} documents have it in {reference[0]}"
            why = f"no document has feature 0, but {have}"
        else:
            is_shifted = clearly_shifted and width > MIN_FEATURES
            why = "the frequencies of its features agree better if they are shifted by one"
        if is_shifted:
            warnings.warn(
                f"{path}: {why}; are features numbered from 0 in one file and from 1 in the other? "
                "Number both alike (zero_based=False of scikit-learn's dump_svmlight_file)",
                stacklevel=2,
            )


def _svmlight(path: Path, labels: Labels, encoding: str) -> tuple[sp.csr_array, list[str]]:
    X, found = matrices.read_svmlight(path, decode(path, encoding)[0])
    names = []
    for number, text in found.items():
        with located(path, number):
            names.append(_label("" if text == UNKNOWN else text, "label", labels))
    return X, names


def _npz(path: Path, labels: Labels, encoding: str) -> tuple[sp.sparray, list[str]]:
    X = matrices.read_npz(path)
    n, file = X.shape[0], labels_file(path)
    if labels == "none" or (labels == "any" and not file):
        return X, [""] * n
    if not file:
        expected = path.with_suffix(".labels.txt")
        raise UserError(f"{path}: no labels; expected {expected}, one label a line.")
    names = []
    for number, line in enumerate(decode(file, encoding)[0], start=1):
        with located(file, number):
            names.append(_label(line.rstrip("\r\n"), "label", labels))
    if len(names) != n:
        raise UserError(f"{file}: {len(names)} labels for the {n} documents of {path.name}.")
    return X, names
