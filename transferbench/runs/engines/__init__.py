"""Where runs are performed: on this machine, by workers of dask, as jobs of Slurm.

An engine is one method. It writes nothing and knows no experiment: the caller alone writes records.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from transferbench.errors import UserError

if TYPE_CHECKING:
    from transferbench.runs.record import Record
    from transferbench.runs.worker import Job

#: Engine → the package it stands on.
NAMES = {"local": "pebble", "dask": "distributed", "slurm": "submitit"}


class Say(Protocol):
    """Takes how far a run has come, or, called without a key, that time has passed.

    Raises KeyboardInterrupt where the user wants an end.
    """

    def __call__(self, key: str | None = None, iteration: int = 0, planned: int = 1) -> None:
        """key: of the run; iteration of as many as are planned."""


class Engine(Protocol):
    """What the runner needs of a place where runs are performed."""

    def records(
        self, runs: Iterable[Job], say: Say, keep: Callable[[Record], None]
    ) -> Generator[Record, None, None]:
        """A record of every run as it ends, in any order; closed early, it stops all that runs.

        Runs may be taken one by one, as making the next may take its time; an engine that does so
        gives the record of a run that is done to `keep`, from any thread, before another begins.
        While none ends, `say` is called at least every half second; interrupted by it, the engine
        begins no more, gives the records of runs that are done by now, and raises
        KeyboardInterrupt. Raises UserError where the engine cannot be used as asked, Lost where it
        breaks down.
        """


def choose(
    name: str | None, jobs: int, scheduler: str | None, slurm: Mapping[str, str], folder: Path
) -> Engine:
    """The engine asked for; a scheduler implies dask, options of Slurm imply slurm.

    folder: for the files of Slurm's jobs. Raises UserError where the options do not go together or
    a package is not installed.
    """
    implied = {"dask"} if scheduler else set()
    implied |= {"slurm"} if slurm else set()
    if len(implied | ({name} if name else set())) > 1:
        raise UserError(
            "--scheduler goes with --engine dask alone, --slurm with --engine slurm alone."
        )
    name = name or next(iter(implied), "local")
    if not installed(name):
        raise UserError(
            f"--engine {name} needs {NAMES[name]}; install it: pip install 'transferbench[{name}]'"
        )
    if name == "dask":
        from transferbench.runs.engines.dask import Dask

        return Dask(jobs, scheduler)
    if name == "slurm":
        from transferbench.runs.engines.slurm import Slurm

        return Slurm(folder, jobs, slurm)
    from transferbench.runs.engines.local import Local

    return Local(jobs)


def installed(name: str) -> bool:
    """Whether the package an engine stands on is installed."""
    return find_spec(NAMES[name]) is not None
