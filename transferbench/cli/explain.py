"""transferbench explain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from transferbench.cli._options import completing, experiment_names
from transferbench.cli._terminal import echo, echo_table
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.evidence.frame import Cell
    from transferbench.experiments.experiment import Experiment


@click.command()
@click.argument("experiment", shell_complete=completing(experiment_names))
@click.argument("row", required=False)
@click.argument("column", required=False)
@click.option("--x", type=float, default=None, help="Place on a figure's x axis.")
@click.pass_obj
def command(
    settings: Settings, /, experiment: str, row: str | None, column: str | None,
    x: float | None,
) -> None:  # fmt: skip
    """Explain a number of a table or figure.

    Print the command that runs it again, its runs, what they took, why it may differ from print,
    and what has changed since; of an average its rows. EXPERIMENT is a name or your own FILE.yaml;
    a row may be named by its task, a column by its model.
    """
    from transferbench import experiments
    from transferbench.data import tasks
    from transferbench.errors import UserError
    from transferbench.evidence import explain, tables
    from transferbench.evidence.frame import read_cells

    file = experiments.load(experiment, settings.results)
    if row is None or column is None:
        known = f"rows: {', '.join(file.spec.rows)}; columns: {', '.join(file.spec.columns)}"
        raise UserError(f"{file.name}: name a row and a column; {known}.")
    cells = tables.with_averages(file, read_cells(file, settings.results / file.name))
    cell = explain.find(file, cells, row, column, x)
    found = explain.facts(file, cell)
    echo(found.pop("title"))
    echo_table([["", name, text] for name, text in found.items()])
    if not cell.records:
        echo("\nThe mean of:")
        echo_table(explain.averaged(file, cells, cell))
        return
    if not math.isnan(cell.published):
        why = {
            "readings": explain.readings(file, cells, cell),
            "digits": _digits(file, cell),
            "within": "; ".join(
                f"{t.value:g}: {t.reason}" for t in file.compared.tolerance
                if cell.row in (t.rows or (cell.row,))
            ),
        }  # fmt: skip
        echo("\nWhy it may differ:")
        echo_table([["", name, text] for name, text in why.items() if text])
    task = cell.records[0].run.task
    built = task.built_path(settings).is_file()
    digest = tasks.ensure_built(task, settings).facts.key if built else ""
    echo("\nSince then:")
    changed = explain.since(cell, digest)
    echo_table([["", name, text or "unchanged"] for name, text in changed.items()])


def _digits(experiment: Experiment, cell: Cell) -> str:
    """Return what the digits of the printed column say of this row, or ""."""
    from transferbench import experiments
    from transferbench.cli.audit import findings

    if not experiments.PUBLISHED.fullmatch(experiment.name):
        return ""
    column = experiment.read_column(cell.column)
    for each in findings([experiment.name])[experiment.name]:
        if each.column == column and cell.row in each.rows:
            documents = (each.documents or {}).get(cell.row)
            size = f" on {documents:,} documents ({each.source})" if documents else ""
            same = f"; the same values as {', '.join(each.like)}" if each.like else ""
            status = "a mean, or of other documents" if each.status == "other" else each.status
            return f"{status}{size}{same}"
    return ""
