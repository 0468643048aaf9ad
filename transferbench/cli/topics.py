"""transferbench topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from annotated_types import Ge, Le

from transferbench import models
from transferbench.cli._options import (
    Checked,
    Seed,
    completing,
    is_task,
    option,
    parameter_options,
    passing,
    task,
    task_names,
)
from transferbench.cli._terminal import echo, echo_json
from transferbench.cli._user import check_outputs, input_files, print_used
from transferbench.errors import UserError
from transferbench.files import user_path
from transferbench.messages import no_formula, shorten
from transferbench.own.documents import ReadOptions, find_domains
from transferbench.parameters import Count, CountOrZero, parse
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.own.corpus import CorpusTopics
    from transferbench.own.documents import Documents
    from transferbench.own.page import Describe
    from transferbench.own.topics import Topics
    from transferbench.problem import Fit, Problem

#: Words of a document without a text.
LARGEST = 10
#: Effective number of topics below which one of them holds nearly everything.
COLLAPSED = 1.5
#: Diversity below which topics have nearly the same words.
ALIKE = 0.1


@dataclass(frozen=True, kw_only=True)
class Files(ReadOptions):
    """Values of the options that name the user's files."""

    setting_form = "{flag} {quoted}"
    sources: tuple[str, ...] = option(
        "--source", type=click.Path(), multiple=True,
        help="Labelled documents of a domain of your own, given as for `compare`; repeatable. "
        "Without a model, labels are not read.",
    )  # fmt: skip
    targets: tuple[str, ...] = option(
        "--target", type=click.Path(), multiple=True,
        help="Documents of another domain of your own; repeatable.",
    )  # fmt: skip
    task_options: tuple[str, ...] = option(
        "--option", multiple=True, metavar="NAME=VALUE",
        help="Set how texts become features; `describe own` lists the options. Repeatable.",
    )  # fmt: skip

    def changed(self) -> list[str]:
        """Return the options that do not have their default."""
        defaults = {f: () if f.default is MISSING else f.default for f in fields(self)}
        return [f.metadata["flags"][0] for f, v in defaults.items() if getattr(self, f.name) != v]


