"""transferbench tables."""

from __future__ import annotations

from pathlib import Path

import click

from transferbench.cli._names import completing, experiment_names, have_run
from transferbench.cli._terminal import echo
from transferbench.messages import counted
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
    from transferbench.errors import SeveralErrors, UserError
    from transferbench.evidence import pages
    from transferbench.evidence.frame import no_runs

    names = names or have_run(settings)
    if not names:
        raise no_runs(settings.results)
    outdated: list[Path] = []
    errors: list[UserError] = []
    for name in names:
        try:
            file = experiments.load(name, settings.results)
            folder = settings.results / file.name
            if check:
                outdated += pages.outdated(file, folder)
                continue
            for path in pages.write(file, folder):
                echo(path)
        except UserError as error:  # the other experiments are still written
            errors.append(error)
    for path in outdated:
        echo(f"{path}: not what its runs.csv yields; run `transferbench tables`.", err=True)
    if errors:
        raise SeveralErrors.of(errors)
    if check and not outdated:
        echo(f"{counted(len(names), 'experiment')}: every table is what its runs.csv yields")
    return 1 if outdated else 0
