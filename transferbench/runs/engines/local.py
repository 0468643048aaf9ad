"""The engine for this machine: each run in a process of its own, forked from a template process.

A template process imports libraries and loads the task once. It is itself forked from a server that
has the libraries imported.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import current_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench.messages import reason
from transferbench.runs.engines import Engine, OnDone, ProgressCallback, Records
from transferbench.runs.record import Job, Record, Run

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

#: Imported once by the server, so that runs need not import them.
PRELOAD = (
    "transferbench.runs.engines.server",
    "transferbench.runs.worker",
    "scipy.optimize",
    "sklearn.cluster",
    "sklearn.decomposition",
    "sklearn.linear_model",
    "sklearn.svm",
    "sparse_dot_topn",
)
#: Seconds past the time limit of a run after which its template process is killed.
GRACE = 5.0
#: Seconds between two checks of a process.
PAUSE = 0.1


@dataclass(frozen=True)
class Local(Engine):
    """Performs `n_jobs` runs at a time; runs without a memory limit share 80 % of the memory.

    A thread for each slot performs jobs, so slots stay busy while the caller is.
    """

    n_jobs: int = 1

    def records(
        self, jobs: Iterable[Job], on_progress: ProgressCallback, on_done: OnDone
    ) -> Records:
        """See Engine. The record of every job that ended is kept, so an interrupt loses none."""
        jobs, own = iter(jobs), threading.local()
        slots: list[Slot] = []
        pending: list[Future[tuple[Run, Record]]] = []
        latest: dict[str, tuple[Any, ...]] = {}  # key → progress

        def start() -> None:
            own.slot = run_slot()
            slots.append(own.slot)

        def report(*progress: Any) -> None:
            if progress:
                latest[progress[0]] = progress

        def attempt(job: Job) -> tuple[Run, Record]:
            try:
                record = perform(own.slot, job, report)
            except Exception as error:  # its process could not be started: only this run is lost
                return job.run, job.record("crashed", f"in its process: {reason(error)}")
            if record.done:
                on_done(job.run, record)
            return job.run, record

        executor = ThreadPoolExecutor(self.n_jobs, initializer=start)
        try:
            while True:
                # A second job for each slot, so that no slot waits while the next task is built.
                for job in islice(jobs, 2 * self.n_jobs - len(pending)):
                    start_server()  # an error of a thread that does so would not reach the caller
                    limited = with_memory_limit(job, self.n_jobs)
                    pending.append(executor.submit(attempt, limited))
                if not pending:
                    return
                ended = wait(pending, PAUSE, FIRST_COMPLETED).done
                while latest:
                    on_progress(*latest.popitem()[1])
                on_progress()  # before a record: a signal to all processes may have killed its run
                for future in ended:
                    pending.remove(future)
                    yield future.result()
        except KeyboardInterrupt:
            executor.shutdown(wait=False, cancel_futures=True)
            for future in pending:
                if future.done() and not future.cancelled() and future.result()[1].done:
                    yield future.result()
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            for slot in slots:  # a thread that has a job has its slot in this list
                slot.closed = True
            executor.shutdown()
            for slot in slots:
                slot.close()


class ProcessDied(Exception):
    """A process ended before it answered; the text states how."""


class Slot:
    """A process that answers calls; started by the first call, and by the next one after it died.

    target: called in the process with a connection. For each value that it receives, it sends any
            number of tuples, the first when it has taken the value, and then the answer, which is
            no tuple. It ignores SIGINT.

    One thread may call; any thread may set `closed`, which ends the call.
    """

    def __init__(self, target: Callable[..., None]) -> None:
        self.closed = False
        self._target = target
        self._process: BaseProcess | None = None
        self._connection: Connection

    def call(
        self, value: object, on_message: Callable[..., None], seconds: float | None = None
    ) -> Any:
        """Return the answer of the process.

        on_message: called with the parts of each tuple that is sent before the answer, and without
        arguments every PAUSE seconds; if it raises, the process is ended. Raise TimeoutError if the
        answer takes longer than `seconds`, ProcessDied if the process ended.
        """
        deadline = float("inf")
        try:
            if self._process is None or not self._process.is_alive():
                self._start()
            self._connection.send(value)
            while not self.closed:
                if time.monotonic() > deadline:
                    raise TimeoutError
                if not self._connection.poll(PAUSE):
                    on_message()
                    continue
                message = self._connection.recv()
                if not isinstance(message, tuple):
                    return message
                if seconds is not None:
                    deadline = min(deadline, time.monotonic() + seconds)
                on_message(*message)
            raise ProcessDied("was ended")
        except (EOFError, ConnectionError) as error:
            code = self._end(wait=GRACE)
            raise ProcessDied(f"ended with code {code}") from error
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """End the process; no thread may be calling."""
        self.closed = True
        self._end()

    def _start(self) -> None:
        self._end()
        context = start_server()
        # Workers of dask are daemons, which may not have children. A slot's process exits with its
        # parent, so it is safe here.
        current_process().daemon = False
        self._connection, theirs = context.Pipe()
        with block_interrupts():
            process = context.Process(target=self._target, args=(theirs,), daemon=True)  # type: ignore[attr-defined]
            process.start()
        self._process = process
        theirs.close()

    def _end(self, wait: float = 0.0) -> int | None:
        """End the process, after `wait` seconds to end itself; return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.join(wait)
        process.terminate()  # it ends what it has started
        process.join(GRACE)
        process.kill()
        process.join()
        self._connection.close()
        return process.exitcode


