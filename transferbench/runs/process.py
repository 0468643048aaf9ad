"""The process of a run: started, watched for its limits, and ended with all that it has started.

It is forked from a server that has the libraries imported (where the system cannot fork, it is
spawned), and has a session of its own. It sends lines of JSON by one socket, and what it and its
children print arrives by another (on Linux). A line that is no message is ignored, because a model
may write into any file that is open.
"""

import ctypes
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from pathlib import Path
from socket import socket, socketpair
from typing import Any

from transferbench.messages import EXCERPT_BYTES, excerpt
from transferbench.runs.machine import process_exists
from transferbench.runs.record import Job, Record

#: Imported once by the server, so that runs need not import them.
PRELOAD = (
    "transferbench.runs.server",
    "transferbench.runs.worker",
    "scipy.optimize",
    "sklearn.cluster",
    "sklearn.decomposition",
    "sklearn.linear_model",
    "sklearn.svm",
    "sparse_dot_topn",
)
#: Option of prctl: this process becomes the parent of those that lose theirs below it.
CHILD_SUBREAPER = 36
BLOCK = 2**20  # bytes read at a time
#: Exit code that multiprocessing gives a process whose server was lost.
UNKNOWN = 255
#: How often a process is started whose server is lost meanwhile.
MAX_STARTS = 5
#: Seconds in which a process that was killed has to end; one that is frozen does not.
PATIENCE = 10.0
#: Descriptors to close where the system does not list the open ones.
MAX_DESCRIPTORS = 2**16
#: Held while a process is started, looked at or ended: multiprocessing looks at all of its
#: processes at each start, in whatever thread that is.
_PROCESSES = threading.Lock()


