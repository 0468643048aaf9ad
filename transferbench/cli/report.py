"""transferbench report."""

from __future__ import annotations

from pathlib import Path

import click

from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write, in place of report.html in the folder of results.",
)
@click.option("--check", is_flag=True, help="Write nothing; fail if the page is outdated.")
@click.pass_obj
def command(settings: Settings, out: Path | None, check: bool) -> int:
    """Write every result on one page, report.html.

    The page is made of the results alone; reading it needs no network.
    """
    from transferbench.errors import SeveralErrors, UserError
    from transferbench.evidence import report
    from transferbench.files import write_text

    path = out or settings.results / "report.html"
    errors: list[UserError] = []
    page = report.render(settings.results, errors)
    outdated = check and not (
        path.is_file() and path.read_text(encoding="utf-8", errors="replace") == page
    )
    if outdated:
        echo(f"{path}: not what the results yield; run `transferbench report`.", err=True)
    elif check:
        echo(f"{path}: what the results yield")
    else:
        write_text(path, page)
        echo(path)
    if errors:
        raise SeveralErrors.of(errors)
    return 1 if outdated else 0
