"""Runs of a command: options that say where and how, the runs performed, and the dry run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click
from annotated_types import Ge, Lt

from transferbench.cli._options import declared, option, passing
from transferbench.cli._terminal import OncePrinter, echo_table, say
from transferbench.messages import shorten
from transferbench.parameters import Positive, convert
from transferbench.runs import engines
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.runs.record import Limits, Record, Run, TaskFiles

Seed = Annotated[int, Ge(0), Lt(2**32)]
#: Type of `--repeats`.
REPEATS = click.IntRange(1, 1000)


def seconds(text: str) -> float:
    """Return a number of seconds."""
    return float(convert(text, Positive, "seconds"))


def seeds(text: str) -> tuple[int, ...]:
    """Return different seeds, written as 0,3,7."""
    return tuple(dict.fromkeys(convert(text, tuple[Seed, ...], "seeds")))


@dataclass(frozen=True)
class Execution:
    """Values of the options that say where and how runs are performed, and with which limits."""

    jobs: int = option(
        "--jobs", "-j", type=click.IntRange(1), default=1, show_default=True,
        help="Runs at a time. Rare: --threads, --memory-limit, and --scheduler for clusters.",
    )  # fmt: skip
    threads: int = option(
        "--threads", type=click.IntRange(1), default=1, hidden=True, help="Threads of each run.",
    )  # fmt: skip
    time_limit: float | None = option("--time-limit", type=seconds, help="Seconds a run may take.")
    memory_limit: float | None = option(
        "--memory-limit", metavar="GIB", hidden=True, type=click.FloatRange(0.001, 2**20),
        help="GiB of memory a run may take (enforced on Linux).",
    )  # fmt: skip
    force: bool = option("--force", is_flag=True, help="Repeat runs that have a finished record.")
    reuse: bool = option("--reuse", is_flag=True, help="Keep finished runs of your files, too.")
    scheduler: str | None = option(
        "--scheduler", metavar="ADDRESS", hidden=True,
        help="Dask scheduler to use, for example tcp://host:8786.",
    )  # fmt: skip
    dry_run: bool = option("--dry-run", is_flag=True, help="Only print what would run.")

    def repeats(self, run: Run) -> bool:
        """True for a run to perform although it has a finished record."""
        from transferbench.runs.runner import untraced

        return self.force or (untraced(run) and not self.reuse)

    def perform(
        self,
        runs: Sequence[Run],
        settings: Settings,
        *,
        default_limits: Callable[[Run], Limits] | None = None,
        on_record: Callable[[Run, Record], None] = lambda run, record: None,
        task_files: TaskFiles | None = None,
        expected: Mapping[Run, float] | None = None,
    ) -> list[Record]:
        """Return the records of the runs; with dry_run, print what would run and return none.

        default_limits: limits of a run if the command line gives none; on_record, task_files,
        expected: see `runner.run`.
        """
        from transferbench.runs import runner
        from transferbench.runs.record import Limits

        engine = engines.choose(self.jobs, self.scheduler)
        if self.dry_run:
            lines = [["task", "model", "seed", ""]]
            for run, done in zip(runs, runner.done(runs, settings, self.repeats), strict=True):
                seed = "none" if run.seed is None else f"{run.seed}"
                state = "done" if done else "to run"
                lines.append([run.task, run.model, seed, state])
            echo_table(lines)
            return []

        def limits(run: Run) -> Limits:
            default = default_limits(run) if default_limits else Limits()
            memory = int((self.memory_limit or 0) * 2**30) or default.memory
            return Limits(self.time_limit or default.seconds, memory, self.threads)

        if not self.force and any(map(self.repeats, runs)):
            say("runs of your files are repeated: what they use may change; see --reuse", err=True)
        once = OncePrinter()

        def report(run: Run, record: Record) -> None:
            for doubt in record.doubts:
                once.say(f"warning: {run.model}: {doubt}")
            if first := shorten(record.output.strip().partition("\n")[0]):
                once.say(f"{run.model} printed: {first} (more in the output of its record)")
            if record.status not in ("done", "unavailable"):
                say(f"{record.status}: {run}: {record.reason}", err=True)
            on_record(run, record)

        return runner.run(
            runs, settings, engine=engine, limits=limits, repeats=self.repeats, on_record=report,
            task_files=task_files, expected=expected,
        )  # fmt: skip


#: Add the options, whose values a command takes as `execution`.
execution_options = passing("execution", Execution, declared(Execution))
