"""Write files atomically; lock a block against other processes."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from transferbench.errors import UserError

#: Pattern of the names of temporary files; those of a killed process remain. The names are short,
#: because the name of the file to write may be as long as the system allows.
TEMPORARY = ".????????.part"


def user_path(text: str | Path) -> Path:
    """Return a path as the user wrote it, with ~ for a home folder; an unknown ~user stays."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 (Path.expanduser raises RuntimeError)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; rename it to `path` if the block succeeds.

    Otherwise remove it.

    Parameters
    ----------
    path
        The file to write. An existing file keeps its permissions; the target of a link is replaced.

    Yields
    ------
    Path
        A path in the same folder.

    Raises
    ------
    UserError
        If the folder cannot be written, the disk is full, or `path` is read-only or no regular
        file; `path` is then unchanged.
    """
    with reporting(path):
        target = Path(os.path.realpath(path))
        mode = file_mode(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{os.urandom(4).hex()}.part")
        try:
            temporary.touch(mode, exist_ok=False)
            if target.exists():
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
    """Return the permissions of a file, the usual ones if there is none.

    Raises
    ------
    OSError
        For a FIFO, device, socket or folder, for a loop of links, and for a read-only file, which
        could be replaced if its folder is writable.
    """
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
    """Open a regular file for reading.

    Raises
    ------
    OSError
        For any other kind of file: opening a FIFO would wait, and reading a device may never end.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "is a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise OSError(errno.EINVAL, what, str(path))
    return path.open("rb")


@contextmanager
def exclusive(lock: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Let one process at a time into the block.

    Parameters
    ----------
    lock
        A file for the lock, which is not removed.
    on_wait
        Called if another process is in the block.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    from filelock import FileLock, Timeout

    file_lock = FileLock(lock)
    with reporting(lock), suppress(Timeout):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file_lock.acquire(timeout=0)
    if not file_lock.is_locked:
        on_wait()
        with reporting(lock):
            file_lock.acquire()
    try:
        yield
    finally:
        file_lock.release()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically.

    Raises
    ------
    UserError
        As `writing` does.
    """
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
