"""A page on one comparison of models on a user's documents: one HTML file that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, FileSystemLoader
from markupsafe import Markup

from transferbench import __version__
from transferbench.choose.compare import Comparison, decided_shares
from transferbench.choose.sample import held_out, sample_of
from transferbench.choose.session import Session
from transferbench.choose.text import columns, legend, scored_sentence, warning_lines
from transferbench.comparison_page import document_map, topic_section
from transferbench.evidence import page as report_page
from transferbench.files import write_text
from transferbench.measures import THRESHOLD
from transferbench.messages import printable, short_label
from transferbench.problem import Fit, Problem, Truth
from transferbench.topics import topics_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.topics import Topics

#: Largest number of classes with a row in a picture of shares: those that differ most.
MAX_SHARES = 12
#: Largest number of classes with a full confusion matrix; of more, so many of the most frequent
#: confusions are listed. Also the largest number of labels of multi-label problems.
MAX_CONFUSION, MAX_CONFUSED = 12, 20


@dataclass(frozen=True)
class Content:
    """A comparison, as its page shows it."""

    #: The user's documents, and their problem.
    session: Session
    compared: Comparison
    table: DataFrame
    #: The model whose decisions are shown, None if no model could be fitted.
    model: str | None

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.compared.problem

    @property
    def fit(self) -> Fit | None:
        """The fit of the model's first seed."""
        return self.compared.models[self.model].fits[0] if self.model else None

    @property
    def truth(self) -> Truth | None:
        """The labels by which the models are scored."""
        return self.session.truth or sample_of(self.problem)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the scores: the classes, or the clusters by number."""
        if self.fit is None or self.fit.columns == "classes":
            return [*map(short_label, self.problem.classes)]
        return [f"cluster {c + 1}" for c in range(self.fit.scores[0].shape[1])]


@dataclass(frozen=True)
class Section:
    """A part of the page: its title and its HTML."""

    title: str
    html: Markup


@dataclass(frozen=True)
class Bars:
    """A table of two bars in each row."""

    #: `caption`, `head`: Caption of the table, and head of its first column.
    caption: str
    head: str
    #: What the first and the second bar are.
    legend: tuple[str, str]
    #: A name and two shares, from 0 to 1, in each row.
    rows: Sequence[tuple[str, float, float]]


def write(
    path: Path,
    session: Session,
    compared: Comparison,
    table: DataFrame,
    preferred: Sequence[str] = (),
) -> None:
    """Write the page of a comparison."""
    # `preferred`: Models whose decisions are to be shown: the first one that has a fit. By default
    # the recommended one, else the first of all.
    best = [compared.choice.model] if compared.choice.model else []
    names = [name for name in (*preferred, *best, *compared.models) if compared.models[name].fits]
    content = Content(session, compared, table, names[0] if names else None)
    made = [make(content) for make in SECTIONS]
    sentences = compared.choice.sentences or (f"Compared: {', '.join(compared.models)}.",)
    html = _environment().get_template("page.html.j2").render(
        title=sentences[0].rstrip("."),
        sentences=sentences[1:],
        evidence=compared.choice.evidence,
        warnings=warning_lines(compared, compared.models),
        documents=_documents(session),
        features=[view.shape[1] for view in content.problem.domains[0].views],
        options=session.options,
        sections=[section for section in made if section],
        command="compare", about="What was compared", version=__version__,
    )  # fmt: skip
    write_text(path, html)


def write_topics(
    path: Path,
    model: str,
    problem: Problem,
    found: Topics,
    describe: topic_section.Describe,
    options: Mapping[str, object],
    *,
    named: bool,
) -> None:
    """Write a page of the topics of a fit."""
    # `describe`: Returns the place and the text of a document, by the name of its domain and its
    # row.
    made = topic_section.tables(found, [domain.name for domain in problem.targets], describe)
    section = Section("Topics by domain", _topics(model, made, found, ""))
    html = _environment().get_template("page.html.j2").render(
        title=f"Topics of {model} on {problem.name if named else 'your documents'}",
        sentences=(), evidence="", warnings=(),
        documents=[(f"domain {d.name}", f"{len(d.seen):,} documents") for d in problem.domains],
        features=[problem.domains[0].X.shape[1]], options=options, sections=[section],
        command="topics", about="What was fitted", version=__version__,
    )  # fmt: skip
    write_text(path, html)


def _documents(session: Session) -> list[tuple[str, str]]:
    """Return the file of each domain, or its name, and what it has."""
    files = [*session.sources, *session.targets]
    found = []
    for i, domain in enumerate(session.problem.domains):
        n = f"{len(domain.seen):,}"
        if not files:
            found.append((f"domain {domain.name}", f"{n} documents"))
            continue
        part = f", {n} of them compared" if session.rows else ""
        about = f"{len(files[i]):,} documents, domain {domain.name}{part}"
        found.append((str(files[i].path), about))
    return found


@cache
def _environment() -> Environment:
    """Return the environment of the templates: those of the page, and the style of the report."""
    # Control characters of a user's texts are escaped as in the terminal, and everything but Markup
    # is escaped as HTML.
    own = FileSystemLoader(Path(__file__).parent / "templates")
    base = report_page.environment()
    environment = base.overlay(
        loader=ChoiceLoader([own, *([base.loader] if base.loader else [])]),
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    return environment


def _html(macro: str, *values: Any) -> Markup:
    """Return the HTML of a macro of comparison_parts.html.j2."""
    module: Any = _environment().get_template("comparison_parts.html.j2").module
    return Markup(getattr(module, macro)(*values))


def _bars(sentences: Sequence[str], tables: Sequence[Bars]) -> Markup:
    """Return the HTML of sentences and of tables of bars, whose scale is the same."""
    end = max(share for table in tables for row in table.rows for share in row[1:]) or 1.0
    return _html("all_bars", sentences, tables, end)


def models_section(content: Content) -> Section | None:
    """Return the table of the compared models, for each target, and what its columns mean."""
    tables = []
    for target, group in content.table.groupby("target", sort=False):
        rows = group.to_dict("records")
        cells = columns(rows, content.problem)
        cells["s"] = cells.pop("s")  # last, since a phone shows the first columns
        cells = {head: values for head, values in cells.items() if any(values)}
        lines = [*zip(*cells.values(), strict=True)]
        best = [bool(row["recommended"]) for row in rows]
        note = scored_sentence(rows, content.problem)
        tables.append(
            (f"Models compared on {target}", [*cells], [*zip(lines, best, strict=True)], note)
        )
    values = content.table.drop(columns="warnings")
    shown = values.round(4).astype(str).where(values.notna(), "")
    everything = [*values], shown.to_numpy().tolist()
    text = legend(content.table, content.problem)
    return Section("The compared models", _html("models", tables, text, everything))


def shares_section(content: Content) -> Section | None:
    """Return the shares of the classes in the source beside those of the decisions."""
    problem, fit = content.problem, content.fit
    if fit is None or fit.columns != "classes" or not problem.sources:
        return None
    source = np.concatenate([domain.Y for domain in problem.sources]).mean(axis=0)
    bars = []
    for target, shares in decided_shares(problem, fit).items():
        farthest = sorted(np.argsort(-np.abs(shares - source), kind="stable")[:MAX_SHARES])
        rows = [
            (short_label(problem.classes[c]), float(source[c]), float(shares[c])) for c in farthest
        ]
        more = f": the {MAX_SHARES} that differ most" if len(source) > MAX_SHARES else ""
        names = "labels of the source", f"decisions of {content.model} on {target}"
        bars.append(Bars(f"Shares of the classes in {target}{more}", "class", names, rows))
    return Section("Class shares", _bars([], bars))


def confusion_section(content: Content) -> Section | None:
    """Return how the decisions of the model agree with the labels of each target, if it has any."""
    truth, fit = content.truth, content.fit
    if fit is None or truth is None:
        return None
    judged, clusters = held_out(fit), fit.columns == "clusters"
    parts, columns_of_fit = [], content.column_names
    labels = [*map(short_label, truth.classes)]
    for name, Y, rows, scores in zip(
        truth.names, truth.Y, truth.scored, judged.scores, strict=True
    ):
        if not rows.any():
            continue
        if truth.family == "multilabel":
            decided, true = scores[rows] >= THRESHOLD, Y[rows] > 0
            counts = [
                (label, int(true[:, c].sum()), int((true & decided)[:, c].sum()),
                 int((true & ~decided)[:, c].sum()), int((~true & decided)[:, c].sum()))
                for c, label in enumerate(labels)
            ]  # fmt: skip
            counts.sort(key=lambda row: -row[1])
            more = f", the {MAX_CONFUSED} most frequent ones" if len(counts) > MAX_CONFUSED else ""
            caption = f"{name}: labels of {rows.sum():,} documents{more}"
            parts.append(_html("by_label", caption, counts[:MAX_CONFUSED]))
            continue
        matrix = np.zeros((Y.shape[1], scores.shape[1]), int)
        np.add.at(matrix, (Y[rows].argmax(axis=1), scores[rows].argmax(axis=1)), 1)
        if len(matrix) <= MAX_CONFUSION and matrix.shape[1] <= MAX_CONFUSION:
            parts.append(
                _html("confusion", name, matrix.tolist(), labels, columns_of_fit, clusters)
            )
        elif not clusters:
            wrong = matrix - np.diag(np.diag(matrix))
            order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_CONFUSED]
            pairs = [
                (labels[i], labels[j], int(wrong[i, j]))
                for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
                if wrong[i, j]
            ]
            parts.append(_html("confused", name, pairs, int(np.trace(matrix)), int(matrix.sum())))
    if not parts:
        return None
    if content.session.sampled:
        which = (
            "The documents are those of the labelled sample. Each is decided by a fit that had not "
            "seen its label."
        )
    else:
        which = "The labels are those of the target's own column. No model has seen them."
    title = "Labels and clusters" if clusters else "Right and wrong decisions"
    return Section(title, _html("confusions", which, content.model, parts, clusters))


def map_section(content: Content) -> Section | None:
    """Return the map of the documents, coloured by domain and by decision."""
    made = document_map.draw(content.session, content.fit, content.truth, content.column_names)
    if made is None:
        return None
    return Section("Map of the documents", _html("document_map", made, content.model))


def topics_section(content: Content) -> Section | None:
    """Return the topics of the factorisation whose topics are the most coherent ones."""
    problem, session = content.problem, content.session
    by_model = {}
    for name, model in content.compared.models.items():
        if model.fits and any(model.fits[0].factors):
            with suppress(ValueError):  # no document has a word
                by_model[name] = topics_of(model.fits[0], problem)
    if not by_model or not problem.features:
        return None
    targets = [domain.name for domain in problem.targets]

    def coherence(name: str) -> float:
        found = by_model[name]
        values = [found.coherence(target) for target in targets if target in found.topics]
        known = [value for value in values if not math.isnan(value)]
        return fmean(known) if known else -1.0

    best = max(by_model, key=coherence)
    why = f"Its topics are the most coherent ones of {', '.join(by_model)}."
    if len(by_model) == 1:
        why = ""
    if coherence(best) <= 0:
        why += " Their coherence is not above chance, so read them with care."
    made = topic_section.tables(by_model[best], targets, session.describe_in)
    return Section("Topics", _topics(best, made, by_model[best], why.strip()))


def _topics(
    model: str, made: Sequence[topic_section.TopicTable], found: Topics, why: str
) -> Markup:
    """Return the HTML of tables of topics, and why they are those of this model."""
    kind = "document clusters" if found.columns == "clusters" else "classes"
    return _html("topics", model, made, topic_section.names(found), kind, why)


def words_section(content: Content) -> Section | None:
    """Return the words that separate the domains, as bars."""
    bars, sentences = [], []
    files = content.session.sources
    what = "Word" if not files or files[0].kind == "texts" else "Feature"
    for target, separation in content.compared.separations.items():
        if not separation.words:
            continue
        sentences.append(
            f"A classifier separates the documents of {target} from those of the source "
            f"(area under the ROC curve {separation.area:.2f}; 0.5 is chance, 1 is perfect)."
        )
        names = "documents of the source with it", f"documents of {target} with it"
        captions = f"{what}s of {target}", f"{what}s of the source, against {target}"
        for caption, of_target in zip(captions, (True, False), strict=True):
            rows = [
                (word.name, word.in_sources, word.in_target)
                for word in separation.words
                if word.of_target == of_target
            ]
            if rows:
                bars.append(Bars(caption, what.lower(), names, rows))
    if not bars:
        return None
    return Section(f"{what}s that separate the domains", _bars(sentences, bars))


#: The sections of the page, in order. One that makes no sense for a comparison returns None.
SECTIONS: Sequence[Callable[[Content], Section | None]] = (
    models_section,
    shares_section,
    confusion_section,
    map_section,
    words_section,
    topics_section,
)
