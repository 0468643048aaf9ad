"""transferbench fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from transferbench.cli._names import completing, task_names
from transferbench.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from transferbench.data.fetch import File


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(task_names))
@click.option("--dry-run", is_flag=True, help="Only show what would be fetched, and from where.")
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], dry_run: bool) -> None:
    """Fetch and verify the original files of tasks.

    Without names, fetch those of all tasks.
    """
    from transferbench.data import datasets, tasks

    files: dict[str, File] = {}
    for name in names or datasets.tasks():
        files |= tasks.needed(tasks.Task.named(name))
    act = _plan if dry_run else _fetch
    act(files.values(), settings)


def _plan(files: Iterable[File], settings: Settings) -> None:
    from transferbench.data import fetch

    for file in files:
        plan = fetch.plan(file, settings)
        size = f"{file.size / 1e6:.1f} MB" if file.size else "of unknown size"
        source = plan.source or "no allowed source"
        click.echo(f"{file.name}  {size}  from {source}  to {plan.destination}")


def _fetch(files: Iterable[File], settings: Settings) -> None:
    from transferbench.data import fetch
    from transferbench.errors import Unavailable

    missing = []
    for file in files:
        try:
            click.echo(f"{file.name}  verified  {fetch.get(file, settings)}")
        except Unavailable as error:
            missing.append(str(error))
    if missing:
        others = f" ({len(missing) - 1} more files likewise)" if len(missing) > 1 else ""
        raise Unavailable(missing[0] + others)
