"""transferbench explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from transferbench.cli._names import completing, experiment_names
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("experiment", shell_complete=completing(experiment_names))
@click.argument("row")
@click.argument("column")
@click.option("--x", type=float, default=None, help="Place on a figure's x axis.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the objective into this file (png, svg or pdf), not in the terminal.",
)
@click.pass_obj
def command(
    settings: Settings, /, experiment: str, row: str, column: str, x: float | None,
    save: Path | None,
) -> None:  # fmt: skip
    """Explain a number of a table or figure.

    Print the command that runs it again, its runs, what they took, and what has changed since.
    """
    from transferbench import experiments
    from transferbench.evidence import explain
    from transferbench.evidence.frame import read_runs

    file = experiments.load(experiment)
    runs = read_runs(settings.results / file.name / "runs.csv")
    source = explain.find(file, runs, row, column, x)
    data = _digest(source.runs_behind[0].task, settings)
    curve = _objective(source, settings, save, f"{file.name}, {source.row}, {source.column}")
    echo(explain.page(file, source, data=data, curve=curve), nl=False)


def _digest(name: str, settings: Settings) -> str:
    """Return the digest of a task that is built here, "" if it is not."""
    from transferbench.data import tasks

    task = tasks.Task.named(name)
    return tasks.facts(task, settings).digest if task.built_path(settings).is_file() else ""


def _objective(source: Any, settings: Settings, save: Path | None, title: str) -> str:
    """Draw the objective over iterations. Return the text for it, or why there is none."""
    from transferbench.cli import _plot
    from transferbench.evidence.explain import objective
    from transferbench.runs.store import Store

    trace, note = objective(source, Store(settings.results))
    if not trace:
        return f"Objective: {note}"
    if save:
        _plot.save(trace, title, save)
        return f"objective: {save}"
    return "\n".join([f"Objective over iterations, {note}:", *_plot.plot(trace)])
