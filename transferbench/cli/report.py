"""transferbench report."""

from pathlib import Path

import click

from transferbench.cli._options import have_run
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command(short_help="Write every result as a page, with an index.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Folder of the pages. Default: report, in the folder of results.",
)  # fmt: skip
@click.pass_obj
def command(settings: Settings, out: Path | None) -> None:
    """Write every result as a page: index.html, and a page for each experiment.

    The pages are made of the results alone. If there are none, the committed ones are taken. Each
    page opens alone and without a network. With the extra `plots`, names and values show under the
    mouse; this needs plots.js beside the pages.
    """
    from transferbench.errors import SeveralErrors
    from transferbench.evidence import report
    from transferbench.files import user_path

    folder = user_path(out) if out else settings.results / "report"
    results = settings.results if have_run(settings) else settings.committed
    errors = report.write(results, folder)
    echo(folder / "index.html")
    if errors:
        raise SeveralErrors.combine(errors)
