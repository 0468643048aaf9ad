"""Matrices, documents by features, with a label for each document.

NAME.svm, NAME.svmlight, NAME.libsvm   lines "<label> <feature>:<number> …", features ascending; the
                                       label is a number or a word, "?" for no label
NAME.npz                               a matrix written by `scipy.sparse.save_npz`; its labels are
                                       in NAME.labels.txt, one a line
"""

import re
import zipfile
from array import array
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.errors import UserError
from transferbench.userdata.documents import (
    MAX_DOCUMENTS,
    MAX_FEATURES,
    Documents,
    Labels,
    check_label,
    check_unpacked,
    line_error,
    lines,
    max_size,
)

SUFFIXES = (".svm", ".svmlight", ".libsvm", ".npz")
LINE = re.compile(r"([^\s:]+)((?:\s+[0-9]{1,9}:[^\s:]+)*)")
#: The label of a line of SVMlight without a label.
UNKNOWN = "?"
MAX_LINE_ENTRIES = 2**20
#: Largest compression ratio of an npz, and the size from which it is enforced.
MAX_RATIO, MIN_BOMB_SIZE = 100, 2**26


def read(path: Path, labels: Labels) -> Documents:
    """Read the documents of a matrix.

    Raises UserError, with the line or row at fault if there is one, for a file in another format
    and for entries that are too large, negative or not finite.
    """
    X, names = _npz(path, labels) if path.suffix.lower() == ".npz" else _svmlight(path, labels)
    if not X.shape[0]:
        raise UserError(f"{path}: there are no documents in it.")
    X.sum_duplicates()
    X.eliminate_zeros()
    wrong = np.flatnonzero(~((X.data >= 0) & np.isfinite(X.data)))
    if len(wrong):
        row = int(np.searchsorted(X.indptr, wrong[0], "right"))
        value = X.data[wrong[0]]
        raise UserError(f"{path}: document {row} has {value:g}; expected numbers of 0 or more.")
    return Documents(path, X, names)


def stack(documents: Sequence[Documents]) -> sp.csr_array:
    """Return the matrices below each other. Raises UserError if their features differ."""
    first = documents[0].path
    is_npz = documents[0].first_file.suffix.lower() == ".npz"
    blocks: list[sp.csr_array] = []
    for part in documents:
        # Features of SVMlight are numbered from one, columns of a matrix from zero.
        npz = part.first_file.suffix.lower() == ".npz"
        if not sp.issparse(part.content) or npz != is_npz:
            raise UserError(f"{part.path}: not like {first}; expected files of one kind.")
        blocks.append(sp.csr_array(part.content))
        width, expected = blocks[-1].shape[1], blocks[0].shape[1]
        if is_npz and width != expected:
            raise UserError(
                f"{part.path}: {width} features, {first} has {expected}; expected as many."
            )
    width = max(block.shape[1] for block in blocks)
    for block in blocks:
        block.resize(block.shape[0], width)
    return sp.csr_array(sp.vstack(blocks))


def _svmlight(path: Path, labels: Labels) -> tuple[sp.csr_array, list[str]]:
    names: list[str] = []
    indices, data, starts = array("i"), array("d"), array("q", [0])
    for number, line in lines(path):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        if line.count(":") > MAX_LINE_ENTRIES:
            raise line_error(path, number, f"expected at most {MAX_LINE_ENTRIES:,} numbers.")
        match = LINE.fullmatch(line)
        pairs = [pair.split(":") for pair in match[2].split()] if match else []
        columns = [int(column) for column, _ in pairs]
        try:
            data.extend(float(value) for _, value in pairs)
        except ValueError:
            match = None
        if not match or any(b <= a for a, b in pairwise(columns)):
            message = (
                'expected "<label> <feature>:<number> …", features ascending; the label is ? if '
                "unknown."
            )
            raise line_error(path, number, message)
        if columns and columns[-1] >= MAX_FEATURES:
            raise line_error(path, number, f"expected numbers of features below {MAX_FEATURES:,}.")
        label = "" if labels == "none" or match[1] == UNKNOWN else _class_name(match[1])
        names.append(check_label(path, number, label, labels))
        indices.extend(columns)
        starts.append(len(indices))
    shape = len(names), max(indices, default=-1) + 1
    return sp.csr_array(tuple(map(np.asarray, (data, indices, starts))), shape=shape), names


def _class_name(text: str) -> str:
    """Return the name of a label; "+1", "1" and "1.0" are one class."""
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def load_npz(path: Path) -> sp.csr_array:
    """Read a sparse matrix (n, d) written by `scipy.sparse.save_npz`, of limited size.

    Raises UserError for any other file; nothing in the file is executed.
    """
    try:
        _check_sizes(path)
        X = sp.load_npz(path)  # without pickle
        n, d = X.shape
        if n > MAX_DOCUMENTS or d > MAX_FEATURES:
            limits = f"{MAX_DOCUMENTS:,} × {MAX_FEATURES:,}"
            raise ValueError(f"expected at most {limits}, got {n} × {d}")
        if X.format not in ("csr", "csc", "coo") or X.dtype.kind not in "biuf":
            raise ValueError(
                f"expected real numbers in csr, csc or coo form, got {X.dtype}, {X.format}"
            )
        if X.format != "coo":
            X.check_format(full_check=True)  # indices outside the matrix would corrupt memory
        return sp.csr_array(X, dtype=np.float64)
    except Exception as error:  # libraries raise many types for a file in another format
        text = f"{error}".partition("\n")[0] or type(error).__name__
        message = f"{path}: not a matrix written by scipy.sparse.save_npz ({text})."
        raise UserError(message) from None


def _check_sizes(path: Path) -> None:
    """Raise ValueError if a zip would unpack to too many bytes, before it is unpacked."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    packed = path.stat().st_size
    check_unpacked(unpacked, 4 * max_size())
    if unpacked > max(MIN_BOMB_SIZE, MAX_RATIO * packed):
        remedy = "save it with compressed=False"
        raise ValueError(f"{unpacked:,} bytes unpacked, {packed:,} packed; {remedy}")


def labels_file(path: Path) -> Path | None:
    """Return the existing file of the labels of a matrix in an npz; None for any other file."""
    labels = path.with_suffix(".labels.txt")
    return labels if path.suffix.lower() == ".npz" and labels.is_file() else None


def _npz(path: Path, labels: Labels) -> tuple[sp.csr_array, list[str]]:
    X = load_npz(path)
    n = X.shape[0]
    file = labels_file(path)
    if labels == "none" or (labels == "any" and not file):
        return X, [""] * n
    if not file:
        expected = path.with_suffix(".labels.txt")
        raise UserError(f"{path}: no labels; expected {expected}, one label a line.")
    names = [check_label(file, number, line.strip(), labels) for number, line in lines(file)]
    if len(names) != n:
        raise UserError(f"{file}: {len(names)} labels for the {n} documents of {path.name}.")
    return X, names
