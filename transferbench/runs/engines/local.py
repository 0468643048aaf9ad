"""The engine of one machine: each run in a process of its own, forked from one that stays warm."""

from __future__ import annotations

import os
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

from transferbench.runs import worker
from transferbench.runs.engines import Say, server
from transferbench.runs.record import Limits, Record
from transferbench.runs.worker import Job


@dataclass(frozen=True)
class Local:
    """`jobs` runs at a time. Without a limit of memory, they share four fifths of the machine's."""

    jobs: int = 1

    def records(
        self, runs: Iterable[Job], say: Say, keep: Callable[[Record], None]
    ) -> Generator[Record, None, None]:
        """See Engine."""
        waiting = iter(runs)
        for first in waiting:  # without any, no process is begun
            with Pool(self.jobs, say) as pool:
                yield from self._through(pool, chain([first], waiting), keep)

    def _through(
        self, pool: Pool, waiting: Iterator[Job], keep: Callable[[Record], None]
    ) -> Generator[Record, None, None]:
        ready: deque[Job] = deque()  # begun without the caller, who may be busy
        ended: queue.SimpleQueue[Record] = queue.SimpleQueue()
        lock, running, taken = RLock(), 0, 0

        def begin() -> None:
            nonlocal running
            with lock:
                while ready and running < self.jobs:
                    run = ready.popleft()
                    running += 1
                    try:
                        future = pool.submit(run)
                    except RuntimeError as error:  # it is broken: so it is for all that wait
                        future = Future()
                        future.set_exception(error)
                    future.add_done_callback(partial(end, run))

        def end(run: Job, future: Future[Record]) -> None:
            nonlocal running
            record = to_record(run, future)
            if record.done:
                keep(record)
            with lock:  # it is kept, and known to have ended, before another begins
                ended.put(record)
                running -= 1
                begin()

        try:
            while True:
                for run in islice(waiting, 2 * self.jobs - taken):
                    taken += 1
                    ready.append(replace(run, limits=shared(run.limits, self.jobs)))
                    begin()
                if not taken:
                    return
                while True:
                    pool.listen()
                    with suppress(queue.Empty):
                        record = ended.get(timeout=0.1)
                        break
                taken -= 1
                if record.status == "crashed":
                    pool.listen()  # an interrupt, sent to us all, may have ended it: no record
                yield record
        except KeyboardInterrupt:  # what has been done by now is not lost
            with lock:
                ready.clear()
            while not ended.empty():
                record = ended.get()
                if record.done:
                    yield record
            raise
        finally:
            with lock:
                ready.clear()  # nothing more is begun


class Pool:
    """`size` processes, each of which forks one for every run; one that dies is replaced.

    say: told of the runs' progress when `listen` is called.
    """

    def __init__(self, size: int, say: Say) -> None:
        from pebble import ProcessPool

        self.size = size
        self.say = say
        self.born = 0
        context = server.start()
        self.receive, self.send = context.Pipe(duplex=False)
        self.pool = ProcessPool(
            max_workers=size,
            max_tasks=0 if worker.FORKS else 1,
            context=context,
            initializer=worker.begin,
            initargs=(self.send,),
        )

    def submit(self, run: Job) -> Future[Record]:
        """The run's record to come; see `settled`. Cancelling it ends the run."""
        future: Future[Record] = self.pool.schedule(
            worker.perform, args=(run,), timeout=run.limits.seconds
        )
        return future

    def listen(self) -> None:
        """Pass on what the processes have said of their progress."""
        while self.receive.poll():
            message = self.receive.recv()
            if message is None:
                self.born += 1
            else:
                self.say(*message)
        self.say()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            if kind:
                # A process stopped while it is born complains on the terminal: let it come up.
                deadline = time.monotonic() + 5
                while self.born < self.size and time.monotonic() < deadline:
                    self.listen()
                    time.sleep(0.02)
        finally:
            self.pool.stop()
            self.pool.join()
            self.send.close()
            self.receive.close()


def to_record(run: Job, future: Future[Record]) -> Record:
    """The record of a run that has ended, one way or another."""
    try:
        return future.result()
    except TimeoutError:
        return worker.ended(run, "timeout", f"past {run.limits.seconds:g} s")
    except Exception as error:  # whatever befell its process is that run's alone
        code = getattr(error, "exitcode", None)
        reason = f"{type(error).__name__} in its process: {error}"
        if code is not None:
            reason = f"its process ended with code {code}"
        return worker.ended(run, "crashed", reason)


def shared(limits: Limits, jobs: int) -> Limits:
    """The limits; memory that is not limited is the share of each of `jobs` in this machine's."""
    if limits.memory is not None:
        return limits
    try:
        pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return limits
    return replace(limits, memory=int(pages * 0.8 / jobs))
