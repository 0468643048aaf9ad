"""Read tar and zip archives in memory; compute digests of files and of archive contents."""

import gzip
import hashlib
import io
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from transferbench.errors import UserError

MAX_UNPACKED = 256 << 20  # bytes of all files of an archive
# Errors of the standard library for damaged, truncated or unknown archives.
ARCHIVE_ERRORS = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError),
    *(RuntimeError, ValueError),
)


def digest(path: Path, scheme: str) -> str:
    r"""Return the digest of a file, "scheme:hex".

    Parameters
    ----------
    path
        The file.
    scheme
        sha256: of the content. git-blob: sha1 of b"blob <size>\0" and the content, the file's name
        in git. tree: sha256 of the sorted lines "<path>\t<sha256>\n" of an archive's regular files;
        every packing of the same files has the same digest.

    Raises
    ------
    UserError
        For a bad archive (tree).
    OSError
        For an unreadable file.
    """
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
    """Yield (posix path, content) of the regular files of an archive, in order.

    Nothing is written to the disk.

    Parameters
    ----------
    path
        A tar, tar.gz or zip.

    Raises
    ------
    UserError
        For a file that is no readable archive, or that unpacks to more than MAX_UNPACKED bytes.
    """
    try:
        for name, content in (_zipped if zipfile.is_zipfile(path) else _tarred)(path):
            yield str(PurePosixPath(name)), content
    except (*ARCHIVE_ERRORS, OSError) as error:
        reason = textwrap.shorten(f"{error}", 160, placeholder=" …") or type(error).__name__
        raise UserError(
            f"{path}: not a readable tar or zip archive ({reason}); get a fresh copy."
        ) from error


def _zipped(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        _check_size(sum(info.file_size for info in archive.infolist()))
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, archive.read(info)


def _tarred(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as packed:
        is_gzip = packed.read(2) == b"\x1f\x8b"
    with (gzip.open if is_gzip else open)(path, "rb") as stream:
        unpacked = stream.read(MAX_UNPACKED + 1)
    _check_size(len(unpacked))
    with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:", encoding="utf-8") as archive:
        for info in archive:
            if info.isreg() and (content := archive.extractfile(info)):
                yield info.name, content.read()


def _check_size(size: int) -> None:
    if size > MAX_UNPACKED:
        raise ValueError(f"unpacks to more than {MAX_UNPACKED} bytes")
