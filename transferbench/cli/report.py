"""transferbench report."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

import click

from transferbench.cli._options import have_run, several_experiments
from transferbench.cli._results import locate, repeats_option
from transferbench.cli._terminal import echo, say
from transferbench.settings import Settings

#: Seconds between two lines of progress that no terminal shows.
PERIOD = 10


@click.command()
@several_experiments
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Folder of the pages. Default: report, in the folder of results.",
)  # fmt: skip
@repeats_option
@click.pass_obj
def command(
    settings: Settings, names: tuple[str, ...], out: Path | None, repeats: int | None
) -> None:
    """Write results as pages: one for each experiment, and index.html.

    With names, the command writes the pages of these experiments only, without an index. The pages
    are made of the results alone. If there are none, the committed ones are taken. Each page opens
    alone and without a network. If you point at a mark of a picture, it shows its values.
    """
    from transferbench.errors import SeveralErrors, UserError
    from transferbench.evidence import report
    from transferbench.experiments import folder_name
    from transferbench.files import user_path

    folder = user_path(out) if out else settings.results / "report"
    results = settings.results if have_run(settings) else settings.committed
    if repeats and not names:
        raise UserError("--repeats is for named experiments; name them, or leave out --repeats.")
    named = {name: locate(settings, name, repeats).with_runs(folder_name(name)) for name in names}
    paths, errors = report.write(results, folder, named, _watched)
    if results != settings.results and not names:
        say(f"{settings.results} has no results; these are the committed ones", err=True)
    for path in paths if names else paths[:1]:
        echo(path)
    if errors:
        raise SeveralErrors.combine(errors)


def _watched(names: Sequence[str]) -> Iterator[str]:
    """Yield the names, and show how many are done: a bar on a terminal, else some lines."""
    from tqdm import tqdm

    printed = monotonic()
    with tqdm(names, "pages", leave=False, disable=None) as bar:
        for i, name in enumerate(bar):
            if bar.disable and monotonic() - printed > PERIOD:
                printed = monotonic()
                say(f"pages: {i} of {len(names)}", err=True)
            yield name
