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
    from transferbench.evidence import report

    path = out or settings.results / "report.html"
    if not check:
        report.write(settings.results, path)
        echo(path)
        return 0
    committed = path.read_text(encoding="utf-8") if path.is_file() else ""
    if committed == report.render(settings.results):
        echo(f"{path}: what the results yield")
        return 0
    echo(f"{path}: not what the results yield; run `transferbench report`.", err=True)
    return 1
