"""Engines: where runs are performed (on this machine, by dask workers, as Slurm jobs).

An engine writes no results: the caller writes the records.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from transferbench.errors import UserError
from transferbench.messages import install_hint

if TYPE_CHECKING:
    from transferbench.runs.job import Job
    from transferbench.runs.record import Record

#: Engine → the package it needs.
NAMES = {"local": "pebble", "dask": "distributed", "slurm": "submitit"}


class ProgressCallback(Protocol):
    """Progress of a run: its key, the iteration, and how many are planned.

    Called without arguments it is a heartbeat. Raises KeyboardInterrupt if the user interrupted.
    """

    def __call__(self, key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Receive progress, or a heartbeat."""


class Engine(Protocol):
    """Performs runs; the base class of all engines."""

    def prepare(self) -> None:
        """Start slow work in the background; called only if there are runs to perform."""
        return

    def records(
        self,
        jobs: Iterable[Job],
        on_progress: ProgressCallback,
        on_done: Callable[[Record], None],
    ) -> Generator[Record, None, None]:
        """Perform the jobs and yield the record of each as it ends, in any order.

        jobs        : an engine may take them one at a time, since the next may need a task that is
                      built only then. Such an engine passes the record of a finished run to
                      `on_done`, from any thread, before another run starts in its place.
        on_progress : called at least every half second while no run ends. If it raises
                      KeyboardInterrupt, the engine starts no more runs, yields the records of runs
                      that are done by then, and raises KeyboardInterrupt.

        Closing the generator early stops all running jobs. Raise UserError if the engine cannot be
        used as requested, EngineLost if it breaks down.
        """


def choose(
    name: str | None, n_jobs: int, scheduler: str | None, slurm: Mapping[str, str], folder: Path
) -> Engine:
    """Return the engine for these options; a scheduler implies dask, Slurm options imply slurm.

    n_jobs: runs at a time; folder: for the files of Slurm jobs. Raise UserError if the options
    contradict each other or a package is not installed.
    """
    implied = {"dask"} if scheduler else set()
    implied |= {"slurm"} if slurm else set()
    if len(implied | ({name} if name else set())) > 1:
        raise UserError(
            "--scheduler is for --engine dask only, --slurm is for --engine slurm only."
        )
    name = name or next(iter(implied), "local")
    if not installed(name):
        raise UserError(f"--engine {name} needs {NAMES[name]}; {install_hint(name)}.")
    if name == "dask":
        from transferbench.runs.engines.dask import Dask

        return Dask(n_jobs, scheduler)
    if name == "slurm":
        from transferbench.runs.engines.slurm import Slurm

        return Slurm(folder, n_jobs, slurm)
    from transferbench.runs.engines.local import Local

    return Local(n_jobs)


def installed(name: str) -> bool:
    """True if the package that an engine needs is installed."""
    return find_spec(NAMES[name]) is not None
