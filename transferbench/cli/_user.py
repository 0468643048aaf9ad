"""The user's own documents: options of commands, the problem, fits and predictions."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._options import completing, declared, model_names, option, passing
from transferbench.cli._terminal import echo
from transferbench.errors import Doubt, UserError
from transferbench.messages import counted
from transferbench.parameters import parse, schema
from transferbench.userdata.documents import Documents, DomainFiles, Labels, Reading

if TYPE_CHECKING:
    from transferbench.choose.compare import Comparison, Entry, FitPlan
    from transferbench.problem import Family, Fit
    from transferbench.userdata.load import Loaded

#: The name of the recommended model.
AUTO = "auto"
#: Family without a recommendation → what its models give, and one of them.
UNADVISED = {"multilabel": ("several labels", "linear-svm"), "clustering": ("clusters", "lskmtc")}
#: Width of sentences.
WIDTH = 100
#: Of more classes the shares of those are printed that differ most from the source's.
MAX_SHARES = 6
#: Option of the command line for each field of `Reading`.
READING = {
    "text": "--text-column",
    "label": "--label-column",
    "id": "--id-column",
    "separator": "--label-separator",
}


@dataclass(frozen=True)
class UserData:
    """Values of the options: the user's files, how to read them, and the models to fit."""

    reading: Reading
    sources: tuple[str, ...] = option(
        "--source", type=click.Path(), multiple=True,
        help="Labelled documents of a domain (.csv .tsv .jsonl .parquet .svm .npz): a file, a "
        "folder, a quoted pattern, or several with commas between; repeatable. Without any, the "
        "targets are clustered.",
    )  # fmt: skip
    targets: tuple[str, ...] = option(
        "--target", type=click.Path(), multiple=True, required=True,
        help="Documents of another domain, named as for --source; repeatable.",
    )  # fmt: skip
    models: tuple[str, ...] = option(
        "--model", "-m", multiple=True, shell_complete=completing(lambda: [AUTO, *model_names()]),
        help="Model to fit; repeatable. auto: fit the quick models, and take the one that is "
        "recommended.  [default: auto]",
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
    label_sample: int | None = option(
        "--label-sample", type=click.IntRange(1), metavar="N",
        help="Write N random documents of the targets to --label-file. Fill in its column `label`, "
        "and run `compare` again with --label-file: it scores every model on them.",
    )  # fmt: skip
    label_file: str | None = option(
        "--label-file", type=click.Path(),
        help="New file for --label-sample [default: label-these.csv]; without --label-sample the "
        "labels of targets, as filled in there.",
    )  # fmt: skip
    force: bool = option(
        "--force", is_flag=True, help="Accept a worthless result; without it the exit code is 1."
    )

    @property
    def auto(self) -> bool:
        """True if the recommended model is to be taken."""
        return not self.models or AUTO in self.models

    @property
    def sample_file(self) -> Path:
        """The file of the documents to label."""
        return Path("label-these.csv" if self.label_file is None else self.label_file)

    @property
    def named(self) -> list[str]:
        """The named models, without `auto`."""
        return [name for name in dict.fromkeys(self.models) if name != AUTO]

    @property
    def family(self) -> Family:
        """The family of the problem, by that of the first named model."""
        from transferbench.choose.compare import choose_family

        return choose_family(self.named, bool(self.sources), self.reading.separator)

    def compared(self, only_advice: bool = False) -> list[str]:
        """Return the models to compare; only_advice: those that a recommendation needs."""
        from transferbench.choose.compare import QUICK, RECOMMENDED, model_names

        if self.family == "clustering":
            return self.named
        quick = (RECOMMENDED,) if only_advice else QUICK[self.family]
        return model_names(self.family, [*(quick if self.auto else ()), *self.named])

    def check_named(self) -> None:
        """Raise UserError if the recommended model is asked for where none is recommended."""
        if self.auto:
            what, example = UNADVISED[self.family]
            raise UserError(
                f"no model is recommended for {what}; name one, as in --model {example} "
                "(`transferbench list models`)."
            )

    def plans(self, models: Sequence[str], repeats: int = 1) -> list[FitPlan]:
        """Return what to fit, with all parameters of the models.

        NAME is for all models that have it, MODEL.NAME overrides it. Raise UserError for an unknown
        model, another family than the first one's, an unknown parameter or value.
        """
        from transferbench import models as registry
        from transferbench.choose.compare import plan

        functions = {name: registry.load(name) for name in models}
        given: dict[str, dict[str, str]] = {}
        assigned = parse(self.assignments)
        for key in sorted(assigned, key=lambda key: "." in key):
            model, dot, name = key.rpartition(".")
            having = [n for n in functions if name in schema(functions[n])]
            # One that no model has is refused by `resolve`, which knows the names.
            for taker in [model] if dot else having or [*self.named, *functions][:1]:
                given.setdefault(taker, {})[name] = assigned[key]
        return plan(self.family, models, given, repeats=repeats, seed=self.seed)

    def domains(self) -> tuple[list[DomainFiles], list[DomainFiles]]:
        """Return the files of the sources and of the targets."""
        from transferbench.userdata.documents import find_domains

        return find_domains(self.sources), find_domains(self.targets)

    def read(self, labels: Labels, clusters: int = 0) -> Loaded:
        """Read the files, print to stderr what is used, and write the sample to label.

        Options are checked first: reading large files takes long.
        """
        from transferbench.userdata.load import load
        from transferbench.userdata.multilabel import members_of_tasks

        loaded = load(
            *self.domains(),
            family=self.family,
            labels=labels,
            reading=self.reading,
            options=parse(self.options),
            clusters=clusters,
            label_file=None if self.label_file is None or self.label_sample else self.sample_file,
        )
        print_used(loaded)
        if self.family == "multilabel" and len(self.sources) > 1:
            called = [domain.name for domain in loaded.problem.domains]
            members = members_of_tasks(loaded.problem)
            tasks = ", ".join(" + ".join(called[i] for i in task) for task in members)
            echo(f"note: tasks: {tasks}", err=True)
        self.write_sample(loaded.targets)
        return loaded

    def check_files(self, out: Path | None = None) -> None:
        """Raise UserError if --out or the sample cannot be written; nothing is read or made."""
        from transferbench.userdata.predictions import SUFFIXES

        files: list[tuple[str, Path, Sequence[str]]] = [("--out", out, SUFFIXES)] if out else []
        if self.label_sample:
            files.append(("--label-file", self.sample_file, (".csv",)))
        # Path.resolve raises for a loop of links.
        inputs = {os.path.realpath(file) for d in chain(*self.domains()) for file in d.files}
        for flag, path, suffixes in files:
            name, folder = f"{flag} {path}", path.parent
            if path.suffix not in suffixes:
                raise UserError(f"{name}: expected a name that ends in {' or '.join(suffixes)}.")
            if os.path.realpath(path) in inputs:
                raise UserError(f"{name} is one of the files to read or write; choose another.")
            inputs.add(os.path.realpath(path))
            if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
                raise UserError(f"{name}: no file can be written there; name another place.")
            if flag == "--label-file" and os.path.lexists(path):
                raise UserError(f"{name} exists and may hold labels; name another file.")

    def compare(self, loaded: Loaded, plans: Sequence[FitPlan]) -> Comparison:
        """Fit models with a bar, and recommend one if it is among them."""
        from tqdm import tqdm

        from transferbench.choose.compare import compare

        bar = tqdm(plans, "models", leave=False, disable=None)
        return compare(loaded.problem, bar, names=target_names(loaded))

    def write_sample(self, targets: Sequence[Documents]) -> None:
        """Write --label-sample documents, drawn with a fixed seed, in the order of the files."""
        from transferbench.userdata.predictions import Row, as_text, write

        total = sum(map(len, targets))
        drawn = set(random.Random(0).sample(range(total), min(self.label_sample or 0, total)))

        def rows() -> Iterator[Row]:
            places = ((d, i, *row) for d in targets for i, row in enumerate(d.rows()))
            texts = (text for d in targets if d.kind == "texts" for text in d.content)
            for number, (d, i, file, row) in enumerate(places):
                text = {"text": as_text(next(texts))} if d.kind == "texts" else {}
                if number in drawn:
                    id_ = as_text(d.ids[i]) if d.ids else ""
                    yield {"file": str(file), "row": row, "id": id_, **text, "label": ""}

        if drawn:
            # With a byte order mark, by which spreadsheets know UTF-8.
            write(self.sample_file, rows(), "utf-8-sig")
            echo(f"{self.sample_file}: {counted(len(drawn), 'document')} to label", err=True)


def target_names(loaded: Loaded) -> list[str]:
    """Return how messages call the targets."""
    return [str(documents.path) for documents in loaded.targets]


def print_used(loaded: Loaded) -> None:
    """Print the sizes and options that are used to stderr."""
    sizes = (f"{file.path} {len(file)}" for file in (*loaded.sources, *loaded.targets))
    features = loaded.problem.domains[0].X.shape[1]
    echo(f"documents: {', '.join(sizes)}; features: {features}", err=True)
    values = {k: str(v).lower() if isinstance(v, bool) else v for k, v in loaded.options.items()}
    if values:
        shown = ", ".join(f"{name}={value}" for name, value in values.items())
        echo(f"options: {shown}", err=True)
    if values.get("tokens") == "characters":
        note = "features are pairs of characters, not words"
        echo(f"note: {note}; --option tokens=words splits at spaces.", err=True)


def print_shares(loaded: Loaded, fits: Mapping[str, Fit]) -> None:
    """Print the shares of the classes in each target, as the models decide, beside the source's."""
    import numpy as np

    from transferbench.measures import THRESHOLD

    problem, names = loaded.problem, target_names(loaded)
    if not problem.sources:
        return
    source = np.concatenate([domain.Y[domain.seen] for domain in problem.domains]).mean(axis=0)
    for model, fit in fits.items():
        for name, scores in zip(names, fit.scores[-len(names) :], strict=True):
            if problem.family == "multilabel":
                decided = scores >= THRESHOLD
            else:
                decided = scores.argmax(axis=1)[:, None] == np.arange(len(source))
            shares = decided.mean(axis=0)
            farthest = np.argsort(-np.abs(shares - source), kind="stable")
            few = len(source) <= MAX_SHARES
            parts = [
                f"{problem.classes[c]} {100 * shares[c]:.0f} % (source {100 * source[c]:.0f})"
                for c in (range(len(source)) if few else farthest[:MAX_SHARES])
            ]
            place = f" in {name}" if len(names) > 1 else ""
            echo(f"shares by {model}{place}: {', '.join(parts)}{'' if few else ', …'}")


def print_warnings(loaded: Loaded, entries: Mapping[str, Entry], doubts: Sequence[Doubt]) -> None:
    """Print doubts to stderr: about documents in one line a target, about models in one a model.

    Models with the same doubts share a line.
    """
    one = len(loaded.targets) == 1
    lines: dict[str, list[str]] = {}
    for doubt in doubts:
        lines.setdefault(doubt.target, []).append(doubt.text)
    concerned: dict[tuple[str, ...], list[str]] = {}
    for model, entry in entries.items():
        texts = tuple(doubt.text if one else str(doubt) for doubt in entry.doubts)
        concerned.setdefault(texts, []).append(model)
    lines |= {", ".join(models): [*texts] for texts, models in concerned.items() if texts}
    for subject, reasons in lines.items():
        echo(f"warning: {subject}: {'; '.join(reasons)}.", err=True)


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


#: Add the options, whose values a command takes as one UserData, `user`.
user_data = passing("user", _from_options, declared(UserData) | _reading_options())
