"""The engine for dask.distributed: workers of a running scheduler.

Dask assigns runs to workers. If a worker dies, dask gives its run to another one, as often as the
dask setting `distributed.scheduler.allowed-failures` allows. A worker checks that its code and
versions are the caller's. It reads the built task in the caller's data folder, which all share.

Jobs and records are pickled: scheduler, workers and caller trust each other.
"""

import hashlib
import logging
import multiprocessing
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache

import distributed
from distributed import Client, Future, Reschedule, as_completed
from distributed.core import Status
from distributed.scheduler import KilledWorker

from transferbench import models
from transferbench.errors import Failure, UserError
from transferbench.fingerprint import PACKAGE
from transferbench.messages import reason
from transferbench.runs import worker
from transferbench.runs.engines import Engine, OnProgress, Records
from transferbench.runs.engines.local import Local, with_memory_limit
from transferbench.runs.record import Job, Record, Run

QUIET = logging.CRITICAL + 1  # level for dask's log: its errors are reported as records
TOPIC = "transferbench"  # of dask's events: (key, (iteration, planned))


@dataclass
class Dask(Engine):
    """Performs runs on dask workers.

    scheduler : address of a running scheduler, whose workers are used.
    patience  : seconds to wait for the first worker of a scheduler.
    """

    scheduler: str
    patience: float = 30.0

    def records(self, jobs: Iterable[Job], on_progress: OnProgress) -> Records:
        """See Engine; take all jobs before the first starts."""
        jobs = list(jobs)
        if not jobs:
            return
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
                logging.getLogger(name).setLevel(QUIET)
        try:
            with ExitStack() as stack:
                client = self.connect(stack)
                latest: dict[str, tuple[int, int]] = {}  # key → progress, filled by a thread
                client.subscribe_topic(TOPIC, lambda event: latest.update([event[1]]))
                futures = {
                    client.submit(_perform, job, identity(job.run.model), pure=False): job
                    for job in jobs
                }
                runs = {future.key: job.run for future, job in futures.items()}
                arriving = as_completed(futures)
                while not arriving.is_empty():
                    if arriving.has_ready():
                        future = next(arriving)
                        yield futures[future].run, _record(future, futures[future])
                        future.release()
                        continue
                    while latest:
                        key, progress = latest.popitem()
                        on_progress(runs[key], *progress)
                    on_progress()
                    time.sleep(0.05)
        except OSError as error:
            raise Failure(
                f"the scheduler at {self.scheduler} was lost; finished runs are saved, rerun the "
                "command to continue."
            ) from error

    def connect(self, stack: ExitStack) -> Client:
        """Return a client of the scheduler; `stack` closes it. Raise UserError without workers."""
        try:
            client: Client = stack.enter_context(Client(self.scheduler, timeout=5))
            client.wait_for_workers(1, timeout=self.patience)
        except (OSError, ValueError) as error:
            raise UserError(
                f"no dask scheduler with workers answers at {self.scheduler}; start them with "
                f"`dask scheduler` and `dask worker {self.scheduler}`, or give another address."
            ) from error
        return client


def _record(future: Future[Record], job: Job) -> Record:
    """Return the record of a job that ended. Raise OSError if the scheduler was lost."""
    if future.status == "cancelled":  # not by the caller, which is still collecting
        raise ConnectionError
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, UserError):
        raise error
    why = reason(error)
    if isinstance(error, KilledWorker):
        why = f"each of the {error.allowed_failures + 1} workers that began it died"
    return job.record("crashed", why)


def _perform(job: Job, caller: Mapping[str, str]) -> Record:
    """Perform a job on a worker. Raise UserError if its code is another."""
    here = distributed.get_worker()
    check_identity(caller, identity(job.run.model), here.address)
    if not job.built.path.is_file():
        raise UserError(
            f"{job.built.path} is no file on {here.address}; expected folders that all "
            "machines share, see --data."
        )
    multiprocessing.current_process().daemon = False  # else it may not have children
    task, n_jobs = here.get_current_task(), here.state.nthreads
    job = with_memory_limit(job, n_jobs, here.memory_manager.memory_limit)
    reported = time.monotonic()

    def on_progress(run: Run | None = None, *progress: int) -> None:
        nonlocal reported
        if here.status not in (Status.running, Status.paused):  # this worker is being closed
            raise Reschedule
        known = here.state.tasks.get(task)
        if known is None or known.state == "cancelled":
            raise InterruptedError
        if run and time.monotonic() - reported >= 1:
            reported = time.monotonic()
            here.log_event(TOPIC, (task, progress))

    ((_, record),) = Local().records([job], on_progress)
    return record


def identity(model: str) -> dict[str, str]:
    """Return versions, and fingerprints of this package and of a model."""
    known = {**worker.versions(), "its code": _code()}
    with suppress(UserError):  # a model of a package that is not installed here
        known[f"model {model}"] = models.code(model)
    return known


@cache
def _code() -> str:
    sha = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        sha.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return sha.hexdigest()[:16]


def check_identity(caller: Mapping[str, str], theirs: Mapping[str, str], place: str) -> None:
    """Raise UserError naming the differences between the caller and the worker at an address."""
    different = [
        f"{what} is {theirs.get(what, 'missing')} on {place} and {ours} here"
        for what, ours in caller.items()
        if theirs.get(what) != ours
    ]
    if different:
        raise UserError(f"{'; '.join(different)}: install the same on both.")
