"""transferbench new."""

from __future__ import annotations

import json
import re
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
    from transferbench.errors import UserError
    from transferbench.files import write_text

    _check(kind, name, folder)
    target = folder / (f"{name}.yaml" if kind == "experiment" else name)
    if target.exists() or target.is_symlink():
        raise UserError(f"{target} exists already; choose another name or --folder.")
    for path, text in _rendered(kind, name).items():
        write_text(folder / path if kind == "experiment" else target / path, text)
        echo(folder / path if kind == "experiment" else target / path)
    echo("\nNext:", style="header")
    for line in NEXT[kind]:
        echo(f"  {line.format(name=name, path=_quoted(target))}")


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


def _rendered(kind: str, name: str) -> dict[str, str]:
    """Return the texts to write, by path below the folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES / kind),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    package = f"transferbench_{name.replace('-', '_')}"
    context = {"name": name, "package": package, "file": f"{name}.yaml", "params": _params}
    return {
        path.removesuffix(".j2")
        .replace("PACKAGE", package)
        .replace("NAME", name): environment.get_template(path).render(context)
        for path in sorted(environment.list_templates())
    }


def _params(model: str) -> str:
    """Return all parameters of a model with their defaults, as YAML on one line."""
    import yaml

    from transferbench import models, parameters

    known = parameters.schema(models.load(model)).values()
    plain = json.loads(json.dumps({each.name: each.default for each in known}))
    text = yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=10_000)
    return str(text).strip()


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
