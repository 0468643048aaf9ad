"""transferbench reproduce."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

import click

from transferbench.cli._names import completing, experiment_names
from transferbench.cli._options import execution
from transferbench.settings import Settings


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(experiment_names))
@click.option("--all", "everything", is_flag=True, help="All experiments.")
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=None,
    help="Runs of each random method, in place of the experiment's own number; the results of "
    "another number are written to results/repeats-N/.",
)
@click.option(
    "--missing",
    is_flag=True,
    help="Perform only the runs that results/EXPERIMENT/runs.csv lacks; keep its other lines, also "
    "those of older code, which their column `code` names.",
)
@execution
@click.pass_obj
def command(
    settings: Settings, /, names: tuple[str, ...], everything: bool, repeats: int | None,
    missing: bool, **execution: Any,
) -> int:  # fmt: skip
    """Rebuild published tables and figures.

    Missing runs are performed. Each results/EXPERIMENT/ is written as soon as its last run has
    ended; of several experiments, the quickest come first.
    """
    from transferbench import experiments, reproduce
    from transferbench.cli._execute import execute, say
    from transferbench.errors import UserError
    from transferbench.files import exclusive

    if bool(names) == everything:
        raise UserError("expected either experiments (`transferbench list`) or --all, not both.")
    predict, names = not execution["force"], names or tuple(experiments.names())
    rebuilds = reproduce.plan(names, settings, repeats, missing=missing, predict=predict, say=say)
    message = "another reproduce is running here; waiting for it, so that no run is made twice"
    lock = exclusive(
        settings.results / "records" / "reproduce.lock", partial(say, message, err=True)
    )
    with nullcontext() if execution["dry_run"] else lock:
        perform = partial(execute, settings=settings, **execution)
        return reproduce.perform(rebuilds, perform, say)
