"""Archives read in memory, and digests of files and of archives' contents."""

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

BLOCK = 1 << 20  # bytes read at once
MOST = 100_000  # members of an archive, folders and all
LONGEST = 1 << 16  # bytes of a header that a tar has besides the usual ones
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
# What the standard library raises for archives that are damaged, cut off or of an unknown kind.
DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(RuntimeError, ValueError),
)
_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE),
    tarfile.SOLARIS_XHDTYPE,
)
# Empty, absolute, with a drive, with a "..", with a backslash or a control character.
_UNSAFE = re.compile(r"^$|^/|^[A-Za-z]:|(^|/)\.\.(/|$)|[\\\x00-\x1f\x7f]")


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


def members(path: Path, *, limit: int = 256 << 20) -> Iterator[tuple[str, bytes]]:
    """(posix path, content) of the regular files of a tar[.gz|.bz2|.xz] or zip, in archive order.

    Raises UserError for absolute paths, "..", drive letters, backslashes and control characters in
    names, links and devices, more than `limit` unpacked bytes or MOST members, damaged or truncated
    archives and no archives. The members before the offending one have been given by then.
    """
    left = limit
    try:
        with path.open("rb") as file:
            start = file.read(6)
        entries = (
            _zip_entries(path) if start.startswith(b"PK") else _tar_entries(path, start, limit)
        )
        for number, (name, kind, size, stream) in enumerate(entries, start=1):
            if number > MOST:
                raise _refused(path, f"has more than {MOST} members")
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
    except (*DAMAGE, OSError) as error:
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
        # Headers and padding come on top of the members.
        stream = _Bounded(packed, limit + 4 * tarfile.BLOCKSIZE * MOST, path)
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
    """After the first member tarfile takes a damaged or missing header for the archive's end.

    Long names and the like come in headers of their own, which it would read at once.
    """

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> _Header:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):  # the true end
                raise
            raise tarfile.ReadError(f"{error}") from None
        if header.type in _HEADERS and header.size > LONGEST:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


def _refused(path: Path, why: str) -> UserError:
    return UserError(f"{path}: {why}; get a fresh copy.")
