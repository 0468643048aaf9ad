"""The processes that perform runs.

A worker process loads libraries, model code and the task, and forks a process for each run. All
functions but `versions` are called in these processes.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from transferbench import __version__, metrics, models
from transferbench.core import artefacts
from transferbench.data import tasks
from transferbench.errors import Unavailable
from transferbench.problem import Fit, Problem, Truth
from transferbench.runs.job import Job, TaskFile
from transferbench.runs.record import Record, now

#: Sends progress to the caller: (key, iteration, planned), or None when this process has started.
_progress_pipe: Connection | None = None
#: True if a process that has imported the numerical libraries can be forked safely.
CAN_FORK = sys.platform == "linux"
#: Seconds between two progress messages of a run.
PROGRESS_INTERVAL = 0.1


def versions() -> dict[str, str]:
    """Return the versions of this package and of the libraries that results depend on."""
    installed = {"transferbench": __version__}
    for name in ("numpy", "scipy", "scikit-learn", "sparse-dot-topn", "skada", "pot"):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def initialize(progress: Connection) -> None:
    """Prepare a new process: store the progress pipe; exit when the parent exits."""
    global _progress_pipe
    _progress_pipe = progress
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    progress.send(None)  # this process has started
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def perform(job: Job) -> Record:
    """Perform a job in a process forked from this one, so no state leaks between runs.

    Libraries, model code and task are loaded here once and shared by the forks. If forking is not
    safe (outside Linux), perform the job in this process, which then takes no other.
    """
    start, cpu = time.perf_counter(), time.process_time()
    record = replace(
        job.record("done"),
        data=job.task.facts.digest,
        versions={"python": platform.python_version()} | versions(),
        machine=f"{platform.system()} {platform.machine()}",
    )
    with suppress(Exception):  # the fork raises the same error and records it
        _load(job.task)
        models.load(job.run.model)
    cpu = time.process_time() - cpu
    if not CAN_FORK:
        return _attempt(record, job, start, 0.0)
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=_perform_in_fork, args=(send, record, job, start, cpu))
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
    artefacts.prepare()  # for the next fork; here it costs no run any time
    return record


def _perform_in_fork(send: Connection, *arguments: Any) -> None:
    import ctypes

    # PR_SET_PDEATHSIG: the kernel kills this process when its parent dies.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    send.send(_attempt(*arguments))


def _attempt(record: Record, job: Job, start: float, cpu: float) -> Record:
    """Perform the job and return its completed record; an error becomes its status and reason."""
    limits = job.limits
    try:
        with threadpool_limits(limits.threads):
            _limit_memory(limits.memory)
            record = _measure(record, job, start, cpu)
            threads = [info["num_threads"] for info in threadpool_info()]
            record = replace(record, threads=max(threads, default=None))
    except MemoryError as error:
        reason = "out of memory"
        if limits.memory is not None:
            reason = f"exceeded its limit of {limits.memory / 2**30:.3g} GiB"
        reason += f": {error}" if str(error) else ""
        record = replace(record, status="memory", reason=reason)
    except Unavailable as error:
        record = replace(record, status="unavailable", reason=error.brief)
    except Exception as error:  # an error of one model must not end the batch
        record = replace(
            record,
            status="failed",
            reason=f"{type(error).__name__}: {error}".splitlines()[0],
            traceback=traceback.format_exc(),
        )
    return replace(record, finished=now())


@lru_cache(maxsize=1)
def _load(task: TaskFile) -> tuple[Problem, Truth]:
    if not task.is_current():
        raise ValueError(f"{task.path} was changed by another process; run the command again.")
    return tasks.read(task.path)


def _measure(record: Record, job: Job, start: float, cpu: float) -> Record:
    """Fit the model and add metrics, times and memory to the record.

    start: time when loading began; cpu: CPU seconds that the parent process spent on loading.
    """
    run = job.run
    problem, truth = _load(job.task)
    loaded = time.perf_counter()
    watch = _Watch(job, truth)
    with artefacts.use(job.artefacts, job.limits.threads) as usage:
        begin = time.perf_counter()
        fit = models.fit(run.model, problem, run.params, seed=run.seed, watch=watch)
        seconds = time.perf_counter() - begin
    measures = metrics.evaluate(fit, truth, problem)
    missing, missing_cpu = usage.missing.tolist()
    peak = artefacts.peak_mib()
    return replace(
        record,
        metrics=measures,
        documents=_documents(truth, measures),
        columns=fit.columns,
        diagnostics=dict(fit.diagnostics),
        trace=tuple(fit.trace),
        curve=watch.curve if run.curve else None,
        seconds=seconds + missing,
        reused_seconds=usage.reused.tolist()[0],
        load_seconds=loaded - start,
        cpu_seconds=time.process_time() + cpu + missing_cpu,
        peak_mib=None if peak is None else max(peak, usage.peak_mib),
    )


def _documents(truth: Truth, domains: Iterable[str]) -> dict[str, int]:
    """Return the number of scored documents of each domain, or group of all domains."""
    pairs = zip(truth.names, truth.scored, strict=True)
    counts = {name: int(np.count_nonzero(scored)) for name, scored in pairs}
    counts[metrics.ALL] = sum(counts.values())
    return {name: counts[name] for name in domains}


class _Watch:
    """Called by a model after each iteration: send progress and, if asked for, extend the curve."""

    def __init__(self, job: Job, truth: Truth) -> None:
        self.job, self.truth = job, truth
        self.curve: dict[str, list[float]] = {}
        self.sent = time.perf_counter()

    def __call__(self, iteration: int, planned: int, scores: tuple[np.ndarray, ...]) -> None:
        if self.job.run.curve:
            for domain, measures in metrics.evaluate(Fit(scores), self.truth).items():
                self.curve.setdefault(domain, []).append(next(iter(measures.values())))
        due = time.perf_counter() - self.sent > PROGRESS_INTERVAL or iteration == planned
        if _progress_pipe is not None and due:
            self.sent = time.perf_counter()
            # A short message is one atomic write, so processes can share the pipe.
            _progress_pipe.send((self.job.key, iteration, planned))


def _limit_memory(memory: int | None) -> None:
    """Make allocations past `memory` bytes raise MemoryError (on Linux only)."""
    if memory is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.RLIM_INFINITY))
