"""transferbench topics."""

from __future__ import annotations

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
    passing,
    task,
    task_names,
)
from transferbench.cli._terminal import echo, echo_json
from transferbench.cli._user import HTML, TASK_OPTIONS, check_outputs, input_files, print_used
from transferbench.errors import UserError
from transferbench.files import user_path
from transferbench.messages import no_formula, shorten
from transferbench.own.documents import ReadOptions, find_domains
from transferbench.parameters import Count, CountOrZero, parse
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.own.corpus import CorpusTopics
    from transferbench.own.page import Describe
    from transferbench.own.session import Session
    from transferbench.own.topics import Topics
    from transferbench.problem import Fit, Problem

#: Words of a document without a text.
LARGEST = 10
#: Effective number of topics below which one of them holds nearly everything.
COLLAPSED = 1.5
#: Diversity below which topics have nearly the same words.
ALIKE = 0.1


def _output(flag: str, text: str) -> Any:
    """Declare the option of a file to write."""
    return option(
        flag, type=click.Path(), help=text, callback=lambda _, __, path: path and user_path(path)
    )


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """Values of the options that say what to fit, to print and to write."""

    ks: tuple[int, ...] | None = option(
        "--k", type=Checked(tuple[Count, ...], "N[,N…]"),
        help="Number of topics without a model. Several numbers with commas are compared.  "
        "[default: 20]",
    )  # fmt: skip
    assignments: tuple[str, ...] = option(
        "--set", multiple=True, metavar="NAME=VALUE", help="Parameter of the model; repeatable."
    )
    seed: int = option(
        "--seed", type=Checked(Seed), default=0, show_default=True, help="Seed of the fit."
    )
    words: int = option(
        "--words", type=Checked(Count), default=10, show_default=True, help="Words of a topic."
    )
    most: int = option(
        "--topics", type=Checked(Count), default=10, show_default=True,
        help="Number of topics to print for each domain, the largest first.",
    )  # fmt: skip
    documents: int = option(
        "--documents", type=Checked(CountOrZero), default=0, show_default=True,
        help="Number of typical documents to print for each topic.",
    )  # fmt: skip
    relevance: float = option(
        "--relevance", type=Checked(Annotated[float, Ge(0), Le(1)]), default=0.6, show_default=True,
        help="Order of the words of a topic. 1 orders them by their frequency in the topic. A "
        "smaller value also prefers words that are more frequent there than elsewhere.",
    )  # fmt: skip
    csv: Path | None = _output("--csv", "Write all topics as CSV.")  # noqa: RUF009
    html: Path | None = _output("--html", "Write all topics as a page.")  # noqa: RUF009
    by_document: Path | None = _output(  # noqa: RUF009
        "--by-document",
        "Write the largest topic of each document as CSV, beside your columns but the text.",
    )
    shares: Path | None = _output(  # noqa: RUF009
        "--shares",
        "Write the shares of all topics in each document as CSV, as --by-document does.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object only.")


