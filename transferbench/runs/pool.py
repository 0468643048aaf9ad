"""Perform jobs by an engine: each run in a process of its own, see `runs.process`.

An engine calls one function, `supervise`, which starts the process of a run, watches it and returns
its record. The engine here has threads; that of `cluster` has workers on other machines. Only the
caller writes records.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from multiprocessing.connection import wait
from queue import Empty, SimpleQueue
from threading import Event
from typing import TypeAlias

from transferbench.errors import Failure
from transferbench.messages import reason
from transferbench.runs.machine import total_memory
from transferbench.runs.process import RunProcess, start_server
from transferbench.runs.record import Job, OnProgress, Record, Run

#: Seconds between two checks of a process, and between two heartbeats of the progress.
PAUSE = 0.1
#: File descriptors that are free again after the runs: multiprocessing, which loses some if it runs
#: out of them, needs two to delete its temporary folder at exit.
SPARE_DESCRIPTORS = 4
#: How often a run is started, at first and again, whose supervisor ends without a record.
MAX_TRIES = 4

#: Progress of a run, (run, iteration, planned); a future that has ended; a warning; or the end of
#: the engine.
Message: TypeAlias = "tuple[Run, int, int] | Future[Record | None] | str | Failure"
Inbox: TypeAlias = "SimpleQueue[Message]"
#: Submits a job. Its future has the record, or None if the supervisor lost the caller.
Submit: TypeAlias = "Callable[[Job], Future[Record | None]]"
#: Opens an engine for jobs, whose progress goes to the inbox.
Engine: TypeAlias = "Callable[[Inbox], AbstractContextManager[Submit]]"


def run_jobs(
    jobs: Iterable[Job], engine: Engine, on_progress: OnProgress
) -> Generator[tuple[Run, Record]]:
    """Perform jobs; yield the record of each as it ends, in any order."""
    # Closing the generator early, or an error in it, stops all running jobs.
    inbox: Inbox = SimpleQueue()
    waiting: dict[Future[Record | None], tuple[Job, int]] = {}
    with engine(inbox) as submit:

        def start(job: Job, tries: int) -> None:
            try:
                future = submit(job)
            except (RuntimeError, OSError) as error:  # it is shut down, or its cluster is lost
                raise lost(reason(error)) from error
            waiting[future] = job, tries
            future.add_done_callback(inbox.put)

        todo = deque(jobs)
        while todo or waiting:
            if todo:  # to start a job may take a while: records arrive meanwhile
                start(todo.popleft(), 1)
            on_progress()
            try:
                message = inbox.get(timeout=0 if todo else PAUSE)
            except Empty:
                continue
            match message:
                case Failure():
                    raise message
                case str():
                    warnings.warn(message, stacklevel=1)
                case tuple():
                    on_progress(*message)
                case Future():
                    job, tries = waiting.pop(message)
                    try:
                        record = message.result()
                    except (CancelledError, BrokenExecutor, SystemExit) as error:
                        raise lost(reason(error)) from None
                    if record is None and tries < MAX_TRIES:
                        start(job, tries + 1)
                    else:
                        why = f"its supervisor was lost {MAX_TRIES} times"
                        yield job.run, record or job.record("crashed", why)


def lost(why: str) -> Failure:
    """Return the error that the executor was lost."""
    remedy = "finished runs are saved, rerun the command to continue"
    return Failure(f"the executor was lost ({why}); {remedy}.")


def supervise(
    job: Job, alive: Callable[[], bool], report: Callable[[int, int], None]
) -> Record | None:
    """Perform a job in a process of its own; return its record, None if the caller is gone."""
    # `alive`: Returns False if the caller has ended, or wants the run no more.
    # `report`: Sends the caller the iteration, and how many are planned.
    report(0, 1)
    process = RunProcess(job)
    try:
        while not (record := process.poll(report)):
            if not alive():
                return None
            wait(process.handles, PAUSE)
        return record
    finally:
        process.end()


@contextmanager
def local(n_jobs: int, inbox: Inbox) -> Iterator[Submit]:
    """Open the engine of this machine: `n_jobs` runs at a time."""
    # Jobs without a memory limit have equal parts of 80 % of the memory.
    spare = [os.open(os.devnull, os.O_RDONLY) for _ in range(SPARE_DESCRIPTORS)]
    stopped = Event()
    executor = ThreadPoolExecutor(n_jobs, "supervisor")

    def submit(job: Job) -> Future[Record | None]:
        return executor.submit(
            supervise,
            with_memory_limit(job, n_jobs),
            alive=lambda: not stopped.is_set(),
            report=lambda iteration, planned: inbox.put((job.run, iteration, planned)),
        )

    try:
        start_server()  # by the main thread
        yield submit
    finally:
        stopped.set()
        executor.shutdown(cancel_futures=True)
        for each in spare:
            os.close(each)


def with_memory_limit(job: Job, n_jobs: int) -> Job:
    """Return the job, limited to 80 % of the memory / n_jobs unless its memory is limited."""
    if job.limits.memory is not None or (available := total_memory()) is None:
        return job
    return replace(job, limits=replace(job.limits, memory=int(available * 0.8 / n_jobs)))
