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
    from transferbench.errors import SeveralErrors, UserError
    from transferbench.evidence import report

    folder = out or settings.results / "report"
    index = folder / "index.html"
    if out and index.exists() and report.GENERATOR not in index.read_bytes():
        raise UserError(f"--out {out}: its index.html is no report; name another folder.")
    results = settings.results if have_run(settings) else settings.committed
    errors = report.write(results, folder)
    echo(folder / "index.html")
    if errors:
        raise SeveralErrors.combine(errors)
