"""transferbench run."""

from typing import Any

import click

from transferbench.cli._names import completing, model_names, task, task_names
from transferbench.cli._options import REPEATS, execution, seeds
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("task", type=task, shell_complete=completing(task_names))
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
@click.option("--seeds", type=seeds, help="Seeds, for example 0,3,7 or 0-9.")
@click.option("--repeats", type=REPEATS, help="Seeds 0 to N−1.")
@click.option(
    "--reference/--no-reference",
    default=True,
    show_default=True,
    help="Also run logistic regression on a transfer task.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the records only, one a line.")
@execution
@click.pass_obj
def command(
    settings: Settings, /, task: str, names: tuple[str, ...], assignments: tuple[str, ...],
    seeds: tuple[int, ...] | None, repeats: int | None, reference: bool, as_json: bool,
    **execution: Any,
) -> int:  # fmt: skip
    """Run models on one task.

    Print their accuracy beside the paper's. A run with a finished record is not repeated; --force
    repeats it.

    Results on your own documents have warnings that need no labels. If a named model's result is
    worthless by them, the exit code is 1 unless --force is given.
    """
    from transferbench import models, parameters
    from transferbench.cli._execute import execute
    from transferbench.cli._report import report
    from transferbench.errors import UserError
    from transferbench.runs import runner
    from transferbench.runs.job import TaskFiles

    if seeds and repeats:
        raise UserError("--seeds and --repeats were both given; give one of them.")
    seeds = seeds or tuple(range(repeats or 1))
    given = parameters.parse(assignments)
    runs = [run for name in dict.fromkeys(names) for run in runner.plan(task, name, given, seeds)]
    is_transfer = models.get(names[0]).family == "transfer"
    if reference and is_transfer and not as_json and "lr" not in names:
        runs += runner.plan(task, "lr", {}, seeds)
    files = TaskFiles(settings)
    records = execute(runs, settings, task_files=files, **execution)
    if not records:  # a dry run
        return 0
    facts = files.get(runs[0].task).facts  # raises the error of a task that is unavailable
    if as_json:
        echo("\n".join(record.to_json(indent=None) for record in records))
    else:
        echo(report(facts, records, settings))
    worthless = [r.model for r in records if any(doubt.worthless for doubt in r.doubts)]
    named = [model for model in worthless if model in names]
    if named and not execution["force"]:
        models_named = ", ".join(dict.fromkeys(named))
        echo(f"{models_named}: worthless by the warnings above; --force exits with 0.", err=True)
        return 1
    return 0 if all(record.done for record in records) else 1
