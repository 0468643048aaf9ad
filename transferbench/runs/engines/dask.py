"""The engine for dask.distributed: workers of a running scheduler, or a worker of this process.

Dask assigns runs to workers. If a worker dies, dask gives its run to another one, as often as the
dask setting `distributed.scheduler.allowed-failures` allows. A worker checks that its code and
versions are the caller's, and takes the built task from its own data folder or from the caller.

Jobs and records are pickled: scheduler, workers and caller trust each other. Without a scheduler's
address, scheduler and worker live in this process and open no port.
"""

import hashlib
import logging
import os
import platform
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock, Timer
from typing import Any

import distributed
from distributed import Client, Future, Reschedule, SpecCluster, as_completed
from distributed.core import Status
from distributed.scheduler import KilledWorker

from transferbench import models, settings
from transferbench.data import tasks
from transferbench.errors import EngineLost, UserError
from transferbench.files import writing
from transferbench.fingerprint import PACKAGE
from transferbench.runs import worker
from transferbench.runs.engines import Engine, Options, ProgressCallback
from transferbench.runs.engines.local import Slot, perform, run_slot, with_memory_limit
from transferbench.runs.job import Job, TaskFile
from transferbench.runs.record import Record

Identity = Mapping[str, str]
QUIET = logging.CRITICAL + 1  # level for dask's log: its errors are reported as records
TOPIC = "transferbench"  # of dask's events: (key, iteration, planned)
#: Most seconds for a cluster or a worker to close. Without a limit, dask may wait forever if a
#: signal ends one while the other closes.
CLOSING = 30.0


