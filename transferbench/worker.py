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
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from transferbench import __version__, metrics, models, tasks
from transferbench.errors import Unavailable
from transferbench.problem import Fit, Problem, Truth
from transferbench.records import Cell, Record, now, outcome

_progress: Connection | None = None
#: Whether a process that has made the heavy imports can be forked safely.
FORKS = sys.platform == "linux"


@dataclass(frozen=True)
class Limits:
    """seconds and bytes each run may take (None: no limit); threads each run may use."""

    seconds: float | None = 3600.0
    memory: int | None = None
    threads: int = 1


@dataclass(frozen=True)
class Built:
    """A built task's file: its name, where it lies, the SHA-256 in its head, the task's facts."""

    name: str
    path: Path
    digest: bytes
    facts: dict[str, Any] = field(compare=False)

    @classmethod
    def of(cls, name: str, path: Path, facts: dict[str, Any]) -> Built:
        """The file that lies at `path` now."""
        return cls(name, path, _head(path), facts)

    def there(self) -> bool:
        """Whether this very file lies at its path (damage further on is seen by reading it)."""
        try:
            return _head(self.path) == self.digest
        except OSError:
            return False


@dataclass(frozen=True)
class Run:
    """What a process needs for one run: the record's key, the cell, its task, its limits."""

    key: str
    cell: Cell
    task: Built
    limits: Limits = Limits()


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


def ended(run: Run, status: str, reason: str = "") -> Record:
    """What the record of a run says in any case, its limits included."""
    limits = {"seconds": run.limits.seconds, "memory_bytes": run.limits.memory}
    return outcome(run.key, run.cell, status, reason) | {"limits": limits}


def perform(run: Run) -> Record:
    """One run, measured, in a process forked from this one, so that no run sees another's traces.

    This process keeps what several runs need: libraries, the model's code, the task. Where forking
    is not safe (outside Linux) the run is performed here, and this process serves no other.
    """
    start, cpu = time.perf_counter(), time.process_time()
    record = ended(run, "done") | {
        "versions": {"python": platform.python_version()} | versions(),
        "machine": {"system": platform.system(), "processor": platform.machine()},
    }
    with suppress(Exception):  # the run itself meets it again, and tells it
        _load(run.task)
        models.load(run.cell.model)
    cpu = time.process_time() - cpu
    if not FORKS:
        return _attempt(record, run, start, cpu)
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=_fork, args=(send, record, run, start, cpu))
    child.start()
    send.close()
    with receive:
        try:
            record = receive.recv()
            child.join()
        except (EOFError, OSError):
            child.join()
            reason = f"its process ended with code {child.exitcode}"
            record |= {"status": "crashed", "reason": reason, "finished": now()}
    return record


def _fork(send: Connection, *arguments: Any) -> None:
    import ctypes

    # The kernel ends this process with its parent, whatever it is doing.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    send.send(_attempt(*arguments))


def _attempt(record: Record, run: Run, start: float, cpu: float) -> Record:
    """The record, with what was measured. What goes wrong in the run becomes part of it, too."""
    limits = run.limits
    try:
        with threadpool_limits(limits.threads):
            _limit(limits.memory)
            record |= _measure(run, start, cpu)
            record["threads"] = {i["internal_api"]: i["num_threads"] for i in threadpool_info()}
    except MemoryError as error:
        reason = f"past its limit of {_size(limits.memory)}" + (f": {error}" if str(error) else "")
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


@lru_cache(maxsize=1)
def _load(task: Built) -> tuple[Problem, Truth]:
    if not task.there():
        raise ValueError(f"{task.path} is no longer the task it was; run the command again.")
    return tasks.read(task.path)


def _measure(run: Run, start: float, cpu: float) -> dict[str, Any]:
    """start: when the task began to be loaded; cpu: seconds spent on that by another process."""
    cell = run.cell
    problem, truth = _load(run.task)
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
            _progress.send((run.key, iteration, planned))

    seed = {} if cell.seed is None else {"seed": cell.seed}
    fit = models.load(cell.model)(problem, watch=watch, **cell.params, **seed)
    fitted = time.perf_counter()
    return {
        "facts": run.task.facts,
        "metrics": metrics.evaluate(fit, truth, problem),
        "columns": fit.columns,
        "trace": list(fit.trace),
        "curve": curve,
        "seconds": {"load": loaded - start, "fit": fitted - loaded},
        "cpu_seconds": time.process_time() + (cpu if FORKS else 0.0),
        "peak_bytes": _peak(),
    }


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(32)


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
