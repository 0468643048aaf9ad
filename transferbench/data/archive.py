"""Read tar and zip archives in memory; compute digests of files and of archive contents."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from transferbench.errors import UserError, unknown

BLOCK_SIZE = 1 << 20  # bytes read at once
MAX_MEMBERS = 100_000  # of an archive, including folders
MAX_HEADER_SIZE = 1 << 16  # bytes of a tar header for a long name or extended attributes
# Errors of the standard library for damaged, truncated or unknown archives.
ARCHIVE_ERRORS = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(RuntimeError, ValueError),
)
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_EXTRA_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE),
    tarfile.SOLARIS_XHDTYPE,
)
# Empty, absolute, with a drive letter, "..", a backslash or a control character.
_UNSAFE_PATH = re.compile(r"^$|^/|^[A-Za-z]:|(^|/)\.\.(/|$)|[\\\x00-\x1f\x7f]")


def digest(path: Path, scheme: str) -> str:
    """Return the digest of a file, "scheme:hex".

    sha256: of the content.
    git-blob: sha1 of b"blob <size>\\0" and the content, the file's name in git.
    tree: sha256 of the sorted lines "<path>\\t<sha256>\\n" of an archive's regular files; every
    packing of the same files has the same digest.

    Raises UserError for an unknown scheme or (tree) a bad archive, OSError for an unreadable file.
    """
    schemes = ("sha256", "git-blob", "tree")
    if scheme not in schemes:
        raise unknown("digest scheme", scheme, schemes)
    total = hashlib.sha1(usedforsecurity=False) if scheme == "git-blob" else hashlib.sha256()
    if scheme == "tree":
        lines = [f"{name}\t{hashlib.sha256(data).hexdigest()}\n" for name, data in members(path)]
        # tarfile decodes bytes of a name that are not UTF-8 as surrogates.
        total.update(b"".join(sorted(line.encode("utf-8", "surrogateescape") for line in lines)))
    else:
        with path.open("rb") as stream:
            if scheme == "git-blob":
                total.update(b"blob %d\0" % os.fstat(stream.fileno()).st_size)
            while block := stream.read(BLOCK_SIZE):
                total.update(block)
    return f"{scheme}:{total.hexdigest()}"


def members(path: Path, *, limit: int = 256 << 20) -> Iterator[tuple[str, bytes]]:
    """Yield (posix path, content) of the regular files of a tar[.gz|.bz2|.xz] or zip, in order.

    Raises UserError for unsafe names (absolute, with "..", a drive letter, a backslash or a control
    character), links and devices, more than `limit` unpacked bytes or MAX_MEMBERS members, and for
    files that are damaged, truncated or no archive. Members before the bad one are yielded first.
    """
    remaining = limit
    try:
        with path.open("rb") as file:
            start = file.read(6)
        is_zip = start.startswith(b"PK")
        entries = _zip_entries(path, limit) if is_zip else _tar_entries(path, start, limit)
        for number, (name, kind, size, stream) in enumerate(entries, start=1):
            if number > MAX_MEMBERS:
                raise _refused(path, f"has more than {MAX_MEMBERS} members")
            if kind not in (stat.S_IFREG, stat.S_IFDIR):
                raise _refused(path, f"member {name!r} is a link or a device")
            if _UNSAFE_PATH.search(name):
                raise _refused(path, f"member {name!r} has an unsafe path")
            if kind == stat.S_IFREG:
                if not 0 <= size <= remaining:
                    raise _refused(path, f"unpacks to more than {limit} bytes")
                data = stream.read(size + 1)  # one byte more: the declared size may be false
                if len(data) != size:
                    raise _refused(path, f"member {name!r} is not of the declared {size} bytes")
                remaining -= size
                yield str(PurePosixPath(name)), data
    except (*ARCHIVE_ERRORS, OSError) as error:
        reason = textwrap.shorten(f"{error}", 160, placeholder=" …") or type(error).__name__
        raise _refused(path, f"not a readable tar or zip archive ({reason})") from error


# Name, stat.S_IF…, declared size, stream (read only for regular files).
_Entries = Iterator[tuple[str, int, int, IO[bytes]]]


def _zip_entries(path: Path, limit: int) -> _Entries:
    with zipfile.ZipFile(path) as archive:
        if len(archive.infolist()) > MAX_MEMBERS:  # before any member is unpacked
            raise _refused(path, f"has more than {MAX_MEMBERS} members")
        if sum(info.file_size for info in archive.infolist()) > limit:
            raise _refused(path, f"unpacks to more than {limit} bytes")
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 if the packer stored no file mode
            if kind in (0, stat.S_IFREG):
                kind = stat.S_IFDIR if info.is_dir() else stat.S_IFREG
            with archive.open(info) as stream:
                # On Windows zipfile replaces backslashes in `filename`, but not here.
                yield info.orig_filename, kind, info.file_size, stream


def _tar_entries(path: Path, start: bytes, limit: int) -> _Entries:
    opener = next((o for magic, o in _OPENERS.items() if start.startswith(magic)), open)
    with opener(path, "rb") as packed:
        # Headers and padding add to the size of the members.
        stream = _BoundedStream(packed, limit + 4 * tarfile.BLOCKSIZE * MAX_MEMBERS, path)
        options: Any = {"tarinfo": _TarInfo, "encoding": "utf-8", "errors": "surrogateescape"}
        with tarfile.open(fileobj=stream, mode="r|", **options) as archive:
            for info in archive:
                kind = stat.S_IFREG if info.isreg() else stat.S_IFDIR if info.isdir() else 0
                member = archive.extractfile(info) if kind == stat.S_IFREG else None
                yield info.name, kind, info.size, member or io.BytesIO()
        while stream.read(BLOCK_SIZE):  # a compressed stream has its checksum at the end
            pass


class _BoundedStream(io.RawIOBase):
    """A stream that raises UserError after `remaining` bytes."""

    def __init__(self, stream: IO[bytes], remaining: int, path: Path) -> None:
        self.stream, self.remaining, self.path = stream, remaining, path

    def read(self, size: int = -1, /) -> bytes:
        block = self.stream.read(size)
        self.remaining -= len(block)
        if self.remaining < 0:
            raise _refused(self.path, "unpacks to too many bytes")
        return block


class _TarInfo(tarfile.TarInfo):
    """A tar header that is checked.

    After the first member tarfile takes a damaged header for the end of the archive, and it reads
    a long name or extended attributes into memory at once, whatever their size.
    """

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> _TarInfo:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):  # a block of zeros: the true end
                raise
            raise tarfile.ReadError(f"{error}") from None
        if header.type in _EXTRA_HEADERS and header.size > MAX_HEADER_SIZE:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


def _refused(path: Path, why: str) -> UserError:
    return UserError(f"{path}: {why}; get a fresh copy.")
