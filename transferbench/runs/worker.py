"""What happens inside the process of one run, and in the one that it is forked from."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from transferbench import __version__, metrics, models
from transferbench.data import tasks
from transferbench.data.facts import Facts
from transferbench.errors import Unavailable
from transferbench.problem import Fit, Problem, Truth
from transferbench.runs.record import Limits, Record, Run, Status, now

_progress: Connection | None = None
#: Whether a process that has made the heavy imports can be forked safely.
FORKS = sys.platform == "linux"


@dataclass(frozen=True)
class TaskFile:
    """A built task's file: its name, where it lies, the SHA-256 in its head, the task's facts."""

    name: str
    path: Path
    digest: bytes
    facts: Facts = field(compare=False)

    @classmethod
    def of(cls, name: str, path: Path, facts: Facts) -> TaskFile:
        """The file that lies at `path` now."""
        return cls(name, path, _head(path), facts)

    def there(self) -> bool:
        """Whether this very file lies at its path (damage further on is seen by reading it)."""
        try:
            return _head(self.path) == self.digest
        except OSError:
            return False


@dataclass(frozen=True)
class Job:
    """What a process needs for one run: the record's key, the cell, its task, its limits."""

    key: str
    run: Run
    task: TaskFile
    limits: Limits = field(default_factory=Limits)


def versions() -> dict[str, str]:
    """Versions of this program and of the libraries that results come from, those of extras too."""
    found = {"transferbench": __version__}
    for name in ("numpy", "scipy", "scikit-learn", "sparse-dot-topn", "skada", "pot"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def begin(progress: Connection) -> None:
    """Called once in a new process: keeps the way back for progress, and ends with the parent."""
    global _progress
    _progress = progress
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    progress.send(None)  # there now
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def ended(job: Job, status: Status, reason: str = "") -> Record:
    """Start the record of a job that ends now."""
    return Record.of(job.key, job.run, status, reason, job.limits)


def perform(job: Job) -> Record:
    """Perform a job in a process forked from this one, so no state leaks between runs.

    This process keeps what several jobs need: libraries, the model's code, the task. Where forking
    is not safe (outside Linux), it performs the job itself and serves no other.
    """
    start, cpu = time.perf_counter(), time.process_time()
    record = replace(
        ended(job, "done"),
        data=job.task.facts.digest,
        versions={"python": platform.python_version()} | versions(),
        machine=f"{platform.system()} {platform.machine()}",
    )
    with suppress(Exception):  # the run itself meets the error again and records it
        _load(job.task)
        models.load(job.run.model)
    cpu = time.process_time() - cpu
    if not FORKS:
        return _attempt(record, job, start, cpu)
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=_fork, args=(send, record, job, start, cpu))
    child.start()
    send.close()
    with receive:
        try:
            record = receive.recv()
            child.join()
        except (EOFError, OSError):
            child.join()
            reason = f"its process ended with code {child.exitcode}"
            record = replace(record, status="crashed", reason=reason, finished=now())
    return record


def _fork(send: Connection, *arguments: Any) -> None:
    import ctypes

    # The kernel ends this process with its parent, whatever it is doing.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    send.send(_attempt(*arguments))


def _attempt(record: Record, job: Job, start: float, cpu: float) -> Record:
    """Perform the job and complete its record; errors become part of it."""
    limits = job.limits
    try:
        with threadpool_limits(limits.threads):
            _limit(limits.memory)
            record = _measure(record, job, start, cpu)
            threads = [info["num_threads"] for info in threadpool_info()]
            record = replace(record, threads=max(threads, default=None))
    except MemoryError as error:
        reason = f"past its limit of {_size(limits.memory)}" + (f": {error}" if str(error) else "")
        record = replace(record, status="memory", reason=reason)
    except Unavailable as error:
        record = replace(record, status="unavailable", reason=error.brief)
    except Exception as error:  # whatever a model raises is that run's result, not the batch's end
        record = replace(
            record,
            status="failed",
            reason=f"{type(error).__name__}: {error}".splitlines()[0],
            traceback=traceback.format_exc(),
        )
    return replace(record, finished=now())


@lru_cache(maxsize=1)
def _load(task: TaskFile) -> tuple[Problem, Truth]:
    if not task.there():
        raise ValueError(f"{task.path} is no longer the task it was; run the command again.")
    return tasks.read(task.path)


def _measure(record: Record, job: Job, start: float, cpu: float) -> Record:
    """Fit and score. start: when loading began; cpu: seconds spent on it by another process."""
    run = job.run
    problem, truth = _load(job.task)
    loaded = time.perf_counter()
    last = loaded

    curve: dict[str, list[float]] = {}

    def watch(iteration: int, planned: int, scores: tuple[np.ndarray, ...]) -> None:
        nonlocal last
        if run.curve:
            for domain, measures in metrics.evaluate(Fit(scores), truth).items():
                curve.setdefault(domain, []).append(next(iter(measures.values())))
        if _progress is not None and (time.perf_counter() - last > 0.1 or iteration == planned):
            last = time.perf_counter()
            # One short message is one atomic write to the pipe, whoever else is writing to it.
            _progress.send((job.key, iteration, planned))

    seed = {} if run.seed is None else {"seed": run.seed}
    fit = models.load(run.model)(problem, watch=watch, **run.params, **seed)
    fitted = time.perf_counter()
    return replace(
        record,
        metrics=metrics.evaluate(fit, truth, problem),
        columns=fit.columns,
        trace=list(fit.trace),
        curve=curve if run.curve else None,
        seconds=fitted - loaded,
        load_seconds=loaded - start,
        cpu_seconds=time.process_time() + (cpu if FORKS else 0.0),
        peak_mib=_peak_mib(),
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(32)


def _limit(memory: int | None) -> None:
    """Make allocations past `memory` bytes fail with MemoryError; on Linux, which counts them."""
    if memory is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.RLIM_INFINITY))


def _peak_mib() -> float | None:
    """Largest resident memory so far; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _size(memory: int | None) -> str:
    return "no size" if memory is None else f"{memory / 2**30:.3g} GiB"
