"""Artefacts: results of pure functions, made once and shared by runs through a folder.

`@artefact` marks a function of arrays and plain parameters. Inside `use(folder)` its results are
stored and reused; elsewhere the decorator only calls it. The key of a result is a digest of

    name and code of the function │ every argument: arrays by type, layout and content
    versions of libraries, processor and number of threads, on which rounding depends

so an artefact never becomes stale, and equal content shares it whatever the task or model. A file
is the SHA-256 of an npz, then the npz, without pickle. A file that is missing, damaged or cannot be
read is made again; if none can be written, nothing is stored.

Times of a run stay as if it had made every artefact itself, see `ArtefactCosts`.

The files of built tasks have the same format, see `write_arrays`.
"""

import hashlib
import inspect
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from transferbench.errors import UserError
from transferbench.files import open_regular, writing
from transferbench.fingerprint import fingerprint

P = ParamSpec("P")
R = TypeVar("R")

#: Part of every key; change it with the format of the files or of the keys.
FORMAT = 3
#: Pattern of the names of artefacts; other files in their folder are the user's.
NAMES = f"*-{'[0-9a-f]' * 32}.artefact"
#: Libraries on which results depend.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "sparse-dot-topn")
#: A result that takes fewer seconds to make is not stored.
LEAST_SECONDS = 0.05
DIGEST_SIZE = 32  # bytes of a SHA-256
#: Sparse matrices that can be written.
SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)}


@dataclass(frozen=True)
class Folder:
    """The folder of artefacts and its limit in bytes; the oldest artefacts are deleted first."""

    path: Path
    max_bytes: int


@dataclass
class ArtefactCosts:
    """Time (wall, in seconds) and memory that artefacts saved or added in a block.

    reused     : what it took to make the artefacts that were reused.
    correction : what to add to the times of the block so that they include `reused`, but not the
               time to look up, read and write artefacts. May be negative.
    peak_mib   : largest resident memory of the processes that made the reused artefacts, in MiB.
    """

    reused: float = 0.0
    correction: float = 0.0
    peak_mib: float = 0.0


def artefact(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a pure function whose results are stored and reused inside `use`.

    Arguments: arrays, sparse matrices, numbers, texts, None; tuples, lists and dataclasses of them.
    Results: the same, where dataclasses are names of the function's module. Returned arrays must be
    new, and contiguous to be stored. The function must not change its arguments.
    """

    @wraps(function)
    def reuse(*args: P.args, **kwargs: P.kwargs) -> R:
        cache = _cache.get()
        if cache is None:
            return function(*args, **kwargs)
        result: R = cache.get(function, *args, **kwargs)
        return result

    return reuse


@contextmanager
def use(folder: Folder | None, threads: int = 1) -> Iterator[ArtefactCosts]:
    """Store and reuse artefacts in the block; without an existing folder, do nothing.

    threads: number of threads of the numerical libraries, part of the keys.
    """
    costs = ArtefactCosts()
    token = _cache.set(_Cache(folder, threads, costs) if folder and folder.path.is_dir() else None)
    try:
        yield costs
    finally:
        _cache.reset(token)


@cache
def environment() -> list[str]:
    """Return versions of libraries and the kind of processor; slow once in a process."""
    versions = [f"{name} {version}" for name, version in installed(*LIBRARIES).items()]
    processors = sorted({i["architecture"] for i in threadpool_info() if "architecture" in i})
    return [platform.machine(), *versions, *processors]


def installed(*names: str) -> dict[str, str]:
    """Return the versions of those of these libraries that are installed."""
    versions = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


@dataclass(frozen=True)
class _Cache:
    folder: Folder
    threads: int
    costs: ArtefactCosts

    def get(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return the stored result of a call, or call the function and store its result."""
        costs, asked = self.costs, time.perf_counter()
        name = f"{function.__name__}-{self._key(function, args, kwargs)}.artefact"
        path = self.folder.path / name
        with suppress(Exception):  # whatever is wrong with the file, make it again
            with open_arrays(path) as ((packed, cost, peak), arrays):
                result = unpack(packed, arrays, function.__globals__)
            costs.reused += cost
            costs.peak_mib = max(costs.peak_mib, peak)
            costs.correction += cost - (time.perf_counter() - asked)
            return result
        called = time.perf_counter()
        costs.correction -= called - asked
        before = costs.correction
        result = function(*args, **kwargs)
        returned = time.perf_counter()
        # Artefacts made or reused by the function itself count in full, as if made here.
        cost = returned - called + costs.correction - before
        if cost >= LEAST_SECONDS:
            # A full disk, a folder that is read-only, a result of another type.
            with suppress(UserError, MemoryError, NotImplementedError):
                self._write(path, result, cost)
        costs.correction -= time.perf_counter() - returned
        return result

    def _key(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> str:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        code = fingerprint(Path(inspect.getfile(function)))
        name = f"{function.__module__}.{function.__qualname__}"
        arrays: dict[str, np.ndarray] = {}
        parts = [name, code, environment(), self.threads, *bound.arguments.items()]
        packed = pack(parts, arrays)
        # Sums may be rounded otherwise in another layout, so strides are part of the key.
        layouts = [(array.dtype.str, array.shape, array.strides) for array in arrays.values()]
        digest = hashlib.sha256(json.dumps([FORMAT, packed, layouts]).encode())
        for array in arrays.values():
            ordered = array if array.flags.c_contiguous else array.T
            digest.update(np.ascontiguousarray(ordered).reshape(-1).data)
        return digest.hexdigest()[:32]

    def _write(self, path: Path, result: Any, cost: float) -> None:
        arrays: dict[str, np.ndarray] = {}
        packed = pack(result, arrays)
        if not all(array.flags.forc for array in arrays.values()):
            return  # such a layout would not come back as it is
        header = [packed, cost, peak_mib() or 0.0]
        size = sum(array.nbytes for array in arrays.values())
        if size > self.folder.max_bytes:
            return
        self._make_room(size)
        with writing(path) as temporary:
            write_arrays(temporary, header, arrays)

    def _make_room(self, size: int) -> None:
        """Remove the oldest artefacts until `size` more bytes have room."""
        files = []
        for path in self.folder.path.glob(f"{NAMES}*"):  # also what a killed process left
            with suppress(OSError):  # another process removed it
                files.append((path.stat().st_mtime, path.stat().st_size, path))
        excess = sum(each[1] for each in files) + size - self.folder.max_bytes
        for _, freed, path in sorted(files):
            if excess <= 0:
                return
            with suppress(OSError):
                path.unlink()
                excess -= freed


_cache: ContextVar[_Cache | None] = ContextVar("artefacts", default=None)


def peak_mib() -> float | None:
    """Return the largest resident memory so far, in MiB; None if the system does not report it."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


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
    with open_regular(path) as file:
        digest = file.read(DIGEST_SIZE)
        if hashlib.file_digest(file, "sha256").digest() != digest:
            raise ValueError(f"{path} is damaged")
        file.seek(DIGEST_SIZE)
        with np.load(file, allow_pickle=False) as arrays:
            yield json.loads(arrays["header"].tobytes()), arrays


def stored_digest(path: Path) -> bytes:
    """Return the digest at the head of a file made by `write_arrays`, without comparing it."""
    with open_regular(path) as file:
        return file.read(DIGEST_SIZE)
