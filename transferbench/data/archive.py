"""Read tar and zip archives in memory; compute digests of files and of archive contents.

An archive may be hostile until its digest was compared: no member is read further than the limit,
whatever its header says.
"""

import gzip
import hashlib
import io
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Self

from transferbench.errors import UserError
from transferbench.files import MAX_MEMBERS, open_zip, read_member

MAX_UNPACKED = 256 << 20  # bytes of all files of an archive
MAX_HEADER = 1 << 20  # bytes of a long name or of further fields of a member of a tar
#: Types of members of a tar that are such a name or such fields.
HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
# Errors of the standard library for damaged, truncated or unknown archives.
ARCHIVE_ERRORS = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError),
    *(RuntimeError, ValueError),
)


def digest(path: Path, scheme: str) -> str:
    """Return the digest of a file, "scheme:hex"."""
    # `scheme`: sha256: of the content. git-blob: sha1 of b"blob <size>\0" and the content, the
    # file's name in git. tree: sha256 of the sorted lines "<path>\t<sha256>\n" of an archive's
    # regular files; every packing of the same files has the same digest.
    total = hashlib.sha256()
    if scheme == "tree":
        lines = [f"{name}\t{hashlib.sha256(data).hexdigest()}\n" for name, data in members(path)]
        # tarfile decodes bytes of a name that are not UTF-8 as surrogates.
        total.update(b"".join(sorted(line.encode("utf-8", "surrogateescape") for line in lines)))
        return f"tree:{total.hexdigest()}"
    if scheme == "git-blob":
        size = path.stat().st_size
        total = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with path.open("rb") as stream:
        return f"{scheme}:{hashlib.file_digest(stream, lambda: total).hexdigest()}"


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (posix path, content) of the regular files of an archive, in order."""
    # Nothing is written to the disk.
    try:
        with path.open("rb") as packed:  # a tar may end with a zip, so the start decides
            is_zip = packed.read(2) == b"PK"
        for name, content in (_zipped if is_zip else _tarred)(path):
            yield str(PurePosixPath(name)), content
    except (*ARCHIVE_ERRORS, OSError) as error:
        reason = textwrap.shorten(f"{error}", 160, placeholder=" …") or type(error).__name__
        raise UserError(
            f"{path}: not a readable tar or zip archive ({reason}); get a fresh copy."
        ) from error


def _zipped(path: Path) -> Iterator[tuple[str, bytes]]:
    with open_zip(path, MAX_UNPACKED) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, read_member(archive, info)


def _tarred(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as packed:
        is_gzip = packed.read(2) == b"\x1f\x8b"
    with (gzip.open if is_gzip else open)(path, "rb") as stream:
        unpacked = stream.read(MAX_UNPACKED + 1)
    if len(unpacked) > MAX_UNPACKED:
        raise ValueError(f"unpacks to more than {MAX_UNPACKED} bytes")
    headers = {"mode": "r:", "encoding": "utf-8", "tarinfo": _Header}
    with tarfile.open(fileobj=_Headers(unpacked), **headers) as archive:  # type: ignore[call-overload]
        for number, info in enumerate(archive):
            if number == MAX_MEMBERS:
                raise ValueError(f"more than {MAX_MEMBERS} members")
            if not 0 <= info.size <= len(unpacked) - info.offset_data:
                raise ValueError(f"{info.name} is not of {info.size} bytes")
            if info.isreg():
                yield info.name, unpacked[info.offset_data : info.offset_data + info.size]


class _Headers(io.BytesIO):
    """An unpacked tar; tarfile reads the headers of its members alone."""

    def read(self, size: int | None = -1) -> bytes:
        block = super().read(size)
        # A sparse file of any size takes a few bytes.
        if b"GNU.sparse." in block:
            raise ValueError("has a sparse file")
        return block


class _Header(tarfile.TarInfo):
    """A block that is the header of a member."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        if info.type == tarfile.GNUTYPE_SPARSE:
            raise ValueError("has a sparse file")
        if info.type in HEADERS and info.size > MAX_HEADER:
            raise ValueError(f"a name or its fields have {info.size} bytes")
        if not 0 <= info.size <= MAX_UNPACKED:  # tarfile would go there
            raise ValueError(f"{info.name} is not of {info.size} bytes")
        return info