class RunProcess:
    """A process that performs a job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._lines, lines = socketpair()
        self._output, output = socketpair()
        self._open = [self._lines, self._output]
        for each in self._open:
            each.setblocking(False)
        self._torn, self._printed = b"", b""  # the last line until it ends, the end of the output
        self._deadline = float("inf")
        self._server_lost = False
        for tries in range(MAX_STARTS):
            context: Any = start_server()
            arguments = job, lines, output
            with _PROCESSES:
                self._process = context.Process(target=_main, args=arguments, daemon=True)
                try:
                    self._process.start()
                    break
                except (EOFError, ConnectionError):  # a model of another run has killed the server
                    if tries == MAX_STARTS - 1:
                        raise
        lines.close()
        output.close()

    @property
    def handles(self) -> list[Any]:
        """Objects to wait for before the next `poll`."""
        sentinel = [] if self._server_lost else [self._process.sentinel]
        return [*self._open, *sentinel]

    def poll(self, on_progress: Callable[[int, int], None]) -> Record | None:
        """Read what has arrived; return the record if the run has ended or exceeds its time."""
        exitcode = self._exitcode()  # first: after its end, nothing more arrives
        record = self._messages(on_progress)
        self._printed = (self._printed + self._receive(self._output))[-EXCERPT_BYTES:]
        if record is None and exitcode is not None:
            record = self.job.record("crashed", f"its process ended with code {exitcode}")
        if record is None and time.monotonic() > self._deadline:
            seconds = self.job.limits.seconds
            record = self.job.record("timeout", f"exceeded its limit of {seconds:g} s")
        return record and replace(record, output=excerpt(self._printed))

    def end(self) -> None:
        """Kill the process and all that it has started."""
        continue_server()  # else `start` in another thread may hold _PROCESSES
        with _PROCESSES:
            kill_all([self._process.pid])
            until = time.monotonic() + PATIENCE
            while self._process.exitcode is None and time.monotonic() < until:
                continue_server()
                self._process.join(0.1)
            if self._process.exitcode is None:  # frozen: Python would wait for it at its own end
                multiprocessing.process._children.discard(self._process)  # type: ignore[attr-defined]
            else:
                self._process.close()
        self._lines.close()
        self._output.close()

    def _exitcode(self) -> int | None:
        """Return the exit code, None while the process lives."""
        # A model may stop or kill the server. One that is stopped goes on; without one, nothing
        # reports the end of the processes that it had forked, so look for this one.
        continue_server()
        with _PROCESSES:
            exitcode: int | None = self._process.exitcode
        self._server_lost = exitcode == UNKNOWN
        # Its sockets are closed at its end, if it has started no process that holds them.
        return (
            None
            if self._server_lost and self._open and process_exists(self._process.pid)
            else exitcode
        )

    def _messages(self, on_progress: Callable[[int, int], None]) -> Record | None:
        """Pass progress on; return the record if it has arrived."""
        part = self._receive(self._lines)
        if part and self._deadline == float("inf") and self.job.limits.seconds is not None:
            self._deadline = time.monotonic() + self.job.limits.seconds
        *lines, self._torn = (self._torn + part).split(b"\n")
        for line in lines:
            with suppress(ValueError, TypeError, RecursionError):
                match json.loads(line):
                    case [int(iteration), int(planned)]:
                        on_progress(iteration, planned)
                    case dict():
                        return Record.from_line(line)
        return None

    def _receive(self, source: socket) -> bytes:
        """Return what has arrived."""
        # Wait no longer for a socket that the process has closed.
        with suppress(BlockingIOError, ConnectionError):
            if part := source.recv(BLOCK):
                return part
            if source in self._open:
                self._open.remove(source)
        return b""


def _main(job: Job, lines: socket, output: socket) -> None:
    """Perform the job; called in the process, which ends here."""
    from transferbench.runs.worker import run_job

    multiprocessing.current_process().daemon = False  # it may have children
    if sys.platform != "win32":
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if sys.platform == "linux":
        adopt_orphans()
        redirect(output.fileno())
        keep = (0, 1, 2, lines.fileno(), resource_tracker.getfd())
        for descriptor in _descriptors():
            if descriptor not in keep:
                with suppress(OSError):  # not open, or the one that listed them
                    os.close(descriptor)

    def send(line: str) -> None:
        # Begin with an end of line: a model may have written something.
        lines.sendall(f"\n{line}\n".encode())

    send("")  # the time of the run starts
    line = run_job(job, send)
    flush()
    send(line)
    os._exit(0)


def start_server() -> BaseContext:
    """Return a context whose processes are forked from a server (on Windows: spawned)."""
    # Start the server unless it runs; do not wait for its imports. Processes are not forked from
    # this one: it may have threads, of which a fork would copy the locks and not the threads.
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    # Without this, the server would import modules from the current folder first.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOAD))
    resource_tracker.ensure_running()  # to start it unblocks signals
    with block_interrupts():  # this process alone handles them
        forkserver.ensure_running()
    return context


def continue_server() -> None:
    """Let the server go on if a model, or somebody, has stopped it."""
    if sys.platform != "win32":
        from multiprocessing import forkserver

        pid = getattr(forkserver._forkserver, "_forkserver_pid", None)
        if pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Delay Ctrl-C and other signals to end in the block; processes started in it get none."""
    if sys.platform == "win32":
        yield
        return
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    former = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def kill_all(pids: Sequence[int]) -> None:
    """Kill processes, their groups, and on Linux all that descend from them."""
    below = [child for pid in pids for child in _descendants(pid)]
    for pid in (*pids, *below):
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):  # it leads no group
                os.killpg(pid, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def _descendants(pid: int) -> list[int]:
    below = children(pid)
    return below + [each for child in below for each in _descendants(child)]


def children(pid: int) -> list[int]:
    """Return the child processes of a process; none if the system does not list them."""
    found: list[int] = []
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, file.read_text().split())
    return found


def can_list_processes() -> bool:
    """Return False if the system does not list children, so that detached ones are not found."""
    return sys.platform != "linux" or Path(f"/proc/{os.getpid()}/task").is_dir()


def _descriptors() -> list[int]:
    """Return the open files of this process; without /proc, all numbers that they may have."""
    with suppress(OSError):
        return [*map(int, os.listdir("/proc/self/fd"))]  # noqa: PTH208
    most = os.sysconf("SC_OPEN_MAX")  # -1: no limit
    return list(range(min(most, MAX_DESCRIPTORS) if most > 0 else MAX_DESCRIPTORS))


def adopt_orphans() -> None:
    """Become the parent of processes below this one that lose theirs (on Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)


def redirect(output: int) -> None:
    """Send what this process and its children print to this open file."""
    flush()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # None, or an object of another kind
            stream.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    os.dup2(output, 1)
    os.dup2(output, 2)


def flush() -> None:
    """Write what Python and C have buffered for the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)
