"""Engines: where runs are performed (on this machine, or by dask workers).

An engine writes no results: the caller writes the records.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from transferbench.errors import UserError
from transferbench.messages import install_hint

if TYPE_CHECKING:
    from transferbench.runs.record import Job, Record, Run


class ProgressCallback(Protocol):
    """Progress of a run: its key, the iteration, and how many are planned.

    Called without arguments it is a heartbeat. Raise KeyboardInterrupt if the user interrupted.
    """

    def __call__(self, key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Receive progress, or a heartbeat."""


OnDone = Callable[["Run", "Record"], None]
Records = Generator[tuple["Run", "Record"], None, None]


class Engine(Protocol):
    """Performs runs; the base class of all engines."""

    def records(
        self, jobs: Iterable[Job], on_progress: ProgressCallback, on_done: OnDone
    ) -> Records:
        """Perform the jobs and yield the record of each as it ends, in any order.

        jobs        : an engine may take them one at a time, since the next may need a task that is
                      built only then. Such an engine passes the record of a finished run to
                      `on_done`, from any thread, before another run starts in its place.
        on_progress : called at least every half second while no run ends. If it raises
                      KeyboardInterrupt, the engine starts no more runs, yields the records of runs
                      that are done by then, and raises KeyboardInterrupt.

        Closing the generator early stops all running jobs. Raise UserError if the engine cannot be
        used as requested, Failure if it breaks down.
        """


def choose(n_jobs: int, scheduler: str | None) -> Engine:
    """Return the engine that performs `n_jobs` runs at a time here, or a dask scheduler's workers.

    scheduler: address of a running scheduler. Raise UserError if dask is not installed.
    """
    if scheduler is None:
        from transferbench.runs.engines.local import Local

        return Local(n_jobs)
    if not find_spec("distributed"):
        raise UserError(f"--scheduler needs distributed; {install_hint('dask')}.")
    from transferbench.runs.engines.dask import Dask

    return Dask(scheduler)
