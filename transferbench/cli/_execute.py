"""Running cells for a command: limits, dry run, progress, what went wrong as it happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from transferbench import engines, runner
from transferbench.records import Cell, Record
from transferbench.settings import Settings
from transferbench.worker import Limits


def execute(
    cells: Sequence[Cell],
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
) -> list[Record]:
    """The records of the cells; with dry_run none, and what would run is printed."""
    performing = engines.choose(engine, jobs, scheduler, dict(slurm), settings.results / "slurm")
    if dry_run:
        for cell, finished in zip(cells, runner.done(cells, settings), strict=True):
            click.echo(f"{'done' if finished and not force else 'to run'}  {cell}")
        return []

    def say(record: Record) -> None:
        if record["status"] != "done":
            where = f"{record['model']} on {record['task']}, seed {record['seed']}"
            click.echo(f"{record['status']}: {where}: {record['reason']}", err=True)

    limits = Limits(memory=memory_limit, threads=threads)
    if time_limit is not None:
        limits = replace(limits, seconds=time_limit)
    return runner.run(cells, settings, engine=performing, limits=limits, force=force, on_record=say)
