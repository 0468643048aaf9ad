"""transferbench fragility."""

import click

from transferbench import experiments
from transferbench.cli._options import several_experiments
from transferbench.cli._runs import seconds
from transferbench.cli._terminal import echo
from transferbench.settings import Settings

CHANGES = ("order", "dtype", "threads", "libraries")


@click.command()
@several_experiments
@click.option("--only", type=click.Choice(CHANGES), multiple=True, help="A change; repeatable.")
@click.option("--orders", type=click.IntRange(1), default=2, show_default=True,
              help="Orders of the documents to try.")  # fmt: skip
@click.option("--seconds", type=seconds, default=60.0, show_default=True,
              help="The longest that a committed run to be made again may have taken.")  # fmt: skip
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, help="Runs at a time.",
              show_default=True)  # fmt: skip
@click.pass_obj
def command(
    settings: Settings, names: tuple[str, ...], only: tuple[str, ...], orders: int,
    seconds: float, jobs: int,
) -> int:  # fmt: skip
    """Measure how far tables move with changes that should not matter.

    The first run of each cell is made again with the documents in other orders, with the other
    precision, with two threads, and as it is with the libraries that are installed. Moves are
    added to results/EXPERIMENT/fragility.csv, and the pages are written anew. To try older
    libraries, run the command with --only libraries in an environment that has them.
    """
    from transferbench.fragility import measure

    failed = 0
    for name in names:
        experiment = experiments.load(name, settings.results)
        paths, records = measure(experiment, settings, only or CHANGES, orders, seconds, jobs)
        echo("\n".join(map(str, paths)))
        for record in (each for each in records if not each.done):
            echo(f"{record.status}: {record.model}: {record.reason}", err=True)
            failed = 1
    return failed
