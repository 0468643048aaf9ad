"""Artefacts: results of pure functions, made once and shared by runs through a folder.

`@artefact` marks a function of arrays and plain parameters. Inside `use(folder)` its results are
stored and reused; elsewhere the decorator only calls it. The key of a result is a digest of

    name and code of the function │ every argument: arrays by type, layout and content
    versions of libraries and processor, on which rounding depends

so an artefact never becomes stale, and equal content shares it whatever the task or model. A file
is the SHA-256 of an npz, then the npz, without pickle. A file that is missing, damaged or cannot be
read is made again; if none can be written, nothing is stored.

Times include the cost of reused artefacts, see `ArtefactCosts`.

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
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from transferbench.errors import UserError
from transferbench.files import TEMPORARY, open_regular, writing
from transferbench.fingerprint import fingerprint

P = ParamSpec("P")
R = TypeVar("R")

#: Part of every key and digest; change it with the format of the files or of the keys.
FORMAT = 5
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


#: Results and the seconds that they took, by name; for the models that one command compares.
Memory: TypeAlias = dict[str, tuple[Any, float]]


@dataclass
class ArtefactCosts:
    """Cost of the artefacts that a block reused.

    Parameters
    ----------
    reused
        Wall time in seconds that it took to make them.
    finding
        Wall time in seconds that the block spent to find, read and write artefacts.
    peak_mib
        Largest resident memory of the processes that made them, in MiB.
    """

    reused: float = 0.0
    finding: float = 0.0
    peak_mib: float = 0.0

    def clock(self) -> float:
        """Return a time in seconds, as if the block made all its artefacts itself."""
        return time.perf_counter() + self.reused - self.finding

    @contextmanager
    def find(self) -> Iterator[None]:
        """Count the time of the block as spent on finding artefacts."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.finding += time.perf_counter() - start


def artefact(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a pure function whose results are stored and reused inside `use`.

    Arguments: arrays, sparse matrices, numbers, texts, None; tuples, lists and dataclasses of them.
    Results: the same, where dataclasses are names of the function's module. Returned arrays must be
    new and contiguous. The function must not change its arguments.
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
def use(store: Folder | Memory | None) -> Iterator[ArtefactCosts]:
    """Store and reuse artefacts in the block; do nothing if there is no store or no such folder."""
    costs = ArtefactCosts()
    exists = store.path.is_dir() if isinstance(store, Folder) else store is not None
    token = _cache.set(_Cache(store, costs) if store is not None and exists else None)
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
    store: Folder | Memory
    costs: ArtefactCosts

    def get(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return the stored result of a call, or call the function and store its result."""
        store, costs = self.store, self.costs
        with costs.find():
            name = f"{function.__name__}-{self._key(function, args, kwargs)}.artefact"
            with suppress(Exception):  # if it is missing, or whatever is wrong with the file
                if isinstance(store, Folder):
                    result, cost, peak = read_value(store.path / name, function.__globals__)
                else:
                    result, cost, peak = *store[name], 0.0
                costs.reused += cost
                costs.peak_mib = max(costs.peak_mib, peak)
                return result
        start = costs.clock()
        result = function(*args, **kwargs)
        cost = costs.clock() - start
        with costs.find():
            if not isinstance(store, Folder):
                store[name] = result, cost
            elif cost >= LEAST_SECONDS:
                # A full disk, a folder that is read-only, a result of another type.
                with suppress(UserError, MemoryError, NotImplementedError):
                    _write(store, name, result, cost)
        return result

    def _key(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> str:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        name = f"{function.__module__}.{function.__qualname__}"
        arrays: list[np.ndarray] = []
        parts = [name, *bound.arguments.items()]
        if isinstance(self.store, Folder):  # neither changes while a command runs
            parts += [fingerprint(Path(inspect.getfile(function))), environment()]
        packed = _pack(parts, arrays)
        # Sums may be rounded otherwise in another layout, so strides are part of the key.
        layouts = [(array.dtype.str, array.shape, array.strides) for array in arrays]
        digest = hashlib.sha256(json.dumps([FORMAT, packed, layouts]).encode())
        for array in arrays:
            ordered = array if array.flags.c_contiguous else array.T
            digest.update(np.ascontiguousarray(ordered).reshape(-1).data)
        return digest.hexdigest()[:32]


def _write(folder: Folder, name: str, result: Any, cost: float) -> None:
    """Write an artefact, and remove the oldest until the others have room."""
    with writing(folder.path / name) as temporary:
        write_arrays(temporary, None, (result, cost, peak_mib() or 0.0))
        if temporary.stat().st_size > folder.max_bytes:
            raise UserError(f"{folder.path / name} has no room in its folder.")
    files = []
    # Also what killed processes left.
    for path in (*folder.path.glob(NAMES), *folder.path.glob(TEMPORARY)):
        with suppress(OSError):  # another process removed it
            files.append((path.stat().st_mtime, path.stat().st_size, path))
    excess = sum(size for _, size, _ in files) - folder.max_bytes
    for _, size, path in sorted(files):
        if excess <= 0:
            return
        with suppress(OSError):
            path.unlink()
            excess -= size


_cache: ContextVar[_Cache | None] = ContextVar("artefacts", default=None)


def peak_mib() -> float | None:
    """Return the largest resident memory so far, in MiB; None if the system does not report it."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def write_arrays(path: Path, header: Any, value: Any) -> None:
    """Write a digest, then an npz with `header` as JSON and the value; no pickle.

    The value: numbers, texts, None, arrays, sparse matrices; tuples, lists and dataclasses of them.
    Raise NotImplementedError for others.
    """
    arrays: list[np.ndarray] = []
    texts = {"header": json.dumps(header), "value": json.dumps(_pack(value, arrays))}
    encoded = {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}
    with path.open("w+b") as file:
        file.write(bytes(DIGEST_SIZE))
        np.savez(file, *arrays, **encoded)  # type: ignore[arg-type]
        file.seek(DIGEST_SIZE)
        digest = _digest(file)
        file.seek(0)
        file.write(digest)


def read_header(path: Path) -> Any:
    """Return the header of a file made by `write_arrays`, without reading its arrays.

    Raise ValueError if its digest is wrong, OSError if it cannot be read.
    """
    with _open(path) as arrays:
        return json.loads(arrays["header"].tobytes())


def read_value(path: Path, classes: Mapping[str, Any]) -> Any:
    """Return the value of a file made by `write_arrays`. Raises as `read_header` does.

    classes: names of dataclasses, and maybe others, which are refused.
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


def _pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a description of a value as JSON, and add its arrays to `arrays`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_pack(item, arrays) for item in value]
    if type(value) is tuple:
        return {"tuple": _pack([*value], arrays)}
    if (type(value) is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        arrays.append(np.asarray(value))
        return {"array" if type(value) is np.ndarray else "scalar": len(arrays) - 1}
    name = type(value).__name__
    if name in SPARSE:
        parts = _pack([value.data, value.indices, value.indptr], arrays)
        return {"sparse": name, "shape": value.shape, "parts": parts}
    if is_dataclass(value):
        values = [getattr(value, field.name) for field in fields(value)]
        return {"dataclass": name, "values": _pack(values, arrays)}
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
