"""Running cells for a command: limits, dry run, progress, what went wrong as it happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from transferbench.runs import engines, runner
from transferbench.runs.record import Limits, Record, Run
from transferbench.settings import Settings


def execute(
    cells: Sequence[Run],
    settings: Settings,
    *,
    jobs: int,
    threads: int,
    time_limit: float | None,
    memory_limit: int | None,
    force: bool,
    dry_run: bool,
    engine: str | None,
    scheduler: str | None,
    slurm: tuple[tuple[str, str], ...],
    stated: Callable[[Run], Limits] = lambda cell: Limits(),
    on_record: Callable[[Run, Record], None] = lambda cell, record: None,
) -> list[Record]:
    """The records of the cells; with dry_run none, and what would run is printed.

    stated: limits of a cell where the command line gives none; on_record: see `runner.run`.
    """
    performing = engines.choose(engine, jobs, scheduler, dict(slurm), settings.results / "slurm")
    if dry_run:
        for cell, finished in zip(cells, runner.done(cells, settings), strict=True):
            click.echo(f"{'done' if finished and not force else 'to run'}  {cell}")
        return []

    def limits(cell: Run) -> Limits:
        own = stated(cell)
        seconds = own.seconds if time_limit is None else time_limit
        return Limits(seconds, own.memory if memory_limit is None else memory_limit, threads)

    def take(cell: Run, record: Record) -> None:
        if record.status not in ("done", "unavailable"):
            say(f"{record.status}: {cell}: {record.reason}", err=True)
        on_record(cell, record)

    return runner.run(
        cells, settings, engine=performing, limits=limits, force=force, on_record=take
    )


def say(message: Any, *, err: bool = False) -> None:
    """A line that does not run into a progress bar."""
    from tqdm import tqdm

    with tqdm.external_write_mode():
        click.echo(message, err=err)
