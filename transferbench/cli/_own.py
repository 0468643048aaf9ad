"""The user's own documents: options of `predict` and `evaluate`, the problem and its fit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._names import completing, model_names
from transferbench.cli._terminal import echo

if TYPE_CHECKING:
    from transferbench.data.userdata.documents import Documents, DomainFiles, Labels
    from transferbench.distributed import Usage
    from transferbench.problem import Fit, Problem, Truth

FILE = click.Path(path_type=Path)
OPTIONS = (
    click.option("--source", "sources", type=click.Path(), multiple=True,
                 help="Labelled documents of a domain (.csv .tsv .jsonl .parquet .svm .npz): a "
                 "file, a folder, a quoted pattern, or several with commas between; repeatable; "
                 "without any, the targets are clustered."),
    click.option("--target", "targets", type=click.Path(), multiple=True, required=True,
                 help="Documents of another domain, named as for --source; repeatable."),
    click.option("--each-file", is_flag=True,
                 help="Make each file of a folder, pattern or list a domain of its own."),
    click.option("--model", "-m", required=True, shell_complete=completing(model_names),
                 help="Model to fit."),
    click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE",
                 help="Parameter of the model; repeatable."),
    click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
                 help="Seed of a random model."),
    click.option("--text-column", default="text", show_default=True, help="Column of the texts."),
    click.option("--label-column", default="label", show_default=True,
                 help="Column of the labels."),
    click.option("--label-separator", metavar="TEXT",
                 help="Text between the labels of a document; '' if a label is always one.  "
                 "[default: | for multi-label models]"),
    click.option("--id-column", help="Column of ids.  [default: id, if there is one]"),
    click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                 help="How texts become features (`describe own`); repeatable."),
    click.option("--scheduler", metavar="ADDRESS",
                 help="Dask scheduler whose workers hold the rows of large domains during the "
                 "fit, for example tcp://host:8786."),
)  # fmt: skip


@dataclass(frozen=True)
class OwnData:
    """Values of the options: the user's files, how to read them, and the model to fit."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    each_file: bool
    model: str
    assignments: tuple[str, ...]
    seed: int
    text_column: str
    label_column: str
    label_separator: str | None
    id_column: str | None
    options: tuple[str, ...]
    scheduler: str | None

    def domains(self) -> tuple[list[DomainFiles], list[DomainFiles]]:
        """Return the files of the sources and of the targets by domain."""
        from transferbench.data.userdata.paths import find_domains

        sources = find_domains(self.sources, self.each_file)
        return sources, find_domains(self.targets, self.each_file)

    @property
    def separator(self) -> str:
        """The text between the labels of a document, "" if labels are whole."""
        from transferbench.data.userdata.multilabel import SEPARATOR

        return SEPARATOR if self.label_separator is None else self.label_separator

    def read(self, labels: Labels, clusters: int = 0) -> tuple[Problem, Truth, list[Documents]]:
        """Return the problem of the files, its truth and the documents of the targets.

        Model, parameters and workers are checked first: reading large files takes long.
        """
        from transferbench import models, parameters
        from transferbench.data.userdata import multilabel
        from transferbench.data.userdata.documents import Columns
        from transferbench.data.userdata.problem import documents_problem
        from transferbench.data.userdata.read import read_domain

        family = multilabel.choose_family(
            bool(self.sources), models.get(self.model).family, self.label_separator
        )
        models.check_family(self.model, family)
        assigned = parameters.parse(self.assignments)
        parameters.resolve(models.load(self.model), assigned, self.model)
        columns = Columns(self.text_column, self.label_column, self.id_column)
        given = parameters.parse(self.options)
        with self._workers():
            pass
        source_files, target_files = self.domains()
        sources = [read_domain(files, columns, "all") for files in source_files]
        if family == "transfer" and self.label_separator is None:
            for documents in sources:
                multilabel.check_single(documents.labels, documents.path, self.model)
        targets = [read_domain(files, columns, labels) for files in target_files]
        separator = self.separator if family == "multilabel" else None
        problem, truth = documents_problem(
            sources, targets, given, clusters=clusters, separator=separator
        )
        if family == "multilabel" and len(sources) > 1:
            echo(f"note: tasks: {multilabel.describe_tasks(problem)}", err=True)
        return problem, truth, targets

    def fit(self, problem: Problem, targets: list[Documents]) -> Fit:
        """Fit the model with a progress bar; print warnings about its data and predictions."""
        from transferbench.data.userdata.predictions import prediction_warnings
        from transferbench.errors import UserError

        try:
            fit = self._fit(problem)
        except (ValueError, ArithmeticError) as error:
            message = f"{self.model}: {error}; other parameters are given by --set."
            raise UserError(message) from error
        if problem.family == "transfer" and fit.columns == "clusters":
            message = f"{self.model} finds clusters, which have no names; choose another model."
            raise UserError(message)
        for warning in prediction_warnings(problem, targets, fit):
            echo(f"warning: {warning}", err=True)
        return fit

    def _fit(self, problem: Problem) -> Fit:
        from tqdm import tqdm

        from transferbench import api, parameters
        from transferbench.data.userdata.multilabel import fit_in_tasks

        given = parameters.parse(self.assignments)
        with self._workers() as usage:
            with tqdm(desc=self.model, unit="iteration", leave=False, disable=None) as bar:

                def watch(iteration: int, planned: int, scores: object) -> None:
                    bar.total = planned
                    bar.update(iteration - bar.n)

                fit = fit_in_tasks(
                    problem,
                    lambda tasks: api.fit(self.model, tasks, seed=self.seed, watch=watch, **given),
                )
            if usage:
                echo(f"note: {usage.summary(len(fit.trace))}", err=True)
        return fit

    def _workers(self) -> AbstractContextManager[Usage | None]:
        """Return the block in which workers of the scheduler, if one is given, hold matrices."""
        if not self.scheduler:
            return nullcontext()
        from transferbench.distributed import on_workers

        return on_workers(self.scheduler)


def own_data(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command and pass their values as one OwnData."""

    @wraps(command)
    def with_own_data(**given: Any) -> Any:
        values = {field.name: given.pop(field.name) for field in fields(OwnData)}
        return command(OwnData(**values), **given)

    for option in reversed(OPTIONS):
        with_own_data = option(with_own_data)
    return with_own_data