@click.command()
@click.argument(
    "model",
    metavar="[MODEL]",
    required=False,
    shell_complete=completing(lambda: models.WITH_TOPICS),
)
@click.argument("name", metavar="[TASK]", required=False, shell_complete=completing(task_names))
@click.option(
    "--k", "ks", type=Checked(tuple[Count, ...], "N[,N…]"),
    help="Number of topics without a model. Several numbers with commas are compared.  "
    "[default: 20]",
)  # fmt: skip
@parameter_options
@click.option("--seed", type=Checked(Seed), default=0, show_default=True, help="Seed of the fit.")
@click.option(
    "--words", type=Checked(Count), default=10, show_default=True, help="Words of a topic."
)
@click.option(
    "--topics", "most", type=Checked(Count), default=10, show_default=True,
    help="Number of topics to print for each domain, the largest first.",
)  # fmt: skip
@click.option(
    "--documents", type=Checked(CountOrZero), default=0, show_default=True,
    help="Number of typical documents to print for each topic.",
)  # fmt: skip
@click.option(
    "--relevance", type=Checked(Annotated[float, Ge(0), Le(1)]), default=0.6, show_default=True,
    help="Order of the words of a topic. 1 orders them by their frequency in the topic. A smaller "
    "value also prefers words that are more frequent there than elsewhere.",
)  # fmt: skip
@click.option("--csv", "csv", type=click.Path(path_type=Path), help="Write all topics as CSV.")
@click.option("--html", type=click.Path(path_type=Path), help="Write all topics as a page.")
@click.option(
    "--by-document", type=click.Path(path_type=Path),
    help="Write the largest topic of each document as CSV, beside your columns but the text.",
)  # fmt: skip
@click.option(
    "--shares", type=click.Path(path_type=Path),
    help="Write the shares of all topics in each document as CSV, as --by-document does.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
@passing("files", Files)
@click.pass_obj
def command(
    settings: Settings, model: str | None, name: str | None, ks: tuple[int, ...] | None,
    assignments: tuple[str, ...], seed: int, words: int, most: int, documents: int,
    relevance: float, csv: Path | None, html: Path | None, by_document: Path | None,
    shares: Path | None, as_json: bool, files: Files,
) -> None:  # fmt: skip
    """Print the topics of documents: their words, shares and typical documents.

    \b
    transferbench topics --target 2024.csv --target 2025.csv --k 20
    transferbench topics dtl comp-vs-rec
    transferbench topics dtl --source labelled.csv --target mail.csv --html topics.html

    Without MODEL, no label is needed or read. The topics are those of scikit-learn's NMF on the
    documents of all domains, which stand side by side: the share of each topic in each domain, the
    difference from the first domain, and which topics one domain has and another lacks.

    With MODEL, the topics are the clusters of words of a tri-factorisation. The command fits the
    model, and divides each entry of a document among the clusters. For each topic it prints the
    share of all entries, the share of documents in which the topic is the largest, the shares of
    the classes, and the words.

    Coherence (NPMI) is 0 if the words of a topic occur together as often as by chance, and 1 if
    they always do. Diversity is the share of different words among the words of all topics. The
    effective number of topics is less than the number of clusters if a few topics hold most
    entries.
    """
    from transferbench.tasks import YAML_SUFFIXES

    has_files = bool(files.sources or files.targets)
    if model and not name and not has_files and model not in models.registry() and is_task(model):
        model, name = None, model
    for given in (model, name):
        if given and user_path(given).exists() and not given.endswith(YAML_SUFFIXES):
            raise UserError(f"{given} is a file; write --target before each file of documents.")
    csv, html, by_document, shares = (
        path and user_path(path) for path in (csv, html, by_document, shares)
    )
    output = Outputs(csv, html, by_document, shares, as_json)
    output.check(name, files)
    shown = Shown(words, most, documents, relevance)
    _check_files(model, name, files)
    if model is None:
        if assignments:
            raise UserError("--set is for a model; name one, or set the number of topics by --k.")
        _topics_of_corpus(name, ks or (20,), seed, shown, output, files, settings)
        return
    if ks:
        raise UserError(f"--k is for topics without a model; set parameters of {model} by --set.")
    _topics_of_model(model, name, assignments, seed, shown, output, files, settings)


@dataclass(frozen=True)
class Shown:
    """The numbers of words, topics and documents to show, and the order of the words."""

    words: int
    topics: int
    documents: int
    relevance: float

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the functions that find topics."""
        typical = max(self.documents, 3)
        return {"words": self.words, "typical": typical, "relevance": self.relevance}


@dataclass(frozen=True)
class Outputs:
    """The files to write."""

    csv: Path | None
    html: Path | None
    by_document: Path | None
    shares: Path | None
    #: True if only JSON is printed.
    as_json: bool

    def check(self, name: str | None, files: Files) -> None:
        """Check the outputs against the files of the user that are read, see `check_outputs`."""
        from transferbench import datasets, tasks

        names = [*files.sources, *files.targets]
        inputs = input_files(names, files.vectors, files.task_options)
        if name and (users := tasks.users_path(value := tasks.Task.parse(task(name)))):
            inputs += datasets.module(value.base).user_files(user_path(users))
        outputs = (
            ("--csv", self.csv, (".csv",)),
            ("--by-document", self.by_document, (".csv",)),
            ("--shares", self.shares, (".csv",)),
            ("--html", self.html, (".html", ".htm")),
        )
        check_outputs([(flag, path, suffixes) for flag, path, suffixes in outputs if path], inputs)

    def write(
        self, found: Topics | CorpusTopics, read: Mapping[str, Documents], files: Files
    ) -> None:
        """Write the tables of the topics and of the documents."""
        # `read`: The user's documents of each domain; empty for a task.
        from transferbench.files import write_text
        from transferbench.own import predictions

        if self.csv:
            table = found.to_frame().map(no_formula)
            write_text(self.csv, table.to_csv(index=False, float_format="%.4g"))
        of_sources = dict.fromkeys([*read][: len(files.sources)], files.of_sources().text)
        texts = dict.fromkeys(read, files.text) | of_sources
        tables = ((self.by_document, found.documents_frame), (self.shares, found.shares_frame))
        for path, frame in tables:
            if path:
                predictions.write(path, predictions.beside_columns(frame(), read, texts))

    def name(self) -> None:
        """Print the names of the files that were written."""
        for path in filter(None, (self.csv, self.html, self.by_document, self.shares)):
            echo(path, err=self.as_json)


def _check_files(model: str | None, name: str | None, files: Files) -> None:
    """Check that there is a task or files, and what a task and a model need."""
    has_files = bool(files.sources or files.targets)
    if bool(name) == has_files:
        raise UserError("expected either a task or files (--source, --target).")
    if name and (flags := files.changed()):
        raise UserError(
            f"{', '.join(flags)}: only for files (--source, --target); write options of a task "
            "into its name (TASK:NAME=VALUE), those of your own task into its file."
        )
    if files.separator is not None:
        why = "models with topics take one label" if model else "labels are not read"
        raise UserError(f"--label-separator: {why}; leave it out.")
    if model and has_files and not files.targets:
        raise UserError("--target is missing; name a file of documents of another domain.")
    if model and has_files and not files.sources:
        raise UserError(
            f"--source is missing; name a file of labelled documents. For topics without labels, "
            f"leave out {model}."
        )


def _topics_of_corpus(
    name: str | None, ks: tuple[int, ...], seed: int, shown: Shown, output: Outputs, files: Files,
    settings: Settings,
) -> None:  # fmt: skip
    """Find topics without labels, print and write them."""
    from transferbench import tasks
    from transferbench.cli import _topics
    from transferbench.own.problem import load_unlabelled
    from transferbench.own.session import Session

    describe: Describe
    read: Mapping[str, Documents] = {}
    if name:
        problem, _ = tasks.load(tasks.Task.parse(task(name)), settings)
        describe, options = partial(_largest_words, problem), {}
    else:
        loaded = load_unlabelled(
            find_domains(files.sources),
            find_domains(files.targets),
            parse(files.task_options),
            files,
        )
        problem, options = loaded.problem, loaded.options
        read = _by_domain(problem, loaded.targets)
        session = Session(problem, (), targets=loaded.targets, options=options)
        print_used(session)
        describe = session.describe_in
    try:
        found, numbers = _topics.fit(problem, ks, seed=seed, **shown.settings)
    except ValueError as error:
        raise UserError(f"{error}; give a smaller --k.") from error
    notes = _topics.notes(found)
    output.write(found, read, files)
    if output.html:
        from transferbench.own import page

        what = problem.name if name else shorten(", ".join(d.name for d in problem.domains), 80)
        set_to = {"k": ",".join(map(str, ks)), "seed": seed, "relevance": shown.relevance}
        options = {**options, **set_to}
        sentences = [*_topics.contrasts(found), *notes]
        page.write_corpus(output.html, problem, found, numbers, sentences, describe, options, what)
    if output.as_json:
        rows = [topic.to_dict() for topic in found.topics]
        compared = [{"k": n.k, **n.measures} for n in numbers]
        quality = {"coherence": found.coherence, "diversity": found.diversity}
        echo_json({"k": len(found.topics), "quality": quality, "numbers": compared, "topics": rows})
    else:
        if numbers:
            _topics.print_numbers(numbers, found)
        _topics.print_topics(found, describe, shown.topics, shown.documents)
    for note in notes:
        echo(f"note: {note}.", err=True)
    output.name()


def _by_domain(problem: Problem, read: Sequence[Documents]) -> dict[str, Documents]:
    """Return the user's documents of each domain by its name."""
    return {domain.name: documents for domain, documents in zip(problem.domains, read, strict=True)}


def _topics_of_model(
    model: str, name: str | None, assignments: Sequence[str], seed: int, shown: Shown,
    output: Outputs, files: Files, settings: Settings,
) -> None:  # fmt: skip
    """Find the topics of a model, print and write them."""
    from transferbench import topics
    from transferbench.cli import _topics

    is_ours = models.get(model).path.is_relative_to(models.FOLDER)
    if is_ours and model not in models.WITH_TOPICS:
        expected = ", ".join(models.WITH_TOPICS)
        raise UserError(
            f"{model} has no feature clusters; expected {expected}. For topics without labels, "
            "leave out the model."
        )
    fit, problem, read, describe = _fitted(model, name, assignments, seed, files, settings)
    try:
        found = topics.topics_of(fit, problem, **shown.settings)
    except ValueError as error:
        raise UserError(f"{model}: {error}.") from error
    output.write(found, read, files)
    if output.html:
        from transferbench.own import page

        options = parse(files.task_options)
        page.write_topics(output.html, model, problem, found, describe, options, named=bool(name))
    if output.as_json:
        quality = {
            domain: {
                "coherence": found.coherence(domain),
                "diversity": found.diversity(domain),
                "effective": found.effective(domain),
            }
            for domain in found.topics
        }
        rows = found.to_frame().to_dict("records")
        echo_json({"model": model, "classes": found.classes, "quality": quality, "topics": rows})
    else:
        _topics.print_topics_of_model(found, describe, shown.topics, shown.documents)
    for domain, of_domain in found.topics.items():
        why = ""
        if found.effective(domain) < COLLAPSED:
            why = f"one topic holds {100 * of_domain[0].share:.0f} % of all entries"
        elif found.diversity(domain) < ALIKE:
            why = f"the topics have nearly the same words (diversity {found.diversity(domain):.2f})"
        if why and len(of_domain) > 2:
            others = "another model" if model == "dtl" else "another model, such as dtl"
            remedy = f"--set lam=0.01 or {others}" if model == "gcmf" else others
            echo(f"warning: {domain}: {why}; try {remedy}.", err=True)
    output.name()


def _fitted(
    model: str, name: str | None, assignments: Sequence[str], seed: int, files: Files,
    settings: Settings,
) -> tuple[Fit, Problem, dict[str, Documents], Describe]:  # fmt: skip
    """Return the fit, its problem, the user's files, and the function that describes a document."""
    from transferbench import api, tasks
    from transferbench.core.parallel import threads, use_threads
    from transferbench.own.fits import plan_fits
    from transferbench.own.session import Session
    from transferbench.runs.machine import cores

    given = parse(assignments)
    with use_threads(), use_threads(min(threads(), cores())):
        if name:
            problem, _ = tasks.load(tasks.Task.parse(task(name)), settings)
            params = api.resolve(model, problem.family, given)
            try:
                fit = models.fit(model, problem, params, seed=seed, watch=None)
            except ValueError as error:
                raise UserError(f"{model}: {error}; try other parameters (--set).") from error
            return fit, problem, {}, partial(_largest_words, problem)
        session = Session.from_files(
            files.sources, files.targets, plan_fits("transfer", [model], {model: given}, seed=seed),
            labels="none", options=parse(files.task_options), read_options=files, using=settings,
        )  # fmt: skip
        compared = session.compare(crossed=False, untrained=False, clusters=True)
    fits = compared.models[model].fits
    if not fits:
        reasons = "; ".join(map(str, compared.models[model].doubts))
        raise UserError(f"{model} cannot be fitted: {reasons}.")
    for doubt in (*compared.doubts, *compared.models[model].doubts):
        echo(f"warning: {doubt}.", err=True)
    read = _by_domain(session.problem, [*session.sources, *session.targets])
    return fits[0], session.problem, read, session.describe_in


def _largest_words(problem: Problem, name: str, row: int) -> tuple[str, str]:
    """Return the number of a document, and its largest words in place of its text."""
    import scipy.sparse as sp

    X = next(domain.X for domain in problem.domains if domain.name == name)
    values = sp.csr_array(X[[row]]).toarray()[0]
    largest = (-values).argsort(kind="stable")[:LARGEST]
    words = (problem.features[w] for w in largest if problem.features and values[w])
    return f"{name}, document {row + 1}", ", ".join(words)
