"""Perform a run on a Dask worker or in a Slurm job, as on the caller's machine.

First the worker checks that its code and versions are the caller's. Then it takes the built task
from its own data folder, or receives the caller's file and checks its digest. Jobs and records are
pickled: caller and workers trust each other.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import replace
from functools import cache
from multiprocessing import current_process
from threading import Lock

from transferbench import models, settings
from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.files import writing
from transferbench.fingerprint import PACKAGE, fingerprint
from transferbench.runs import worker
from transferbench.runs.engines import ProgressCallback
from transferbench.runs.engines.local import Pool, to_record
from transferbench.runs.job import Job, TaskFile
from transferbench.runs.record import Record

Identity = Mapping[str, str]


def identity(names: Iterable[str]) -> dict[str, str]:
    """Return versions and fingerprints of this package and of the models with these names."""
    known = {"python": platform.python_version(), **worker.versions(), "its code": _code()}
    for name in names:
        with suppress(UserError):  # a model of a package that is not installed here
            known[f"model {name}"] = fingerprint(models.get(name).path)
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


def perform(
    job: Job,
    caller: Identity,
    receive: Callable[[], bytes],
    on_progress: ProgressCallback,
    *,
    place: str,
    n_jobs: int = 1,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Record:
    """Perform a job in a process of this worker and return its record.

    caller       : the caller's `identity` for the model of the job.
    receive      : returns the content of the task's file; called if it is not available otherwise.
    on_progress  : called at most once a second.
    place        : address of this worker, for messages.
    n_jobs       : runs this worker performs at once.
    is_cancelled : if it returns true, the run is ended.

    Raise UserError if code or versions differ from the caller's.
    """
    check_identity(caller, {place: identity([job.run.model])})
    pool, future = shared_pool.submit(job, receive, n_jobs)
    while not wait([future], timeout=1).done:
        if is_cancelled() or pool is not shared_pool.pool:
            future.cancel()
        else:
            shared_pool.report(job.key, on_progress)
    return to_record(job, future)


class _SharedPool:
    """The process pool of this worker: started by the first job, used by all, from any thread."""

    def __init__(self) -> None:
        self.pool: Pool | None = None
        self.latest: dict[str, tuple[int, int]] = {}  # key → progress not reported yet
        self.lock = Lock()

    def submit(
        self, job: Job, receive: Callable[[], bytes], n_jobs: int
    ) -> tuple[Pool, Future[Record]]:
        """Obtain the job's task, start the pool if necessary, and submit the job to it."""
        with self.lock:
            job = replace(job, task=obtain(job.task, receive))
            if self.pool and not self.pool.active:
                self.stop()
            if self.pool is None:
                # Workers of dask are daemons, which may not have children. The processes of a pool
                # exit with their parent, so it is safe here.
                current_process().daemon = False
                self.pool = Pool(n_jobs, self._on_progress)
            return self.pool, self.pool.submit(job)

    def report(self, key: str, on_progress: ProgressCallback) -> None:
        """Call `on_progress` if there is new progress of this job."""
        with self.lock, suppress(OSError):  # the pool was closed meanwhile
            if self.pool:
                self.pool.forward_progress()
        if key in self.latest:
            on_progress(key, *self.latest.pop(key))

    def stop(self) -> None:
        """End all runs; a later job starts a new pool."""
        pool, self.pool = self.pool, None
        if pool:
            pool.close()

    def _on_progress(self, key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        if key is not None:
            self.latest[key] = iteration, planned


shared_pool = _SharedPool()


def obtain(task: TaskFile, receive: Callable[[], bytes]) -> TaskFile:
    """Return the same task as a file that this machine can read.

    That is the caller's own file if it is visible here, else a file in this machine's data folder:
    already present, built here if there is a mirror, or received from the caller.
    """
    if task.is_current():
        return task
    own = settings.load()
    received = replace(task, path=own.data / "received" / f"{task.digest.hex()}.task")
    if received.is_current():
        return received
    with suppress(UserError, ValueError, OSError):  # receive it instead
        named = tasks.Task.named(task.name)
        built = replace(task, path=named.built_path(own))
        if own.mirrors and not built.path.is_file():
            tasks.load(named, own)
        if built.is_current():
            return built
    with writing(received.path) as temporary:
        temporary.write_bytes(receive())
        tasks.read(temporary)  # raises ValueError if it was damaged on its way
    return received
