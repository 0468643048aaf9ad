"""transferbench tables."""

from __future__ import annotations

import click

from transferbench.cli._names import completing, experiment_names, have_run
from transferbench.settings import Settings


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(experiment_names))
@click.option("--check", is_flag=True, help="Write nothing; fail where a table has drifted.")
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], check: bool) -> int:
    """Write tables and figures from their runs.

    Those of all experiments run, if none is named.
    """
    from transferbench.errors import UserError
    from transferbench.evidence import tables
    from transferbench.experiments import experiment

    names = names or have_run(settings)
    if not names:
        raise UserError(f"no runs.csv under {settings.results}; run `reproduce` first.")
    drifted = []
    for name in names:
        file = experiment.load(name)
        folder = settings.results / file.name
        if check:
            drifted += tables.drift(file, folder)
        else:
            for path in tables.write(file, folder):
                click.echo(path)
    for path in drifted:
        click.echo(f"{path}: not what its runs.csv yields; run `transferbench tables`.", err=True)
    if check and not drifted:
        click.echo(f"{len(names)} experiments: every table is what its runs.csv yields")
    return 1 if drifted else 0
