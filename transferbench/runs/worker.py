"""Perform a run in its process: load the task, fit the model, measure, return the record."""

import json
import math
import platform
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache

import numpy as np

from transferbench import artefacts, datasets, models, parameters
from transferbench.core import device
from transferbench.core.parallel import threads, use_threads
from transferbench.errors import Unavailable, UserError
from transferbench.fingerprint import PACKAGE, fingerprint
from transferbench.measures import ALL
from transferbench.messages import format_traceback, reason, shorten
from transferbench.runs.machine import cores
from transferbench.runs.perform import perform
from transferbench.runs.record import Job, Record, now, pack

Send = Callable[[str], None]
#: Read with the code that it covers: so no record states code that changed after it was loaded.
fingerprint(PACKAGE / "runs" / "perform.py")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    libraries = artefacts.installed(*artefacts.LIBRARIES, "skada", "pot")
    return {"python": platform.python_version()} | libraries


def stated_versions() -> str:
    """Return the versions as a record states them."""
    return ", ".join(map(" ".join, versions().items()))


def run_job(job: Job, send: Send) -> str:
    """Return the record of a run as a line; an error becomes its status and reason."""
    limits = job.limits
    record = replace(job.record("done"), versions=stated_versions())
    # Without the path of a file of this machine.
    warnings.formatwarning = lambda text, kind, *_, **__: f"{kind.__name__}: {text}\n"
    try:
        with (
            use_threads(limits.threads),
            use_threads(limits.threads or min(threads(), cores())),  # libraries see no quota
            device.use_device(limits.device),
        ):
            record = replace(record, versions=", ".join([record.versions, *device.description()]))
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


def _measure(record: Record, job: Job, send: Send) -> Record:
    """Return the record with measures, times and memory."""
    run, on_cpu = job.run, job.limits.device == "cpu"
    if models.is_external(run.model):  # the values of others were checked with the experiment
        function = models.load(run.model)
        parameters.resolve(function, run.params, run.model)
        if parameters.takes_seed(function) != (run.seed is not None):
            what = "a seed" if run.seed is None else "no seed"
            raise UserError(f"{run.model} takes {what}; state random in the experiment by this.")
    result = perform(
        job.built.path, job.built.name, run.task.order, run.model, run.params, run.seed,
        curve=run.curve,
        store=job.artefacts if on_cpu else None,  # they are arrays of NumPy
        report=lambda iteration, planned: send(f"[{iteration}, {planned}]"),
    )  # fmt: skip
    fit, truth = result.fit, result.truth
    # Only data of the user's files are doubted; so other runs look up no plug-in.
    dataset = datasets.module(run.task.base) if job.built.facts.files_key else None
    doubts = getattr(dataset, "doubts", None)
    scored = [int(np.count_nonzero(rows)) for rows in truth.scored]
    documents = {**dict(zip(truth.names, scored, strict=True)), ALL: sum(scored)}
    peak = artefacts.peak_mib()
    return replace(
        record,
        metrics=result.measures,
        documents={domain: documents[domain] for domain in result.measures},
        right={domain: pack(right) for domain, right in result.right.items()},
        diagnostics={name: _finite(value) for name, value in fit.diagnostics.items()},
        objective=_finite(fit.trace[-1]) if len(fit.trace) else None,
        iterations=len(fit.trace),
        trace=tuple(map(float, fit.trace)) if run.curve else (),
        curve={n: tuple(values) for n, values in result.curve.items()} if run.curve else None,
        doubts=doubts(result.problem, run.model, run.params, fit) if doubts else (),
        seconds=round(result.seconds, 4),
        reused_seconds=round(result.costs.reused, 4),
        peak_mib=None if peak is None else round(max(peak, result.costs.peak_mib), 1),
        threads=threads(),
        finished=now(),
    )


def _finite(value: float | None) -> float | None:
    """Return a number that JSON has, None for another."""
    return None if value is None or not math.isfinite(value) else float(value)
