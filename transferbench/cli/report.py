"""transferbench report."""

from pathlib import Path

import click

from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to, in place of report/ in the folder of results.",
)
@click.pass_obj
def command(settings: Settings, out: Path | None) -> None:
    """Write every result as a page: index.html, and a page for each experiment.

    The pages are made of the results alone. Each needs no other file and no network.
    """
    from transferbench.errors import SeveralErrors
    from transferbench.evidence import report

    folder = out or settings.results / "report"
    errors = report.write(settings.results, folder)
    echo(folder / "index.html")
    if errors:
        raise SeveralErrors.of(errors)
