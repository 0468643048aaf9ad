"""The user's own documents: options of commands, the models to fit, and what is printed."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench.choose.evidence import QUICK, RECOMMENDED, WITHOUT_RECOMMENDATION
from transferbench.cli._options import completing, model_names, option, passing
from transferbench.cli._terminal import echo
from transferbench.errors import UserError
from transferbench.files import file_mode
from transferbench.messages import counted
from transferbench.userdata.documents import Labels, Reading, find_domains

if TYPE_CHECKING:
    from transferbench.choose.advice import Choice
    from transferbench.choose.compare import Comparison
    from transferbench.choose.session import Session
    from transferbench.problem import Family, Fit, Problem

#: The name of the recommended model.
AUTO = "auto"
#: Width of sentences.
WIDTH = 100
#: Of more classes the shares of those are printed that differ most from the source's.
MAX_SHARES = 6


@dataclass(frozen=True, kw_only=True)
class Files:
    """Values of the options that name the user's files and the models to fit."""

    sources: tuple[str, ...] = option(
        "--source", type=click.Path(), multiple=True,
        help="Labelled documents of a domain (.csv .tsv .jsonl .svm .npz): a file, a "
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
        help="Write N random documents of the targets to label to --labels, fill in their labels, "
        "and run again with --labels.",
    )  # fmt: skip
    labels: str | None = option(
        "--labels", type=click.Path(),
        help="The filled-in sample: it gives the class shares of the targets, and the model. With "
        "--label-sample a new file  [default: label-these.csv].",
    )  # fmt: skip
    why: bool = option("--why", is_flag=True, help="Also print the evidence of the recommendation.")
    force: bool = option(
        "--force",
        is_flag=True,
        help="Accept a worthless result; without it the exit code is 1. If no model is recommended "
        "for single labels, `predict` takes the first one that is named, or logistic regression.",
    )


@dataclass(frozen=True, kw_only=True)
class UserData(Reading, Files):
    """Values of all options; those of Files come first in the help."""

    @property
    def auto(self) -> bool:
        """True if the recommended model is to be taken."""
        return not self.models or AUTO in self.models

    @property
    def named(self) -> list[str]:
        """The named models, without `auto`."""
        return [name for name in dict.fromkeys(self.models) if name != AUTO]

    @property
    def sample_file(self) -> Path:
        """The file of the documents to label."""
        return Path("label-these.csv" if self.labels is None else self.labels)

    @property
    def sampled(self) -> bool:
        """True if there is a sample with labels."""
        return bool(self.labels) and not self.label_sample

    @property
    def family(self) -> Family:
        """The family of the problem, by that of the first named model."""
        from transferbench.choose.fits import choose_family

        return choose_family(self.named, bool(self.sources), self.separator)


def to_fit(user: UserData, *, labelling: bool = False) -> list[str]:
    """Return the models to fit; raise UserError for `auto` where none can be recommended.

    labelling: documents are to be labelled; `auto` takes the recommended model alone.
    """
    from transferbench.choose.fits import model_names

    clusters = user.family == "clustering"
    if user.auto and (clusters or (labelling and user.family != "transfer")):
        what, example = WITHOUT_RECOMMENDATION[user.family]
        remedy = f"name one, as in --model {example} (`transferbench list models`)"
        raise UserError(f"no model is recommended for {what}; {remedy}.")
    if clusters or (labelling and not user.auto):
        return user.named
    quick = (RECOMMENDED,) if labelling and not user.sampled else QUICK[user.family]
    return model_names(user.family, [*(quick if user.auto else ()), *user.named])


def open_session(
    user: UserData,
    names: Sequence[str],
    labels: Labels,
    *,
    repeats: int = 1,
    clusters: int = 0,
) -> Session:
    """Read the files, print to stderr what is used, and write the sample to label."""
    from transferbench.choose.fits import assign
    from transferbench.choose.session import Session
    from transferbench.parameters import parse

    session = Session.of_files(
        user.sources, user.targets, names=names, family=user.family,
        params=assign(parse(user.assignments), names, user.named), repeats=repeats, seed=user.seed,
        labels=labels, label_file=user.sample_file if user.sampled else None,
        options=parse(user.options), reading=user, clusters=clusters,
    )  # fmt: skip
    _print_used(session)
    if user.label_sample:
        count = session.write_sample(user.sample_file, user.label_sample, user.label)
        what = f"{counted(count, 'document')} to label; fill in the column {user.label}"
        echo(f"{user.sample_file}: {what}, then give --labels {user.sample_file}", err=True)
    return session


