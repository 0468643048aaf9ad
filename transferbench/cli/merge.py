"""transferbench merge."""

from __future__ import annotations

from pathlib import Path

import click

from transferbench.cli._terminal import echo
from transferbench.messages import counted


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--into", "target", required=True, type=click.Path(path_type=Path),
    help="Folder to write. Runs that it already has are joined, too.",
)  # fmt: skip
def command(folders: tuple[Path, ...], target: Path) -> None:
    """Join the runs in folders of results, such as those of several machines.

    \b
    transferbench merge node1/results node2/results --into results
    transferbench tables

    If a run has several records, the newest finished one counts. An unfinished record never
    displaces a finished one: both stay. Finished runs of different data or code cannot be joined;
    the command then names them and writes nothing. The second command above writes the tables.
    """
    from transferbench.experiments.merging import merge

    merged = merge(folders, target)
    for path, done in merged.files.items():
        echo(f"{path}: {counted(done, 'finished run')}")
    if merged.different:
        runs = counted(merged.different, "run")
        echo(f"warning: {runs} finished twice with other measures; the newest count", err=True)
    if len(merged.versions) > 1:
        echo("warning: these runs were made with different versions:", err=True)
        for versions in merged.versions:
            echo(f"  {versions}", err=True)
