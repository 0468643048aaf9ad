"""transferbench report."""

import click

from transferbench.cli._options import have_run
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command(short_help="Write every result as a page, with an index.")
@click.pass_obj
def command(settings: Settings) -> None:
    """Write every result as a page: report/index.html, and a page for each experiment.

    The command uses only the results. If there are none, it uses the committed results. Each page
    needs no other file and no network.
    """
    from transferbench.errors import SeveralErrors
    from transferbench.evidence import report

    folder = settings.results / "report"
    results = settings.results if have_run(settings) else settings.committed
    errors = report.write(results, folder)
    echo(folder / "index.html")
    if errors:
        raise SeveralErrors.combine(errors)
