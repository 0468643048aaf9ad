"""The options of `compare` and `predict`: the user's files, and the models to fit on them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench.cli._options import Checked, Seed, completing, model_names, option, passing
from transferbench.cli._terminal import echo
from transferbench.errors import UserError, brief
from transferbench.files import file_mode, user_path
from transferbench.messages import counted
from transferbench.own.documents import Labels, ReadOptions, find_domains, stop_words_file
from transferbench.own.evidence import REFERENCE, WITHOUT_RECOMMENDATION
from transferbench.parameters import Count, Positive, parse
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.own.session import Session
    from transferbench.problem import Family

#: The value of --model that stands for the recommended model.
AUTO = "auto"
#: Suffixes of a page.
HTML = (".html", ".htm")
#: The option for the features of the user's texts.
TASK_OPTIONS: tuple[str, ...] = option(
    "--option", multiple=True, metavar="NAME=VALUE",
    help="Set how texts become features; `describe own` lists the options. Repeatable.",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Values of the options that name the user's files and the models to fit."""

    sources: tuple[str, ...] = option(
        "--source", type=click.Path(), multiple=True,
        help="Labelled documents of one domain (.csv .tsv .jsonl .svm .npz): a file, a "
        "folder, a quoted pattern, or several of these separated by commas; repeatable. Without a "
        "source, the targets are clustered.",
    )  # fmt: skip
    targets: tuple[str, ...] = option(
        "--target", type=click.Path(), multiple=True, required=True,
        help="Documents of another domain, given as for --source; repeatable.",
    )  # fmt: skip
    models: tuple[str, ...] = option(
        "--model", "-m", multiple=True, shell_complete=completing(lambda: [AUTO, *model_names()]),
        help="Model to fit; repeatable. The value auto fits the quick models and takes the "
        "recommended one.  [default: auto]",
    )  # fmt: skip
    params: tuple[str, ...] = option(
        "--set", multiple=True, metavar="[MODEL.]NAME=VALUE",
        help="Set a parameter of MODEL, or of every fitted model that has it; repeatable.",
    )  # fmt: skip
    seed: int = option(
        "--seed", type=Checked(Seed), default=0, show_default=True,
        help="Seed of random models, and of the draw for --label-sample.",
    )  # fmt: skip
    task_options: tuple[str, ...] = TASK_OPTIONS
    label_sample: int | None = option(
        "--label-sample", type=Checked(Count), metavar="N",
        help="Write N random documents of the targets to the file of --labels. Fill in their "
        "labels, then run again with --labels alone.",
    )  # fmt: skip
    labels: str | None = option(
        "--labels", type=click.Path(),
        help="File with the sample that you labelled. It trains the models, and shows what "
        "accuracy to expect. With --label-sample it is the file to write  "
        "[default: label-these.csv].",
    )  # fmt: skip
    label_weight: float | None = option(
        "--label-weight", type=Checked(Positive), metavar="W",
        help="In training, a labelled document of the sample counts as W documents of a source.  "
        "[default: 10]",
    )  # fmt: skip
    why: bool = option("--why", is_flag=True, help="Also print the evidence of the recommendation.")
    force: bool = option(
        "--force",
        is_flag=True,
        help="Accept a worthless result; without this option the exit code is 1. If no model is "
        "recommended for single labels, `predict --force` uses the first named model, or logistic "
        "regression if you name none.",
    )


