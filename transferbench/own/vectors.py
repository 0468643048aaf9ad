"""Dense vectors of a user's documents: sentence embeddings, or files of any encoder.

A file is an array (n, d) of `numpy.save` or `numpy.savez`, or a matrix of `scipy.sparse.save_npz`.
It has a row for each document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from transferbench.data import sentences
from transferbench.data.matrices import array_shapes
from transferbench.errors import UserError
from transferbench.messages import counted, reason
from transferbench.own.documents import Documents
from transferbench.problem import Matrix, canonical
from transferbench.settings import Settings
from transferbench.user_files import check_files

#: What models see of a document: its words (or the numbers of its matrix), dense vectors, or both.
Features: TypeAlias = Literal["words", "embeddings", "both"]
DEFAULT: Features = "words"
#: Columns of a file of vectors.
MAX_COLUMNS = 4096
SUFFIXES = (".npy", ".npz")


def choose_features(features: Features | None, vectors: Sequence[object], kind: str) -> Features:
    """Return the features of documents; None means both with files of vectors, else DEFAULT."""
    chosen = features or ("both" if vectors else DEFAULT)
    if chosen == "words" and vectors:
        raise UserError(
            "features: words does not use vectors; expected embeddings or both, or no vectors."
        )
    if chosen != "words" and not vectors and kind != "texts":
        raise UserError(
            f"features: {chosen}: the documents are matrices, and embeddings are made of texts; "
            "name files of vectors, or give texts."
        )
    return chosen


def embeddings(
    texts: Sequence[str], settings: Settings, max_pieces: int = sentences.MAX_PIECES
) -> np.ndarray:
    """Return the sentence embeddings (n, 384) of texts, with a progress bar on a terminal."""
    from tqdm import tqdm

    with tqdm(desc="embedding", unit=" texts", leave=False, disable=None) as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        try:
            return sentences.embed(texts, settings, max_pieces=max_pieces, on_progress=update)
        except KeyboardInterrupt as error:
            error.add_note("Finished embeddings are saved; rerun the command to continue.")
            raise


def read_vectors(paths: Sequence[Path], files: Sequence[Documents]) -> np.ndarray:
    """Return the vectors (n, d) of all documents, float32, of length one; zero rows stay zero."""
    names = ", ".join(f"{file.path} ({counted(len(file), 'document')})" for file in files)
    if len(paths) not in (1, len(files)):
        raise UserError(
            f"vectors: {counted(len(paths), 'file')}; expected one for each of {names}, in this "
            "order, or one for all."
        )
    check_files(paths)
    wanted = [(len(file), f"{file.path}") for file in files]
    if len(paths) == 1:
        wanted = [(sum(map(len, files)), names)]
    parts = [_read(path, *of) for path, of in zip(paths, wanted, strict=True)]
    for path, part in zip(paths, parts, strict=True):
        if part.shape[1] != parts[0].shape[1]:
            raise UserError(
                f"{path}: {counted(part.shape[1], 'column')}; expected {parts[0].shape[1]} as in "
                f"{paths[0]}: all vectors must come from one encoder."
            )
    return np.vstack(parts)


def _read(path: Path, size: int, of: str) -> np.ndarray:
    """Return the vectors of the `size` documents of a domain or of all, float32, of length one."""
    from sklearn.preprocessing import normalize

    def check(shape: tuple[int, ...]) -> None:
        """Raise an error before a matrix of another shape is read."""
        if len(shape) == 2 and not 1 <= shape[1] <= MAX_COLUMNS:
            raise ValueError(f"{shape[1]} columns, expected 1 to {MAX_COLUMNS:,}")
        if len(shape) == 2 and shape[0] != size:
            raise UserError(
                f"{path}: {counted(shape[0], 'row')}; expected {size:,}, one for each document of "
                f"{of}, in the same order."
            )

    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: expected vectors in a file {' or '.join(SUFFIXES)}.")
    try:
        X = _array(path, check)
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        wrong = np.flatnonzero(~np.isfinite(dense).all(axis=1))
        if wrong.size:
            raise ValueError(f"row {wrong[0]} (from 0) has an infinite or missing number")
        if not dense.any():
            raise ValueError("every number is 0")
        # Divided by the largest entry first, so that no square is too large or too small.
        return np.asarray(normalize(normalize(dense, "max")), np.float32)
    except UserError:
        raise
    except Exception as error:  # libraries raise many types for a file in another format
        why = f"{error}" if type(error) is ValueError else reason(error)
        raise UserError(
            f"{path}: no vectors of documents ({why}); expected an array (documents × numbers) of "
            "numpy.save, or a matrix of scipy.sparse.save_npz."
        ) from None


def _array(path: Path, check: Callable[[tuple[int, ...]], None]) -> Matrix:
    """Return the only matrix of a file; check its shape first, and run no code of it."""
    shapes = array_shapes(path)
    if "" in shapes:
        check(shapes[""])
        # Mapped, so that a file that claims more numbers than it has allocates nothing.
        return canonical(np.load(path, mmap_mode="r", allow_pickle=False))
    with np.load(path, allow_pickle=False) as arrays:
        if {"indptr", "format"} & shapes.keys():
            check(tuple(int(number) for number in arrays["shape"]))
            return canonical(sp.load_npz(path))  # without pickle
        if len(shapes) != 1:
            raise ValueError(f"{len(shapes)} arrays, expected one")
        ((name, shape),) = shapes.items()
        check(shape)
        return canonical(arrays[name])
