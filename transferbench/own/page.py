"""A page on one comparison of models on a user's documents: one HTML file that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from transferbench import __version__
from transferbench.evidence import html
from transferbench.evidence.page import Block, Page, Picture, Section, Table
from transferbench.files import write_text
from transferbench.measures import THRESHOLD, correct
from transferbench.messages import short_label
from transferbench.own import document_map, topic_shares
from transferbench.own.compare import Comparison, shares_beside_source
from transferbench.own.evidence import NO_CONFIDENCE
from transferbench.own.sample import (
    calibrated,
    held_out,
    is_calibrated,
    sample_of,
    with_features,
)
from transferbench.own.separation import SAMPLE
from transferbench.own.session import Session
from transferbench.own.text import columns, legend, scored_sentence, warning_lines
from transferbench.own.topics import coherence_text, mean_coherence, topics_of
from transferbench.problem import Fit, Problem, Truth

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.own.corpus import CorpusTopics, NumberOfTopics
    from transferbench.own.topics import Topic, Topics

#: Function of a domain's name and a row that returns the place and the text of a document.
Describe = Callable[[str, int], tuple[str, str]]
#: Largest number of classes with a row in a table of shares: those that differ most.
MAX_SHARES = 12
#: Largest number of classes with a confusion matrix, and of labels in a table by label.
MAX_CONFUSION, MAX_LABELS = 12, 20
#: Topics of a domain that are seen at once; the smaller ones are folded.
MAX_TOPICS = 12
#: Documents with the least confidence that are shown.
LEAST_SURE = 10
#: Documents of the sample in a row of the accuracy by confidence, and most rows.
GROUP, MAX_GROUPS = 10, 5
WRITTEN_BY = (
    "Written by `transferbench {} --html`, version {}. The page has texts of your documents, so "
    "share it as you would share them."
)
#: Explains the topics, below their tables.
OF_TOPICS = (
    "NPMI is the coherence of the words: 0 if they occur together as by chance, 1 if always. "
    "Diversity is the share of different words among those of all topics. The effective number is "
    "less than that of the topics if a few hold most entries."
)
#: Explain the topics of documents without labels, their typical documents, and their number.
OF_CORPUS = (
    "The share of a topic is the part of the documents of which it is the largest topic. NPMI is "
    "the coherence of the words over the documents of the domain with the largest share: 0 if they "
    "occur together as by chance, 1 if always."
)
OF_DIFFERENCES = (
    "The interval of a difference is over documents, and holds for all topics together. A domain "
    "lacks a topic if its share is at most a quarter of that in the other domain, and the interval "
    "excludes 0."
)
OF_TYPICAL = (
    "The topic is the largest one of these documents, and its share is largest there. Documents "
    "with less than half as many different words as the median document are left out."
)
OF_NUMBERS = (
    "Of the numbers whose product of coherence, diversity and stability is at least nine tenths of "
    "the best, the largest is shown. This is a rule of thumb; other numbers may serve you better. "
    "Coherence alone grows with the number. Stability is the share of words that stay the same in "
    "fits on random four fifths of the documents."
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
        "map.svg",
        "Map of the documents, by domain and by decision",
        "the number of documents of a colour is in the key",
    )
    documents = _documents(session)
    sections: dict[str, Sequence[Block]] = {
        "Warnings": [warnings] if warnings else [],
        "The compared models": of_models(table, problem),
        "Class shares": of_shares(problem, fit, model),
        "Right and wrong decisions": of_decisions(session, fit, truth, names, model),
        "Confidence": of_confidence(session, fit, names, model),
        "Map of the documents": [*found[1], of_map] if found else [],
        "Words that separate the domains": of_words(compared),
        "Topics": of_topics(session, compared),
        "What was compared": [about(documents, problem, session.options)],
    }
    compared_on = "; ".join(f"{file} ({what})" for file, what in documents)
    blocks: list[Block] = [*sentences, f"Compared on {compared_on}."]
    if choice.evidence:
        blocks.append(Section("The evidence", [choice.evidence], folded=True))
    blocks += [Section(name, parts) for name, parts in sections.items() if parts]
    _write(path, "compare", title.rstrip("."), blocks, {"map.svg": found[0]} if found else {})


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
    blocks, images = list[Block](), dict[str, str]()
    if len(found.topics) > 1:
        images["shares.svg"], table = _clusters_side_by_side(found)
        picture = Picture("shares.svg", "Share of each cluster in each domain")
        blocks.append(Section("Clusters side by side", [picture, table]))
    blocks += [
        Section("Topics by domain", topic_blocks(model, found, targets, describe, "")),
        Section("What was fitted", [about(documents, problem, options)]),
    ]
    title = f"Topics of {model} on {problem.name if named else 'your documents'}"
    _write(path, "topics", title, blocks, images)


def _clusters_side_by_side(found: Topics) -> tuple[str, Table]:
    """Return the share of each cluster of words in each domain as SVG, and with its first words."""
    of = {d: {topic.name: topic for topic in topics} for d, topics in found.topics.items()}
    names = [*dict.fromkeys(name for named in of.values() for name in named)]
    shares = {d: [of[d][name].share if name in of[d] else 0.0 for name in names] for d in of}
    rows = [
        [
            name,
            *(_percent(of[d][name].share) if name in of[d] else "–" for d in of),
            *(", ".join(of[d][name].words[:5]) if name in of[d] else "–" for d in of),
        ]
        for name in names
    ]
    heads = ["topic", *(f"share in {d}" for d in of), *(f"words in {d}" for d in of)]
    table = Table("Clusters and their shares and first words in each domain", heads, rows)
    return topic_shares.draw(names, shares), table


def write_corpus(
    path: Path,
    problem: Problem,
    found: CorpusTopics,
    numbers: Sequence[NumberOfTopics],
    sentences: Sequence[str],
    describe: Describe,
    options: Mapping[str, object],
    what: str,
) -> None:
    """Write a page of the topics of documents without labels."""
    # `numbers`: The compared numbers of topics, if there are several.
    # `sentences`: What to read first.
    documents = [(f"domain {d.name}", f"{len(d.seen):,} documents") for d in problem.domains]
    drawn, images = document_map.draw_topics(problem, found, describe), dict[str, str]()
    several = len(problem.domains) > 1
    blocks: list[Block] = [[*sentences]] if sentences else []
    if several:
        images["shares.svg"] = topic_shares.draw(
            [topic.name for topic in found.topics],
            {d: [topic.shares[d] for topic in found.topics] for d in found.shares},
        )
        shares = Picture("shares.svg", "Share of each topic in each domain")
        blocks.append(Section("Topics side by side", [shares, *_side_by_side(found)]))
    else:
        blocks.append(Section("Topics", _side_by_side(found)))
    for domain in problem.domains:
        rows = [
            [
                topic.name,
                f"{100 * found.shares[domain.name][row, j]:.0f} %",
                place,
                document_map.beginning(text),
            ]
            for j, topic in enumerate(found.topics)
            for row in topic.typical[domain.name]
            for place, text in [describe(domain.name, row)]
        ]
        heads = ["topic", "its share", "document", "text"]
        blocks.append(_titled(f"Typical documents of {domain.name}", heads, rows, OF_TYPICAL))
    if drawn:
        images["map.svg"], lines = drawn
        key = "the number of documents of a colour is in the key"
        of_map = Picture("map.svg", "Map of the documents, by domain and by topic", key)
        blocks.append(Section("Map of the documents by topic", [*lines, of_map]))
    if numbers:
        rows = [
            [f"{n.k}{' (shown)' * (n.found is found)}", *map(coherence_text, n.measures.values())]
            for n in numbers
        ]
        table = Table("Compared numbers of topics", ["topics", *numbers[0].measures], rows)
        blocks.append(Section("Number of topics", [OF_NUMBERS, table]))
    blocks.append(Section("What was read", [about(documents, problem, options)]))
    _write(path, "topics", f"{len(found.topics)} topics of {what}", blocks, images)


def _side_by_side(found: CorpusTopics) -> list[Block]:
    """Return each topic's shares and differences from the first domain, and its words."""
    first, *others = found.shares
    heads = ["topic", *(f"share in {name}" for name in (first, *others))]
    heads += [f"{name} less {first} [95 %]" for name in others]
    shares = [
        [topic.name, *map(_percent, topic.shares.values()), *map(str, topic.differences.values())]
        for topic in found.topics
    ]
    words = [
        [topic.name, ", ".join(topic.words), coherence_text(topic.coherence)]
        for topic in found.topics
    ]
    return [
        Table("Shares of the topics", heads, shares),
        _titled("Words of the topics", ["topic", "words", "NPMI"], words),
        OF_CORPUS,
        *([OF_DIFFERENCES] if others else []),
    ]


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


