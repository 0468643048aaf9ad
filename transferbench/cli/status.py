"""transferbench status."""

from __future__ import annotations

import math

import click

from transferbench.cli._options import several_experiments
from transferbench.cli._results import repeats_option, with_runs
from transferbench.cli._terminal import echo, echo_table
from transferbench.messages import counted, duration, printable
from transferbench.settings import Settings


@click.command()
@several_experiments
@repeats_option
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], repeats: int | None) -> None:
    """Show the progress of experiments: runs that are done, failed or to do, and the time left.

    Without names, the command shows all experiments with results. Below the table it lists the
    commands that perform runs in this folder of results now, on any machine that shares the folder.
    """
    from transferbench import experiments
    from transferbench.evidence.frame import no_runs
    from transferbench.evidence.pages import write_pages
    from transferbench.experiments.batch import Batch
    from transferbench.runs import status

    found = with_runs(settings, names, repeats)
    running = status.commands(settings.results)
    if not found and not running:
        raise no_runs(settings.results)
    planned = [experiments.load(name, each.results) for each, name in found]
    batch = Batch(planned, settings, write_pages)
    # A model in a file of the user counts as changed; here its results count.
    sentence = batch.forecast("outdated", trust_files=True)
    lines = [["experiment", "done", "failed", "to do", "minutes of one core"]]
    for pending in batch.pending:
        one = batch.forecast_of(pending)
        records = [batch.store.get(run, pending.file) for run in pending.runs]
        failed = sum(record is not None and not record.done for record in records)
        counts = [f"{one.finished}", f"{failed}", f"{one.to_do}"]
        lines.append([pending.label, *counts, one.minutes])
    if found:
        echo_table(lines)
        echo(sentence)
    for command, alive in running:
        where = f"{printable(command.host)}, process {command.pid}"
        if not alive:
            echo(f"{where}: ended without a word, after {counted(command.ended, 'run')}")
            continue
        left = command.seconds_left
        time = "" if left is None or not math.isfinite(left) else f", about {duration(left)} left"
        echo(f"{where}: {command.ended} of {counted(command.total, 'run')} ended{time}")
        for run in command.runs:
            echo(f"  {printable(run)}")
