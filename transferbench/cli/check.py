"""transferbench check."""

from __future__ import annotations

import shlex

import click

from transferbench.cli._options import completing, model_names, parameter_options
from transferbench.cli._terminal import echo
from transferbench.messages import counted


@click.command()
@click.argument("model", required=False, shell_complete=completing(model_names))
@parameter_options
@click.option("--only", multiple=True, metavar="CHECK", help="Run this check only; repeatable.")
@click.option("--list", "listing", is_flag=True, help="List the checks, and run none.")
def command(
    model: str | None, assignments: tuple[str, ...], only: tuple[str, ...], listing: bool
) -> int:
    """Check a model by the contract that every model of the repository keeps.

    \b
    transferbench check ./mymodel.py
    transferbench check my-model --set k=6 --only same-seed

    MODEL is a Python file with a function `fit`, a name, or package.module:Estimator. Its code is
    run, on tiny problems of at most 200 documents in each domain. A board demands each check that
    applies to the model. The exit code is 1 if a check fails.

    The parameters of the model are its defaults. If they are too large for such problems, give
    smaller ones by --set.
    """
    from transferbench import contract, models, parameters
    from transferbench.errors import UserError

    if listing:
        for check in contract.CHECKS.values():
            families = "" if check.families == models.FAMILIES else f" ({check.families[0]} models)"
            echo(f"{check.name:21} {check.expected}{families}")
        echo("\nA board demands each check that applies to the model.")
        return 0
    if model is None:
        raise UserError("no model is named; expected a Python file or a name, or --list.")
    given = parameters.parse(assignments)
    counts = dict.fromkeys(("ok", "failed", "skipped"), 0)
    for result in contract.run_checks(model, only, given):
        counts[result.status] += 1
        for line in contract.report(result):
            echo(line)
        if result.status == "failed":
            options = [part for each in assignments for part in ("--set", each)]
            again = ["transferbench", "check", model, *options, "--only", result.check]
            echo(f"         again     {shlex.join(again)}\n")
    total = counted(sum(counts.values()), "check")
    echo(f"{total}: " + ", ".join(f"{count} {status}" for status, count in counts.items()) + ".")
    return 1 if counts["failed"] else 0
