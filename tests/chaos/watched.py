"""Code run with a watch on what it does outside its folder, how long and with how much memory."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

#: Seconds of computing after which an input counts as hanging; WAITING times as many by the clock,
#: which on a busy machine says little.
HANGING, WAITING = 10, 6
#: What a reader of a file has no business to do, as Python's audit events call it.
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "socket.connect", "pickle.find_class")
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link", "os.rmdir", "os.chmod")


class Escaped(BaseException):
    """What a reader must not do was done; no `except Exception` takes it for bad input."""


class Hangs(BaseException):
    """An input took longer than it may."""


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
    """Raises Escaped or Hangs where the block writes outside the folder, or takes too long."""
    global _inside, _hooked
    if not _hooked:  # a hook cannot be taken away
        sys.addaudithook(_audit)
        _hooked = True

    def late(*_: object) -> None:
        raise Hangs(f"more than {seconds:g} s")

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, WAITING * seconds),
    )
    before = [signal.signal(number, late) for number, _, _ in timers]
    for _, timer, most in timers:
        signal.setitimer(timer, most)
    _inside = folder.absolute()
    try:
        yield
    finally:
        _inside = None
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def apart(function: Callable[..., Any], *arguments: Any, most: int = 4 << 30) -> tuple[Any, float]:
    """What the function returns in a process of its own of at most so many bytes, and its peak: by
    how many MiB it grew."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        return pool.submit(_measured, function, arguments, most).result()


def _measured(function: Callable[..., Any], arguments: tuple[Any, ...], most: int) -> Any:
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
    sys.dont_write_bytecode = True
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = function(*arguments)
    return found, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
