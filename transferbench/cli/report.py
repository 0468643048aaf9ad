"""transferbench report."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from transferbench.cli._options import have_run, several_experiments
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command(short_help="Write results as pages, with an index.")
@several_experiments
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Folder of the pages. Default: report, in the folder of results.",
)  # fmt: skip
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], out: Path | None) -> None:
    """Write results as pages: one for each experiment, and index.html.

    With names, the command writes the pages of these experiments only, without an index. The pages
    are made of the results alone. If there are none, the committed ones are taken. Each page opens
    alone and without a network. If you point at a mark of a picture, it shows its values.
    """
    from tqdm import tqdm

    from transferbench.errors import SeveralErrors
    from transferbench.evidence import report
    from transferbench.experiments import folder_name
    from transferbench.files import user_path

    folder = user_path(out) if out else settings.results / "report"
    results = settings.results if have_run(settings) else settings.committed
    named = {name: settings.with_runs(folder_name(name)) for name in names}
    pause = 0.1 if sys.stderr.isatty() else 10

    def watch(known: Sequence[str]) -> Iterable[str]:
        return tqdm(known, "pages", leave=False, mininterval=pause)

    paths, errors = report.write(results, folder, named, watch)
    for path in paths if names else paths[:1]:
        echo(path)
    if errors:
        raise SeveralErrors.combine(errors)
