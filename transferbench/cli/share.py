"""transferbench share."""

from pathlib import Path

import click

from transferbench.cli._options import completing, experiment_names
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

    It has the experiment, its runs with versions of libraries and digests of the data, tables and
    pictures, BibTeX, and the Python files of its own models.
    """
    from transferbench import bundle, experiments
    from transferbench.errors import UserError
    from transferbench.files import writing

    if out and out.suffix != ".zip":  # it would replace results, or the experiment
        raise UserError(f"{out}: expected a name that ends in .zip.")
    file = experiments.load(experiment, settings.results)
    packed = bundle.pack(file, settings.with_runs(file.name))
    path = out or Path(f"{file.name}.zip")
    with writing(path) as temporary:
        temporary.write_bytes(packed)
    echo(f"{path}  {len(packed):,} bytes")
