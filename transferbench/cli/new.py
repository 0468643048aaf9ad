"""transferbench new."""

import re
from pathlib import Path

import click

from transferbench.cli._terminal import echo
from transferbench.errors import UserError, brief
from transferbench.files import write_text


@click.command()
@click.argument("kind", type=click.Choice(["experiment", "model", "dataset"]))
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), default=".", help="Folder to write to.")
def command(kind: str, name: str, folder: Path) -> None:
    """Write a commented start of an experiment, a model or a dataset of your own.

    \b
    experiment  NAME.yaml: one newsgroup task, logistic regression and DTL
    model       NAME/: a package with a model and its tests; `pip install -e NAME` registers it
    dataset     NAME/: a package with a dataset and its tests; `pip install -e NAME` registers it

    The files are written to the current folder, or to --folder, and they run without changes.
    Existing files are not replaced.
    """
    from transferbench import datasets, experiments, models

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        expected = "expected small letters, digits and single hyphens, as in my-method"
        raise UserError(f"{brief(name)} is not a name; {expected}.")
    if kind == "experiment":
        experiments.path(str(folder / f"{name}.yaml"))  # raises for the name of one of ours
    prefixes = {task.partition("/")[0] for task in datasets.tasks()}
    prefixes |= {dataset.name for dataset in datasets.every()}
    if name in {"model": models.registry(), "dataset": prefixes}.get(kind, ()):
        raise UserError(f"there is a {kind} {name} already; choose another name.")
    # With the kind, as a model and a dataset of one name are two packages.
    package = f"transferbench_{kind}_{name.replace('-', '_')}"

    def filled(text: str) -> str:
        return text.replace("PACKAGE", package).replace("NAME", name)

    templates = Path(__file__).parent / "templates" / kind
    texts = {
        folder / filled(f"{path.relative_to(templates).with_suffix('')}"):
        filled(path.read_text(encoding="utf-8"))
        for path in sorted(templates.rglob("*.template"))
    }  # fmt: skip
    target = folder / (f"{name}.yaml" if kind == "experiment" else name)
    if target.exists() or target.is_symlink():
        raise UserError(f"{target} exists already; choose another name or --folder.")
    for path, text in texts.items():
        write_text(path, text)
        echo(path)
    echo(f"\nNext, in {folder if kind == 'experiment' else target}:")
    for line in "".join(texts.values()).splitlines():
        if re.match("#   (pip|pytest|transferbench)", line):
            echo(line.removeprefix("# "))
