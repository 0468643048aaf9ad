"""Engines: where runs are performed (on this machine, or by dask workers).

An engine writes no results: the caller writes the records.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from transferbench.errors import UserError
from transferbench.messages import install_hint

if TYPE_CHECKING:
    from transferbench.runs.record import Job, Record, Run


class OnProgress(Protocol):
    """Progress of a run: the iteration, and how many are planned.

    Called without arguments it is a heartbeat. May raise an error to end all runs.
    """

    def __call__(self, run: Run | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Receive progress, or a heartbeat."""


Records = Generator[tuple["Run", "Record"], None, None]


class Engine(Protocol):
    """Performs runs; the base class of all engines."""

    def records(self, jobs: Iterable[Job], on_progress: OnProgress) -> Records:
        """Perform the jobs and yield the record of each as it ends, in any order.

        on_progress : called at least every half second while no run ends.

        Closing the generator early, or an error in it, stops all running jobs. Raise UserError if
        the engine cannot be used as requested, Failure if it breaks down.
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
