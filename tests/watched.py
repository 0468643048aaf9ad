"""Run code and check that it stays in its folder and within limits of time and memory."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: CPU seconds after which an input counts as hanging; the limit of wall time is WAITING times that,
#: since the machine may be busy.
HANGING, WAITING = 10, 6
#: Python audit events that a reader of files must not cause, and those of changes to files.
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "socket.connect", "pickle.find_class")
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link", "os.rmdir", "os.chmod")


class Escaped(BaseException):
    """A reader did something forbidden. A BaseException, so no `except Exception` hides it."""


class Hangs(BaseException):
    """An input took too long."""


_inside: Path | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _inside is None:
        return
    if event in FORBIDDEN:
        raise Escaped(f"{event} {arguments!r:.80}")
    write = (
        event == "open"
        and isinstance(arguments[2], int)
        and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    )
    if (write or event in CHANGES) and isinstance(arguments[0], str | bytes | os.PathLike):
        path = Path(os.fsdecode(arguments[0])).absolute()
        if not path.is_relative_to(_inside):
            raise Escaped(f"{event} {path}")


_hooked = False


@contextmanager
def within(folder: Path, seconds: float = HANGING) -> Iterator[None]:
    """Raise Escaped if the block writes outside the folder, Hangs if it takes too long."""
    global _inside, _hooked
    if not _hooked:  # a hook cannot be removed
        sys.addaudithook(_audit)
        _hooked = True

    def late(*_: object) -> None:
        raise Hangs(f"more than {seconds:g} s")

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, WAITING * seconds),
    )
    before = [signal.signal(number, late) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    _inside = folder.absolute()
    try:
        yield
    finally:
        _inside = None
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
