"""The engine for dask.distributed: workers of a running scheduler, or of this machine.

Dask assigns runs to workers. If a worker dies, dask gives its run to another one, as often as the
dask setting `distributed.scheduler.allowed-failures` allows. Jobs and records are pickled:
scheduler, workers and caller trust each other.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, LocalCluster, as_completed, get_client, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.scheduler import KilledWorker

from transferbench.errors import EngineLost, UserError
from transferbench.runs.engines import Engine, ProgressCallback, remote
from transferbench.runs.engines.local import with_memory_limit
from transferbench.runs.engines.server import block_interrupts
from transferbench.runs.job import Job
from transferbench.runs.record import Record

QUIET = logging.CRITICAL + 1  # level for dask's log: its errors are reported as records
TOPIC = "transferbench"  # of dask's events: (key, iteration, planned)


@dataclass(frozen=True)
class Dask(Engine):
    """Performs runs on dask workers.

    n_jobs    : number of workers started on this machine, if there is no scheduler.
    scheduler : address of a running scheduler, whose workers are used.
    patience  : seconds to wait for the first worker of a scheduler.
    """

    n_jobs: int = 1
    scheduler: str | None = None
    patience: float = 30.0

    def records(
        self,
        jobs: Iterable[Job],
        on_progress: ProgressCallback,
        on_done: Callable[[Record], None],
    ) -> Generator[Record, None, None]:
        """See Engine; take all jobs before the first starts."""
        jobs = list(jobs)
        if not jobs:
            return
        try:
            with ExitStack() as stack:
                client = self.connect(stack, len(jobs))
                self.check(client, sorted({job.run.model for job in jobs}), on_progress)
                if self.scheduler:  # its workers may not see the caller's files
                    stack.enter_context(_published(client, jobs))
                else:
                    jobs = [with_memory_limit(job, self.n_jobs) for job in jobs]
                    client.register_plugin(_StopRuns())
                yield from _collect(client, jobs, on_progress)
        except OSError as error:
            place = f" at {self.scheduler}" if self.scheduler else ""
            raise EngineLost(
                f"the scheduler{place} was lost; finished runs are saved, rerun the command to "
                "continue."
            ) from error

    def connect(self, stack: ExitStack, jobs: int) -> Client:
        """Return a client of the scheduler, or of new local workers; `stack` closes them."""
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
                logging.getLogger(name).setLevel(QUIET)
        address: Any = self.scheduler
        if not address:
            # Do not warn about semaphores left by a worker that had to be killed.
            os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
            with block_interrupts():
                address = stack.enter_context(
                    LocalCluster(
                        n_workers=min(self.n_jobs, jobs),
                        threads_per_worker=1,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=QUIET,
                    )
                )
        try:
            client: Client = stack.enter_context(Client(address, timeout=5))
        except (OSError, ValueError) as error:
            raise UserError(
                f"no dask scheduler answers at {self.scheduler} ({error}); start one there "
                "with `dask scheduler`, or give the address of another."
            ) from error
        return client

    def check(self, client: Client, names: Sequence[str], on_progress: ProgressCallback) -> None:
        """Raise UserError if there is no worker, or if its code or versions differ from ours.

        names: models whose code is compared, in addition to this package.
        """
        deadline = time.monotonic() + self.patience
        while not client.scheduler_info()["workers"]:
            if time.monotonic() > deadline:
                raise UserError(
                    f"the scheduler at {self.scheduler} has no workers; start some with "
                    f"`dask worker {self.scheduler}`."
                )
            on_progress()
            time.sleep(0.1)
        identities: dict[str, Any] = client.run(remote.identity, names, on_error="return")
        try:  # the scheduler unpickles jobs, so it needs the same code
            identities["the scheduler"] = client.run_on_scheduler(remote.identity, names)
        except Exception as error:
            identities["the scheduler"] = error
        for place, theirs in identities.items():
            if isinstance(theirs, Exception):
                raise UserError(
                    f"transferbench cannot be used on {place} ({type(theirs).__name__}: {theirs}); "
                    "install it there as it is here."
                )
        remote.check_identity(remote.identity(names), identities)


def _collect(
    client: Client, jobs: Sequence[Job], on_progress: ProgressCallback
) -> Generator[Record, None, None]:
    """Submit the jobs and yield the record of each as it ends."""
    latest: dict[str, tuple[str, int, int]] = {}  # key → progress, filled by a thread of dask
    client.subscribe_topic(TOPIC, lambda event: latest.update({event[1][0]: event[1]}))
    futures = {
        client.submit(_perform, job, remote.identity([job.run.model]), pure=False): job
        for job in jobs
    }
    arriving = as_completed(futures)
    while not arriving.is_empty():
        if arriving.has_ready():
            future = next(arriving)
            yield _record(future, futures[future])
            future.release()
            continue
        while latest:
            on_progress(*latest.popitem()[1])
        on_progress()
        time.sleep(0.05)


def _record(future: Future[Record], job: Job) -> Record:
    """Return the record of a job that ended. Raise OSError if the scheduler was lost."""
    if future.status == "cancelled":  # not by the caller, which is still collecting
        raise ConnectionError
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, UserError):
        raise error
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    if isinstance(error, KilledWorker):
        reason = f"each of the {error.allowed_failures + 1} workers that began it died"
    return job.record("crashed", reason)


class _StopRuns(WorkerPlugin):
    """Ends the runs of a worker when it closes, so that no process is left."""

    name = "transferbench"

    def teardown(self, worker: Any) -> None:
        remote.shared_pool.stop()


def _perform(job: Job, caller: remote.Identity) -> Record:
    """Perform a job; called by dask on the worker."""
    worker = get_worker()
    task = worker.get_current_task()

    def is_cancelled() -> bool:
        known = worker.state.tasks.get(task)
        return known is None or known.state == "cancelled"

    n_jobs = worker.state.nthreads
    return remote.perform(
        with_memory_limit(job, n_jobs, worker.memory_manager.memory_limit),
        caller,
        lambda: get_client().get_dataset(_name(job)),
        lambda *progress: worker.log_event(TOPIC, progress),
        place=worker.address,
        n_jobs=n_jobs,
        is_cancelled=is_cancelled,
    )


@contextmanager
def _published(client: Client, jobs: Sequence[Job]) -> Iterator[None]:
    """Store the built tasks at the scheduler while in the block; each worker asks for them once."""
    tasks = {_name(job): job.task.path for job in jobs}
    for name, path in tasks.items():
        client.publish_dataset(path.read_bytes(), name=name, override=True)
    try:
        yield
    finally:
        with suppress(Exception):  # the scheduler may be lost
            for name in tasks:
                client.unpublish_dataset(name)


def _name(job: Job) -> str:
    return f"transferbench/{job.task.digest.hex()}"
