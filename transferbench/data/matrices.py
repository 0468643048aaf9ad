"""Matrices in files of a user: lines of SVMlight, and npz of SciPy.

.svm .svmlight .libsvm      lines "<label> <feature>:<number> …", features ascending; the label is a
                            text without blanks and colons, "?" for no label; # starts a comment at
                            the start of a line, after a blank or after a number
.npz                        a matrix written by `scipy.sparse.save_npz`
"""

import re
import zipfile
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as numpy_format

from transferbench.errors import UserError
from transferbench.messages import reason
from transferbench.problem import canonical

#: Rows or columns of a matrix.
MAX_SIDE = 2**24
#: First bytes of an array of `numpy.save`, and of a zip archive of `numpy.savez`.
ARRAY, ARCHIVE = b"\x93NUMPY", b"PK"
#: Parts of a line of SVMlight.
DECIMAL = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
LABEL = re.compile(r"[^\s:#][^\s:]*", re.ASCII)
ENTRY = re.compile(rf"\s+([0-9]{{1,9}}):({DECIMAL})", re.ASCII)
COMMENT = re.compile(r"\s*(?:#.*)?", re.ASCII)


def nonnegative(matrix: sp.sparray, path: Path) -> sp.csr_array:
    """Return the matrix as float64; raise UserError for negative and not finite entries."""
    X = sp.csr_array(canonical(matrix), dtype=np.float64)
    wrong = np.flatnonzero(~((X.data >= 0) & np.isfinite(X.data)))
    if len(wrong):
        row = int(np.searchsorted(X.indptr, wrong[0], "right"))
        fault = f"document {row} has {X.data[wrong[0]]:g}"
        remedy = "use HashingVectorizer with alternate_sign=False, texts in place of embeddings"
        raise UserError(f"{path}: {fault}; expected finite numbers of 0 or more; {remedy}.")
    return X


def read_svmlight(path: Path, lines: Iterable[str]) -> tuple[sp.csr_array, dict[int, str]]:
    """Return the matrix of the lines, and the label of each document by its line."""
    labels = dict[int, str]()
    indices, data, starts = array("i"), array("d"), array("q", [0])
    for number, line in enumerate(lines, start=1):
        line = line.strip(" \t\r\n")
        if not line or line.startswith("#"):
            continue
        label = LABEL.match(line)
        position, last, ascending = label.end() if label else 0, -1, True
        while entry := ENTRY.match(line, position):  # all at once, a long line would fill memory
            position, column = entry.end(), int(entry[1])
            ascending = ascending and column > last
            last = column
            indices.append(column)
            data.append(float(entry[2]))
        if not (label and ascending and COMMENT.fullmatch(line, position)):
            form = '"<label> <feature>:<number> …", features ascending'
            raise UserError(f"{path}:{number}: expected {form}; the label is ? if unknown.")
        if last >= MAX_SIDE:
            raise UserError(f"{path}:{number}: expected numbers of features below {MAX_SIDE:,}.")
        labels[number] = label[0]
        starts.append(len(indices))
    shape = len(labels), max(indices, default=-1) + 1
    return sp.csr_array(tuple(map(np.asarray, (data, indices, starts))), shape=shape), labels


def array_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a file of NumPy; the name of a single array is ""."""
    # Raise ValueError for other files, and for arrays of objects: NumPy's own error would advise to
    # trust the file, and to load it in a way that can run code.
    with path.open("rb") as file:
        start = file.read(24)
        file.seek(0)
        if start.startswith(ARRAY):
            return {"": _shape(file)}
        if not start.startswith(ARCHIVE):
            begins = f"no file of NumPy: it begins with {ascii(start)[1:]}"
            raise ValueError(f"{begins}; is it a Git LFS pointer or a page?")
        with zipfile.ZipFile(file) as archive:
            return {
                name.removesuffix(".npy"): _shape(archive.open(name)) for name in archive.namelist()
            }


def _shape(file: IO[bytes]) -> tuple[int, ...]:
    """Return the shape of the array of numbers at the start of a file."""
    try:
        read = numpy_format.read_array_header_1_0
        if numpy_format.read_magic(file) != (1, 0):
            read = numpy_format.read_array_header_2_0
        shape, _, dtype = read(file)
    except ValueError:
        raise ValueError("an array whose description cannot be read") from None
    if dtype.hasobject:
        raise ValueError("its entries are objects, not numbers")
    return shape


def read_npz(path: Path) -> sp.sparray:
    """Return the matrix of a file of SciPy; no pickle is loaded."""
    try:
        array_shapes(path)
        X = sp.load_npz(path)
        if max(X.shape) > MAX_SIDE:
            raise ValueError(f"{X.shape[0]} × {X.shape[1]}, expected at most {MAX_SIDE:,} of each")
        return canonical(X)  # checks indices
    except Exception as error:  # libraries raise many types for a file in another format
        why = f"{error}" if type(error) is ValueError else reason(error)
        message = f"{path}: not a matrix written by scipy.sparse.save_npz ({why})."
        raise UserError(message) from None
