"""The processes that perform runs.

A worker process loads libraries, model code and the task, and forks a process for each run. All
functions but `versions` are called in these processes.
"""

import json
import operator
import os
import platform
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from multiprocessing import current_process, parent_process
from multiprocessing.connection import Connection
from typing import NoReturn

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from transferbench import artefacts, models
from transferbench.choose.doubts import check_data, check_fit
from transferbench.data import tasks
from transferbench.errors import Doubt, Unavailable
from transferbench.measures import ALL, evaluate, headings
from transferbench.messages import excerpt, reason, shorten
from transferbench.problem import Fit, Problem, Truth
from transferbench.runs import process, store
from transferbench.runs.record import Job, Record, TaskFile, now

#: Seconds between two progress messages of a run.
PROGRESS_INTERVAL = 0.1


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    libraries = artefacts.installed(*artefacts.LIBRARIES, "skada", "pot")
    return {"python": platform.python_version()} | libraries


def serve(connection: Connection) -> None:
    """Perform the jobs that arrive and send their records; see `engines.local.Slot`.

    Progress is sent as tuples of key, iteration and number planned. A run has no access to the
    connection: this process passes on what is valid. It ends with its parent and prints nothing.
    """
    current_process().daemon = False  # it may have children, which end with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        signal.signal(getattr(signal, name, signal.SIGTERM), _exit)
    process.prctl(process.CHILD_SUBREAPER, 1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    process.redirect(nowhere, nowhere)
    os.close(nowhere)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # the parent ended, or closed its side
        while True:
            job = connection.recv()
            connection.send(())
            connection.send(perform(job, lambda *progress: connection.send(progress)))
            if not process.CAN_FORK:
                return


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        _exit()


def _exit(*event: object) -> NoReturn:
    """End this process and the run that it performs."""
    process.end_call()
    os._exit(1)


def perform(
    job: Job, on_progress: Callable[[str, int, int], object] = lambda *progress: None
) -> Record:
    """Perform a job in a process forked from this one, so no state leaks between runs.

    Libraries, model code and task are loaded here once and shared by the forks. If forking is not
    safe (outside Linux), perform the job in this process, which then takes no other.
    """
    start = time.perf_counter()
    record = replace(job.record("done"), versions=", ".join(map(" ".join, versions().items())))
    with suppress(BaseException):  # the fork raises the same error and records it
        _load(job.task)
        models.load(job.run.model)
        artefacts.environment()

    def attempt(send: process.Send) -> str:
        return _to_json(_attempt(record, job, send), record)

    def on_message(message: str) -> None:
        iteration, planned = map(int, message.split())
        on_progress(job.key, iteration, planned)

    if process.CAN_FORK:
        seconds = job.limits.seconds
        remaining = None if seconds is None else max(0.0, start + seconds - time.perf_counter())
        ended = process.call(attempt, on_message, remaining)
    else:
        ended = process.Ended(attempt(on_message), "", None)
    return replace(_record(job, record, ended), output=ended.output)


def _record(job: Job, record: Record, ended: process.Ended) -> Record:
    """Return the record of a run that ended; `record` is its start."""
    if ended.result is not None:
        expected = headings(job.task.facts.family).keys()
        # The model may have written it.
        with suppress(ValueError, TypeError, LookupError, RecursionError, AttributeError):
            found = store.from_json(ended.result)
            same = found.run.identity == job.run.identity
            if same and all(m.keys() == expected for m in found.metrics.values()):
                return found
    elif ended.exitcode is None:
        return job.timed_out()
    cause = "without a record" if ended.exitcode is None else f"with code {ended.exitcode}"
    return replace(record, status="crashed", reason=f"its process ended {cause}", finished=now())


def _attempt(record: Record, job: Job, send: process.Send) -> Record:
    """Perform the job and return its completed record; an error becomes its status and reason."""
    limits = job.limits
    warnings.formatwarning = _warning  # type: ignore[assignment]
    try:
        with threadpool_limits(limits.threads):
            if limits.memory is not None and sys.platform == "linux":
                import resource

                # Allocations past the limit raise MemoryError.
                resource.setrlimit(resource.RLIMIT_DATA, (limits.memory, resource.RLIM_INFINITY))
            record = _measure(record, job, send)
            threads = [info["num_threads"] for info in threadpool_info()]
            record = replace(record, threads=max(threads, default=1))
    except MemoryError as error:
        why = "out of memory"
        if limits.memory is not None:
            why = f"exceeded its limit of {limits.memory / 2**30:.3g} GiB"
        why += reason(error).removeprefix(type(error).__name__).rstrip(": ")
        record = replace(record, status="memory", reason=why)
    except Unavailable as error:
        record = replace(record, status="unavailable", reason=shorten(error.brief))
    except BaseException as error:  # an error of one model must not end the batch
        text = excerpt(traceback.format_exc().encode("utf-8", "backslashreplace"))
        record = replace(record, status="failed", reason=reason(error), traceback=text)
    return replace(record, finished=now())


def _to_json(record: Record, start: Record) -> str:
    """Return the record as one line; if it has no JSON, that of a failed run, from its start."""
    try:
        json.dumps([record.metrics, record.curve, record.trace], allow_nan=False)
        text = store.to_json(record)
        if len(text.encode()) > process.MAX_RESULT:
            raise ValueError(f"it exceeds {process.MAX_RESULT / 2**20:g} MiB")
        return text
    except Exception as error:
        why = shorten(f"its record cannot be written: {reason(error)}")
        return store.to_json(replace(start, status="failed", reason=why, finished=now()))


def _warning(message: object, category: type[Warning], *place: object) -> str:
    """Return the text of a warning without the path of a file of this machine."""
    return f"{category.__name__}: {message}\n"


@lru_cache(maxsize=1)
def _load(task: TaskFile) -> tuple[Problem, Truth]:
    if not task.is_current():
        raise ValueError(f"{task.path} was changed by another process; run the command again.")
    return tasks.read(task.path, task.order)


def _measure(record: Record, job: Job, send: process.Send) -> Record:
    """Fit the model and add metrics, times and memory to the record; `send` takes progress."""
    run = job.run
    problem, truth = _load(job.task)
    watch = _Watch(job, truth, send)
    with artefacts.use(job.artefacts, job.limits.threads) as costs:
        begin = time.perf_counter()
        fit = models.fit(run.model, problem, run.params, seed=run.seed, watch=watch)
        seconds = time.perf_counter() - begin
    measures = evaluate(fit, truth, problem)
    doubts: tuple[Doubt, ...] = ()
    if run.task.startswith("own:") and problem.family != "multilabel":
        doubts = (*check_data(problem), *check_fit(run.model, problem, run.params, fit))
    peak = artefacts.peak_mib()
    return replace(
        record,
        metrics=measures,
        documents=_documents(truth, measures),
        diagnostics=dict(fit.diagnostics),
        objective=float(fit.trace[-1]) if len(fit.trace) else None,
        iterations=len(fit.trace),
        trace=tuple(map(float, fit.trace)) if run.curve else (),
        curve={d: tuple(v) for d, v in watch.curve.items()} if run.curve else None,
        doubts=doubts,
        seconds=seconds + costs.correction,
        reused_seconds=costs.reused,
        peak_mib=None if peak is None else max(peak, costs.peak_mib),
    )


def _documents(truth: Truth, domains: Iterable[str]) -> dict[str, int]:
    """Return the number of scored documents of each domain, or group of all domains."""
    scored = [int(np.count_nonzero(rows)) for rows in truth.scored]
    counts = {**dict(zip(truth.names, scored, strict=True)), ALL: sum(scored)}
    return {name: counts[name] for name in domains}


class _Watch:
    """Called by a model after each iteration: send progress and, if asked for, extend the curve.

    Progress that is not given as integers is ignored, and shown up to what is planned.
    """

    def __init__(self, job: Job, truth: Truth, send: process.Send) -> None:
        self.job, self.truth, self.send = job, truth, send
        self.curve: dict[str, list[float]] = {}
        self.sent = time.perf_counter()

    def __call__(self, iteration: int, planned: int, scores: tuple[np.ndarray, ...]) -> None:
        if self.job.run.curve:
            for domain, measures in evaluate(Fit(scores), self.truth).items():
                self.curve.setdefault(domain, []).append(next(iter(measures.values())))
        with suppress(TypeError):
            iteration, planned = operator.index(iteration), operator.index(planned)
            due = time.perf_counter() - self.sent > PROGRESS_INTERVAL or iteration == planned
            if due and 1 <= planned < 2**63:
                self.sent = time.perf_counter()
                self.send(f"{min(max(iteration, 0), planned)} {planned}")
