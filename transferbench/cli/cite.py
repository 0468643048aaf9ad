"""transferbench cite."""

import click

from transferbench.cli._options import all_names, completing
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("name", default="", metavar="[NAME]", shell_complete=completing(all_names))
@click.pass_obj
def command(settings: Settings, name: str) -> None:
    """Print BibTeX of an experiment, a dataset, a task or a model.

    The entries are the paper, the data with address and licence, and transferbench itself. Without
    NAME, the command prints only the entry of transferbench.
    """
    from transferbench import citing

    echo(citing.bibtex(name, settings.results), nl=False)
