"""Files of values: arrays, sparse matrices and dataclasses of them, with a digest; no pickle.

A file is the SHA-256 of an npz, then the npz. Its entry "header" is JSON, the others are arrays.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

DIGEST_SIZE = 32  # bytes of a SHA-256
#: Sparse matrices that can be written.
SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)}


def pack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a description of a value as JSON, and add its arrays to `arrays`.

    The value: numbers, texts, None, arrays, sparse matrices; tuples, lists and dataclasses of them.
    Raise NotImplementedError for others.
    """

    def add(array: np.ndarray) -> str:
        if array.dtype.hasobject:
            raise NotImplementedError
        arrays[f"{len(arrays)}"] = array
        return f"{len(arrays) - 1}"

    if value is None or type(value) in (bool, int, float, str):
        return {"plain": value}
    if type(value) is np.ndarray:
        return {"array": add(value)}
    if isinstance(value, np.generic):
        return {"scalar": add(np.asarray(value))}
    if type(value).__name__ in SPARSE:
        parts = [add(part) for part in (value.data, value.indices, value.indptr)]
        return {"sparse": type(value).__name__, "shape": list(value.shape), "parts": parts}
    if type(value) in (tuple, list):
        return {type(value).__name__: [pack(each, arrays) for each in value]}
    if is_dataclass(value):
        parts_by_name = {f.name: pack(getattr(value, f.name), arrays) for f in fields(value)}
        return {"dataclass": type(value).__name__, "fields": parts_by_name}
    raise NotImplementedError(f"a value of type {type(value).__name__} cannot be written")


def unpack(packed: Any, arrays: Mapping[str, np.ndarray], names: Mapping[str, Any]) -> Any:
    """Return the value of which `pack` returned this description and these arrays."""
    match packed:
        case {"plain": value}:
            return value
        case {"array": name}:
            return arrays[name]
        case {"scalar": name}:
            return arrays[name][()]
        case {"tuple": parts}:
            return tuple(unpack(part, arrays, names) for part in parts)
        case {"list": parts}:
            return [unpack(part, arrays, names) for part in parts]
        case {"sparse": cls, "shape": shape, "parts": parts}:
            matrix = SPARSE[cls](tuple(shape))
            # The constructor would narrow the indices.
            matrix.data, matrix.indices, matrix.indptr = (arrays[part] for part in parts)
            return matrix
        case {"dataclass": cls, "fields": parts} if is_dataclass(names[cls]):
            return names[cls](**{n: unpack(part, arrays, names) for n, part in parts.items()})
    raise ValueError(f"unknown description: {packed}")


def write_arrays(path: Path, header: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the SHA-256 of an npz, then the npz with `header` as JSON and the arrays; no pickle."""
    packed = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with path.open("w+b") as file:
        file.write(bytes(DIGEST_SIZE))
        np.savez(file, header=packed, **arrays)  # type: ignore[arg-type]
        file.seek(DIGEST_SIZE)
        digest = hashlib.file_digest(file, "sha256").digest()
        file.seek(0)
        file.write(digest)


@contextmanager
def open_arrays(path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield header and arrays, read on access, of a file made by `write_arrays`.

    Raise ValueError if its digest is wrong, OSError if it cannot be read.
    """
    with path.open("rb") as file:
        digest = file.read(DIGEST_SIZE)
        if hashlib.file_digest(file, "sha256").digest() != digest:
            raise ValueError(f"{path} is damaged")
        file.seek(DIGEST_SIZE)
        with np.load(file, allow_pickle=False) as arrays:
            yield json.loads(arrays["header"].tobytes()), arrays


def stored_digest(path: Path) -> bytes:
    """Return the digest at the head of a file made by `write_arrays`, without comparing it."""
    with path.open("rb") as file:
        return file.read(DIGEST_SIZE)
