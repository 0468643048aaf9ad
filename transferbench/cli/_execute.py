"""Perform runs for a command: limits, dry run, messages about runs that did not finish."""

from collections.abc import Callable, Sequence
from typing import Any

from transferbench.cli import _dry_run
from transferbench.cli._terminal import echo
from transferbench.messages import shorten
from transferbench.runs import engines, runner
from transferbench.runs.job import TaskFiles, is_built
from transferbench.runs.record import Limits, Record, Run
from transferbench.settings import Settings


def execute(
    runs: Sequence[Run],
    settings: Settings,
    *,
    jobs: int,
    threads: int,
    time_limit: float | None,
    memory_limit: int | None,
    force: bool,
    dry_run: bool,
    engine: str | None,
    scheduler: str | None,
    slurm: tuple[tuple[str, str], ...],
    default_limits: Callable[[Run], Limits] = lambda run: Limits(),
    on_record: Callable[[Run, Record], None] = lambda run, record: None,
    task_files: TaskFiles | None = None,
) -> list[Record]:
    """Return the records of the runs; with dry_run, print what would run and return none.

    default_limits: limits of a run if the command line gives none; on_record, task_files: see
    `runner.run`.
    """
    options = engines.Options(jobs, scheduler, dict(slurm), settings.results / "jobs")
    chosen = engines.choose(engine, options)
    if dry_run:
        states = [done and not force for done in runner.done(runs, settings)]
        _dry_run.show(_dry_run.by_task(runs), dict(zip(runs, states, strict=True)))
        return []
    if force or not all(is_built(name, settings) for name in {run.task for run in runs}):
        chosen.prepare()

    def limits(run: Run) -> Limits:
        default = default_limits(run)
        return Limits(time_limit or default.seconds, memory_limit or default.memory, threads)

    printed: set[tuple[str, str]] = set()

    def report(run: Run, record: Record) -> None:
        for text in (f"{run.model}: {doubt.text}" for doubt in record.doubts):
            if ("warning", text) not in printed:
                printed.add(("warning", text))
                say(f"warning: {text}", err=True)
        first = shorten(record.output.strip().partition("\n")[0])
        if first and (run.model, first) not in printed:
            printed.add((run.model, first))
            say(f"{run.model} printed: {first} (more in the output of its record)", err=True)
        if record.status not in ("done", "unavailable"):
            say(f"{record.status}: {run}: {record.reason}", err=True)
        on_record(run, record)

    return runner.run(
        runs, settings, engine=chosen, limits=limits, force=force, on_record=report,
        task_files=task_files,
    )  # fmt: skip


def say(message: Any, *, err: bool = False) -> None:
    """Print a line without disturbing the progress bar."""
    from tqdm import tqdm

    with tqdm.external_write_mode():
        echo(message, err=err)
