"""transferbench reproduce."""

from __future__ import annotations

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
    """Rebuild published tables: run what is missing, then write the table files."""
    from transferbench import experiment, records, tables
    from transferbench.cli._execute import execute
    from transferbench.errors import UserError
    from transferbench.files import write_text

    if bool(names) == everything:
        raise UserError("expected names of experiments (`transferbench list`), or --all.")
    code = 0
    for file in [experiment.load(name) for name in names or experiment.names()]:
        limits = file.spec.limits
        given = dict(execution)
        given["time_limit"] = given["time_limit"] or limits.seconds
        if limits.memory_gib and not given["memory_limit"]:
            given["memory_limit"] = int(limits.memory_gib * 2**30)
        labelled = list(file.cells(repeats))
        done = execute([planned.cell for planned in labelled], settings, **given)
        if not done:
            continue
        folder = settings.results / file.name
        rows = [(*planned, record) for planned, record in zip(labelled, done, strict=True)]
        write_text(folder / "runs.csv", records.runs_csv(rows))
        for path in tables.write(file, folder):
            click.echo(path)
        lost = [r for r in done if r["status"] not in ("done", "unavailable")]
        click.echo(f"{file.name}: {len(done) - len(lost)} of {len(done)} runs finished")
        code = 1 if lost else code
    return code