@dataclass
class Dask(Engine):
    """Performs runs on dask workers.

    n_jobs    : runs at a time in this process, if there is no scheduler.
    scheduler : address of a running scheduler, whose workers are used.
    patience  : seconds to wait for the first worker of a scheduler.
    """

    n_jobs: int = 1
    scheduler: str | None = None
    patience: float = 30.0

    def __post_init__(self) -> None:
        if "@" in (self.scheduler or ""):  # dask has none, and messages would show it
            raise UserError(
                "--scheduler: an address of dask has no user name or password; expected for "
                "example tcp://host:8786."
            )

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
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
                logging.getLogger(name).setLevel(QUIET)
        try:
            with ExitStack() as stack:
                client = self.connect(stack, jobs, on_progress)
                yield from self._collect(client, jobs, on_progress)
        except OSError as error:
            place = f" at {self.scheduler}" if self.scheduler else ""
            raise EngineLost(
                f"the scheduler{place} was lost; finished runs are saved, rerun the command to "
                "continue."
            ) from error

    def connect(self, stack: ExitStack, jobs: list[Job], on_progress: ProgressCallback) -> Client:
        """Return a client of the scheduler, or of a new local one; `stack` closes them."""
        if self.scheduler is None:
            stack.callback(_close_slots)
            protocol, n_threads = "inproc://", min(self.n_jobs, len(jobs))
            options = {"nthreads": n_threads, "protocol": protocol, "silence_logs": QUIET}
            local = SpecCluster(
                scheduler={"cls": Scheduler, "options": {"protocol": protocol, "dashboard": False}},
                workers={0: {"cls": Worker, "options": options}},
                silence_logs=QUIET,
            )
            cluster = stack.enter_context(closing(local))
            client: Client = stack.enter_context(Client(cluster))
            return client
        try:
            client = stack.enter_context(Client(self.scheduler, timeout=5))
        except (OSError, ValueError) as error:
            raise UserError(
                f"no dask scheduler answers at {self.scheduler} ({error}); start one there "
                "with `dask scheduler`, or give the address of another."
            ) from error
        self._check(client, sorted({job.run.model for job in jobs}), on_progress)
        stack.enter_context(published(client, jobs))
        return client

    def check_workers(self) -> None:
        """Raise UserError if no worker will come; called at least every half second."""

    def _check(self, client: Client, names: Sequence[str], on_progress: ProgressCallback) -> None:
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
        identities: dict[str, Any] = client.run(identity, names, on_error="return")
        try:  # the scheduler unpickles jobs, so it needs the same code
            identities["the scheduler"] = client.run_on_scheduler(identity, names)
        except Exception as error:
            identities["the scheduler"] = error
        for place, theirs in identities.items():
            if isinstance(theirs, Exception):
                raise UserError(
                    f"transferbench cannot be used on {place} ({type(theirs).__name__}: {theirs}); "
                    "install it there as it is here."
                )
        check_identity(identity(names), identities)

    def _collect(
        self, client: Client, jobs: Sequence[Job], on_progress: ProgressCallback
    ) -> Generator[Record, None, None]:
        """Submit the jobs and yield the record of each as it ends."""
        latest: dict[str, tuple[str, int, int]] = {}  # key → progress, filled by a thread of dask
        client.subscribe_topic(TOPIC, lambda event: latest.update({event[1][0]: event[1]}))
        futures = {
            client.submit(_perform, job, identity([job.run.model]), pure=False): job for job in jobs
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
            self.check_workers()
            time.sleep(0.05)


def create(options: Options) -> Dask:
    """Return the engine; see `engines.choose`."""
    return Dask(options.n_jobs, options.scheduler)


class _NoPort:
    """Part of a scheduler or worker without the HTTP server that dask starts on all interfaces."""

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Start nothing."""


class Scheduler(_NoPort, distributed.Scheduler):
    """A scheduler without a port of its own for HTTP."""


class Worker(_NoPort, distributed.Worker):
    """A worker without a port of its own for HTTP."""


class JobWorker(Worker):
    """The worker of a Slurm job, whose process ends with it."""

    async def close(self, *arguments: Any, **options: Any) -> None:
        """Close the worker, in at most CLOSING seconds."""
        end = Timer(CLOSING, os._exit, (1,))
        end.daemon = True
        end.start()
        await super().close(*arguments, **options)


@contextmanager
def closing(cluster: SpecCluster) -> Iterator[SpecCluster]:
    """Close a cluster after the block, in at most CLOSING seconds."""
    try:
        yield cluster
    finally:
        with suppress(TimeoutError):
            cluster.close(timeout=CLOSING)


@contextmanager
def published(client: Client, jobs: Sequence[Job]) -> Iterator[None]:
    """Store the built tasks at the scheduler while in the block; each worker asks for them once."""
    paths = {_name(job.task): job.task.path for job in jobs}
    for name, path in paths.items():
        client.publish_dataset(path.read_bytes(), name=name, override=True)
    try:
        yield
    finally:
        with suppress(Exception):  # the scheduler may be lost
            for name in paths:
                client.unpublish_dataset(name)


def _name(task: TaskFile) -> str:
    return f"transferbench/{task.digest.hex()}"


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


# What a worker does:

#: Slots of this process that no run uses.
_idle: list[Slot] = []
_lock = Lock()


def _perform(job: Job, caller: Identity) -> Record:
    """Perform a job in a process of this worker. Raise UserError if its code is another."""
    here = distributed.get_worker()
    check_identity(caller, {here.address: identity([job.run.model])})
    task, n_jobs = here.get_current_task(), here.state.nthreads
    with _lock:
        file = obtain(job.task, lambda: distributed.get_client().get_dataset(_name(job.task)))
        slot = _idle.pop() if _idle else run_slot()
    job = with_memory_limit(replace(job, task=file), n_jobs, here.memory_manager.memory_limit)
    reported = time.monotonic()

    def on_progress(*progress: object) -> None:
        nonlocal reported
        if here.status not in (Status.running, Status.paused):  # this worker is being closed
            raise Reschedule
        known = here.state.tasks.get(task)
        if known is None or known.state == "cancelled":
            raise InterruptedError
        if progress and time.monotonic() - reported >= 1:
            reported = time.monotonic()
            here.log_event(TOPIC, progress)

    try:
        return perform(slot, job, on_progress)
    finally:
        _idle.append(slot)


def _close_slots() -> None:
    while _idle:
        _idle.pop().close()


def identity(names: Iterable[str]) -> dict[str, str]:
    """Return versions and fingerprints of this package and of the models with these names."""
    known = {"python": platform.python_version(), **worker.versions(), "its code": _code()}
    for name in names:
        with suppress(UserError):  # a model of a package that is not installed here
            known[f"model {name}"] = models.code(name)
    return known


@cache
def _code() -> str:
    sha = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        sha.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return sha.hexdigest()[:16]


def check_identity(caller: Identity, workers: Mapping[str, Identity]) -> None:
    """Raise UserError naming the differences if a worker (by address) differs from the caller."""
    for place, theirs in workers.items():
        different = [
            f"{what} is {theirs.get(what, 'missing')} on {place} and {ours} here"
            for what, ours in caller.items()
            if theirs.get(what) != ours
        ]
        if different:
            raise UserError(f"{'; '.join(different)}: install the same on both.")


def obtain(task: TaskFile, receive: Callable[[], bytes]) -> TaskFile:
    """Return the same task as a file that this machine can read.

    That is the caller's own file if it is visible here, else one that is received once.
    """
    if task.is_current():
        return task
    folder = settings.load().data / "received"
    received = replace(task, path=folder / f"{task.digest.hex()}.task")
    if received.is_current():
        return received
    with writing(received.path) as temporary:
        temporary.write_bytes(receive())
        tasks.read(temporary)  # raises ValueError if it was damaged on its way
    return received