@dataclass(frozen=True, kw_only=True)
class Request(ReadOptions, TopicOptions):
    """Values of all options; the help lists first TopicOptions, then ReadOptions."""

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
    task_options: tuple[str, ...] = TASK_OPTIONS

    @property
    def of_topics(self) -> dict[str, Any]:
        """The arguments of the functions that find topics."""
        typical = max(self.documents, 3)
        return {"words": self.words, "typical": typical, "relevance": self.relevance}

    def check(self, model: str | None, name: str | None) -> None:
        """Check the options against each other and, before work begins, the files to write."""
        from transferbench import datasets, tasks

        inputs = input_files([*self.sources, *self.targets], self.vectors, self.task_options)
        if name and (users := tasks.users_path(value := tasks.Task.parse(task(name)))):
            inputs += datasets.module(value.base).user_files(user_path(users))
        table = (".csv",)
        check_outputs(
            [
                ("--csv", self.csv, table), ("--by-document", self.by_document, table),
                ("--shares", self.shares, table), ("--html", self.html, HTML),
            ],
            inputs,
        )  # fmt: skip
        if bool(name) == bool(self.sources or self.targets):
            raise UserError("expected either a task or files (--source, --target).")
        of_files = {each.name for each in fields(TopicOptions)}
        flags = [
            each.metadata["flags"][0]
            for each in fields(self)
            if each.name not in of_files
            and getattr(self, each.name) != (() if each.default is MISSING else each.default)
        ]
        if name and flags:
            raise UserError(
                f"{', '.join(flags)}: only for files (--source, --target); write options of a task "
                "into its name (TASK:NAME=VALUE), those of your own task into its file."
            )
        if self.separator is not None:
            why = "models with topics take one label" if model else "labels are not read"
            raise UserError(f"--label-separator: {why}; leave it out.")
        if model and not name and not self.targets:
            raise UserError("--target is missing; name a file of documents of another domain.")
        if model and not name and not self.sources:
            raise UserError(
                f"--source is missing; name a file of labelled documents. For topics without "
                f"labels, leave out {model}."
            )
        if self.assignments and not model:
            raise UserError("--set is for a model; name one, or set the number of topics by --k.")
        if self.ks and model:
            raise UserError(
                f"--k is for topics without a model; set parameters of {model} by --set."
            )

    def write(self, found: Topics | CorpusTopics, session: Session) -> None:
        """Write the tables of the topics and of the documents."""
        from transferbench.files import write_text
        from transferbench.own import predictions

        if self.csv:
            table = found.to_frame().map(no_formula)
            write_text(self.csv, table.to_csv(index=False, float_format="%.4g"))
        names = [domain.name for domain in session.problem.domains]
        read = dict(zip(names, (*session.sources, *session.targets), strict=False))
        of_sources = dict.fromkeys(names[: len(self.sources)], self.of_sources().text)
        texts = dict.fromkeys(names, self.text) | of_sources
        tables = ((self.by_document, found.documents_frame), (self.shares, found.shares_frame))
        for path, frame in tables:
            if path:
                predictions.write(path, predictions.beside_columns(frame(), read, texts))


@click.command()
@click.argument(
    "model",
    metavar="[MODEL]",
    required=False,
    shell_complete=completing(lambda: models.WITH_TOPICS),
)
@click.argument("name", metavar="[TASK]", required=False, shell_complete=completing(task_names))
@passing("asked", Request)
@click.pass_obj
def command(settings: Settings, model: str | None, name: str | None, asked: Request) -> None:
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

    has_files = bool(asked.sources or asked.targets)
    if model and not name and not has_files and model not in models.registry() and is_task(model):
        model, name = None, model
    for given in (model, name):
        if given and user_path(given).exists() and not given.endswith(YAML_SUFFIXES):
            raise UserError(f"{given} is a file; write --target before each file of documents.")
    asked.check(model, name)
    if model:
        _topics_of_model(model, name, asked, settings)
    else:
        _topics_of_corpus(name, asked, settings)
    for path in filter(None, (asked.csv, asked.html, asked.by_document, asked.shares)):
        echo(path, err=asked.as_json)


def _topics_of_corpus(name: str | None, asked: Request, settings: Settings) -> None:
    """Find topics without labels, print and write them."""
    from transferbench import tasks
    from transferbench.cli import _topics
    from transferbench.own.problem import load_unlabelled
    from transferbench.own.session import Session

    if name:
        session = Session(tasks.load(tasks.Task.parse(task(name)), settings)[0], ())
    else:
        domains = find_domains(asked.sources), find_domains(asked.targets)
        loaded = load_unlabelled(*domains, parse(asked.task_options), asked)
        session = Session(loaded.problem, (), targets=loaded.targets, options=loaded.options)
        print_used(session)
    problem, describe = session.problem, _describe(session)
    ks = asked.ks or (20,)
    try:
        found, numbers = _topics.fit(problem, ks, seed=asked.seed, **asked.of_topics)
    except ValueError as error:
        raise UserError(f"{error}; give a smaller --k.") from error
    notes = _topics.notes(found)
    asked.write(found, session)
    if asked.html:
        from transferbench.own import page

        what = problem.name if name else shorten(", ".join(d.name for d in problem.domains), 80)
        set_to = {"k": ",".join(map(str, ks)), "seed": asked.seed, "relevance": asked.relevance}
        options = {**session.options, **set_to}
        sentences = [*_topics.contrasts(found), *notes]
        page.write_corpus(asked.html, problem, found, numbers, sentences, describe, options, what)
    if asked.as_json:
        rows = [topic.to_dict() for topic in found.topics]
        compared = [{"k": n.k, **n.measures} for n in numbers]
        quality = {"coherence": found.coherence, "diversity": found.diversity}
        echo_json({"k": len(found.topics), "quality": quality, "numbers": compared, "topics": rows})
    else:
        if numbers:
            _topics.print_numbers(numbers, found)
        _topics.print_topics(found, describe, asked.most, asked.documents)
    for note in notes:
        echo(f"note: {note}.", err=True)


