"""Call a function in a forked process and end everything that it started.

The fork has a session and an output of its own and holds no other file of its parent. It sends
messages, one a line, by a pipe that nobody else writes to; a line that is not a message is ignored.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from transferbench.messages import EXCERPT_BYTES, excerpt

#: True if a process that has imported the numerical libraries can be forked safely.
CAN_FORK = sys.platform == "linux"
#: Largest result, in bytes.
MAX_RESULT = 2**24
#: Seconds between two checks whether a process still exists.
PAUSE = 0.1
#: Options of prctl: the signal to this process when its parent ends; whether this process becomes
#: the parent of those that lose theirs below it.
PDEATHSIG, CHILD_SUBREAPER = 1, 36

Send = Callable[[str], None]
#: The fork of the call in progress.
_current: BaseProcess | None = None


@dataclass(frozen=True)
class Ended:
    """How a call ended: the result (None if there is none), the output, and the exit code.

    exitcode: None if the process had not ended by itself.
    """

    result: str | None
    output: str
    exitcode: int | None


def call(
    function: Callable[[Send], str], on_message: Callable[[str], None], seconds: float | None
) -> Ended:
    """Call `function(send)` in a fork and return its result, a line of text.

    send    : sends a line to `on_message`, which is called in this process.
    seconds : time limit; None for no limit.

    When the function has returned, the fork ends at once: threads and child processes that it left
    are killed.
    """
    global _current
    fork = multiprocessing.get_context("fork")
    (inbox, outbox), (output, sink) = os.pipe(), os.pipe()
    keep = (outbox, resource_tracker.getfd())
    calling = _Calling(inbox, output, on_message)
    others = _children()
    try:
        try:
            _current = fork.Process(target=_run, args=(function, sink, keep, os.getpid()))
            _current.start()
        finally:
            os.close(outbox)
            os.close(sink)
        exitcode = calling.wait(_current, seconds)
    finally:
        end_call(others)
        calling.close()
    return Ended(calling.result, excerpt(calling.printed), exitcode)


def end_call(others: frozenset[int] = frozenset()) -> None:
    """Kill the fork of the call in progress, its session, and children it left to this process.

    others: children of this process that are not the call's.
    """
    global _current
    process, _current = _current, None
    if process is None or process.pid is None:
        return
    process.kill()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    # Children that left the session come to this process if it is a subreaper.
    for _ in range(100):  # one that cannot be killed is left
        orphans = _children() - others
        if not orphans:
            break
        for pid in orphans:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


class _Calling:
    """The parent's side of a call: its pipes, and what has arrived by them."""

    def __init__(self, inbox: int, output: int, on_message: Callable[[str], None]) -> None:
        self.inbox, self.output, self.on_message = inbox, output, on_message
        self.printed = b""  # the end of it
        self.result: str | None = None
        self._open = {inbox, output}
        self._line = bytearray()

    def wait(self, process: BaseProcess, seconds: float | None) -> int | None:
        """Read until there is a result, the process ended, or the time is over.

        Return the exit code of the process, None if it has not ended.
        """
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        while self.result is None and (remaining := deadline - time.monotonic()) > 0:
            pause = min(PAUSE, remaining)
            if not self._read(pause) and process.exitcode is not None:
                return process.exitcode
            if not self._open:
                time.sleep(pause)
        return None

    def close(self) -> None:
        """Read what was sent before the end, and close the pipes."""
        for _ in range(100):  # a process that could not be killed may send more
            if not self._read(0):
                break
        os.close(self.inbox)
        os.close(self.output)

    def _read(self, seconds: float) -> bool:
        """Wait for input and read some of it. Return False if there was none."""
        ready = [pipe for pipe in wait(list(self._open), seconds) if isinstance(pipe, int)]
        for pipe in ready:
            part = os.read(pipe, 2**16)
            if not part:
                self._open.discard(pipe)
            elif pipe == self.output:
                self.printed = (self.printed + part)[-EXCERPT_BYTES:]
            else:
                self._receive(part)
        return bool(ready)

    def _receive(self, part: bytes) -> None:
        self._line += part
        if b"\n" not in part:
            if len(self._line) > 2 * MAX_RESULT:  # no message is as long
                self._open.discard(self.inbox)
            return
        *lines, self._line = self._line.split(b"\n")
        for line in lines:
            kind, text = line[:1], line[1:].decode("utf-8", "replace")
            if kind == b"=" and self.result is None:
                self.result = text
            elif kind == b"+":
                self.on_message(text)


def _run(function: Callable[[Send], str], sink: int, keep: tuple[int, ...], parent: int) -> None:
    """Call the function; called in the fork, which ends here."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    prctl(PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    redirect(sink, sink)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > 2 and int(name) not in keep:
            with suppress(OSError):  # the one that listed them
                os.close(int(name))

    def send(message: str) -> None:
        # A short line is one atomic write, so threads can share the pipe.
        os.write(keep[0], f"+{message}\n".encode())

    result = function(send)
    flush()
    with os.fdopen(keep[0], "wb") as outbox:
        outbox.write(f"\n={result}\n".encode())
    os._exit(0)


def redirect(output: int, errors: int) -> None:
    """Send what this process and its children print to these open files."""
    flush()
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # None, or an object of another kind
            stream.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]


def flush() -> None:
    """Write what Python and C have buffered for the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)


def prctl(option: int, value: int) -> None:
    """Set an option of this process (on Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _children() -> frozenset[int]:
    """Return the child processes of this process; none if the system does not list them."""
    found: set[int] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found.update(map(int, file.read_text().split()))
    return frozenset(found)
