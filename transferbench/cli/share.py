"""transferbench share."""

from pathlib import Path

import click

from transferbench.cli._options import completing, experiment_names
from transferbench.cli._results import locate
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("experiment", shell_complete=completing(experiment_names))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE.zip", help="Default: EXPERIMENT.zip."
)
@click.pass_obj
def command(settings: Settings, experiment: str, out: Path | None) -> None:
    """Write the results of an experiment into one zip file.

    The file has a README with the command that verifies it, the experiment, its runs with versions
    of libraries and digests of the data, tables and pictures, BibTeX, and the Python files of its
    own models. It does not have your task files and their data. The command refuses runs that mix
    data or code.
    """
    from transferbench import bundle, experiments, tasks
    from transferbench.errors import UserError
    from transferbench.files import writing
    from transferbench.runs import policy, store

    if out and out.suffix != ".zip":  # it would replace results, or the experiment
        raise UserError(f"{out}: expected a name that ends in .zip.")
    settings = locate(settings, experiment, None)
    file = experiments.load(experiment, settings.results)
    results = settings.with_runs(file.name)
    records = store.read(results / file.name / store.NAME)
    path = out or Path(f"{file.name}.zip")
    packed = bundle.pack(file, results, records, path.name)
    for sentence in policy.outdated(file.added_runs, records, settings):
        echo(f"warning: {file.name}: {sentence}.", err=True)
    if missing := sorted({tasks.users_path(r.task, settings) for r in file.added_runs} - {""}):
        remedy = "whoever verifies it needs these files, and the data that they name"
        echo(f"warning: not in the zip: {', '.join(missing)}; {remedy}.", err=True)
    with writing(path) as temporary:
        temporary.write_bytes(packed)
    echo(f"{path}  {len(packed):,} bytes")
