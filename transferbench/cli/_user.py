"""The user's own documents: options of commands, the models to fit, and what is printed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.choose.evidence import QUICK, RECOMMENDED, UNADVISED
from transferbench.cli._options import completing, declared, model_names, option, passing
from transferbench.cli._terminal import echo
from transferbench.errors import Doubt, UserError
from transferbench.messages import counted
from transferbench.userdata.documents import Labels, Reading, find_domains

if TYPE_CHECKING:
    from transferbench.choose.compare import Comparison, Entry
    from transferbench.problem import Family, Fit
    from transferbench.settings import Settings
    from transferbench.userdata.load import Loaded

#: The name of the recommended model.
AUTO = "auto"
#: Width of sentences.
WIDTH = 100
#: Of more classes the shares of those are printed that differ most from the source's.
MAX_SHARES = 6


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
    def named(self) -> list[str]:
        """The named models, without `auto`."""
        return [name for name in dict.fromkeys(self.models) if name != AUTO]

    @property
    def sample_file(self) -> Path:
        """The file of the documents to label."""
        return Path("label-these.csv" if self.label_file is None else self.label_file)

    @property
    def family(self) -> Family:
        """The family of the problem, by that of the first named model."""
        from transferbench.choose.compare import choose_family

        return choose_family(self.named, bool(self.sources), self.reading.separator)


def to_fit(user: UserData, *, only_advice: bool = False, advised: bool = True) -> list[str]:
    """Return the models to fit.

    only_advice: those that a recommendation needs, not the quick ones. advised: False if one must
    be named in this family; then raise UserError for `auto`.
    """
    from transferbench.choose import compare

    if user.auto and not advised:
        what, example = UNADVISED[user.family]
        raise UserError(
            f"no model is recommended for {what}; name one, as in --model {example} "
            "(`transferbench list models`)."
        )
    if user.family == "clustering" or (only_advice and not user.auto):
        return user.named
    quick = (RECOMMENDED,) if only_advice else QUICK[user.family]
    return compare.model_names(user.family, [*(quick if user.auto else ()), *user.named])


def fit_models(
    user: UserData,
    settings: Settings,
    names: Sequence[str],
    labels: Labels,
    *,
    repeats: int = 1,
    clusters: int = 0,
) -> tuple[Loaded, Comparison]:
    """Read the files, print to stderr what is used, write the sample to label, and fit the models.

    Options are checked first: reading large files takes long.
    """
    from tqdm import tqdm

    from transferbench.choose.compare import assign, compare, plan
    from transferbench.parameters import parse
    from transferbench.userdata import predictions
    from transferbench.userdata.load import load

    params = assign(parse(user.assignments), names, user.named)
    plans = plan(user.family, names, params, repeats=repeats, seed=user.seed)
    loaded = load(
        find_domains(user.sources),
        find_domains(user.targets),
        family=user.family,
        labels=labels,
        reading=user.reading,
        options=parse(user.options),
        clusters=clusters,
        label_file=None if user.label_file is None or user.label_sample else user.sample_file,
        max_bytes=settings.max_bytes,
    )
    _print_used(loaded)
    if user.label_sample:
        sample = predictions.sample(loaded.targets, user.label_sample)
        # With a byte order mark, by which spreadsheets know UTF-8.
        predictions.write(user.sample_file, iter(sample), "utf-8-sig")
        echo(f"{user.sample_file}: {counted(len(sample), 'document')} to label", err=True)
    bar = tqdm(plans, "models", leave=False, disable=None)
    return loaded, compare(loaded.problem, bar, names=target_names(loaded))


def check_files(user: UserData, out: Path | None = None) -> None:
    """Raise UserError if --out or the sample cannot be written; nothing is read or made."""
    from transferbench.userdata.predictions import SUFFIXES

    files: list[tuple[str, Path, Sequence[str]]] = [("--out", out, SUFFIXES)] if out else []
    if user.label_sample:
        files.append(("--label-file", user.sample_file, (".csv",)))
    domains = find_domains([*user.sources, *user.targets])
    # Path.resolve raises for a loop of links.
    used = {os.path.realpath(file) for domain in domains for file in domain.files}
    for flag, path, suffixes in files:
        name, folder = f"{flag} {path}", path.parent
        if path.suffix not in suffixes:
            raise UserError(f"{name}: expected a name that ends in {' or '.join(suffixes)}.")
        if os.path.realpath(path) in used:
            raise UserError(f"{name} is one of the files to read or write; choose another.")
        used.add(os.path.realpath(path))
        if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
            raise UserError(f"{name}: no file can be written there; name another place.")
        if flag == "--label-file" and os.path.lexists(path):
            raise UserError(f"{name} exists and may hold labels; name another file.")


def target_names(loaded: Loaded) -> list[str]:
    """Return how messages call the targets."""
    return [str(documents.path) for documents in loaded.targets]


def _print_used(loaded: Loaded) -> None:
    """Print the sizes and options that are used, and the tasks of several sources, to stderr."""
    from transferbench.userdata.multilabel import members_of_tasks

    problem = loaded.problem
    sizes = ", ".join(f"{file.path} {len(file)}" for file in (*loaded.sources, *loaded.targets))
    echo(f"documents: {sizes}; features: {problem.domains[0].X.shape[1]}", err=True)
    values = {k: str(v).lower() if isinstance(v, bool) else v for k, v in loaded.options.items()}
    if values:
        assignments = ", ".join(f"{name}={value}" for name, value in values.items())
        echo(f"options: {assignments}", err=True)
    if values.get("tokens") == "characters":
        note = "features are pairs of characters, not words"
        echo(f"note: {note}; --option tokens=words splits at spaces.", err=True)
    if problem.family == "multilabel" and len(loaded.sources) > 1:
        names = [domain.name for domain in problem.domains]
        tasks = [" + ".join(names[i] for i in task) for task in members_of_tasks(problem)]
        echo(f"note: tasks: {', '.join(tasks)}", err=True)


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


def _from_options(**values: Any) -> UserData:
    reading = Reading(**{part.name: values.pop(part.name) for part in fields(Reading)})
    return UserData(reading, **values)


#: Add the options, whose values a command takes as one UserData, `user`.
user_data = passing("user", _from_options, declared(UserData) | declared(Reading))
