"""What a worker elsewhere does with a run: the same as here, once code and task are the caller's.

Dask and submitit carry runs and records between machines that trust each other, by pickle; a task
comes from the worker's own data, or as the bytes of the caller's file, checked by their digest.
"""

from __future__ import annotations

import hashlib
import platform
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import replace
from functools import cache
from multiprocessing import current_process

from transferbench import models, settings
from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.files import writing
from transferbench.fingerprint import PACKAGE, fingerprint
from transferbench.runs import worker
from transferbench.runs.engines.local import Pool, shared, to_record
from transferbench.runs.record import Record
from transferbench.runs.worker import Job, TaskFile

Identity = Mapping[str, str]
#: Takes how far a run has come: the iteration, of as many as are planned.
Tell = Callable[[int, int], None]

_lock = threading.Lock()
_pools: list[Pool] = []  # one, once there is a run; it is kept from run to run
_heard: dict[str, tuple[int, int]] = {}  # how far the runs in the pool have come, by key


def identity(names: Iterable[str]) -> dict[str, str]:
    """What results depend on besides their cells: versions, this package's code, the models'."""
    found = {"python": platform.python_version(), **worker.versions(), "its code": _code()}
    for name in names:
        with suppress(UserError):  # of a package that is not installed here
            found[f"model {name}"] = fingerprint(models.get(name).path)
    return found


@cache
def _code() -> str:
    sha = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        sha.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return sha.hexdigest()[:16]


def compare(caller: Identity, found: Mapping[str, Identity]) -> None:
    """Raises UserError naming what differs, for a worker (by its address) that is not as we are."""
    for place, theirs in found.items():
        different = [
            f"{what} is {theirs.get(what, 'not there')} on {place} and {ours} here"
            for what, ours in caller.items()
            if theirs.get(what) != ours
        ]
        if different:
            raise UserError(f"{'; '.join(different)}: install the same on both.")


def perform(
    run: Job,
    caller: Identity,
    receive: Callable[[], bytes],
    tell: Tell,
    *,
    place: str,
    jobs: int = 1,
    unwanted: Callable[[], bool] = lambda: False,
) -> Record:
    """The record of a run, performed by a process of this worker's as the local engine does it.

    caller: its `identity` for the run's model; receive: gives the bytes of the built task, called
    where it cannot be had otherwise; tell: called once a second at most; place: of this worker;
    jobs: runs it performs at once; unwanted: whether the caller has lost interest, which ends the
    run. Raises UserError where code or versions are not the caller's.
    """
    compare(caller, {place: identity([run.run.model])})
    with _lock:
        run = replace(run, task=obtain(run.task, receive), limits=shared(run.limits, jobs))
        if _pools and not _pools[0].pool.active:  # broken
            stop()
        if not _pools:
            # Workers of dask are daemons, which may have no children lest these be left behind;
            # the processes of a pool end with their parent.
            current_process().daemon = False
            _pools.append(Pool(jobs, _hear))
        pool = _pools[0]
        future = pool.submit(run)
    while not wait([future], timeout=1).done:
        if unwanted() or pool not in _pools:
            future.cancel()
            continue
        with _lock, suppress(OSError):  # it has just been ended
            pool.listen()
        if run.key in _heard:
            tell(*_heard.pop(run.key))
    return to_record(run, future)


def _hear(key: str | None = None, iteration: int = 0, planned: int = 1) -> None:
    if key is not None:
        _heard[key] = iteration, planned


def stop() -> None:
    """End what is under way in this worker; a later run begins anew."""
    while _pools:
        _pools.pop().__exit__(None)


def obtain(task: TaskFile, receive: Callable[[], bytes]) -> TaskFile:
    """The same task where it lies on this machine.

    That is the caller's own file where it can be seen, else one in this machine's data folder:
    there already, built here where there is a mirror, or received.
    """
    if task.there():
        return task
    own = settings.load()
    received = replace(task, path=own.data / "received" / f"{task.digest.hex()}.task")
    if received.there():
        return received
    with suppress(UserError, ValueError, OSError):  # then the caller has it
        named = tasks.Task.named(task.name)
        built = replace(task, path=named.cache(own))
        if own.mirrors and not built.path.is_file():
            tasks.load(named, own)
        if built.there():
            return built
    with writing(received.path) as temporary:
        temporary.write_bytes(receive())
        tasks.read(temporary)  # raises ValueError where it was damaged on its way
    return received