def about(
    documents: Sequence[tuple[str, str]], problem: Problem, options: Mapping[str, object]
) -> Table:
    """Return a table of the documents, the number of features and the options."""
    widths = [f"{view.shape[1]:,}" for view in problem.domains[0].views]
    used = ", ".join(f"{name}={value}" for name, value in options.items())
    rows = [*documents, ("features", " + ".join(widths)), ("options", used or "none")]
    return Table("Documents, features and options", ["what", "content"], rows)


def _documents(session: Session) -> list[tuple[str, str]]:
    """Return the file of each domain, or its name, and what it has."""
    files = [*session.sources, *session.targets]
    found = []
    for i, domain in enumerate(session.problem.domains):
        file, n = str(files[i].path) if files else f"domain {domain.name}", len(domain.seen)
        part = f"{len(files[i]):,} documents, of them compared: " if session.rows else ""
        found.append((file, f"domain {domain.name}, {part}{n:,} documents"))
    return found


def of_models(table: DataFrame, problem: Problem) -> list[Block]:
    """Return the table of the compared models, for each target, and what its columns mean."""
    blocks: list[Block] = []
    for target, group in table.groupby("target", sort=False):
        rows = group.to_dict("records")
        cells = columns(rows, problem)
        # A phone shows the first columns alone.
        cells = {"model": cells.pop("model"), "warnings": cells.pop("warnings"), **cells}
        cells["s"] = cells.pop("s")
        cells = {head: values for head, values in cells.items() if any(values)}
        lines = [*zip(*cells.values(), strict=True)]
        of_target = Table(f"Models compared on {target}", [*cells], lines)
        blocks += [of_target, *filter(None, [scored_sentence(rows, problem)])]
    return [*blocks, legend(table, problem)]


