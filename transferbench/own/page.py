"""A page on one comparison of models on a user's documents: one HTML file that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from transferbench import __version__
from transferbench.evidence import html
from transferbench.evidence.page import Block, Page, Picture, Section, Table
from transferbench.files import write_text
from transferbench.measures import THRESHOLD
from transferbench.messages import short_label
from transferbench.own import document_map
from transferbench.own.compare import Comparison, decided_shares
from transferbench.own.sample import held_out, sample_of
from transferbench.own.session import Session
from transferbench.own.text import columns, legend, scored_sentence, warning_lines
from transferbench.own.topics import coherence_text, topics_of
from transferbench.problem import Fit, Problem, Truth

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.own.topics import Topic, Topics

#: Function of a domain's name and a row that returns the place and the text of a document.
Describe = Callable[[str, int], tuple[str, str]]
#: Largest number of classes with a row in a table of shares: those that differ most.
MAX_SHARES = 12
#: Largest number of classes with a full confusion matrix; of more, so many of the most frequent
#: confusions are listed. Also the largest number of labels of multi-label problems.
MAX_CONFUSION, MAX_CONFUSED = 12, 20
#: Topics of a domain that are seen at once; the smaller ones are folded.
MAX_TOPICS = 12
#: Characters of a typical document.
BEGINNING = 160
WRITTEN_BY = (
    "Written by `transferbench {} --html`, version {}. The page has texts of your documents, so "
    "share it as you would share them."
)


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
    choice, problem = compared.choice, compared.problem
    best = [choice.model] if choice.model else []
    named = [name for name in (*preferred, *best, *compared.models) if compared.models[name].fits]
    model = named[0] if named else ""
    fit = compared.models[model].fits[0] if model else None
    truth = session.truth or sample_of(problem)
    names = _column_names(problem, fit)
    title, *sentences = choice.sentences or (f"Compared: {', '.join(compared.models)}.",)
    warnings = [f"{line}." for line in warning_lines(compared, compared.models)]
    found = document_map.draw(session, fit, truth, names, model)
    of_map = Picture(
        "map.svg", "Map of the documents, by domain and by decision", "it has no table"
    )
    sections = (
        Section("The evidence", [choice.evidence], folded=True) if choice.evidence else None,
        Section("Warnings", [warnings]) if warnings else None,
        models_section(table, problem),
        shares_section(problem, fit, model),
        decisions_section(session, fit, truth, names, model),
        Section("Map of the documents", [*found.sentences, of_map]) if found else None,
        words_section(session, compared),
        topics_section(session, compared),
        about_section("What was compared", _documents(session), problem, session.options),
    )
    blocks: list[Block] = [*sentences, *filter(None, sections)]
    _write(path, "compare", title.rstrip("."), blocks, {"map.svg": found.svg} if found else {})


def write_topics(
    path: Path,
    model: str,
    problem: Problem,
    found: Topics,
    describe: Describe,
    options: Mapping[str, object],
    *,
    named: bool,
) -> None:
    """Write a page of the topics of a fit."""
    # `describe`: Returns the place and the text of a document, by the name of its domain and its
    # row.
    documents = [(f"domain {d.name}", f"{len(d.seen):,} documents") for d in problem.domains]
    targets = [domain.name for domain in problem.targets]
    blocks = [
        Section("Topics by domain", topic_blocks(model, found, targets, describe, "")),
        about_section("What was fitted", documents, problem, options),
    ]
    title = f"Topics of {model} on {problem.name if named else 'your documents'}"
    _write(path, "topics", title, blocks, {})


def _write(
    path: Path, command: str, title: str, blocks: Sequence[Block], images: Mapping[str, str]
) -> None:
    page = Page(command, title, blocks)
    write_text(path, html.render(page, images, WRITTEN_BY.format(command, __version__)))


def _column_names(problem: Problem, fit: Fit | None) -> list[str]:
    """Return the names of the columns of the scores: the classes, or the clusters by number."""
    if fit is None or fit.columns == "classes":
        return [*map(short_label, problem.classes)]
    return [f"cluster {c + 1}" for c in range(fit.scores[0].shape[1])]


def about_section(
    title: str,
    documents: Sequence[tuple[str, str]],
    problem: Problem,
    options: Mapping[str, object],
) -> Section:
    """Return the documents, the number of features and the options."""
    widths = [f"{view.shape[1]:,}" for view in problem.domains[0].views]
    rows = [*documents, ("features", " + ".join(widths))]
    if options:
        rows.append(("options", ", ".join(f"{name}={value}" for name, value in options.items())))
    return Section(title, [Table(title, ["what", "content"], rows)])


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


def models_section(table: DataFrame, problem: Problem) -> Section:
    """Return the table of the compared models, for each target, and what its columns mean."""
    blocks: list[Block] = []
    for target, group in table.groupby("target", sort=False):
        rows = group.to_dict("records")
        cells = columns(rows, problem)
        cells["s"] = cells.pop("s")  # last, since a phone shows the first columns
        cells = {head: values for head, values in cells.items() if any(values)}
        lines = [*zip(*cells.values(), strict=True)]
        of_target = Table(f"Models compared on {target}", [*cells], lines)
        blocks += [of_target, *filter(None, [scored_sentence(rows, problem)])]
    values = table.drop(columns="warnings")
    shown = values.round(4).astype(str).where(values.notna(), "")
    everything = Table("Every value", [*values], shown.to_numpy().tolist())
    about = "As `--json` has it; shares and measures are fractions of 1."
    blocks += [legend(table, problem), Section("Every value", [about, everything], folded=True)]
    return Section("The compared models", blocks)


def shares_section(problem: Problem, fit: Fit | None, model: str) -> Section | None:
    """Return the shares of the classes in the source beside those of the decisions."""
    if fit is None or fit.columns != "classes" or not problem.sources:
        return None
    source = np.concatenate([domain.Y for domain in problem.sources]).mean(axis=0)
    parts: list[Block] = []
    for target, shares in decided_shares(problem, fit).items():
        farthest = sorted(np.argsort(-np.abs(shares - source), kind="stable")[:MAX_SHARES])
        rows = [
            [short_label(problem.classes[c]), _percent(source[c]), _percent(shares[c])]
            for c in farthest
        ]
        more = f": the {MAX_SHARES} that differ most" if len(source) > MAX_SHARES else ""
        heads = ["class", "labels of the source", f"decisions of {model} on {target}"]
        parts.append(_titled(f"Shares of the classes in {target}{more}", heads, rows))
    return Section("Class shares", parts)


def _titled(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Section:
    """Return a table with its title."""
    return Section(title, [Table(title, heads, rows)])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def decisions_section(
    session: Session, fit: Fit | None, truth: Truth | None, names: Sequence[str], model: str
) -> Section | None:
    """Return how the decisions of the model agree with the labels of each target, if it has any."""
    if fit is None or truth is None:
        return None
    judged, clusters = held_out(fit), fit.columns == "clusters"
    labels = [*map(short_label, truth.classes)]
    parts: list[Block] = []
    for name, Y, rows, scores in zip(
        truth.names, truth.Y, truth.scored, judged.scores, strict=True
    ):
        if not rows.any():
            continue
        if truth.family == "multilabel":
            parts.append(_by_label(name, labels, Y[rows] > 0, scores[rows] >= THRESHOLD))
            continue
        matrix = np.zeros((Y.shape[1], scores.shape[1]), int)
        np.add.at(matrix, (Y[rows].argmax(axis=1), scores[rows].argmax(axis=1)), 1)
        if max(matrix.shape) <= MAX_CONFUSION:
            what = "Clusters" if clusters else "Confusion matrix"
            found = "clusters" if clusters else "decisions"
            lines = [
                [label, *(f"{n:,}" for n in row)] for label, row in zip(labels, matrix, strict=True)
            ]
            heads = ["label", *names]
            if not clusters:
                heads.append("recall")
                for i, line in enumerate(lines):
                    line.append(
                        _percent(matrix[i, i] / matrix[i].sum()) if matrix[i].any() else "–"
                    )
            title = f"{what} of {name}: rows are labels, columns are {found}"
            parts.append(_titled(title, heads, lines))
        elif not clusters:
            wrong = matrix - np.diag(np.diag(matrix))
            order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_CONFUSED]
            pairs = [
                [labels[i], labels[j], f"{wrong[i, j]:,}"]
                for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
                if wrong[i, j]
            ]
            heads = ["label", "decision", "documents"]
            parts.append(_titled(f"{name}: the most frequent wrong decisions", heads, pairs))
        if not clusters:
            right, n = int(np.trace(matrix)), int(matrix.sum())
            parts.append(
                f"{right:,} of {n:,} documents are decided as labelled ({_percent(right / n)}). "
                "Recall is the part of a label's documents that is found."
            )
    if not parts:
        return None
    which = "The labels are those of the target's own column. No model has seen them."
    if session.sampled:
        which = (
            "The documents are those of the labelled sample. Each is decided by a fit that had not "
            "seen its label."
        )
    title = "Labels and clusters" if clusters else "Right and wrong decisions"
    these = f"These are the {'clusters' if clusters else 'decisions'} of `{model}`. {which}"
    return Section(title, [these, *parts])


def _by_label(name: str, labels: Sequence[str], true: np.ndarray, decided: np.ndarray) -> Section:
    """Return how often each label is found, missed and wrongly given."""
    each = (true, true & decided, true & ~decided, ~true & decided)
    counts = np.array([of.sum(axis=0) for of in each]).T
    largest = np.argsort(-counts[:, 0], kind="stable")[:MAX_CONFUSED]
    rows = [[labels[c], *(f"{n:,}" for n in counts[c])] for c in largest]
    more = f", the {MAX_CONFUSED} most frequent ones" if len(counts) > MAX_CONFUSED else ""
    heads = ["label", "documents with it", "found", "missed", "wrongly given"]
    return _titled(f"{name}: labels of {len(true):,} documents{more}", heads, rows)


def words_section(session: Session, compared: Comparison) -> Section | None:
    """Return the words that separate the domains."""
    parts: list[Block] = []
    files = session.sources
    what = "Word" if not files or files[0].kind == "texts" else "Feature"
    for target, separation in compared.separations.items():
        if not separation.words:
            continue
        parts.append(
            f"A classifier separates the documents of {target} from those of the source "
            f"(area under the ROC curve {separation.area:.2f}; 0.5 is chance, 1 is perfect)."
        )
        heads = [what.lower(), "documents of the source with it", f"documents of {target} with it"]
        captions = f"{what}s of {target}", f"{what}s of the source, against {target}"
        for caption, of_target in zip(captions, (True, False), strict=True):
            rows = [
                [word.name, _percent(word.in_sources), _percent(word.in_target)]
                for word in separation.words
                if word.of_target == of_target
            ]
            parts += [_titled(caption, heads, rows)] if rows else []
    return Section(f"{what}s that separate the domains", parts) if parts else None


def topics_section(session: Session, compared: Comparison) -> Section | None:
    """Return the topics of the factorisation whose topics are the most coherent ones."""
    problem = compared.problem
    by_model = {}
    for name, model in compared.models.items():
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
    why = f" Its topics are the most coherent ones of {', '.join(by_model)}."
    if len(by_model) == 1:
        why = ""
    if coherence(best) <= 0:
        why += " Their coherence is not above chance, so read them with care."
    return Section("Topics", topic_blocks(best, by_model[best], targets, session.describe_in, why))


def topic_blocks(
    model: str, found: Topics, targets: Collection[str], describe: Describe, why: str
) -> list[Block]:
    """Return tables of the topics of each domain, targets first."""
    # `why`: Sentences on why these topics are shown.
    is_clusters = found.columns == "clusters"
    kind = "document clusters" if is_clusters else "classes"
    names = [f"cluster {c}" if is_clusters else short_label(c) for c in found.classes]
    blocks: list[Block] = [
        f"These are the clusters of words of `{model}`.{why} Each entry of a document is divided "
        f"among the clusters, which gives a cluster its share, its words and its {kind}. The words "
        "of a cluster may differ from domain to domain."
    ]
    heads = ["topic", "share", f"its {kind}", "words", "NPMI"]

    def row(topic: Topic) -> list[str]:
        shares = sorted(zip(names, topic.classes, strict=True), key=lambda named: -named[1])
        shown = [f"{name} {_percent(share)}" for name, share in shares if share >= 0.005]
        return [
            topic.name, _percent(topic.share), ", ".join(shown), ", ".join(topic.words),
            coherence_text(topic.coherence),
        ]  # fmt: skip

    for domain in sorted(found.topics, key=lambda name: name not in targets):
        topics = found.topics[domain]
        title = (
            f"{domain}: {len(topics)} topics (effective number {found.effective(domain):.1f}), "
            f"coherence {coherence_text(found.coherence(domain))}, "
            f"diversity {found.diversity(domain):.2f}"
        )
        shown, folded = ([*map(row, of)] for of in (topics[:MAX_TOPICS], topics[MAX_TOPICS:]))
        typical = []
        for topic in topics:
            for place, text in (describe(domain, number) for number in topic.typical):
                end = "…" if len(text) > BEGINNING else ""
                typical.append([topic.name, place, text[:BEGINNING] + end])
        blocks.append(_titled(title, heads, shown))
        if folded:
            smaller = f"{len(folded)} smaller topics of {domain}"
            blocks.append(Section(smaller, [Table(smaller, heads, folded)], folded=True))
        documents = Table(f"Typical documents of {domain}", ["topic", "document", "text"], typical)
        blocks.append(Section(documents.label, [documents], folded=True))
    note = (
        "NPMI is the coherence of the words: 0 if they occur together as by chance, 1 if always. "
        "Diversity is the share of different words among those of all topics. The effective number "
        "is less than that of the topics if a few hold most entries."
    )
    return [*blocks, note]
