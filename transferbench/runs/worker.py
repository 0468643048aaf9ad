"""Perform a run in its process: load the task, fit the model, measure, return the record."""

import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache

import numpy as np

from transferbench import artefacts, models, tasks
from transferbench.core import device
from transferbench.core.parallel import threads, use_threads
from transferbench.errors import Doubt, Unavailable
from transferbench.measures import ALL, correct, evaluate
from transferbench.messages import format_traceback, reason, shorten
from transferbench.problem import Fit, Truth
from transferbench.runs.machine import cores
from transferbench.runs.record import Job, Record, now, pack
from transferbench.userdata.doubts import data_doubts, fit_doubts

#: Seconds between two progress messages of a run.
PROGRESS_INTERVAL = 0.1

Send = Callable[[str], None]


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    libraries = artefacts.installed(*artefacts.LIBRARIES, "skada", "pot")
    return {"python": platform.python_version()} | libraries


def run_job(job: Job, send: Send) -> str:
    """Return the record of a run as a line; an error becomes its status and reason.

    Parameters
    ----------
    job
        The run, its task and limits.
    send
        Takes progress, a line `[iteration, planned]`.
    """
    limits = job.limits
    libraries = [*map(" ".join, versions().items())]
    record = replace(job.record("done"), versions=", ".join(libraries))
    warnings.formatwarning = _warning  # type: ignore[assignment]
    try:
        with (
            use_threads(limits.threads),
            use_threads(limits.threads or min(threads(), cores())),  # libraries see no quota
            device.use_device(limits.device),
        ):
            record = replace(record, versions=", ".join([*libraries, *device.description()]))
            if limits.memory is not None and sys.platform == "linux":
                import resource

                from scipy.linalg import cholesky

                # OpenBLAS asks for its buffers at the first product, without end if it gets none.
                cholesky(np.eye(2) @ np.eye(2))
                # Allocations past the limit raise MemoryError.
                resource.setrlimit(resource.RLIMIT_DATA, (limits.memory, resource.RLIM_INFINITY))
            measured = _measure(record, job, send)
            json.dumps([measured.metrics, measured.curve, measured.trace], allow_nan=False)
            return json.dumps(asdict(measured), default=float)
    except MemoryError as error:
        why = "out of memory"
        if limits.memory is not None:
            why = f"exceeded its limit of {limits.memory / 2**30:.3g} GiB"
        why += reason(error).removeprefix(type(error).__name__).rstrip(": ")
        record = replace(record, status="memory", reason=why)
    except Unavailable as error:
        record = replace(record, status="unavailable", reason=shorten(error.brief))
    except BaseException as error:  # also SystemExit, which a model may raise
        text = format_traceback(error)
        record = replace(record, status="failed", reason=reason(error), traceback=text)
    return json.dumps(asdict(replace(record, finished=now())))


def _warning(message: object, category: type[Warning], *place: object) -> str:
    """Return the text of a warning without the path of a file of this machine."""
    return f"{category.__name__}: {message}\n"


def _measure(record: Record, job: Job, send: Send) -> Record:
    """Fit the model; return the record with metrics, times and memory."""
    run = job.run
    problem, truth = tasks.read(job.built.path, run.task.order, job.built.name)
    models.load(run.model)
    watch = _Watch(job, truth, send)
    # Artefacts are NumPy's arrays; on a GPU each run makes its own.
    with artefacts.use(job.artefacts if job.limits.device == "cpu" else None) as costs:
        begin = costs.clock()
        fit = models.fit(run.model, problem, run.params, seed=run.seed, watch=watch)
        seconds = costs.clock() - begin
    measures = evaluate(fit, truth, problem)
    doubts: tuple[Doubt, ...] = ()
    if run.task.base == "own" and problem.family != "multilabel":
        doubts = (*data_doubts(problem), *fit_doubts(run.model, problem, run.params, fit))
    scored = [int(np.count_nonzero(rows)) for rows in truth.scored]
    documents = {**dict(zip(truth.names, scored, strict=True)), ALL: sum(scored)}
    peak = artefacts.peak_mib()
    return replace(
        record,
        metrics=measures,
        documents={domain: documents[domain] for domain in measures},
        right={domain: pack(right) for domain, right in correct(fit, truth).items()},
        diagnostics={name: _finite(value) for name, value in fit.diagnostics.items()},
        objective=_finite(fit.trace[-1]) if len(fit.trace) else None,
        iterations=len(fit.trace),
        trace=tuple(map(float, fit.trace)) if run.curve else (),
        curve={name: tuple(values) for name, values in watch.curve.items()} if run.curve else None,
        doubts=doubts,
        seconds=round(seconds, 4),
        reused_seconds=round(costs.reused, 4),
        peak_mib=None if peak is None else round(max(peak, costs.peak_mib), 1),
        threads=threads(),
        finished=now(),
    )


def _finite(value: float | None) -> float | None:
    """Return a number that JSON has, None for another."""
    return None if value is None or not math.isfinite(value) else float(value)


class _Watch:
    """Called by a model after each iteration: send progress and, if asked for, extend the curve."""

    def __init__(self, job: Job, truth: Truth, send: Send) -> None:
        self.job, self.truth, self.send = job, truth, send
        self.curve: dict[str, list[float]] = {}
        self.sent = time.perf_counter()

    def __call__(self, iteration: int, planned: int, scores: tuple[np.ndarray, ...]) -> None:
        if self.job.run.curve:
            for domain, measures in evaluate(Fit(scores), self.truth).items():
                self.curve.setdefault(domain, []).append(next(iter(measures.values())))
        due = time.perf_counter() - self.sent > PROGRESS_INTERVAL or iteration == planned
        if due and planned > 0:
            self.sent = time.perf_counter()
            self.send(f"[{int(iteration)}, {int(planned)}]")
