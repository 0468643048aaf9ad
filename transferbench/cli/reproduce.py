"""transferbench reproduce."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Set
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from transferbench.cli._options import REPEATS, several_experiments
from transferbench.cli._runs import Execution, execution_options
from transferbench.cli._terminal import echo, echo_named, echo_table, say
from transferbench.messages import counted, duration
from transferbench.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from transferbench.evidence.pages import Evidence
    from transferbench.experiments.batch import Batch, Shard
    from transferbench.experiments.experiment import Experiment


#: Numbers of cores for which a dry run forecasts the time.
CORES = (2, 16, 64)
#: What to do about files that cannot be downloaded.
REMEDY = (
    "Name a mirror in TRANSFERBENCH_MIRROR, or `transferbench fetch` them elsewhere and copy the "
    "data folder."
)
#: What a dry run says above the reasons of runs whose data are left out, and of others.
HEADS = {
    True: "left out:",
    False: "unavailable the last time; tried again, but not counted as to run:",
}
#: Largest number of chosen cells that are shown at the end.
MAX_CELLS = 8


def shard(text: str) -> Shard:
    """Return the shard that a text such as 3/16 names."""
    from transferbench.experiments.batch import Shard

    number, _, count = text.partition("/")
    is_number = text.isascii() and number.isdecimal() and count.isdecimal()
    if not (is_number and 0 < int(number) <= int(count) < 10_000):
        raise click.BadParameter(f"{text!r}: expected I/N with I from 1 to N, such as 3/16.")
    return Shard(int(number), int(count))


@click.command()
@several_experiments
@click.option("--all", "everything", is_flag=True, help="All experiments.")
@click.option(
    "--repeats", type=REPEATS,
    help="Runs of each random method, in place of the experiment's own number; the results of "
    "another number are written to results/repeats-N/.",
)  # fmt: skip
@click.option(
    "--shard", type=shard, metavar="I/N",
    help="Perform the I-th of N parts of the runs, for N jobs that need not know of each other.",
)  # fmt: skip
@click.option(
    "--row", "rows", multiple=True,
    help="Perform only the runs of this row of one experiment, named as `explain` takes it; "
    "repeatable.",
)  # fmt: skip
@click.option(
    "--column", "columns", multiple=True,
    help="Perform only the runs of this column; repeatable. With --row, perform those of the cells "
    "in both.",
)  # fmt: skip
@click.option(
    "--without-terms", metavar="TERM", multiple=True,
    help="Leave out data under this term, such as research-only, too; repeatable. `transferbench "
    "list datasets` shows the terms.",
)  # fmt: skip
@execution_options
@click.pass_obj
def command(
    settings: Settings, /, names: tuple[str, ...], everything: bool, repeats: int | None,
    shard: Shard | None, rows: tuple[str, ...], columns: tuple[str, ...],
    without_terms: tuple[str, ...], execution: Execution,
) -> int:  # fmt: skip
    """Rebuild published tables and figures.

    EXPERIMENT is a name, your own FILE.yaml, or a paper: dtl, gtl, himls, mrtl or mtc. A paper
    stands for its published tables and figures. Its other experiments, such as gtl-variants, need
    their own names; `transferbench list` shows them. --dry-run marks experiments whose data only
    you can provide.

    The command performs the runs that have no result of the present data and code, see --rerun. It
    writes results/EXPERIMENT/ as soon as the last run of an experiment has ended, and the quickest
    experiments come first. At the end it prints the totals and the largest differences from the
    published values.

    With --row or --column it prints the chosen numbers and their verdicts instead. Their runs are
    saved. It writes the pages only if the other runs of the experiment have results, too.

    \b
    transferbench reproduce gtl-table3 --row comp-vs-rec --column gcmf
    """
    from transferbench import experiments
    from transferbench.errors import UserError
    from transferbench.evidence import explain
    from transferbench.evidence.pages import write_pages
    from transferbench.experiments.batch import Batch

    settings = settings.replace(without_terms=(*settings.without_terms, *without_terms))
    if names and everything:
        raise UserError("experiments and --all were both given; give one of them.")
    if not names and not everything:
        known = f"an experiment, such as gtl-table3, a paper ({', '.join(experiments.papers())})"
        raise UserError(f"name {known}, or --all; `transferbench list experiments` lists them.")
    chosen = names or experiments.names()
    planned = [experiments.load(n, settings.results).with_repeats(repeats) for n in chosen]
    if shard and execution.rerun == "all":
        remedy = "give the new results a folder of their own (--results)"
        raise UserError(f"--shard with --rerun all cannot tell new results from old; {remedy}.")
    named = bool(rows or columns)
    if named and (everything or len(planned) != 1):
        raise UserError("--row and --column are for one experiment; name one alone.")
    cells, runs = explain.chosen(planned[0], rows, columns) if named else (set(), None)
    shown: dict[str, Evidence] = {}
    batch = Batch(planned, settings, partial(write_pages, kept=shown), shard, runs)
    code = reproduce_batch(batch, settings, execution)
    if execution.dry_run:
        return code
    if named:
        _print_cells(planned[0], batch.pending[0].folder, cells)
    else:
        _print_answer(shown, by_paper=everything)
    for sentence in batch.without_data():
        say(sentence, err=True)
    return code


def _print_cells(experiment: Experiment, folder: Path, chosen: Set[tuple[str, str]]) -> None:
    """Print the verdicts of chosen cells, and the commands for the first of them."""
    from transferbench.evidence import explain
    from transferbench.evidence.frame import read_cells

    cells = [one for one in read_cells(experiment, folder) if (one.row, one.column) in chosen]
    if experiment.spec.figure and experiment.spec.figure.iterations:  # the last point of each curve
        cells = [*{(one.row, one.column): one for one in cells}.values()]
    for cell in cells[:MAX_CELLS]:
        facts = {"verdict": cell.reason and f"none: {cell.reason}"}
        facts |= explain.describe_cell(experiment, cell)
        echo(f"\n{facts['title']}")
        echo_named({name: facts[name] for name in ("ours", "paper", "verdict") if facts[name]})
    if len(cells) > MAX_CELLS:
        words = shlex.join(["transferbench", "explain", *experiment.arguments])
        echo(f"\n{len(cells) - MAX_CELLS} more; `{words} ROW COLUMN` shows each.")
    if cells:
        echo(f"\n{explain.hint(experiment, cells[0])}")


def _print_answer(shown: dict[str, Evidence], *, by_paper: bool) -> None:
    """Print the totals of what was reproduced, and its largest differences."""
    if not shown:
        return
    from transferbench.evidence import summary

    for part in summary.closing(shown, by_paper=by_paper):
        echo()
        if isinstance(part, str):
            echo(part)
        else:
            echo_table(part)


def reproduce_batch(batch: Batch, settings: Settings, execution: Execution) -> int:
    """Perform planned experiments, or print what would run; return the exit code."""
    from transferbench.experiments.batch import Forecast

    if execution.dry_run:
        _show(batch, execution)
        return 0
    with ExitStack() as locks:
        for folder in sorted(pending.folder for pending in batch.pending):
            locks.enter_context(_lock(folder, batch.shard))
        say(batch.forecast(execution.rerun, asks_hosts=True), err=True)
        if lost := [dataset for dataset in batch.absent if dataset.lost]:
            names = ", ".join(dataset.name for dataset in lost)
            several = f"files of {names} are not here and cannot be downloaded, see --dry-run"
            say(f"warning: {lost[0] if len(lost) == 1 else several}. {REMEDY}", err=True)
        expected = Forecast(batch.estimates.values())
        if expected.finished and not expected.to_do:
            say("--rerun all makes finished runs again; `verify` repeats a few", err=True)
        execute = partial(execution.run, settings=settings, expected=batch.expected)
        try:
            return batch.run(execute, say)
        except KeyboardInterrupt as error:
            unfinished = [one for one in batch.pending if one.waiting] or batch.pending
            words = shlex.join(["tables", *unfinished[0].experiment.arguments])
            error.add_note(f"`transferbench {words} --format markdown` prints what is finished.")
            raise


@contextmanager
def _lock(folder: Path, shard: Shard | None) -> Iterator[None]:
    """Let no other command perform the same runs of an experiment; its other shards may run."""
    from transferbench.files import exclusive

    what = f"another reproduce of {folder.name} is running here"
    wait = partial(say, f"{what}; waiting for it, so that no run is made twice", err=True)
    with ExitStack() as locks:
        # A shard lets the whole wait for its own lock, and others pass.
        with ExitStack() as whole:
            whole.enter_context(exclusive(folder / ".reproduce.lock", wait))
            if shard:
                name = f".reproduce-{shard.number}-of-{shard.parts}.lock"
                locks.enter_context(exclusive(folder / name, wait))
            else:
                for lock in sorted(folder.glob(".reproduce-*-of-*.lock")):
                    locks.enter_context(exclusive(lock, wait))
                locks.push(whole.pop_all())
        yield


def _show(batch: Batch, execution: Execution) -> None:
    """Print what would run, a line for each experiment, how long it takes, and why."""
    from transferbench.experiments.batch import hours_on
    from transferbench.runs.policy import OUTDATED, REASONS

    sentence = batch.forecast(execution.rerun, asks_hosts=True)
    seconds = [batch.expected.get(run, 0.0) for run in batch.in_order()]
    lines = [["experiment", "done", "to run", "minutes of one core", ""]]
    for pending in batch.pending:
        one = batch.forecast_of(pending, own=True)
        minutes = one.minutes if one.to_do or not one.needs_data else ""
        lost = [f"data needed for {counted(one.needs_data, 'run')}"] * bool(one.needs_data)
        lost += [f"{one.unavailable} unavailable"] * bool(one.unavailable)
        shared = sum(batch.first_of[run] is not pending for run in pending.runs)
        lost += [f"{counted(shared, 'run')} counted for another"] * bool(shared)
        row = [pending.label, f"{one.finished}", f"{one.to_do}", minutes, ", ".join(lost)]
        lines.append(row)
    echo_table(lines)
    if len(batch.pending) > 1:
        echo("A run that several experiments share is counted once, for the first of them.")
    echo(sentence)
    if any(seconds):
        parts = (f"{cores} cores {duration(3600 * hours_on(seconds, cores))}" for cores in CORES)
        echo(f"on {', on '.join(parts)}")
    estimates = batch.estimates.values()
    reasons = Counter(one.reason for one in estimates if one.reason and not one.obstacle)
    for reason, count in reasons.most_common():
        echo(f"{counted(count, 'run')} {REASONS[reason]}")
    obstacles = Counter(one.obstacle for one in estimates if one.obstacle)
    for dataset in batch.absent:
        echo(dataset)
    if any(dataset.lost for dataset in batch.absent):
        echo(REMEDY)
    if ready := [dataset.task for dataset in batch.absent if not dataset.lost]:
        echo(f"`transferbench fetch TASK`, such as {ready[0]}, downloads the files of a task now.")
    if lacking := sorted(filter(None, (o.what for o in obstacles if o.needs_data))):
        echo(f"data needed: {', '.join(lacking)}. `transferbench describe NAME` says which files.")
    others = [(one, count) for one, count in obstacles.most_common() if not one.needs_data]
    for is_left_out, head in HEADS.items():
        if whys := [(one.what, n) for one, n in others if one.is_left_out == is_left_out]:
            echo(head)
            for why, count in whys:
                echo(f"  {counted(count, 'run')}: {why}")
    if execution.rerun == "outdated" and reasons.keys() & OUTDATED:
        echo("--rerun missing keeps results of other code and data.")
