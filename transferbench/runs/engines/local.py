"""The engine for this machine: each run in a process of its own, forked from a warm worker."""

from __future__ import annotations

import json
import queue
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, TimeoutError
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from threading import RLock
from typing import Any

from transferbench.messages import reason
from transferbench.runs import memory
from transferbench.runs.engines import Engine, ProgressCallback, server
from transferbench.runs.job import Job
from transferbench.runs.record import Record

#: Seconds after which a worker process is killed that has not ended a run at its time limit.
GRACE = 5.0
#: Bytes of a progress message.
MAX_MESSAGE = 4096


@dataclass(frozen=True)
class Local(Engine):
    """Performs `n_jobs` runs at a time; runs without a memory limit share 80 % of the memory."""

    n_jobs: int = 1

    def prepare(self) -> None:
        """See Engine."""
        server.start()

    def records(
        self,
        jobs: Iterable[Job],
        on_progress: ProgressCallback,
        on_done: Callable[[Record], None],
    ) -> Generator[Record, None, None]:
        """See Engine."""
        jobs = iter(jobs)
        first = next(jobs, None)
        if first is None:  # start no processes
            return
        jobs = chain([first], jobs)
        with Pool(self.n_jobs, on_progress) as pool:
            schedule = Schedule(pool, on_done)
            try:
                while True:
                    # Half of them wait, and start while the next job is prepared.
                    for job in islice(jobs, 2 * self.n_jobs - schedule.pending):
                        schedule.submit(with_memory_limit(job, self.n_jobs))
                    if not schedule.pending:
                        return
                    yield schedule.next_record()
            except KeyboardInterrupt:
                schedule.stop()
                yield from (record for record in schedule.drain() if record.done)
                raise
            finally:
                schedule.stop()


class Schedule:
    """Keeps a pool busy: starts a waiting job when another ends, even while the caller is busy.

    - At most `pool.size` jobs run at once.
    - The record of a finished run is passed to `on_done` before another job starts in its place.
    - The record of every job that ended is kept until `next_record` or `drain` returns it, so an
      interrupt loses none.

    `on_done` must not raise. `_on_end` is called by a thread of the pool, everything else by the
    caller's thread; the lock guards `_waiting` and `_running`.
    """

    def __init__(self, pool: Pool, on_done: Callable[[Record], None]) -> None:
        self.pool, self.on_done = pool, on_done
        self.pending = 0  # jobs submitted whose records were not returned yet
        self._waiting: deque[Job] = deque()
        self._running = 0
        self._ended: queue.SimpleQueue[Record] = queue.SimpleQueue()
        self._lock = RLock()  # reentrant: a broken pool ends a job at once, inside `_start`

    def submit(self, job: Job) -> None:
        """Start the job as soon as the pool has room."""
        self.pending += 1
        with self._lock:
            self._waiting.append(job)
            self._start()

    def next_record(self) -> Record:
        """Wait for a job to end and return its record. Raise KeyboardInterrupt if interrupted."""
        while True:
            self.pool.forward_progress()
            with suppress(queue.Empty):
                record = self._ended.get(timeout=0.1)
                break
        self.pending -= 1
        if record.status == "crashed":
            # Ctrl-C reaches all processes and may have killed this one: then it has no record.
            self.pool.forward_progress()
        return record

    def drain(self) -> Iterator[Record]:
        """Yield the records of jobs that ended, without waiting for others."""
        while not self._ended.empty():
            self.pending -= 1
            yield self._ended.get()

    def stop(self) -> None:
        """Start no more jobs."""
        with self._lock:
            self._waiting.clear()

    def _start(self) -> None:
        """Start waiting jobs while there is room; the caller holds the lock."""
        while self._waiting and self._running < self.pool.size:
            job = self._waiting.popleft()
            self._running += 1
            self.pool.submit(job).add_done_callback(partial(self._on_end, job))

    def _on_end(self, job: Job, future: Future[Record]) -> None:
        record = to_record(job, future)
        if record.done:
            self.on_done(record)
        with self._lock:
            self._ended.put(record)
            self._running -= 1
            self._start()


class Pool:
    """`size` worker processes, each of which forks one for every run; a dead one is replaced.

    on_progress: called by `forward_progress` only.
    """

    def __init__(self, size: int, on_progress: ProgressCallback) -> None:
        from pebble import ProcessPool

        context = server.start()  # imports libraries while this process imports `worker`

        from transferbench.runs import worker

        self.size = size
        self.on_progress = on_progress
        self.started = 0  # worker processes
        self._perform = worker.perform
        self._grace = GRACE if worker.CAN_FORK else 0.0
        self.receive, self.send = context.Pipe(duplex=False)
        self.pool = ProcessPool(
            max_workers=size,
            max_tasks=0 if worker.CAN_FORK else 1,
            context=context,
            initializer=worker.initialize,
            initargs=(self.send,),
        )

    @property
    def active(self) -> bool:
        """False if the pool broke or was closed."""
        return bool(self.pool.active)

    def submit(self, job: Job) -> Future[Record]:
        """Return the future of the job's record; see `to_record`. Cancelling it ends the run."""
        try:
            seconds = job.limits.seconds
            future: Future[Record] = self.pool.schedule(
                self._perform, args=(job,), timeout=seconds and seconds + self._grace
            )
        except RuntimeError as error:  # the pool is broken, and so it is for all later jobs
            future = Future()
            future.set_exception(error)
        return future

    def forward_progress(self) -> None:
        """Pass progress messages of the processes to `on_progress`, then a heartbeat."""
        while not self.receive.closed and self.receive.poll():
            message: Any = ()
            # A message that is too long closes the pipe: then there is no progress any more.
            with suppress(OSError, EOFError, ValueError):
                message = json.loads(self.receive.recv_bytes(MAX_MESSAGE))
            match message:
                case None:
                    self.started += 1
                case [str(key), int(iteration), int(planned)]:
                    self.on_progress(key, iteration, planned)
        self.on_progress()

    def close(self, wait: bool = False) -> None:
        """End all processes; if `wait`, let those that are starting come up first."""
        try:
            # A process that is stopped while it starts prints a traceback.
            deadline = time.monotonic() + 5
            while wait and self.started < self.size and time.monotonic() < deadline:
                self.forward_progress()
                time.sleep(0.02)
        finally:
            self.pool.stop()
            self.pool.join()
            self.send.close()
            self.receive.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self.close(wait=kind is not None)


def to_record(job: Job, future: Future[Record]) -> Record:
    """Return the record of a job that ended; an error of its process becomes the status."""
    try:
        return future.result()
    except TimeoutError:
        return job.timed_out()
    except Exception as error:  # its process failed: only this run is lost
        code = getattr(error, "exitcode", None)
        why = f"in its process: {reason(error)}"
        if code is not None:
            why = f"its process ended with code {code}"
        return job.record("crashed", why)


def with_memory_limit(job: Job, n_jobs: int, available: int | None = None) -> Job:
    """Return the job, limited to 80 % of the memory / n_jobs unless its memory is limited.

    available: bytes for all jobs; by default the memory that this process may use.
    """
    if job.limits.memory is not None:
        return job
    available = available or memory.total()
    if available is None:
        return job
    return replace(job, limits=replace(job.limits, memory=int(available * 0.8 / n_jobs)))