def _titled(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], folded: str | None = None
) -> Section:
    """Return a table with its title; with a text before it, which may be empty, it is folded."""
    before = [folded] if folded else []
    return Section(title, [*before, Table(title, heads, [*rows])], folded=folded is not None)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def of_shares(problem: Problem, fit: Fit | None, model: str) -> list[Block]:
    """Return the shares of the classes in the source beside those of the decisions."""
    if fit is None or fit.columns != "classes":
        return []
    more = f": the {MAX_SHARES} that differ most" if len(problem.classes) > MAX_SHARES else ""
    return [
        _titled(
            f"Shares of the classes in {target}{more}",
            ["class", "labels of the source", f"decisions of {model} on {target}"],
            ([label, _percent(source), _percent(share)] for label, source, share in shares),
        )
        for target, shares in shares_beside_source(problem, fit, MAX_SHARES).items()
    ]


def of_decisions(
    session: Session, fit: Fit | None, truth: Truth | None, names: Sequence[str], model: str
) -> list[Block]:
    """Return how the decisions of the model agree with the labels of each target, if it has any."""
    if fit is None or truth is None:
        return []
    labels, blocks = [*map(short_label, truth.classes)], list[Block]()
    kind = "decisions" if fit.columns == "classes" else "clusters"
    targets = zip(truth.names, truth.Y, truth.scored, held_out(fit).scores, strict=True)
    for name, Y, rows, scores in targets:
        several, true, S = truth.family == "multilabel", Y[rows] > 0, scores[rows]
        decided = S >= THRESHOLD if several else S.argmax(axis=1)[:, None] == np.arange(S.shape[1])
        matrix = true.T.astype(int) @ decided
        if not rows.any():
            continue
        if not several and len(labels) <= MAX_CONFUSION:
            lines = [[label, *map(str, row)] for label, row in zip(labels, matrix, strict=True)]
            title = f"Labels of {name} in the rows, {kind} in the columns"
            blocks.append(_titled(title, ["label", *names], lines))
        if kind == "decisions":
            blocks.append(_by_label(name, labels, true, decided))
            right = (true == decided).all(axis=1)
            share = f"{right.sum():,} of {len(right):,} documents are decided as labelled"
            blocks.append(f"{share} ({_percent(right.mean())}).")
    which = "The labels are those of the target's own column. No model has seen them."
    if session.sampled:
        which = (
            "The documents are those of the labelled sample. Each is decided by a fit that had not "
            "seen its label."
        )
    return [f"These are the {kind} of `{model}`. {which}", *blocks] if blocks else []


