"""transferbench tables."""

from __future__ import annotations

import click

from transferbench.cli._names import completing, experiment_names, have_run
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(experiment_names))
@click.option("--check", is_flag=True, help="Write nothing; fail if a table is outdated.")
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], check: bool) -> int:
    """Write tables and figures from their runs.

    Without names, those of all experiments that have runs.
    """
    from transferbench import experiments
    from transferbench.errors import UserError
    from transferbench.evidence import pages

    files = [experiments.load(n, settings.results) for n in names or have_run(settings)]
    if not files:
        raise UserError(f"no runs.csv under {settings.results}; run `reproduce` first.")
    if not check:
        for file in files:
            for path in pages.write(file, settings.results / file.name):
                echo(path)
        return 0
    outdated = [
        path for file in files for path in pages.outdated(file, settings.results / file.name)
    ]
    for path in outdated:
        echo(f"{path}: not what its runs.csv yields; run `transferbench tables`.", err=True)
    if not outdated:
        many = "s" if len(files) > 1 else ""
        echo(f"{len(files)} experiment{many}: every table is what its runs.csv yields")
    return 1 if outdated else 0
