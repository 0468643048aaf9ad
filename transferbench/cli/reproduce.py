"""transferbench reproduce."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from transferbench.cli._names import completing, experiment_names
from transferbench.cli._options import execution
from transferbench.settings import Settings


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(experiment_names))
@click.option("--all", "everything", is_flag=True, help="Every experiment there is.")
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=None,
    help="Runs of each random method, in place of the experiment's.",
)
@execution
@click.pass_obj
def command(
    settings: Settings, /, names: tuple[str, ...], everything: bool, repeats: int | None,
    **execution: Any,
) -> int:  # fmt: skip
    """Rebuild published tables and figures.

    What is missing is run, then results/EXPERIMENT/ is written; of several, the quickest
    come first.
    """
    from transferbench import experiment, forecast, records
    from transferbench.cli._execute import execute
    from transferbench.errors import Unavailable, UserError
    from transferbench.evidence import tables
    from transferbench.files import alone, write_text

    if bool(names) == everything:
        raise UserError("expected names of experiments (`transferbench list`), or --all.")
    files = [experiment.load(name) for name in names or experiment.names()]
    planned = {file.name: list(file.cells(repeats)) for file in files}
    if len(files) > 1 and not execution["force"]:
        expected = forecast.forecasts(planned, settings)
        files.sort(key=lambda file: expected[file.name].seconds)  # what fails, fails early
        whole = [(e.todo, e.finished, e.seconds, e.unknown) for e in expected.values()]
        total = forecast.Forecast(*map(sum, zip(*whole, strict=True)))
        size = forecast.megabytes(planned, settings)
        click.echo(f"{len(files)} experiments: {total}; {size:.0f} MB to fetch", err=True)
    code = 0
    outcomes: Counter[str] = Counter()
    for number, file in enumerate(files, start=1):
        limits = file.spec.limits
        given = dict(execution)
        if given["time_limit"] is None:
            given["time_limit"] = limits.seconds
        if limits.memory_gib and given["memory_limit"] is None:
            given["memory_limit"] = int(limits.memory_gib * 2**30)
        lock = settings.results / "records" / f"{file.name}.lock"
        message = f"{file.name}: another reproduce is at it; waiting, to repeat none of its runs"
        waits = partial(click.echo, message, err=True)
        with nullcontext() if given["dry_run"] else alone(lock, waits):
            done = execute([run.cell for run in planned[file.name]], settings, **given)
            if not done:
                continue
            folder = settings.results / file.name
            finished = [record for record in done if record["status"] == "done"]
            if not finished and "done" in _statuses(folder / "runs.csv"):
                raise Unavailable(
                    f"{file.name}: nothing could be run; the table there is left as it is"
                )
            rows = [(*run, record) for run, record in zip(planned[file.name], done, strict=True)]
            write_text(folder / "runs.csv", records.runs_csv(rows))
            for path in tables.write(file, folder):
                click.echo(path)
        runs = {record["key"]: record for record in done}
        counts = Counter(record["status"] for record in runs.values())
        others = "".join(f", {counts[s]} {s}" for s in sorted(counts.keys() - {"done"}))
        place = f" ({number} of {len(files)})" if len(files) > 1 else ""
        click.echo(f"{file.name}: {counts['done']} of {len(runs)} runs finished{others}{place}")
        outcomes.update(_outcome(record) for record in runs.values())
        code = 1 if counts.keys() - {"done", "unavailable"} else code
    if len(files) > 1:
        for what, count in outcomes.most_common():
            click.echo(f"{count:6d}  {what}")
    return code


def _outcome(record: dict[str, Any]) -> str:
    """How a run ended and, where it did not finish, why."""
    return f"{record['status']}: {record['reason']}".removesuffix(": ")


def _statuses(path: Path) -> set[str]:
    """How the runs ended that a runs.csv tells of; none where it cannot be read."""
    from transferbench.errors import UserError
    from transferbench.records import read_runs

    try:
        return {line["status"] for line in read_runs(path)}
    except UserError:
        return set()
