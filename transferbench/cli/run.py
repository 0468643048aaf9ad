"""transferbench run."""

from __future__ import annotations

from typing import Any

import click

from transferbench.cli._names import completing, model_names, task_names
from transferbench.cli._options import Seeds, execution
from transferbench.settings import Settings


@click.command()
@click.argument("task", shell_complete=completing(task_names))
@click.option(
    "--model",
    "-m",
    "names",
    multiple=True,
    required=True,
    shell_complete=completing(model_names),
    help="Model to run; repeatable.",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the model; repeatable.",
)
@click.option("--seeds", type=Seeds(), default=None, help="Seeds, for example 0,3,7 or 0-9.")
@click.option("--repeats", type=click.IntRange(1), default=None, help="Seeds 0 to N−1.")
@click.option(
    "--reference/--no-reference",
    default=True,
    show_default=True,
    help="Run logistic regression beside it on a transfer task.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the records, one a line, alone.")
@execution
@click.pass_obj
def command(
    settings: Settings, /, task: str, names: tuple[str, ...], assignments: tuple[str, ...],
    seeds: tuple[int, ...] | None, repeats: int | None, reference: bool, as_json: bool,
    **execution: Any,
) -> int:  # fmt: skip
    """Run models on one task.

    Their accuracy is printed beside the paper's.
    Finished runs are recorded and not run again; --force runs them again.
    """
    from transferbench import models, parameters
    from transferbench.cli._execute import execute
    from transferbench.data.tasks import Task, facts
    from transferbench.errors import UserError
    from transferbench.runs import runner

    if seeds and repeats:
        raise UserError("--seeds and --repeats were both given; give one of them.")
    seeds = seeds if seeds is not None else tuple(range(repeats or 1))
    given = parameters.parse(assignments)
    named = Task.named(task)
    cells = [c for n in dict.fromkeys(names) for c in runner.plan(named.name, n, given, seeds)]
    if not execution["dry_run"]:
        facts(named, settings)  # what cannot be had is said before anything runs
    transfer = models.get(names[0]).family == "transfer"
    if reference and transfer and "lr" not in names and not as_json:
        cells += runner.plan(named.name, "lr", {}, seeds)
    records = execute(cells, settings, **execution)
    if as_json:
        for record in records:
            click.echo(record.to_json(indent=None))
    elif records:
        from transferbench.cli._report import report

        click.echo(report(named.name, records, settings))
    return 1 if any(not record.done for record in records) else 0
