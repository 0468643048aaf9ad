"""Files of arrays and plain values: the SHA-256 of an npz, then the npz, without pickle.

Built tasks and artefacts have this format.
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

from transferbench.files import open_regular

#: Part of every digest, and of the keys of artefacts; change it with either.
FORMAT = 5
DIGEST_SIZE = 32  # bytes of a SHA-256
#: Sparse matrices that can be written.
SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)}


def write_arrays(path: Path, header: Any, value: Any) -> None:
    """Write a header and a value to a file.

    Parameters
    ----------
    path
        The file.
    header
        Plain data, written as JSON.
    value
        Numbers, texts, None, arrays, sparse matrices; tuples, lists and dataclasses of them.

    Raises
    ------
    NotImplementedError
        For a value of another type.
    """
    arrays: list[np.ndarray] = []
    texts = {"header": json.dumps(header), "value": json.dumps(pack(value, arrays))}
    encoded = {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}
    with path.open("w+b") as file:
        file.write(bytes(DIGEST_SIZE))
        np.savez(file, *arrays, **encoded)  # type: ignore[arg-type]
        file.seek(DIGEST_SIZE)
        digest = _digest(file)
        file.seek(0)
        file.write(digest)


def read_header(path: Path) -> Any:
    """Return the header of a file, without reading its arrays.

    Raises
    ------
    ValueError
        If the digest is wrong.
    OSError
        If the file cannot be read.
    """
    with _open(path) as arrays:
        return json.loads(arrays["header"].tobytes())


def read_value(path: Path, classes: Mapping[str, Any]) -> Any:
    """Return the value of a file.

    Parameters
    ----------
    path
        The file.
    classes
        Dataclasses by name; any other object is refused.

    Returns
    -------
    Any
        The value, with its types.

    Raises
    ------
    ValueError
        If the digest is wrong.
    OSError
        If the file cannot be read.
    """

    def unpack(part: Any) -> Any:
        match part:
            case {"array": number}:
                return arrays[f"arr_{number}"]
            case {"scalar": number}:
                return arrays[f"arr_{number}"][()]
            case {"tuple": items}:
                return tuple(items)
            case {"sparse": name, "shape": shape, "parts": parts}:
                matrix = SPARSE[name](tuple(shape))
                # The constructor would narrow the indices.
                matrix.data, matrix.indices, matrix.indptr = parts
                return matrix
            case {"dataclass": name, "values": values} if is_dataclass(classes[name]):
                return classes[name](*values)
        raise ValueError(f"unknown description: {part}")

    with _open(path) as arrays:
        return json.loads(arrays["value"].tobytes(), object_hook=unpack)


def pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a description of a value as JSON.

    Parameters
    ----------
    value
        The value, see `write_arrays`.
    arrays
        The arrays of the value are added to this list.

    Returns
    -------
    Any
        Plain data that refer to arrays by index.

    Raises
    ------
    NotImplementedError
        For a value of another type.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [pack(item, arrays) for item in value]
    if type(value) is tuple:
        return {"tuple": pack([*value], arrays)}
    if (type(value) is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        arrays.append(np.asarray(value))
        return {"array" if type(value) is np.ndarray else "scalar": len(arrays) - 1}
    name = type(value).__name__
    if name in SPARSE:
        parts = pack([value.data, value.indices, value.indptr], arrays)
        return {"sparse": name, "shape": value.shape, "parts": parts}
    if is_dataclass(value):
        values = [getattr(value, field.name) for field in fields(value)]
        return {"dataclass": name, "values": pack(values, arrays)}
    raise NotImplementedError(f"a value of type {name} cannot be written")


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    with open_regular(path) as file:
        if file.read(DIGEST_SIZE) != _digest(file):
            raise ValueError(f"{path} is damaged, or of another version")
        file.seek(DIGEST_SIZE)
        with np.load(file, allow_pickle=False) as arrays:
            yield arrays


def _digest(file: Any) -> bytes:
    """Return the SHA-256 of the format and the rest of a file."""
    return hashlib.file_digest(file, lambda: hashlib.sha256(b"%d" % FORMAT)).digest()
