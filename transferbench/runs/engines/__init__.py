"""Engines: where runs are performed (on this machine, by dask workers, in Slurm jobs).

An engine writes no results: the caller writes the records.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from transferbench.errors import UserError, unknown
from transferbench.messages import install_hint

if TYPE_CHECKING:
    from transferbench.runs.record import Job, Record

#: Engines → the libraries of their extra. Each is a module with a function `create`.
BUILT_IN = {
    "local": (),
    "dask": ("distributed",),
    "slurm": ("dask_jobqueue", "cryptography"),
}


class ProgressCallback(Protocol):
    """Progress of a run: its key, the iteration, and how many are planned.

    Called without arguments it is a heartbeat. Raise KeyboardInterrupt if the user interrupted.
    """

    def __call__(self, key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Receive progress, or a heartbeat."""


@dataclass(frozen=True)
class Options:
    """Options of an engine.

    n_jobs    : runs at a time.
    scheduler : address of a running scheduler of dask.
    slurm     : options of Slurm jobs by name.
    folder    : for files of the engine; visible from every machine that performs runs.
    """

    n_jobs: int = 1
    scheduler: str | None = None
    slurm: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path("jobs")


OnDone = Callable[["Record"], None]
Records = Generator["Record", None, None]


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


def installed(name: str) -> bool:
    """True if the libraries that an engine needs are installed."""
    return all(map(find_spec, BUILT_IN[name]))


def choose(name: str | None, options: Options) -> Engine:
    """Return an engine by name; by default, the one that the options imply.

    A scheduler implies dask, Slurm options imply slurm. Raise UserError if the options contradict
    each other or the engine cannot be used here.
    """
    implied = {"dask"} if options.scheduler else set()
    implied |= {"slurm"} if options.slurm else set()
    if len(implied | ({name} if name else set())) > 1:
        raise UserError(
            "--scheduler is for --engine dask only, --slurm is for --engine slurm only."
        )
    name = name or next(iter(implied), "local")
    if name not in BUILT_IN:
        raise unknown("engine", name, BUILT_IN)
    if not installed(name):
        raise UserError(
            f"--engine {name} needs {' and '.join(BUILT_IN[name])}; {install_hint(name)}."
        )
    engine: Engine = import_module(f"{__name__}.{name}").create(options)
    return engine
