"""Write files atomically; lock a block against other processes."""

import errno
import mmap
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from transferbench.errors import UserError

#: Pattern of the names of temporary files; those of a killed process remain. The names are short,
#: because the name of the file to write may be as long as the system allows.
TEMPORARY = ".????????.part"
#: Largest number of members of a zip or tar; each takes memory, even without content.
MAX_MEMBERS = 100_000


def user_path(text: str | Path) -> Path:
    """Return a path as the user wrote it, with ~ for a home folder; an unknown ~user stays."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 (Path.expanduser raises RuntimeError)


@contextmanager
def writing(path: Path, *, follow: bool = True) -> Iterator[Path]:
    """Yield a temporary path; rename it to `path` if the block succeeds."""
    # If the block fails, the temporary file is removed.
    # `path`: An existing file keeps its permissions; the target of a link is replaced.
    # `follow`: If false, a link in place of the file is replaced, not its target: for files that
    # the user did not name. A link in place of a folder on the way is always followed.
    with reporting(path):
        if follow:
            target = Path(os.path.realpath(path))
        else:
            target = Path(os.path.realpath(path.parent)) / path.name
        is_link = not follow and target.is_symlink()
        mode = 0o666 if is_link else file_mode(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{os.urandom(4).hex()}.part")
        try:
            temporary.touch(mode, exist_ok=False)
            if target.exists() and not is_link:
                temporary.chmod(mode)
            yield temporary
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def reporting(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a UserError: `path` cannot be written."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "free space there, or " if full else ""
        raise UserError(
            f"cannot write {path}: {error.strerror or error}; {remedy}choose another place with "
            "--data, --results or --out."
        ) from error


def file_mode(path: Path) -> int:
    """Return the permissions of a file, the usual ones if there is none."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return 0o666
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "no regular file")
    if not (mode & 0o222 and os.access(path, os.W_OK)):  # root may write every file
        raise OSError(errno.EACCES, "the file is read-only")
    return mode & 0o777


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading."""
    # Raises OSError: for any other kind of file: opening a FIFO would wait, and reading a device
    # may never end.
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "is a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise OSError(errno.EINVAL, what, str(path))
    return path.open("rb")


@contextmanager
def open_zip(path: Path, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    """Open a zip whose members may be read by `read_member`."""
    # Raise ValueError if it says that it has more members than MAX_MEMBERS, or more bytes; or if
    # a member is packed by another method than deflate: zipfile would unpack any number of bytes at
    # once.
    with open_regular(path) as file:
        if path.stat().st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                entries = re.finditer(b"PK\x01\x02", content)  # before zipfile reads them all
                if sum(1 for _ in zip(entries, range(MAX_MEMBERS + 1), strict=False)) > MAX_MEMBERS:
                    raise ValueError(f"more than {MAX_MEMBERS:,} members")
        with zipfile.ZipFile(file) as archive:
            if sum(info.file_size for info in archive.infolist()) > max_bytes:
                raise ValueError(f"unpacks to more than {max_bytes} bytes")
            for info in archive.infolist():
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{info.filename}: expected it to be packed by deflate")
            yield archive


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member of a zip; no more is unpacked than its header says."""
    with archive.open(info) as stream:
        content = stream.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise ValueError(f"{info.filename} is not of {info.file_size} bytes")
    return content


@contextmanager
def exclusive(lock: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Let one process at a time into the block."""
    # `on_wait`: Called if another process is in the block.
    from filelock import FileLock, Timeout

    file_lock = FileLock(lock)
    with reporting(lock):
        if lock.is_symlink():  # opening it would empty the file that it leads to
            lock.unlink(missing_ok=True)
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            file_lock.acquire(timeout=0)
        except Timeout:
            on_wait()
            file_lock.acquire()
    try:
        yield
    finally:
        file_lock.release()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
