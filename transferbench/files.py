"""Write files atomically; lock a block against other processes."""

import errno
import glob
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from transferbench.errors import UserError

try:
    import fcntl
except ImportError:  # Windows: no locks, so files of killed processes are not removed
    fcntl = None  # type: ignore[assignment]

#: umask can only be read by setting it (not thread-safe), so read it once.
UMASK = os.umask(0)
os.umask(UMASK)


def user_path(text: str | Path) -> Path:
    """Return a path as the user wrote it, with ~ for a home folder; an unknown ~user stays."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 (Path.expanduser raises RuntimeError)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` if the block succeeds.

    Otherwise remove it. Temporary files that a killed process left are removed, too. An existing
    file keeps its permissions; of a link, the file that it leads to is replaced. Raise UserError if
    the folder cannot be written, if the disk is full or if `path` is read-only or no regular file;
    `path` is then unchanged.
    """
    temporary: Path | None = None
    try:
        target = Path(os.path.realpath(path))
        mode = _mode(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        for other in target.parent.glob(f".{glob.escape(target.name)}.????????.part"):
            remove_unlocked(other)
        handle, temporary = _temporary(target)
        with os.fdopen(handle):  # the lock is held while it is open
            yield temporary
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.chmod(mode)  # until here, only the owner could read it
            if fcntl:  # on Windows an open file cannot be renamed
                temporary.replace(target)
        if not fcntl:
            temporary.replace(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "free space there, or " if full else ""
        raise UserError(
            f"cannot write {path}: {error.strerror or error}; {remedy}choose another place with "
            "--data, --results or --out."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Return the permissions of a file, the usual ones if there is none.

    Raise OSError for a FIFO, device, socket or folder, for a loop of links, and for a file that
    nobody may write: in a folder that can be written it could be replaced.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return 0o666 & ~UMASK
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "no regular file")
    if not (mode & 0o222 and os.access(path, os.W_OK)):  # root may write every file
        raise OSError(errno.EACCES, "the file is read-only")
    return stat.S_IMODE(mode) & 0o777


def _temporary(path: Path) -> tuple[int, Path]:
    """Create a file beside `path`, locked so that another process keeps it."""
    while True:
        handle, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
        if fcntl:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if not fcntl or Path(name).exists():  # else it was removed before it was locked
            return handle, Path(name)
        os.close(handle)


def remove_unlocked(path: Path) -> None:
    """Remove a temporary file, unless a process has it locked and so still writes it."""
    with suppress(OSError), path.open("r+b") as file:
        if fcntl:  # on Windows an open file cannot be removed
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading.

    Raise OSError for anything else at once: opening a FIFO would wait, a device never ends.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(code, "is a folder" if stat.S_ISDIR(mode) else "no regular file", str(path))


def read_regular(path: Path) -> str:
    """Return the text of a regular file. Raise OSError for any other, ValueError if not UTF-8."""
    with open_regular(path) as file:
        return file.read().decode()


@contextmanager
def exclusive(lock: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Let one process at a time into the block; call `on_wait` if another is in it.

    The file `lock` is not removed. Raise UserError if it cannot be written.
    """
    from filelock import FileLock, Timeout

    file_lock = FileLock(lock)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = file_lock.acquire(timeout=0)
        except Timeout:
            on_wait()
            held = file_lock.acquire()
    except OSError as error:
        raise UserError(
            f"cannot write {lock}: {error.strerror or error}; choose another folder with --results."
        ) from error
    with held:
        yield


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically. Raise UserError as `writing` does."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