def compare(session: Session) -> Comparison:
    """Compare the models, with a progress bar."""
    from tqdm import tqdm

    return session.compare(lambda plans: tqdm(plans, "models", leave=False, disable=None))


def check_files(user: UserData, out: Path | None = None) -> None:
    """Raise UserError if --out or the sample cannot be written; nothing is read or made."""
    from transferbench.userdata.predictions import SUFFIXES

    files: list[tuple[str, Path, Sequence[str]]] = [("--out", out, SUFFIXES)] if out else []
    if user.label_sample:
        files.append(("--labels", user.sample_file, (".csv",)))
    domains = find_domains([*user.sources, *user.targets])
    # Path.resolve raises for a loop of links.
    used = {os.path.realpath(file) for domain in domains for file in domain.files}
    for flag, path, suffixes in files:
        name = f"{flag} {path}"
        if path.suffix not in suffixes:
            raise UserError(f"{name}: expected a name that ends in {' or '.join(suffixes)}.")
        if os.path.realpath(path) in used:
            raise UserError(f"{name} is one of the files to read or write; choose another.")
        used.add(os.path.realpath(path))
        try:
            file_mode(path)
            can_write = path.parent.is_dir() and os.access(path.parent, os.W_OK)
        except OSError:  # no regular file, read-only, or a name that is too long
            can_write = False
        if not can_write:
            raise UserError(f"{name}: no file can be written there; name another place.")
        if flag == "--labels" and os.path.lexists(path):
            raise UserError(f"{name} exists and may hold labels; name another file.")


def _print_used(session: Session) -> None:
    """Print the sizes and options that are used to stderr."""
    sizes = ", ".join(f"{file.path} {len(file)}" for file in (*session.sources, *session.targets))
    echo(f"documents: {sizes}; features: {session.problem.domains[0].X.shape[1]}", err=True)
    if session.options:
        assignments = ", ".join(f"{name}={value}" for name, value in session.options.items())
        echo(f"options: {assignments}", err=True)
    if session.options.get("tokens") == "characters":
        note = "features are pairs of characters, not words"
        echo(f"note: {note}; --option tokens=words splits at spaces.", err=True)


def print_shares(problem: Problem, fits: Mapping[str, Fit]) -> None:
    """Print the shares of the classes in each target, as the models decide, beside the source's."""
    import numpy as np

    from transferbench.choose.compare import decided_shares

    if not problem.sources:
        return
    source = np.concatenate([domain.Y[domain.seen] for domain in problem.domains]).mean(axis=0)
    more = ", …" if len(source) > MAX_SHARES else ""
    for model, fit in fits.items():
        by_target = decided_shares(problem, fit)
        for target, shares in by_target.items():
            farthest = np.argsort(-np.abs(shares - source), kind="stable")[:MAX_SHARES]
            parts = [
                f"{problem.classes[c]} {100 * shares[c]:.0f} % (source {100 * source[c]:.0f})"
                for c in sorted(farthest)
            ]
            place = f" in {target}" if len(by_target) > 1 else ""
            echo(f"shares by {model}{place}: {', '.join(parts)}{more}")


def print_choice(choice: Choice, why: bool) -> None:
    """Print the recommendation, a sentence a line, and its evidence if that is asked for."""
    for sentence in [*choice.sentences, *([choice.evidence] if why else [])]:
        echo(textwrap.fill(sentence, WIDTH))


def print_warnings(compared: Comparison, models: Iterable[str]) -> None:
    """Print the doubts about documents and about the decisions of models to stderr."""
    lines = [str(doubt) for doubt in compared.doubts]
    lines += [f"{model}: {doubt}" for model in models for doubt in compared.models[model].doubts]
    for line in lines:
        echo(f"warning: {line}.", err=True)


#: Add the options, whose values a command takes as one UserData, `user`.
user_data = passing("user", UserData)
