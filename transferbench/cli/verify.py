"""transferbench verify."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from transferbench.cli._names import completing, experiment_names, have_run
from transferbench.cli._options import Seconds
from transferbench.settings import Settings


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(experiment_names))
@click.option(
    "--seconds",
    type=Seconds(),
    default=2.0,
    show_default=True,
    help="The longest a run may have taken to be made again.",
)
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, help="Runs at a time.",
              show_default=True)  # fmt: skip
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], seconds: float, jobs: int) -> int:
    """Make committed runs again and compare.

    Of every model its quickest run in the experiments named, or in all, is made from scratch;
    records and results stay as they are. Exit code 1 where a figure lies further from the committed
    one than repeats of the run do from each other. What cannot be had here, data or the library of
    an extra, is told and leaves the code alone, unless nothing is left.
    """
    from transferbench import verify
    from transferbench.cli._report import aligned
    from transferbench.errors import UserError
    from transferbench.runs import runner
    from transferbench.runs.engines.local import Local

    names = names or have_run(settings)
    chosen = verify.quickest(verify.committed(names, settings), seconds)
    if not chosen:
        raise UserError(f"no finished run of up to {seconds:g} s; try more --seconds.")
    with tempfile.TemporaryDirectory() as folder:
        anew = settings.but(results=Path(folder))
        records = runner.run([run.run for run in chosen], anew, engine=Local(jobs))
    rows = [["", "run", "furthest apart", "committed", "now", "may differ by", "experiment"]]
    figures = bad = lost = 0
    for run, record in zip(chosen, records, strict=True):
        if not record.done:
            away = record.status == "unavailable"
            lost += away
            bad += not away
            mark = "–" if away else "NO"
            rows.append([mark, f"{run.run}", record.status, "", "", "", record.reason])
            continue
        found = sorted(verify.differences(run, record), key=lambda d: -d.apart)
        figures += len(found)
        bad += not found[0].held
        for d in [d for d in found if not d.held] or found[:1]:
            values = [f"{value:.4f}" for value in (d.committed, d.now, d.jitter)]
            place = f"{d.measure}, {d.domain}"
            rows.append(["=" if d.held else "NO", f"{run.run}", place, *values, run.experiment])
    click.echo("\n".join(aligned(rows)))
    what = f"{bad} runs differ" if bad else "none differs"
    what += f"; {lost} cannot be made here" if lost else ""
    click.echo(f"{len(chosen) - lost} runs made again, {figures} figures compared: {what}")
    return 1 if bad or not figures else 0