def run_slot() -> Slot:
    """Return a slot for `perform`."""
    start_server()  # imports libraries while this process imports `worker`

    from transferbench.runs import worker

    return Slot(worker.serve)


def perform(slot: Slot, job: Job, on_progress: Callable[..., None]) -> Record:
    """Return the record of a job; an error of its process becomes the status."""
    from transferbench.runs.process import CAN_FORK

    seconds = job.limits.seconds
    try:
        limit = seconds and seconds + (GRACE if CAN_FORK else 0.0)
        record: Record = slot.call(job, on_progress, limit)
        return record
    except TimeoutError:
        return job.timed_out()
    except ProcessDied as error:
        return job.record("crashed", f"its process {error}")


def with_memory_limit(job: Job, n_jobs: int, available: int | None = None) -> Job:
    """Return the job, limited to 80 % of the memory / n_jobs unless its memory is limited.

    available: bytes for all jobs; by default the memory that this process may use.
    """
    if job.limits.memory is not None:
        return job
    available = available or total_memory()
    if available is None:
        return job
    return replace(job, limits=replace(job.limits, memory=int(available * 0.8 / n_jobs)))


def total_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may use: the machine's, or less in a container or a job.

    None if the system does not report any. root: folder with `proc` and `sys`.
    """
    limits, groups = [], ""
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text()
    for line in groups.splitlines():  # number:controllers:path of a control group
        group = Path(line.split(":", 2)[2].lstrip("/"))
        # In a container the path may be that of the host: then only its parents are found.
        for folder in (group, *group.parents):
            # Files of version 2 and of version 1.
            for file in (folder / "memory.max", "memory" / folder / "memory.limit_in_bytes"):
                with suppress(OSError, ValueError):  # no such group, or "max": no limit
                    limits.append(int((root / "sys/fs/cgroup" / file).read_text()))
    return min(limits, default=None)


def start_server() -> BaseContext:
    """Return a context whose processes are forked from a server (on Windows: spawned).

    Start the server unless it runs; do not wait for its imports.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    # Without this, the server would import modules from the current folder first.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOAD))
    with block_interrupts():
        forkserver.ensure_running()
    return context


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Make processes that are started in the block ignore Ctrl-C: this process alone handles it."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    # Starting the resource tracker unblocks signals, so it must be running before.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
