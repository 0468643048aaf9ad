"""Perform the runs of a command: options, messages while they run, and the dry run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import click
from annotated_types import Ge, Le

from transferbench.cli._options import JOBS, Checked, Seed, option, passing
from transferbench.cli._terminal import DEBUG, echo_table, once_printer, say
from transferbench.messages import shorten
from transferbench.parameters import Count, Positive
from transferbench.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from transferbench.runs.record import Limits, Record, Run
    from transferbench.runs.store import Store

#: As `policy.Rerun`, without importing it.
Rerun = Literal["missing", "outdated", "all"]
#: As `core.device.Device`, without importing it.
Device = Literal["cpu", "cuda"]
SEEDS = Checked(tuple[Seed, ...], "seeds")
seconds = Checked(Positive, "seconds")
#: Number of runs that fail in the same way and are printed.
MAX_ALIKE = 3


def _scheduler(_: click.Context, __: click.Parameter, address: str) -> str:
    """Return the address of a scheduler; "" for none."""
    if address:
        from transferbench.runs.cluster import check_address

        check_address(address)
    return address


@dataclass(frozen=True)
class Execution:
    """Values of the options for performing runs: the runs to perform, parallelism and limits."""

    jobs: int = option("--jobs", "-j", **JOBS)
    cluster: str = option(
        "--cluster", default="", metavar="ADDRESS", callback=_scheduler,
        help="Perform the runs on other machines. ADDRESS is that of a scheduler of Dask, such as "
        "tcp://head:8786.",
    )  # fmt: skip
    threads: int | None = option(
        "--threads", type=Checked(Count),
        help="Number of threads of each run; results do not depend on it.  [default: all cores for "
        "`run` with one job, else 1]",
    )  # fmt: skip
    time_limit: float | None = option(
        "--time-limit", type=seconds, help="Number of seconds that a run may take."
    )
    memory_limit: float | None = option(
        "--memory-limit", type=Checked(Annotated[float, Ge(0.001), Le(2**20)]),
        help="GiB of memory that a run may take (enforced on Linux).",
    )  # fmt: skip
    rerun: Rerun = option(  # noqa: RUF009
        "--rerun", type=click.Choice(get_args(Rerun)), default="outdated", show_default=True,
        help="Runs to perform. missing: runs without a result. outdated: also runs whose data or "
        "code changed since; code in a file of yours always counts as changed. all: all runs.",
    )  # fmt: skip
    device: Device = option(  # noqa: RUF009
        "--device", type=click.Choice(get_args(Device)), default="cpu", show_default=True,
        help="Compute on the processor or, with CuPy, on a GPU. The models himls and himlsd can "
        "use a GPU.",
    )  # fmt: skip
    dry_run: bool = option("--dry-run", is_flag=True, help="Only print what would run.")

    def run(
        self,
        runs: Sequence[Run],
        settings: Settings,
        *,
        default_limits: Callable[[Run], Limits] | None = None,
        on_record: Callable[[Run, Record], None] = lambda run, record: None,
        expected: Mapping[Run, float] | None = None,
        store: Store | None = None,
        file_of: Callable[[Run], Path | None] = lambda run: None,
    ) -> list[Record]:
        """Perform runs and return their records; with dry_run, print what would run."""
        # `default_limits`: Returns the limits of a run that the command line does not give.
        # Returns: The records in the order of the runs; empty with dry_run.
        from transferbench import models
        from transferbench.fingerprint import untraced
        from transferbench.runs import runner
        from transferbench.runs.policy import REASONS, has_untracked_code
        from transferbench.runs.record import Limits
        from transferbench.runs.store import Store

        if self.dry_run:
            lines = [["task", "model", "seed", ""]]
            store = store or Store(settings.results, single=True)
            reasons = runner.reasons(runs, settings, store, file_of, self.rerun)
            for run, reason in zip(runs, reasons, strict=True):
                seed = "none" if run.seed is None else f"{run.seed}"
                lines.append([str(run.task), run.model, seed, REASONS[reason]])
            echo_table(lines)
            return []

        alone = Limits(threads=None if self.jobs == 1 and not self.cluster else 1)

        def limits(run: Run) -> Limits:
            default = default_limits(run) if default_limits else alone
            memory = int((self.memory_limit or 0) * 2**30) or default.memory
            threads = self.threads or default.threads
            return Limits(self.time_limit or default.seconds, memory, threads, self.device)

        if self.rerun == "outdated":
            names = sorted(filter(has_untracked_code, {run.model for run in runs}))
            files = [name for name in names if models.is_external(name)]
            whys = dict.fromkeys(
                untraced(models.get(name).path) for name in names if name not in files
            )
            what = ["runs of your files are repeated: what they use may change"] if files else []
            what += [f"runs are repeated, as their code may have changed: {why}" for why in whys]
            for message in what:
                say(f"{message}; --rerun missing keeps them", err=True)
        say_once = once_printer()
        failures = Counter[tuple[str, str, str]]()

        def report(run: Run, record: Record) -> None:
            for doubt in record.doubts:
                say_once(f"warning: {run.model}: {doubt}")
            if first := shorten(record.output.strip().partition("\n")[0]):
                say_once(f"{run.model} printed: {first} (more in the output of its record)")
            if record.traceback and click.get_current_context().meta.get(DEBUG):
                say_once(record.traceback.rstrip())
            if record.status not in ("done", "unavailable"):
                failures[kind := (run.model, record.status, record.failure)] += 1
                if failures[kind] <= MAX_ALIKE:
                    say(f"{record.status}: {run}: {record.failure}.", err=True)
                else:
                    say_once(f"more runs of {run.model} fail in this way: {record.failure}.")
            on_record(run, record)

        return runner.run(
            runs, settings, n_jobs=self.jobs, cluster=self.cluster, limits=limits,
            rerun=self.rerun, on_record=report, expected=expected, store=store, file_of=file_of,
        )  # fmt: skip


#: Add the options, whose values a command takes as `execution`.
execution_options = passing("execution", Execution)
