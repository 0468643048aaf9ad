"""The user's own documents: options of commands, and the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._names import completing, model_names
from transferbench.cli._terminal import echo

if TYPE_CHECKING:
    from transferbench.errors import Doubt
    from transferbench.problem import Family, Problem, Truth
    from transferbench.userdata.documents import Documents, Labels

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
    force: bool

    @property
    def family(self) -> Family:
        """The family of the problem, by that of the first model."""
        from transferbench import models
        from transferbench.userdata.multilabel import choose_family

        first = models.get(self.models[0]).family if self.models else "transfer"
        return choose_family(bool(self.sources), first, self.label_separator)

    def params(self, models: Sequence[str], family: Family) -> dict[str, dict[str, Any]]:
        """Return all parameters of the models by name; family: that of the problem.

        Raise UserError for an unknown model, another family, an unknown parameter or value.
        """
        from transferbench import models as registry
        from transferbench import parameters

        for name in models:
            registry.check_family(name, family)
        functions = {name: registry.load(name) for name in models}
        given = by_model(parameters.parse(self.assignments), functions)
        return {
            name: parameters.resolve(function, given[name], name)
            for name, function in functions.items()
        }

    @property
    def separator(self) -> str:
        """The text between the labels of a document, "" if labels are whole."""
        from transferbench.userdata.multilabel import SEPARATOR

        return SEPARATOR if self.label_separator is None else self.label_separator

    def read(self, labels: Labels, clusters: int = 0) -> tuple[Problem, Truth, list[Documents]]:
        """Return the problem of the files, its truth and the documents of the targets.

        Options and workers are checked first: reading large files takes long. Print what is used.
        """
        from transferbench import parameters
        from transferbench.userdata.documents import Columns
        from transferbench.userdata.load import load
        from transferbench.userdata.multilabel import describe_tasks
        from transferbench.userdata.problem import options_like

        options = options_like(self.like) if self.like else {}
        options |= parameters.parse(self.options)
        found = load(
            self.sources,
            self.targets,
            options,
            family=self.family,
            labels=labels,
            columns=Columns(self.text_column, self.label_column, self.id_column),
            each_file=self.each_file,
            separator=self.label_separator,
            clusters=clusters,
        )
        paths = [str(each.path) for each in (*found.sources, *found.targets)]
        print_used(found.problem, paths, found.options)
        if self.family == "multilabel" and len(found.sources) > 1:
            echo(f"note: tasks: {describe_tasks(found.problem)}", err=True)
        return found.problem, found.truth, found.targets

    def check_out(self, out: Path) -> None:
        """Raise UserError if predictions cannot be written to `out`; nothing is read or made."""
        from transferbench.errors import UserError
        from transferbench.userdata.paths import find_domains
        from transferbench.userdata.predictions import SUFFIXES

        if out.suffix not in SUFFIXES:
            raise UserError(f"--out {out}: expected a name that ends in {' or '.join(SUFFIXES)}.")
        # Path.resolve raises for a loop of links.
        roles = [find_domains(names, self.each_file) for names in (self.sources, self.targets)]
        inputs = {realpath(file) for role in roles for domain in role for file in domain.files}
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


def print_used(problem: Problem, names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Print the sizes, classes and options that are used to stderr."""
    from transferbench.userdata.checks import shares_text, source_shares

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


def print_doubts(doubts: Sequence[Doubt], start: str = "") -> None:
    """Print doubts as warnings to stderr."""
    for doubt in doubts:
        echo(f"warning: {start}{doubt.text}", err=True)


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
