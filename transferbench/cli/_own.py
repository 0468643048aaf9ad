"""The user's own documents: options of commands, the problem, and the fits of models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import wraps
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._names import completing, model_names
from transferbench.cli._terminal import echo

if TYPE_CHECKING:
    from transferbench.data.userdata.checks import Finding
    from transferbench.data.userdata.documents import Documents, DomainFiles, Labels
    from transferbench.distributed import Usage
    from transferbench.problem import Fit, Problem, Truth

FILE = click.Path(path_type=Path)
escape_formulas = click.option(
    "--escape-formulas",
    is_flag=True,
    help="In a CSV file, put ' before a value that a spreadsheet would run.",
)
LIKE = "Options of texts as in an experiment on 20 Newsgroups: gtl, dtl, mrtl, mtc or a task."


def _options(optional: bool) -> tuple[Callable[[Any], Any], ...]:
    """Return the options; optional: target and model may be left out."""
    return (
        click.option("--source", "sources", type=click.Path(), multiple=True,
                     help="Labelled documents of a domain (.csv .tsv .jsonl .parquet .svm .npz): a "
                     "file, a folder, a quoted pattern, or several with commas between; repeatable"
                     + ("." if optional else "; without any, the targets are clustered.")),
        click.option("--target", "targets", type=click.Path(), multiple=True,
                     required=not optional,
                     help="Documents of another domain, named as for --source; repeatable."),
        click.option("--each-file", is_flag=True,
                     help="Make each file of a folder, pattern or list a domain of its own."),
        click.option("--model", "-m", "models", required=not optional, multiple=True,
                     shell_complete=completing(model_names), help="Model to fit; repeatable."),
        click.option("--set", "assignments", multiple=True, metavar="[MODEL.]NAME=VALUE",
                     help="Parameter of the model, or of each of them that has it; repeatable."),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
                     help="Seed of a random model."),
        click.option("--text-column", default="text", show_default=True,
                     help="Column of the texts."),
        click.option("--label-column", default="label", show_default=True,
                     help="Column of the labels."),
        click.option("--label-separator", metavar="TEXT",
                     help="Text between the labels of a document; '' if a label is always one.  "
                     "[default: | for multi-label models]"),
        click.option("--id-column", help="Column of ids.  [default: id, if there is one]"),
        click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
                     help="How texts become features (`describe own`); repeatable."),
        click.option("--like", metavar="NAME", help=LIKE),
        click.option("--scheduler", metavar="ADDRESS",
                     help="Dask scheduler whose workers hold the rows of large domains during the "
                     "fit, for example tcp://host:8786."),
        click.option("--force", is_flag=True,
                     help="Accept a worthless result; without it the exit code is 1."),
    )  # fmt: skip


@dataclass(frozen=True)
class OwnData:
    """Values of the options: the user's files, how to read them, and the models to fit."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    each_file: bool
    models: tuple[str, ...]
    assignments: tuple[str, ...]
    seed: int
    text_column: str
    label_column: str
    label_separator: str | None
    id_column: str | None
    options: tuple[str, ...]
    like: str | None
    scheduler: str | None
    force: bool

    @property
    def family(self) -> str:
        """The family of the problem, by that of the first model."""
        from transferbench import models
        from transferbench.data.userdata.multilabel import choose_family

        first = models.get(self.models[0]).family if self.models else "transfer"
        return choose_family(bool(self.sources), first, self.label_separator)

    def domains(self) -> tuple[list[DomainFiles], list[DomainFiles]]:
        """Return the files of the sources and of the targets by domain."""
        from transferbench.data.userdata.paths import find_domains

        sources = find_domains(self.sources, self.each_file)
        return sources, find_domains(self.targets, self.each_file)

    def params(self, models: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all parameters of the models by name.

        Raise UserError for an unknown model, another family, an unknown parameter or value.
        """
        from transferbench import models as registry
        from transferbench import parameters

        for name in models:
            registry.check_family(name, self.family)
        functions = {name: registry.load(name) for name in models}
        given = by_model(parameters.parse(self.assignments), functions)
        return {
            name: parameters.resolve(function, given[name], name)
            for name, function in functions.items()
        }

    @property
    def separator(self) -> str:
        """The text between the labels of a document, "" if labels are whole."""
        from transferbench.data.userdata.multilabel import SEPARATOR

        return SEPARATOR if self.label_separator is None else self.label_separator

    def read(self, labels: Labels, clusters: int = 0) -> tuple[Problem, Truth, list[Documents]]:
        """Return the problem of the files, its truth and the documents of the targets.

        Options and workers are checked first: reading large files takes long. Print what is used.
        """
        from transferbench import parameters
        from transferbench.data.userdata import multilabel
        from transferbench.data.userdata.documents import Columns
        from transferbench.data.userdata.problem import (
            documents_problem,
            options_like,
            used_options,
        )
        from transferbench.data.userdata.read import read_domain

        columns = Columns(self.text_column, self.label_column, self.id_column)
        given = options_like(self.like) if self.like else {}
        given |= parameters.parse(self.options)
        with self._workers():
            pass
        source_files, target_files = self.domains()
        sources = [read_domain(files, columns, "all") for files in source_files]
        if self.family == "transfer" and self.label_separator is None:
            for documents in sources:
                multilabel.check_single(documents.labels, documents.path)
        targets = [read_domain(files, columns, labels) for files in target_files]
        used = used_options([*sources, *targets], given)
        separator = self.separator if self.family == "multilabel" else None
        problem, truth = documents_problem(
            sources, targets, used, clusters=clusters, separator=separator
        )
        print_used(problem, [str(each.path) for each in (*sources, *targets)], used)
        if separator is not None and len(sources) > 1:
            echo(f"note: tasks: {multilabel.describe_tasks(problem)}", err=True)
        return problem, truth, targets

    def fit(
        self, problem: Problem, params: Mapping[str, Mapping[str, Any]], names: Sequence[str]
    ) -> tuple[dict[str, Fit], bool]:
        """Fit the models with a progress bar; print findings about documents and decisions.

        Return the fits, and whether the documents or the first model's decisions are worthless.
        """
        from transferbench.criteria import carried_back
        from transferbench.data.userdata.checks import check_data, check_fit

        findings = check_data(problem, names)
        print_findings(findings)
        worthless = any(finding.worthless for finding in findings)
        fits: dict[str, Fit] = {}
        for model, values in params.items():
            fit = self._fit(model, values, problem)
            reverse: dict[str, float] = {}
            if problem.family == "transfer" and not self.scheduler:
                with warnings.catch_warnings():  # those of the way back concern the source
                    warnings.simplefilter("ignore")
                    reverse = carried_back(model, problem, values, self.seed, fit)
            findings = check_fit(model, problem, values, fit, reverse, names)
            print_findings(findings, f"{model}: " if len(params) > 1 else "")
            worthless |= not fits and any(finding.worthless for finding in findings)
            fits[model] = fit
        return fits, worthless

    def _fit(self, model: str, params: Mapping[str, Any], problem: Problem) -> Fit:
        from tqdm import tqdm

        from transferbench import api
        from transferbench.comparison import fit_failed
        from transferbench.data.userdata.multilabel import fit_in_tasks
        from transferbench.errors import UserError

        try:
            with self._workers() as usage:
                with tqdm(desc=model, unit="iteration", leave=False, disable=None) as bar:

                    def watch(iteration: int, planned: int, scores: object) -> None:
                        bar.total = planned
                        bar.update(iteration - bar.n)

                    fit = fit_in_tasks(
                        problem,
                        lambda tasks: api.fit(model, tasks, seed=self.seed, watch=watch, **params),
                    )
                if usage:
                    echo(f"note: {usage.summary(len(fit.trace))}", err=True)
        except (ValueError, ArithmeticError) as error:
            raise UserError(fit_failed(model, error)) from error
        if problem.family == "transfer" and fit.columns == "clusters":
            message = f"{model} finds clusters, which have no names; choose another model."
            raise UserError(message)
        return fit

    def _workers(self) -> AbstractContextManager[Usage | None]:
        """Return the block in which workers of the scheduler, if one is given, hold matrices."""
        if not self.scheduler:
            return nullcontext()
        from transferbench.distributed import on_workers

        return on_workers(self.scheduler)

    def check_out(self, out: Path) -> None:
        """Raise UserError if predictions cannot be written to `out`; nothing is read or made."""
        from transferbench.data.userdata.predictions import SUFFIXES
        from transferbench.errors import UserError

        if out.suffix not in SUFFIXES:
            raise UserError(f"--out {out}: expected a name that ends in {' or '.join(SUFFIXES)}.")
        # Path.resolve raises for a loop of links.
        inputs = {realpath(file) for role in self.domains() for part in role for file in part.files}
        if realpath(out) in inputs:
            raise UserError(f"--out {out} is one of the files to read; choose another.")
        if not out.parent.is_dir():
            raise UserError(f"--out {out}: there is no folder {out.parent}; make it first.")
        if out.is_dir():
            raise UserError(f"--out {out} is a folder; name a file.")


def by_model(
    given: Mapping[str, str], functions: Mapping[str, Callable[..., Any]]
) -> dict[str, dict[str, str]]:
    """Return the parameters of each model; NAME is for all that have it, MODEL.NAME for one."""
    from transferbench import parameters
    from transferbench.errors import unknown

    found: dict[str, dict[str, str]] = {name: {} for name in functions}
    for key in sorted(given, key=lambda key: "." in key):  # what is for one model counts more
        model, dot, name = key.rpartition(".")
        if dot and model not in functions:
            raise unknown("model in --set", model, functions)
        having = [n for n in functions if name in parameters.schema(functions[n])]
        # One that nobody has is refused by `resolve`, which knows the names.
        for taker in [model] if dot else having or list(functions)[:1]:
            found[taker][name] = given[key]
    return found


def written(out: Path, targets: Sequence[Documents]) -> str:
    """Return that predictions are written: the file and their number."""
    count = sum(map(len, targets))
    return f"{out}: {count} document{'s' * (count != 1)}"


def print_used(problem: Problem, names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Print the sizes, classes and options that are used to stderr."""
    from transferbench.data.userdata.checks import shares_text, source_shares

    sizes = zip(names, problem.domains, strict=True)
    files = ", ".join(f"{name} {len(domain.seen)}" for name, domain in sizes)
    echo(f"documents: {files}; features: {problem.domains[0].X.shape[1]}", err=True)
    shares = source_shares(problem)
    if shares is not None:
        echo(f"classes of the source: {shares_text(problem.classes, shares)}", err=True)
    shown = ", ".join(f"{name}={_plain(value)}" for name, value in options.items())
    if shown:
        echo(f"options: {shown}", err=True)
    if options.get("tokens") == "characters":
        note = "features are pairs of characters, as most are of a script without spaces"
        echo(f"note: {note}; --option tokens=words splits at spaces.", err=True)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def print_findings(findings: Sequence[Finding], start: str = "") -> None:
    """Print findings as warnings to stderr."""
    for finding in findings:
        echo(f"warning: {start}{finding.text}", err=True)


WORTHLESS = "worthless by the warnings above"


def own_data(optional: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options and passes their values as one OwnData.

    optional: target and model may be left out.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_own_data(**given: Any) -> Any:
            values = {field.name: given.pop(field.name) for field in fields(OwnData)}
            return command(own=OwnData(**values), **given)

        for option in reversed(_options(optional)):
            with_own_data = option(with_own_data)
        return with_own_data

    return decorate
