"""transferbench explain."""

from __future__ import annotations

import math

import click

from transferbench.cli._options import completing, experiment_names
from transferbench.cli._results import read, repeats_option
from transferbench.cli._terminal import echo, echo_named, echo_sentences, echo_table
from transferbench.settings import Settings


@click.command()
@click.argument("experiment", shell_complete=completing(experiment_names))
@click.argument("row", required=False)
@click.argument("column", required=False)
@click.option("--x", type=float, default=None, help="Position on a figure's x axis.")
@repeats_option
@click.pass_obj
def command(
    settings: Settings, /, experiment: str, row: str | None, column: str | None,
    x: float | None, repeats: int | None,
) -> None:  # fmt: skip
    """Explain a number of a table or figure, or list those that differ most.

    The command says whether the number agrees with the published value, and why it may differ. It
    prints the command that runs it again, its runs, their cost, and what has changed since.
    EXPERIMENT is a name, your own FILE.yaml, or the number that this command prints. A row may be
    named by its task, and a column by its model, as `run` takes them. Without both, the command
    lists the numbers of the table, a row or a column, the largest difference first.

    \b
    transferbench explain gtl-table3
    transferbench explain gtl-table3 gcmf
    transferbench explain gtl-table3 comp-vs-rec gcmf
    """
    from transferbench import experiments, tasks
    from transferbench.errors import UserError, brief
    from transferbench.evidence import audit, explain

    settings, file, cells = read(settings, experiment, repeats)
    is_number = "#" in experiment
    if is_number and row:
        raise UserError(f"{brief(experiment)} is one number; leave out the row.")
    if not is_number and (row is None or column is None):
        if x is not None:
            raise UserError("--x is for one number; name its row and column, or leave out --x.")
        listed = explain.listed(file, cells, row or "")
        echo_sentences(explain.listed_sentence(listed, named=bool(row)))
        echo()
        echo_table([explain.HEADS, *(explain.difference_row(file, cell) for cell in listed)])
        return
    if row is None or column is None:
        cell = explain.of_identity(file, cells, experiment)
    else:
        cell = explain.find(file, cells, row, column, x)
    facts = explain.describe_cell(file, cell)
    echo(facts.pop("title"))
    compared = file.spec.control_of or file.name
    printed = experiments.PUBLISHED.match(compared)  # also dtl-table3-copied
    findings = audit.audits([compared])[compared].columns if printed else []
    echo()
    echo_sentences(explain.first_sentences(file, cells, cell, findings))
    if not math.isnan(cell.published):
        echo("\nWhat is known of it:")
        echo_named(explain.why(file, cells, cell, findings))
        echo("\nWhat it is:")
    facts.pop("verdict", None)  # the first sentence has it
    echo_named(facts)
    task = cell.records[0].run.task
    left_out = tasks.left_out(task, settings)
    is_read = task.built_path(settings).is_file() and not left_out
    digest = tasks.ensure_built(task, settings).facts.key if is_read else ""
    echo("\nSince then:")
    changed = explain.since(cell, digest, left_out)
    echo_named({name: text or "unchanged" for name, text in changed.items()})
