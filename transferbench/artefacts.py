"""Artefacts: results of pure functions, made once and shared by runs through a folder.

`@artefact` marks a function of arrays and plain parameters. Inside `use(folder)` its results are
stored and reused; elsewhere the decorator only calls it. The key of a result is a digest of

    name and code of the function │ every argument: arrays by type, layout and content
    versions of libraries and processor, on which rounding depends

so an artefact never becomes stale, and tasks and models with equal content share it. Files are in
the format of `npz`. A missing, damaged, renamed or unreadable file is made again. If a file cannot
be written, nothing is stored.

Times include the cost of reused artefacts, see `ArtefactCosts`.
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
from dataclasses import dataclass
from functools import cache, wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import threadpool_info

from transferbench import npz
from transferbench.errors import UserError
from transferbench.files import TEMPORARY, writing
from transferbench.fingerprint import fingerprint, untraced

P = ParamSpec("P")
R = TypeVar("R")

#: Pattern of the names of artefacts; other files in their folder are the user's.
NAMES = f"*-{'[0-9a-f]' * 32}.artefact"
#: Libraries on which results depend.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "sparse-dot-topn")
#: A result that takes fewer seconds to make is not stored.
LEAST_SECONDS = 0.05


@dataclass(frozen=True)
class Folder:
    """The folder of artefacts."""

    path: Path
    #: Largest size of all its artefacts; the oldest are deleted first.
    max_bytes: int


def open_folder(data: Path, max_gib: float) -> Folder | None:
    """Return the folder of artefacts in the folder of the data, None if it may hold none."""
    folder = Folder(data.absolute() / "artefacts", int(max_gib * 2**30))
    with suppress(OSError):
        folder.path.mkdir(parents=True, exist_ok=True)
    return folder if folder.max_bytes else None


#: Results and the seconds that they took, by name; for the models that one command compares.
Memory: TypeAlias = dict[str, tuple[Any, float]]


@dataclass
class ArtefactCosts:
    """Cost of the artefacts that a block reused."""

    #: Wall time in seconds that it took to make them.
    reused: float = 0.0
    #: Wall time in seconds that the block spent to find, read and write artefacts.
    finding: float = 0.0
    #: Largest resident memory of the processes that made them, in MiB.
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
    """Store and reuse the results of a pure function inside `use`."""
    # `function`: Its arguments and its result are of types that `npz.write_arrays` accepts. It must
    # not change the arguments. Arrays of the result must be new and contiguous; dataclasses of the
    # result must be names in the function's module.

    @wraps(function)
    def reuse(*args: P.args, **kwargs: P.kwargs) -> R:
        cache = _cache.get()
        # In a folder none of code that may change while its fingerprint stays the same.
        kept = cache and isinstance(cache.store, Folder)
        if cache is None or (kept and untraced(Path(inspect.getfile(function)))):
            return function(*args, **kwargs)
        result: R = cache.get(function, *args, **kwargs)
        return result

    return reuse


@contextmanager
def use(store: Folder | Memory | None) -> Iterator[ArtefactCosts]:
    """Store and reuse artefacts in the block."""
    # `store`: Folder, or results in memory. Without one, or if the folder does not exist, functions
    # are only called.
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
    """Return the versions of the libraries that are installed, by name."""
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
                    path, classes = store.path / name, function.__globals__
                    result, cost, peak = npz.read_value(path, classes, name)
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
        packed = npz.pack(parts, arrays)
        # Sums may be rounded otherwise in another layout, so strides are part of the key.
        layouts = [(array.dtype.str, array.shape, array.strides) for array in arrays]
        digest = hashlib.sha256(json.dumps([npz.FORMAT, packed, layouts]).encode())
        for array in arrays:
            ordered = array if array.flags.c_contiguous else array.T
            digest.update(np.ascontiguousarray(ordered).reshape(-1).data)
        return digest.hexdigest()[:32]


def _write(folder: Folder, name: str, result: Any, cost: float) -> None:
    """Write an artefact; remove the oldest ones until all fit into the folder."""
    with writing(folder.path / name, follow=False) as temporary:
        npz.write_arrays(temporary, None, (result, cost, peak_mib() or 0.0), name)
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
