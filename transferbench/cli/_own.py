"""What `predict` and `evaluate` share: files of one's own to a problem, and its fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._names import completing, model_names

if TYPE_CHECKING:
    from transferbench.data.userdata.documents import Documents, Labels
    from transferbench.problem import Fit, Problem, Truth

FILE = click.Path(path_type=Path)


def own_data(command: Callable[..., Any]) -> Callable[..., Any]:
    """--source, --target, --model, --set, --seed, --option and the columns."""
    for option in reversed(
        (
            click.option("--source", "sources", type=FILE, multiple=True,
                         help="Labelled documents (.csv .tsv .jsonl .parquet .svm .npz); "
                         "repeatable; without any, the targets are clustered."),
            click.option("--target", "targets", type=FILE, multiple=True, required=True,
                         help="Documents of another domain; repeatable."),
            click.option("--model", "-m", required=True, shell_complete=completing(model_names),
                         help="Model to fit."),
            click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE",
                         help="Parameter of the model; repeatable."),
            click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
                         help="Seed of a random model."),
            click.option("--text-column", default="text", show_default=True,
                         help="Column of the texts."),
            click.option("--label-column", default="label", show_default=True,
                         help="Column of the labels."),
            click.option("--id-column", help="Column of ids.  [default: id, if there is one]"),
            click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                         help="How texts become features (`describe own`); repeatable."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def gather(
    sources: tuple[Path, ...],
    targets: tuple[Path, ...],
    options: tuple[str, ...],
    columns: tuple[str, str, str | None],
    labels: Labels,
    clusters: int = 0,
) -> tuple[Problem, Truth, list[Documents]]:
    """The problem of these files, its truth and the documents of its targets."""
    from transferbench import parameters
    from transferbench.data.userdata.documents import Columns
    from transferbench.data.userdata.problem import documents_problem
    from transferbench.data.userdata.read import read

    named, given = Columns(*columns), parameters.parse(options)
    labelled = [read(path, named, "all") for path in sources]
    documents = [read(path, named, labels) for path in targets]
    return *documents_problem(labelled, documents, given, clusters=clusters), documents


def fitted(
    problem: Problem,
    targets: list[Documents],
    model: str,
    assignments: tuple[str, ...],
    seed: int,
) -> Fit:
    """The model's fit; what makes its predictions doubtful is said on the way."""
    from tqdm import tqdm

    from transferbench import api, parameters
    from transferbench.data.userdata.predictions import prediction_warnings
    from transferbench.errors import UserError

    given = parameters.parse(assignments)
    with tqdm(desc=model, unit="iteration", leave=False, disable=None) as bar:

        def watch(iteration: int, planned: int, scores: object) -> None:
            bar.total = planned
            bar.update(iteration - bar.n)

        try:
            fit = api.fit(model, problem, seed=seed, watch=watch, **given)
        except ValueError as error:
            raise UserError(f"{model}: {error}; other parameters are given by --set.") from error
    if problem.family == "transfer" and fit.columns == "clusters":
        raise UserError(f"{model} finds clusters, which have no names; choose another model.")
    for doubt in prediction_warnings(problem, targets, fit):
        click.echo(f"warning: {doubt}", err=True)
    return fit