def _topics_of_model(model: str, name: str | None, asked: Request, settings: Settings) -> None:
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
    fit, session = _fitted(model, name, asked, settings)
    problem, describe = session.problem, _describe(session)
    try:
        found = topics.topics_of(fit, problem, **asked.of_topics)
    except ValueError as error:
        raise UserError(f"{model}: {error}.") from error
    asked.write(found, session)
    if asked.html:
        from transferbench.own import page

        options = parse(asked.task_options)
        page.write_topics(asked.html, model, problem, found, describe, options, named=bool(name))
    if asked.as_json:
        measures = ("coherence", "diversity", "effective")
        quality = {d: {m: getattr(found, m)(d) for m in measures} for d in found.topics}
        rows = found.to_frame().to_dict("records")
        echo_json({"model": model, "classes": found.classes, "quality": quality, "topics": rows})
    else:
        _topics.print_topics_of_model(found, describe, asked.most, asked.documents)
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


def _fitted(
    model: str, name: str | None, asked: Request, settings: Settings
) -> tuple[Fit, Session]:
    """Return the fit of a model, with its problem and the user's files."""
    from transferbench import api, tasks
    from transferbench.core.parallel import threads, use_threads
    from transferbench.own.fits import plan_fits
    from transferbench.own.session import Session
    from transferbench.runs.machine import cores

    given, seed = parse(asked.assignments), asked.seed
    with use_threads(), use_threads(min(threads(), cores())):
        if name:
            problem, _ = tasks.load(tasks.Task.parse(task(name)), settings)
            params = api.resolve(model, problem.family, given)
            try:
                fit = models.fit(model, problem, params, seed=seed, watch=None)
            except ValueError as error:
                raise UserError(f"{model}: {error}; try other parameters (--set).") from error
            return fit, Session(problem, ())
        session = Session.from_files(
            asked.sources, asked.targets,
            plan_fits("transfer", [model], {model: given}, seed=seed),
            labels="none", options=parse(asked.task_options), read_options=asked, using=settings,
        )  # fmt: skip
        compared = session.compare(crossed=False, untrained=False, clusters=True)
    fits = compared.models[model].fits
    if not fits:
        reasons = "; ".join(map(str, compared.models[model].doubts))
        raise UserError(f"{model} cannot be fitted: {reasons}.")
    for doubt in (*compared.doubts, *compared.models[model].doubts):
        echo(f"warning: {doubt}.", err=True)
    return fits[0], session


def _describe(session: Session) -> Describe:
    """Return the function that describes a document: by its text or, of a task, by its words."""
    return session.describe_in if session.targets else partial(_largest_words, session.problem)


def _largest_words(problem: Problem, name: str, row: int) -> tuple[str, str]:
    """Return the number of a document, and its largest words in place of its text."""
    import scipy.sparse as sp

    X = next(domain.X for domain in problem.domains if domain.name == name)
    values = sp.csr_array(X[[row]]).toarray()[0]
    largest = (-values).argsort(kind="stable")[:LARGEST]
    words = (problem.features[w] for w in largest if problem.features and values[w])
    return f"{name}, document {row + 1}", ", ".join(words)
