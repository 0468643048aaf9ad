"""What happens inside the process of one run."""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from transferbench import __version__, metrics, models, tasks
from transferbench.errors import Unavailable
from transferbench.problem import Fit
from transferbench.records import Cell, Record, now, outcome
from transferbench.settings import Settings

_progress: Connection | None = None
#: Imported once by the process that runs are forked from, so that a run does not wait for them.
PRELOAD = (
    "transferbench.worker",
    "scipy.optimize",
    "sklearn.cluster",
    "sklearn.decomposition",
    "sklearn.linear_model",
    "sklearn.svm",
    "sparse_dot_topn",
)


def versions() -> dict[str, str]:
    """Versions of this program and of the libraries that results come from, those of extras too."""
    found = {"transferbench": __version__}
    for name in ("numpy", "scipy", "scikit-learn", "sparse-dot-topn", "skada", "pot"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def begin(progress: Connection | None) -> None:
    """Called once in a new process: keeps the way back for progress, and ends with the parent."""
    global _progress
    _progress = progress
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if progress is not None:
        progress.send(None)  # there now
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def perform(key: str, cell: Cell, settings: Settings, threads: int, memory: int | None) -> Record:
    """One run, measured. `memory` in bytes. What goes wrong in it becomes a record, too."""
    record = outcome(key, cell, "done") | {
        "versions": {"python": platform.python_version()} | versions(),
        "machine": {"system": platform.system(), "processor": platform.machine()},
    }
    try:
        with threadpool_limits(threads):
            _limit(memory)
            record |= _measure(key, cell, settings)
            record["threads"] = {i["internal_api"]: i["num_threads"] for i in threadpool_info()}
    except MemoryError as error:
        reason = f"past its limit of {_size(memory)}" + (f": {error}" if str(error) else "")
        record |= {"status": "memory", "reason": reason}
    except Unavailable as error:
        record |= {"status": "unavailable", "reason": error.brief}
    except Exception as error:  # whatever a model raises is that run's result, not the batch's end
        record |= {
            "status": "failed",
            "reason": f"{type(error).__name__}: {error}".splitlines()[0],
            "traceback": traceback.format_exc(),
        }
    return record | {"finished": now()}


def _measure(key: str, cell: Cell, settings: Settings) -> dict[str, Any]:
    start = time.perf_counter()
    task = tasks.Task.named(cell.task)
    problem, truth = tasks.load(task, settings)
    loaded = time.perf_counter()
    last = loaded

    curve: dict[str, list[float]] = {}

    def watch(iteration: int, planned: int, scores: tuple[np.ndarray, ...]) -> None:
        nonlocal last
        if cell.curve:
            for domain, measures in metrics.evaluate(Fit(scores), truth).items():
                curve.setdefault(domain, []).append(next(iter(measures.values())))
        if _progress is not None and (time.perf_counter() - last > 0.1 or iteration == planned):
            last = time.perf_counter()
            # One short message is one atomic write to the pipe, whoever else is writing to it.
            _progress.send((key, iteration, planned))

    seed = {} if cell.seed is None else {"seed": cell.seed}
    fit = models.load(cell.model)(problem, watch=watch, **cell.params, **seed)
    fitted = time.perf_counter()
    return {
        "facts": tasks.facts(problem, truth, tasks.contents(task, settings)),
        "metrics": metrics.evaluate(fit, truth, problem),
        "columns": fit.columns,
        "trace": list(fit.trace),
        "curve": curve,
        "seconds": {"load": loaded - start, "fit": fitted - loaded},
        "cpu_seconds": time.process_time(),
        "peak_bytes": _peak(),
    }


def _limit(memory: int | None) -> None:
    """Make allocations past `memory` bytes fail with MemoryError; on Linux, which counts them."""
    if memory is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.RLIM_INFINITY))


def _peak() -> int | None:
    """Largest resident set so far, in bytes; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _size(memory: int | None) -> str:
    return "no size" if memory is None else f"{memory / 2**30:.3g} GiB"
