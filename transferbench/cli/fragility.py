"""transferbench fragility."""

import click

from transferbench import experiments
from transferbench.cli._options import several_experiments
from transferbench.cli._terminal import echo
from transferbench.settings import Settings

CHANGES = ("order", "dtype", "threads", "libraries")


@click.command()
@several_experiments
@click.option("--only", type=click.Choice(CHANGES), multiple=True, help="A change; repeatable.")
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, help="Runs at a time.",
              show_default=True)  # fmt: skip
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], only: tuple[str, ...], jobs: int) -> int:
    """Measure how far tables move with changes that should not matter.

    The first run of each cell, if it took at most a minute, is made again with the documents in two
    other orders, with the other precision, with two threads, and as it is with the libraries that
    are installed. Moves are added to results/EXPERIMENT/fragility.csv, and the pages are written
    anew. To try older libraries, run the command with --only libraries in an environment that has
    them.
    """
    from transferbench.fragility import measure

    failed = 0
    for name in names:
        experiment = experiments.load(name, settings.results)
        paths, records = measure(experiment, settings, only or CHANGES, jobs)
        echo("\n".join(map(str, paths)))
        for record in (each for each in records if not each.done):
            echo(f"{record.status}: {record.model}: {record.reason}", err=True)
            failed = 1
    return failed
