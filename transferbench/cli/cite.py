"""transferbench cite."""

import click

from transferbench.cli._options import all_names, completing
from transferbench.cli._results import read, repeats_option
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("name", default="", metavar="[NAME]", shell_complete=completing(all_names))
@click.argument("row", required=False)
@click.argument("column", required=False)
@click.option("--x", type=float, default=None, help="Position on a figure's x axis.")
@repeats_option
@click.pass_obj
def command(
    settings: Settings, name: str, row: str | None, column: str | None, x: float | None,
    repeats: int | None,
) -> None:  # fmt: skip
    """Print BibTeX of an experiment, a number of it, a dataset, a task or a model.

    The entries are the paper, the data with address and licence, and transferbench itself. Without
    NAME, the command prints only the entry of transferbench. With the ROW and the COLUMN of an
    experiment, the first entry is the number there, with the digest of its runs; they are named as
    `transferbench explain` names them.

    NAME may also be the number that `explain` prints, as EXPERIMENT#…@DIGEST.

    \b
    transferbench cite gtl-table3
    transferbench cite gtl-table3 "comp vs rec" GCMF
    """
    from transferbench import citing
    from transferbench.errors import UserError
    from transferbench.evidence import explain

    is_number = "#" in name
    if row is None and not is_number:
        echo(citing.bibtex(name, settings.results), nl=False)
        return
    if (row is None) != (column is None) or (is_number and row):
        raise UserError("a number has a row and a column; name both, or leave out both.")
    _, file, cells = read(settings, name, repeats)
    if row is not None and column is not None:
        cell = explain.find(file, cells, row, column, x)
    else:
        cell = explain.of_identity(file, cells, name)
    echo(citing.bibtex_of_number(file, cell), nl=False)