@dataclass(frozen=True, kw_only=True)
class UserData(ReadOptions, FileOptions):
    """Values of all options; the help lists first FileOptions, then ReadOptions."""

    setting_form = "{flag} {quoted}"

    @property
    def auto(self) -> bool:
        """True if the user asks for the recommended model."""
        return not self.models or AUTO in self.models

    @property
    def named(self) -> list[str]:
        """The named models, without AUTO."""
        return [name for name in dict.fromkeys(self.models) if name != AUTO]

    @property
    def sample_file(self) -> Path:
        """The file of the documents to label."""
        return Path("label-these.csv" if self.labels is None else self.labels)

    @property
    def sampled(self) -> bool:
        """True if --labels names a sample that is labelled already."""
        return bool(self.labels) and not self.label_sample

    @property
    def family(self) -> Family:
        """The family of the problem; the first named model decides it."""
        from transferbench.own.fits import choose_family

        return choose_family(self.named, bool(self.sources), self.separator)

    def models_to_fit(self, *, labelling: bool = False) -> list[str]:
        """Return the names of the models to fit."""
        # `labelling`: True if the models shall label documents; `auto` then stands for the
        # recommended model alone.
        from transferbench.own.fits import model_names

        clusters = self.family == "clustering"
        if self.auto and (clusters or (labelling and self.family != "transfer")):
            predicted, example = WITHOUT_RECOMMENDATION[self.family]
            remedy = f"name one, as in --model {example} (`transferbench list models`)"
            raise UserError(f"no model is recommended for {predicted}; {remedy}.")
        if clusters or (labelling and not self.auto):
            return self.named
        signed = self.features == "embeddings"
        reference = (REFERENCE[self.family],) if labelling else ()
        quick = model_names(self.family, reference, signed=signed)
        return model_names(self.family, [*(quick if self.auto else ()), *self.named])

    def open_session(
        self, names: Sequence[str], labels: Labels, *, repeats: int = 1, clusters: int = 0
    ) -> Session:
        """Read the files, and print what is used of them."""
        from transferbench.own.fits import params_by_model, plan_fits
        from transferbench.own.session import Session

        params = params_by_model(parse(self.params), names, self.named)
        session = Session.from_files(
            self.sources, self.targets,
            plan_fits(self.family, names, params, repeats=repeats, seed=self.seed),
            labels=labels, label_file=self.sample_file if self.sampled else None,
            label_weight=self.label_weight,
            options=parse(self.task_options), read_options=self, clusters=clusters,
            using=click.get_current_context().find_object(Settings),
        )  # fmt: skip
        print_used(session)
        return session

    def write_sample(self, session: Session) -> None:
        """Write the sample to label if the user asks for one, and print what to do with it."""
        from transferbench.own.predictions import blank_texts

        if not self.label_sample:
            return
        count = session.write_sample(self.sample_file, self.label_sample, self.label, self.seed)
        if blank := sum(sum(blank_texts(documents)) for documents in session.targets):
            echo(f"{counted(blank, 'document')} without a text cannot be drawn", err=True)
        what = f"{counted(count, 'document')} to label; fill in the column {self.label}"
        option = "--target" if self.family == "multilabel" else "--labels"
        echo(f"{self.sample_file}: {what}, then give {option} {self.sample_file}", err=True)

    def check_outputs(self, out: Path | None = None, html: Path | None = None) -> None:
        """Check that the outputs and the sample to label can be written, before work begins."""
        # `out`, `html`: Files of --out and --html, None without the option.
        if self.label_weight is not None and not self.sampled:
            raise UserError(
                "--label-weight weighs the labels of a sample; name its file by --labels."
            )
        from transferbench.own.predictions import COLUMNS, SUFFIXES

        sample = self.sample_file if self.label_sample else None
        outputs = [
            ("--out", out, SUFFIXES),
            ("--html", html, HTML),
            ("--labels", sample, (".csv",)),
        ]
        taken = {self.text.casefold(), self.label.casefold()} & COLUMNS
        if taken and (out or self.label_sample):
            why = "transferbench writes a column of this name, so yours would be lost"
            raise UserError(f"column {brief(taken.pop())}: {why}; rename it in your file.")
        read = input_files([*self.sources, *self.targets], self.vectors, self.task_options)
        check_outputs(outputs, [*read, *([self.sample_file] if self.sampled else [])])
        if sample and os.path.lexists(sample):
            raise UserError(f"--labels {sample} exists and may hold labels; name another file.")


def input_files(
    names: Sequence[str], vectors: Sequence[str], task_options: Sequence[str]
) -> list[Path]:
    """Return the files that are read: those of domains, of vectors and of stop words."""
    words = stop_words_file(parse(task_options).get("stop_words", "none"))
    files = [file for domain in find_domains(names) for file in domain.files]
    return [*files, *map(user_path, vectors), *filter(None, [words])]


def check_outputs(
    outputs: Iterable[tuple[str, Path | None, Sequence[str]]], inputs: Iterable[Path]
) -> None:
    """Check that files can be written and are no inputs, before work begins."""
    # `outputs`: Options with their files, None without one, and their suffixes.
    used = {os.path.realpath(file) for file in inputs}  # Path.resolve raises for a loop of links
    for flag, path, suffixes in outputs:
        if path is None:
            continue
        name = f"{flag} {path}"
        if path.suffix.lower() not in suffixes:
            expected = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
            raise UserError(f"{name}: expected a name that ends in {expected}.")
        if os.path.realpath(path) in used:
            raise UserError(f"{name} is one of the files to read or write; choose another.")
        used.add(os.path.realpath(path))
        why = ""
        with suppress(OSError):  # no regular file, read-only, or a name that is too long
            file_mode(path)
            if os.access(path.parent, os.W_OK):
                continue
            why = "" if path.parent.is_dir() else " Reason: the folder does not exist."
        raise UserError(f"{name}: no file can be written there; name another place.{why}")


def print_used(session: Session) -> None:
    """Print the numbers of documents and features, and the options in use, to stderr."""
    sizes = ", ".join(f"{file.path} {len(file)}" for file in (*session.sources, *session.targets))
    widths = [view.shape[1] for view in session.problem.domains[0].views]
    parts = [f"{widths[0]}{' of embeddings' * (session.features == 'embeddings')}"]
    if len(widths) - (session.features == "both") > 1:
        parts.append(f"{widths[1]} n-grams of characters")
    if session.features == "both":
        parts.append(f"{widths[-1]} of embeddings")
    echo(f"documents: {sizes}; features: {' + '.join(parts)}", err=True)
    if session.options:
        assignments = ", ".join(f"{name}={value}" for name, value in session.options.items())
        echo(f"options: {assignments}", err=True)
    if session.options.get("tokens") == "characters":
        note = "features are pairs of characters, not words"
        echo(f"note: {note}; --option tokens=words splits at spaces.", err=True)


#: Add the options, whose values a command takes as one UserData, `user`.
user_data = passing("user", UserData)
