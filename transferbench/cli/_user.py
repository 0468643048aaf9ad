"""The user's own documents: options of commands, the problem, fits and predictions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._options import completing, declared, model_names, option, passing
from transferbench.cli._terminal import echo
from transferbench.errors import Doubt, UserError, brief, unknown
from transferbench.parameters import parse, resolve, schema
from transferbench.userdata.documents import DomainFiles, Labels, Reading

if TYPE_CHECKING:
    from transferbench.choose.compare import Entry
    from transferbench.problem import Family, Fit, Problem
    from transferbench.userdata.load import Loaded

FILE = click.Path(path_type=Path)
#: Of more classes only the least and the largest number is printed.
FEW_CLASSES = 4
WORTHLESS = "worthless by the warnings above"
#: Option of the command line for each field of `Reading`.
READING = {
    "text": "--text-column",
    "label": "--label-column",
    "id": "--id-column",
    "separator": "--label-separator",
    "each_file": "--each-file",
}
escape_formulas = click.option(
    "--escape-formulas",
    is_flag=True,
    help="In a CSV file, put ' before a value that a spreadsheet would run.",
)


@dataclass(frozen=True)
class UserData:
    """Values of the options: the user's files, how to read them, and the models to fit."""

    reading: Reading
    sources: tuple[str, ...] = option(
        "--source", type=click.Path(), multiple=True,
        help="Labelled documents of a domain (.csv .tsv .jsonl .parquet .svm .npz): a file, a "
        "folder, a quoted pattern, or several with commas between; repeatable. Without any, "
        "`predict` and `evaluate` cluster the targets.",
    )  # fmt: skip
    targets: tuple[str, ...] = option(
        "--target", type=click.Path(), multiple=True,
        help="Documents of another domain, named as for --source; repeatable.",
    )  # fmt: skip
    models: tuple[str, ...] = option(
        "--model", "-m", multiple=True, shell_complete=completing(model_names),
        help="Model to fit; repeatable.",
    )  # fmt: skip
    assignments: tuple[str, ...] = option(
        "--set", multiple=True, metavar="[MODEL.]NAME=VALUE",
        help="Parameter of the model, or of each of them that has it; repeatable.",
    )  # fmt: skip
    seed: int = option(
        "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
        help="Seed of a random model.",
    )  # fmt: skip
    options: tuple[str, ...] = option(
        "--option", multiple=True, metavar="NAME=VALUE",
        help="How texts become features (`describe own`); repeatable.",
    )  # fmt: skip
    like: str | None = option(
        "--like", metavar="NAME",
        help="Options of texts as in an experiment on 20 Newsgroups: gtl, dtl, mrtl, mtc or a "
        "task.",
    )  # fmt: skip
    force: bool = option(
        "--force", is_flag=True, help="Accept a worthless result; without it the exit code is 1."
    )

    @property
    def family(self) -> Family:
        """The family of the problem, by that of the first model."""
        from transferbench import models
        from transferbench.userdata.multilabel import choose_family

        first = models.get(self.models[0]).family if self.models else "transfer"
        return choose_family(bool(self.sources), first, self.reading.separator)

    def params(self, models: Sequence[str], family: Family) -> dict[str, dict[str, Any]]:
        """Return all parameters of the models by name; family: that of the problem.

        NAME is for all models that have it, MODEL.NAME overrides it. Raise UserError for an unknown
        model, another family, an unknown parameter or value.
        """
        from transferbench import models as registry

        for name in models:
            registry.check_family(name, family)
        functions = {name: registry.load(name) for name in models}
        assigned = parse(self.assignments)
        given: dict[str, dict[str, str]] = {name: {} for name in functions}
        for key in sorted(assigned, key=lambda key: "." in key):
            model, dot, name = key.rpartition(".")
            if dot and model not in functions:
                raise unknown("model in --set", model, functions)
            having = [n for n in functions if name in schema(functions[n])]
            # One that no model has is refused by `resolve`, which knows the names.
            for taker in [model] if dot else having or list(functions)[:1]:
                given[taker][name] = assigned[key]
        return {name: resolve(function, given[name], name) for name, function in functions.items()}

    def domains(self) -> tuple[list[DomainFiles], list[DomainFiles]]:
        """Return the files of the sources and of the targets."""
        from transferbench.userdata.documents import find_domains

        each_file = self.reading.each_file
        return find_domains(self.sources, each_file), find_domains(self.targets, each_file)

    def read(self, labels: Labels, clusters: int = 0) -> Loaded:
        """Read the files; print to stderr what is used.

        Options are checked first: reading large files takes long.
        """
        from transferbench.datasets.user import options_like
        from transferbench.userdata.load import load
        from transferbench.userdata.multilabel import members_of_tasks

        options = options_like(self.like) if self.like else {}
        options |= parse(self.options)
        loaded = load(
            *self.domains(),
            family=self.family,
            labels=labels,
            reading=self.reading,
            options=options,
            clusters=clusters,
        )
        names = [str(documents.path) for documents in (*loaded.sources, *loaded.targets)]
        print_used(loaded.problem, names, loaded.options)
        if self.family == "multilabel" and len(self.sources) > 1:
            called = [domain.name for domain in loaded.problem.domains]
            members = members_of_tasks(loaded.problem)
            tasks = ", ".join(" + ".join(called[i] for i in task) for task in members)
            echo(f"note: tasks: {tasks}", err=True)
        return loaded

    def check_out(self, out: Path) -> None:
        """Raise UserError if predictions cannot be written to `out`; nothing is read or made."""
        from transferbench.userdata.predictions import SUFFIXES

        if out.suffix not in SUFFIXES:
            raise UserError(f"--out {out}: expected a name that ends in {' or '.join(SUFFIXES)}.")
        # Path.resolve raises for a loop of links.
        inputs = {
            os.path.realpath(file) for role in self.domains() for d in role for file in d.files
        }
        if os.path.realpath(out) in inputs:
            raise UserError(f"--out {out} is one of the files to read; choose another.")
        if not out.parent.is_dir():
            raise UserError(f"--out {out}: there is no folder {out.parent}; make it first.")
        if not os.access(out.parent, os.W_OK):
            raise UserError(
                f"--out {out}: the folder {out.parent} cannot be written; name another."
            )
        if out.is_dir():
            raise UserError(f"--out {out} is a folder; name a file.")

    def fit(
        self, problem: Problem, params: Mapping[str, Mapping[str, Any]], names: Sequence[str]
    ) -> tuple[dict[str, Fit], bool]:
        """Fit the models with a progress bar; print doubts about documents and decisions.

        params: all parameters by model. names: what doubts call the targets. Return the fits, and
        whether the documents or the first model's decisions are worthless. Raise UserError if a
        model cannot solve the problem.
        """
        from tqdm import tqdm

        from transferbench.choose.compare import FitPlan, fit_plan
        from transferbench.choose.criteria import check_data

        doubts = check_data(problem, names)
        print_doubts(doubts)
        worthless = any(doubt.worthless for doubt in doubts)
        entries: dict[str, Entry] = {}
        for model, values in params.items():
            with tqdm(desc=model, unit="iteration", leave=False, disable=None) as bar:

                def watch(
                    iteration: int, planned: int, scores: object, bar: tqdm[Any] = bar
                ) -> None:
                    bar.total = planned
                    bar.update(iteration - bar.n)

                entry = fit_plan(problem, names, FitPlan(model, values, (self.seed,)), watch)
            if not entry.fits:
                raise UserError(entry.doubts[0].text)
            entries[model] = entry
        print_entries(entries)
        worthless |= next(iter(entries.values())).worthless
        return {model: entry.fits[0] for model, entry in entries.items()}, worthless

    def write(
        self, out: Path, loaded: Loaded, fits: Mapping[str, Fit], *, with_scores: bool, escape: bool
    ) -> None:
        """Write the rows of `predictions.rows`.

        In a CSV file escape what a spreadsheet would run, or warn of it.
        """
        from transferbench.files import writing
        from transferbench.userdata import multilabel, predictions

        given = self.reading.separator
        separator = multilabel.SEPARATOR if given is None else given
        rows = predictions.rows(
            loaded.problem, fits, loaded.targets, separator=separator, with_scores=with_scores
        )
        with writing(out) as temporary:
            formula = predictions.write(temporary, rows, out.suffix, escape=escape)
        if formula:
            message = "a spreadsheet would run it; --escape-formulas writes it as text"
            echo(f"warning: {out} has {brief(formula)}: {message}.", err=True)


