"""Matrices, documents by features, with a label for each document.

NAME.svm, NAME.svmlight, NAME.libsvm   lines "<label> <feature>:<number> …", features ascending; the
                                       label is a number or a word, "?" where there is none
NAME.npz                               what `scipy.sparse.save_npz` writes, labels in
                                       NAME.labels.txt, one on each line
"""

from __future__ import annotations

import re
import zipfile
from array import array
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.userdata.documents import (
    MOST,
    MOST_DOCUMENTS,
    MOST_FEATURES,
    Documents,
    Labels,
    check_label,
    fault,
    lines,
)
from transferbench.errors import UserError

LINE = re.compile(r"(\S+)((?:\s+[0-9]{1,9}:[^\s:]+)*)")
#: A label of a line of SVMlight that says nothing.
UNKNOWN = "?"


def labels_file(path: Path) -> Path:
    """Where the labels of a matrix in an npz stand."""
    return path.with_suffix(".labels.txt")


def read(path: Path, labels: Labels) -> Documents:
    """The documents of a matrix.

    Raises UserError, with the line or row at fault where there is one, for what is not of the
    format, too large, negative or not finite.
    """
    X, found = _npz(path, labels) if path.suffix.lower() == ".npz" else _svmlight(path, labels)
    if not X.shape[0]:
        raise UserError(f"{path}: there are no documents in it.")
    X.sum_duplicates()
    X.eliminate_zeros()
    wrong = np.flatnonzero(~((X.data >= 0) & np.isfinite(X.data)))
    if len(wrong):
        row = int(np.searchsorted(X.indptr, wrong[0], "right"))
        value = X.data[wrong[0]]
        raise UserError(f"{path}: document {row} has {value:g}; expected numbers of 0 or more.")
    return Documents(path, X, found)


def _svmlight(path: Path, labels: Labels) -> tuple[sp.csr_array, list[str]]:
    found: list[str] = []
    indices, data, starts = array("i"), array("d"), array("q", [0])
    for number, line in lines(path):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        parts = LINE.fullmatch(line)
        try:
            pairs = [pair.split(":") for pair in parts[2].split()] if parts else [[]]
            columns = [int(column) for column, _ in pairs]
            data.extend(float(value) for _, value in pairs)
        except ValueError:
            parts = None
        if not parts or any(b <= a for a, b in pairwise(columns)):
            message = 'expected "<label> <feature>:<number> …", features ascending.'
            raise fault(path, number, message)
        if columns and columns[-1] >= MOST_FEATURES:
            raise fault(path, number, f"expected numbers of features below {MOST_FEATURES:,}.")
        label = "" if labels == "none" or parts[1] == UNKNOWN else _class(parts[1])
        found.append(check_label(path, number, label, labels))
        indices.extend(columns)
        starts.append(len(indices))
    shape = len(found), max(indices, default=-1) + 1
    return sp.csr_array(tuple(map(np.asarray, (data, indices, starts))), shape=shape), found


def _class(text: str) -> str:
    """A label's name; "+1", "1" and "1.0" are one class."""
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def load_npz(path: Path) -> sp.csr_array:
    """A sparse matrix (n, d) as `scipy.sparse.save_npz` writes it, of bounded size, whole.

    Raises UserError for anything else; nothing in the file is executed.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > 4 * MOST:
            raise ValueError(f"{size:,} bytes unpacked, at most {4 * MOST:,} are read")
        X = sp.load_npz(path)  # without pickle
        n, d = X.shape
        if n > MOST_DOCUMENTS or d > MOST_FEATURES:
            raise ValueError(
                f"at most {MOST_DOCUMENTS:,} × {MOST_FEATURES:,} are read, got {n} × {d}"
            )
        if X.format not in ("csr", "csc", "coo") or X.dtype.kind not in "biuf":
            raise ValueError(
                f"expected real numbers in csr, csc or coo form, got {X.dtype}, {X.format}"
            )
        if X.format != "coo":
            X.check_format(full_check=True)  # places outside the matrix would be read and written
        return sp.csr_array(X, dtype=np.float64)
    except Exception as error:  # whatever a library says of a file that is none of its kind
        text = f"{error}".partition("\n")[0] or type(error).__name__
        message = f"{path}: not a matrix as scipy.sparse.save_npz writes it ({text})."
        raise UserError(message) from None


def _npz(path: Path, labels: Labels) -> tuple[sp.csr_array, list[str]]:
    X = load_npz(path)
    n = X.shape[0]
    if labels == "none":
        return X, [""] * n
    file = labels_file(path)
    if not file.is_file():
        raise UserError(f"{path}: no labels; expected {file}, a label on each line.")
    found = [check_label(file, number, line.strip(), labels) for number, line in lines(file)]
    if len(found) != n:
        raise UserError(f"{file}: {len(found)} labels for the {n} documents of {path.name}.")
    return X, found