def _by_label(name: str, labels: Sequence[str], true: np.ndarray, decided: np.ndarray) -> Section:
    """Return how often each label is found, missed and wrongly given, and its recall."""
    each = (true, true & decided, true & ~decided, ~true & decided)
    counts = np.array([of.sum(axis=0) for of in each]).T
    rows = [
        [labels[c], *(f"{n:,}" for n in counts[c]), _percent(counts[c, 1] / counts[c, 0])]
        for c in np.argsort(-counts[:, 0], kind="stable")[:MAX_LABELS]
        if counts[c, 0]
    ]
    more = f", the {MAX_LABELS} most frequent ones" if len(counts) > MAX_LABELS else ""
    heads = ["label", "documents with it", "found", "missed", "wrongly given", "recall"]
    return _titled(f"Documents of {name} by label ({len(true):,}{more})", heads, rows)


def of_confidence(
    session: Session, fit: Fit | None, names: Sequence[str], model: str
) -> list[Block]:
    """Return the accuracy by confidence on the sample, and the least certain documents."""
    problem, sample = session.problem, sample_of(session.problem)
    if fit is None or problem.family != "transfer" or model in NO_CONFIDENCE:
        return []
    sure, head = calibrated(fit, sample), "confidence (rank)"
    blocks: list[Block] = [
        "The confidence ranks documents; it is no probability. A labelled sample calibrates it."
    ]
    if sample and is_calibrated(fit, sample):
        head = "confidence"
        judged = zip(sure.held_out, sample.scored, strict=True)
        highest = np.concatenate([scores[rows].max(axis=1) for scores, rows in judged])
        right = np.concatenate([*correct(held_out(sure), sample).values()])
        parts = min(MAX_GROUPS, max(1, len(right) // GROUP))
        groups = np.array_split(np.argsort(highest, kind="stable"), parts)
        rows = (
            [str(len(g)), _percent(highest[g].mean()), _percent(right[g].mean())] for g in groups
        )
        blocks = [
            "The sample calibrates the confidence: about 80 % of documents with a confidence of .8 "
            "are right. The table shows this on the sample, whose documents are decided by fits "
            "that had not seen their label. They are few, so the shares are rough.",
            _titled("Accuracy by confidence", ["documents", f"mean {head}", "right"], rows),
        ]
    unseen = [
        (float(S[row].max()), domain.name, row, names[int(S[row].argmax())])
        for domain, S in zip(problem.domains, sure.scores, strict=True)
        for row in np.flatnonzero(~domain.seen & with_features(domain)).tolist()
    ]
    least = []
    for confidence, target, row, decision in sorted(unseen)[:LEAST_SURE]:
        place, text = session.describe_in(target, row)
        least.append([place, decision, f"{confidence:.2f}", document_map.beginning(text)])
    heads = ["document", "decision", head, "text"]
    return [*blocks, _titled(f"The least certain decisions of {model}", heads, least)]


def of_words(compared: Comparison) -> list[Block]:
    """Return the words that separate the domains."""
    blocks: list[Block] = []
    for target, separation in compared.separations.items():
        if separation.words:
            blocks.append(
                f"A classifier of {SAMPLE:,} documents of each domain, or of all if there are "
                f"fewer, separates those of {target} from those of the source (area under the ROC "
                f"curve {separation.area:.2f}; 0.5 is chance, 1 is perfect)."
            )
        heads = ["word", "documents of the source with it", f"documents of {target} with it"]
        captions = f"Words of {target}", f"Words of the source, against {target}"
        for caption, of_target in zip(captions, (True, False), strict=True):
            rows = [
                [word.name, _percent(word.in_sources), _percent(word.in_target)]
                for word in separation.words
                if word.of_target == of_target
            ]
            blocks += [_titled(caption, heads, rows)] if rows else []
    return blocks


def of_topics(session: Session, compared: Comparison) -> list[Block]:
    """Return the topics of the factorisation whose topics are the most coherent ones."""
    problem = compared.problem
    targets = [domain.name for domain in problem.targets]
    found: dict[str, tuple[float, Topics]] = {}
    for name, model in compared.models.items():
        if problem.features and model.fits and any(model.fits[0].factors):
            with suppress(ValueError):  # no document has a word
                topics = topics_of(model.fits[0], problem)
                mean = mean_coherence(topics.coherence(d) for d in targets if d in topics.topics)
                found[name] = (-1.0 if math.isnan(mean) else mean, topics)
    if not found:
        return []
    best = max(found, key=lambda name: found[name][0])
    coherence, topics = found[best]
    words = [word for of in topics.topics.values() for topic in of for word in topic.words]
    stop_words = sum(word in ENGLISH_STOP_WORDS for word in words)
    why = ""
    if len(found) > 1:
        why += f" Its topics are the most coherent ones of {', '.join(found)}."
    if coherence <= 0:
        why += " Their coherence is not above chance, so read them with care."
    if 2 * stop_words > len(words):
        why += " Most of the words are stop words; `--option stop_words=english` removes them."
    return topic_blocks(best, topics, targets, session.describe_in, why)


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
        shown = ", ".join(f"{name} {_percent(share)}" for name, share in shares if share >= 0.005)
        coherence = coherence_text(topic.coherence)
        return [topic.name, _percent(topic.share), shown, ", ".join(topic.words), coherence]

    for domain in sorted(found.topics, key=lambda name: name not in targets):
        topics = found.topics[domain]
        title = (
            f"{domain}: {len(topics)} topics (effective number {found.effective(domain):.1f}), "
            f"coherence {coherence_text(found.coherence(domain))}, "
            f"diversity {found.diversity(domain):.2f}"
        )
        typical = [
            [topic.name, place, document_map.beginning(text)]
            for topic in topics
            for place, text in (describe(domain, number) for number in topic.typical)
        ]
        blocks.append(_titled(title, heads, map(row, topics[:MAX_TOPICS])))
        if smaller := topics[MAX_TOPICS:]:
            blocks.append(_titled(f"Smaller topics of {domain}", heads, map(row, smaller), ""))
        of_typical = ["topic", "document", "text"]
        blocks.append(_titled(f"Typical documents of {domain}", of_typical, typical, ""))
    return [*blocks, OF_TOPICS]