def by_class(values: Sequence[float]) -> str:
    """Return fractions by class in per cent; of many classes the least and the largest."""
    known = [value for value in values if value == value]
    if not known:
        return ""
    if len(values) <= FEW_CLASSES:
        return "/".join("–" if value != value else f"{100 * value:.0f}" for value in values)
    return f"{100 * min(known):.0f}–{100 * max(known):.0f}"


def print_used(problem: Problem, names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Print the sizes, classes and options that are used to stderr."""
    from transferbench.choose.criteria import shares_text
    from transferbench.core.priors import labelled_shares

    sizes = zip(names, problem.domains, strict=True)
    files = ", ".join(f"{name} {len(domain.seen)}" for name, domain in sizes)
    echo(f"documents: {files}; features: {problem.domains[0].X.shape[1]}", err=True)
    if problem.sources:
        shares = shares_text(problem.classes, labelled_shares(problem))
        echo(f"classes of the source: {shares}", err=True)
    plain = {k: str(v).lower() if isinstance(v, bool) else v for k, v in options.items()}
    if plain:
        shown = ", ".join(f"{name}={value}" for name, value in plain.items())
        echo(f"options: {shown}", err=True)
    if options.get("tokens") == "characters":
        note = "features are pairs of characters, as most are of a script without spaces"
        echo(f"note: {note}; --option tokens=words splits at spaces.", err=True)


def print_doubts(doubts: Sequence[Doubt]) -> None:
    """Print doubts as warnings to stderr."""
    for doubt in doubts:
        echo(f"warning: {doubt.text}", err=True)


def print_entries(entries: Mapping[str, Entry]) -> None:
    """Print each doubt about decisions once, with the models that it concerns."""
    concerned: dict[str, list[str]] = {}
    for model, entry in entries.items():
        for doubt in entry.doubts:
            concerned.setdefault(doubt.text, []).extend([model] if entry.fits else [])
    for text, models in concerned.items():
        start = f"{', '.join(models)}: " if models and len(entries) > 1 else ""
        echo(f"warning: {start}{text}", err=True)


def _from_options(**given: Any) -> UserData:
    reading = Reading(**{name: given.pop(name) for name in READING})
    return UserData(reading, **given)


def _reading_options() -> dict[str, Callable[..., Any]]:
    """Return the options of `Reading` by the name of the field."""
    options = {}
    for name, parameter in schema(Reading.__init__).items():
        default, (text,) = parameter.default, parameter.type.__metadata__
        options[name] = click.option(
            READING[name], name, default=default, is_flag=default is False,
            show_default=isinstance(default, str), help=text,
        )  # fmt: skip
    return options


def user_data(*required: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options and passes their values as one UserData."""
    return passing("user", _from_options, declared(UserData, required) | _reading_options())
