"""transferbench reproduce."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._names import completing, experiment_names
from transferbench.cli._options import execution
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.runs.record import Record


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(experiment_names))
@click.option("--all", "everything", is_flag=True, help="Every experiment there is.")
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=None,
    help="Runs of each random method, in place of the experiment's; what comes of fewer or more is "
    "written to results/repeats-N/.",
)
@execution
@click.pass_obj
def command(
    settings: Settings, /, names: tuple[str, ...], everything: bool, repeats: int | None,
    **execution: Any,
) -> int:  # fmt: skip
    """Rebuild published tables and figures.

    What is missing is run, and results/EXPERIMENT/ written as soon as its last run has ended; of
    several experiments, the quickest come first.
    """
    from transferbench import forecast
    from transferbench.cli._execute import execute, say
    from transferbench.errors import Unavailable, UserError
    from transferbench.experiments import experiment
    from transferbench.files import exclusive
    from transferbench.reproduce import Rebuild
    from transferbench.runs.record import Limits, Run

    if bool(names) == everything:
        raise UserError("expected names of experiments (`transferbench list`), or --all.")
    files = [experiment.load(name) for name in dict.fromkeys(names or experiment.names())]
    planned = {file.name: list(file.runs(repeats)) for file in files}
    if len(files) > 1 and not execution["force"]:
        expected = forecast.forecasts(planned, settings)
        files.sort(key=lambda file: expected[file.name].seconds)  # what fails, fails early
        size = forecast.megabytes(planned, settings)
        total = forecast.Forecast.sum(expected.values())
        say(f"{len(files)} experiments: {total}; {size:.0f} MB to fetch", err=True)
    rebuilds = [Rebuild(file, planned[file.name], settings.results, repeats) for file in files]
    cells = list(dict.fromkeys(run.run for file in files for run in planned[file.name]))
    stated: dict[Run, Limits] = {}
    for file in files:
        gib = file.spec.limits.memory_gib
        limits = Limits(file.spec.limits.seconds, int(gib * 2**30) if gib else None)
        for run in planned[file.name]:
            stated.setdefault(run.run, limits)
    ended = 0
    left: list[str] = []

    def take(cell: Run, record: Record) -> None:
        nonlocal ended
        for rebuild in rebuilds:
            if not rebuild.take(cell, record):
                continue
            ended += 1
            place = f" ({ended} of {len(files)})" if len(files) > 1 else ""
            if rebuild.vain:
                left.append(rebuild.name)
                continue
            for path in rebuild.write():
                say(path)
            say(f"{rebuild}{place}")

    message = "another reproduce is at work here; waiting, to repeat none of its runs"
    lock = exclusive(
        settings.results / "records" / "reproduce.lock", partial(say, message, err=True)
    )
    with nullcontext() if execution["dry_run"] else lock:
        done = execute(
            cells, settings, default_limits=stated.__getitem__, on_record=take, **execution
        )
        for rebuild in rebuilds if done else ():
            if rebuild.leans and rebuild.name not in left:
                rebuild.write()
    if len(files) > 1:
        for what, count in Counter(map(_outcome, done)).most_common():
            say(f"{count:6d}  {what}")
    if left:
        what = f"{', '.join(left)}: nothing could be run; what is there is left as it is"
        if len(left) == len(files):
            raise Unavailable(what)
        say(what, err=True)
    return 1 if {record.status for record in done} - {"done", "unavailable"} else 0


def _outcome(record: Record) -> str:
    """How a run ended and, where it did not finish, why."""
    return f"{record.status}: {record.reason}".removesuffix(": ")
