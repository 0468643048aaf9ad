"""Files of arrays and plain values: a SHA-256, then an npz without pickle.

Built tasks and artefacts have this format. The SHA-256 covers the name that a file was written for,
too: under another name it is damaged, whoever copied or renamed it.
"""

import hashlib
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.files import open_regular

#: Part of every digest, and of the keys of artefacts; change it with either.
FORMAT = 6
DIGEST_SIZE = 32  # bytes of a SHA-256
#: Sparse matrices that can be written.
SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)}


def write_arrays(path: Path, header: Any, value: Any, name: str = "") -> None:
    """Write a header and a value to a file."""
    # `value`: Numbers, texts, None, arrays, sparse matrices; tuples, lists and dataclasses of them.
    # `name`: The name that the file must be read by.
    arrays: list[np.ndarray] = []
    texts = {"header": json.dumps(header), "value": json.dumps(pack(value, arrays))}
    encoded = {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}
    with path.open("w+b") as file:
        file.write(bytes(DIGEST_SIZE))
        np.savez(file, *arrays, **encoded)  # type: ignore[arg-type]
        file.seek(DIGEST_SIZE)
        digest = _digest(file, name)
        file.seek(0)
        file.write(digest)


def read_header(path: Path, name: str = "") -> Any:
    """Return the header of a file, without reading its arrays."""
    # Raise ValueError if the digest is wrong: the file is damaged, or was written for another
    # name.
    with _open(path, name) as arrays:
        return json.loads(arrays["header"].tobytes())


def read_value(path: Path, classes: Mapping[str, Any], name: str = "") -> Any:
    """Return the value of a file."""
    # `classes`: Dataclasses by name; any other object is refused.
    # Raise ValueError if the digest is wrong: the file is damaged, or was written for another
    # name.

    def unpack(part: Any) -> Any:
        match part:
            case {"array": number}:
                return arrays[f"arr_{number}"]
            case {"scalar": number}:
                return arrays[f"arr_{number}"][()]
            case {"tuple": items}:
                return tuple(items)
            case {"sparse": kind, "shape": shape, "parts": parts}:
                if len(parts[2]) != shape["csc" in kind] + 1:  # it would allocate as many
                    raise ValueError(f"{len(parts[2])} row pointers for the shape {shape}")
                matrix = SPARSE[kind](tuple(shape))
                # The constructor would narrow the indices.
                matrix.data, matrix.indices, matrix.indptr = parts
                return matrix
            case {"dataclass": kind, "values": values} if is_dataclass(classes[kind]):
                return classes[kind](*values)
        raise ValueError(f"unknown description: {part}")

    with _open(path, name) as arrays:
        return json.loads(arrays["value"].tobytes(), object_hook=unpack)


def pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a description of a value as JSON."""
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
def _open(path: Path, name: str) -> Iterator[Any]:
    with open_regular(path) as file:
        if file.read(DIGEST_SIZE) != _digest(file, name):
            why = "is damaged, or of another version, or was written under another name"
            raise ValueError(f"{path} {why}")
        file.seek(DIGEST_SIZE)
        try:
            _check_sizes(file)
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
        except (OSError, MemoryError):
            raise
        except Exception as error:  # of a file that was made by hand, libraries raise many types
            raise ValueError(f"{path} is damaged: {error}") from error


def _check_sizes(file: Any) -> None:
    """Raise ValueError for an array that claims more bytes than the file has of it."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"{info.filename} is compressed")
            with archive.open(info) as array:
                read = np.lib.format.read_array_header_1_0
                if np.lib.format.read_magic(array) != (1, 0):
                    read = np.lib.format.read_array_header_2_0
                shape, _, dtype = read(array)
                if math.prod(shape) * dtype.itemsize != info.file_size - array.tell():
                    raise ValueError(f"{info.filename} is not of the shape {shape}")
    file.seek(DIGEST_SIZE)


def _digest(file: Any, name: str) -> bytes:
    """Return the SHA-256 of the format, the name and the rest of a file."""
    start = f"{FORMAT} {name}\n".encode()
    return hashlib.file_digest(file, lambda: hashlib.sha256(start)).digest()
