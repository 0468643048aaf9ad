"""transferbench reproduce."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from transferbench.cli._options import several_experiments
from transferbench.cli._runs import REPEATS, Execution, execution_options
from transferbench.cli._terminal import echo, echo_table, say
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.experiments.batch import Batch


@click.command()
@several_experiments
@click.option("--all", "everything", is_flag=True, help="All experiments.")
@click.option(
    "--repeats", type=REPEATS,
    help="Runs of each random method, in place of the experiment's own number; the results of "
    "another number are written to results/repeats-N/.",
)  # fmt: skip
@execution_options
@click.pass_obj
def command(
    settings: Settings, /, names: tuple[str, ...], everything: bool, repeats: int | None,
    execution: Execution,
) -> int:  # fmt: skip
    """Rebuild published tables and figures.

    EXPERIMENT is a name, your own FILE.yaml, or a paper: dtl, gtl, himls, mrtl or mtc. A paper
    stands for its published tables and figures. Name its other experiments, such as gtl-variants
    and gtl-unit-length, each; `transferbench list` shows all.

    Runs without a result of the present data and code are performed, see --rerun. Each
    results/EXPERIMENT/ is written as soon as its last run has ended; of several experiments, the
    quickest come first.
    """
    from transferbench import experiments
    from transferbench.errors import UserError
    from transferbench.evidence.pages import write_pages
    from transferbench.experiments.batch import Batch

    if names and everything:
        raise UserError("experiments and --all were both given; give one of them.")
    if not names and not everything:
        known = f"an experiment, such as gtl-table3, a paper ({', '.join(experiments.papers())})"
        raise UserError(f"name {known}, or --all; `transferbench list experiments` lists them.")
    chosen = names or experiments.names()
    planned = [experiments.load(name, settings.results) for name in chosen]
    return reproduce_batch(Batch(planned, settings, repeats, write_pages), settings, execution)


def reproduce_batch(batch: Batch, settings: Settings, execution: Execution) -> int:
    """Perform planned experiments, or print what would run; return the exit code."""
    from transferbench.files import exclusive

    message = "another reproduce is running here; waiting for it, so that no run is made twice"
    lock = settings.results / ".reproduce.lock"
    if execution.dry_run:
        _show(batch, execution)
        return 0
    with exclusive(lock, partial(say, message, err=True)):
        expected, sentence, seconds = batch.forecast(execution.rerun)
        say(sentence, err=True)
        if not expected["todo"].sum():
            say("--rerun all makes finished runs again; `verify` repeats a few", err=True)
        return batch.run(partial(execution.run, settings=settings, expected=seconds), say)


def _show(batch: Batch, execution: Execution) -> None:
    """Print what would run, a line for each experiment, and why."""
    from transferbench.messages import counted
    from transferbench.runs.policy import OUTDATED, REASONS

    expected, sentence, _ = batch.forecast(execution.rerun)
    lines = [["experiment", "done", "to run", "minutes of one core"]]
    for pending in batch.pending:
        one = expected.loc[pending.name]
        unknown = f" + {one.unknown:.0f} unknown runs" if one.unknown else ""
        counts = [f"{one.finished:.0f}", f"{one.todo:.0f}"]
        lines.append([pending.name, *counts, f"{one.seconds / 60:.1f}{unknown}"])
    echo_table(lines)
    echo(sentence)
    for reason, count in batch.reasons.most_common():
        if reason:
            echo(f"{counted(count, 'run')} {REASONS[reason]}")
    if execution.rerun == "outdated" and batch.reasons.keys() & OUTDATED:
        echo("--rerun missing keeps results of other code and data.")
