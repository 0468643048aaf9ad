"""Files written whole or not at all, and by one process at a time where that matters."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from transferbench.errors import UserError

try:
    import fcntl
except ImportError:  # Windows, where what killed processes left stays
    fcntl = None  # type: ignore[assignment]

#: Read once: to read it is to change it for a moment, for every thread.
UMASK = os.umask(0)
os.umask(UMASK)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well, removed otherwise.

    What a killed process left of an earlier attempt is removed, too. Raises UserError where the
    folder cannot be written or the disk is full; `path` is then as it was before.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clean(path)
        handle, temporary = _temporary(path)
        with os.fdopen(handle):  # the lock is held while it is open
            # What is written is for all who may read the folder, as with any other file.
            temporary.chmod(0o666 & ~UMASK)
            yield temporary
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            if fcntl:  # elsewhere an open file cannot be renamed
                temporary.replace(path)
        if not fcntl:
            temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write {path}: {reason}; free space there, or choose other folders with "
            "--data and --results."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> tuple[int, Path]:
    """A new file beside `path`, locked (where files can be) so that no `_clean` removes it."""
    while True:
        handle, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
        if fcntl:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if not fcntl or Path(name).exists():  # else a _clean was quicker
            return handle, Path(name)
        os.close(handle)


def _clean(path: Path) -> None:
    """Remove temporaries of `path` that no process holds: the lock of a dead one is gone."""
    pattern = f".{glob.escape(path.name)}.????????.part"  # as mkstemp makes them
    for left in path.parent.glob(pattern) if fcntl else ():
        with suppress(OSError), left.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


@contextmanager
def alone(lock: Path, waits: Callable[[], None]) -> Iterator[None]:
    """One process at a time is in the block; `waits` is called where another is in it already.

    Raises UserError where the file `lock` cannot be written. It stays; only who holds it counts.
    """
    from filelock import FileLock, Timeout

    held = FileLock(lock)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            held.acquire(timeout=0)
        except Timeout:
            waits()
            held.acquire()
    except OSError as error:
        raise UserError(
            f"cannot write {lock}: {error.strerror or error}; choose another folder with --results."
        ) from error
    try:
        yield
    finally:
        held.release()


def write_text(path: Path, text: str) -> None:
    """UTF-8 text, whole or not at all. Raises UserError as `writing` does."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
