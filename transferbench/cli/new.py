"""transferbench new."""

import re
import shlex
from pathlib import Path

import click

from transferbench.cli._terminal import echo

TEMPLATES = Path(__file__).parent / "templates"
#: The commands that use what was written, by kind.
NEXT = {
    "experiment": (
        "transferbench reproduce {path} --dry-run",
        "transferbench reproduce {path}",
        "transferbench tables {name}",
    ),
    "model": (
        "pip install -e {path}",
        "transferbench describe {name}",
        "transferbench run comp-vs-rec --model {name}",
    ),
    "dataset": (
        "pip install -e {path}",
        "transferbench describe {name}/books-vs-films",
        "transferbench run {name}/books-vs-films --model lr",
    ),
}


@click.command()
@click.argument("kind", type=click.Choice(list(NEXT)))
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder to write to.  [default: the current one]",
)
def command(kind: str, name: str, folder: Path) -> None:
    """Write a commented start of an experiment, a model or a dataset of your own.

    \b
    experiment  NAME.yaml: one newsgroup task, logistic regression and DTL
    model       NAME/: a package with a model; `pip install -e NAME` registers it
    dataset     NAME/: a package with a dataset; `pip install -e NAME` registers it

    Each runs as it is written. Existing files are not replaced.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from transferbench.errors import UserError
    from transferbench.files import write_text

    _check(kind, name, folder)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES / kind),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    package = f"transferbench_{name.replace('-', '_')}"
    texts = {
        folder / path.removesuffix(".j2").replace("PACKAGE", package).replace("NAME", name):
        environment.get_template(path).render(
            name=name, package=package, file=f"{name}.yaml"
        )
        for path in sorted(environment.list_templates())
    }  # fmt: skip
    target = folder / (f"{name}.yaml" if kind == "experiment" else name)
    if target.exists() or target.is_symlink():
        raise UserError(f"{target} exists already; choose another name or --folder.")
    for path, text in texts.items():
        write_text(path, text)
        echo(path)
    echo("\nNext:")
    for line in NEXT[kind]:
        echo(f"  {line.format(name=name, path=shlex.quote(str(target)))}")


def _check(kind: str, name: str, folder: Path) -> None:
    """Raise UserError if the name is taken or cannot be used."""
    from transferbench import datasets, experiments, models
    from transferbench.errors import UserError, brief

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        expected = "expected small letters, digits and single hyphens, as in my-method"
        raise UserError(f"{brief(name)} is not a name; {expected}.")
    if kind == "experiment":
        experiments.path(str(folder / f"{name}.yaml"))
    prefixes = {task.partition("/")[0] for task in datasets.tasks()}
    taken = {"model": models.registry(), "dataset": prefixes}.get(kind, ())
    if name in taken:
        raise UserError(f"there is a {kind} {name} already; choose another name.")
