"""The topics of a factorisation as a part of a page, and as a page of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transferbench.messages import short_label
from transferbench.topics import coherence_text

if TYPE_CHECKING:
    from transferbench.topics import Topic, Topics

#: Function of a domain's name and a row that returns the place and the text of a document.
Describe = Callable[[str, int], tuple[str, str]]
#: Topics of a domain that are seen at once; the smaller ones are folded.
SHOWN = 12
#: Classes with a colour of their own; the last colour is that of all further ones.
COLOURS = 7
#: Characters of a typical document.
BEGINNING = 160


@dataclass(frozen=True)
class TopicRow:
    """A topic as the page shows it."""

    #: `name`, `words`: Its name and its words.
    name: str
    words: str
    #: Its share of the domain.
    share: float
    #: Length of its bar in per cent of the longest one.
    width: float
    #: Name, colour and share of each of its classes, for the parts of the bar.
    classes: Sequence[tuple[str, int, float]]
    coherence: str
    #: Place and beginning of its typical documents.
    documents: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class TopicTable:
    """The topics of a domain: what is seen at once, and what is folded."""

    domain: str
    summary: str
    shown: Sequence[TopicRow]
    folded: Sequence[TopicRow]


def tables(found: Topics, targets: Collection[str], describe: Describe) -> list[TopicTable]:
    """Return a table of topics for each domain, targets first."""
    # `describe`: Returns the place and the text of a document.
    made = []
    for domain in sorted(found.topics, key=lambda name: name not in targets):
        topics = found.topics[domain]
        longest = max(topic.share for topic in topics)
        rows = [_row(topic, names(found), longest, describe) for topic in topics]
        summary = (
            f"{len(topics)} topics (effective number {found.effective(domain):.1f}), "
            f"coherence {coherence_text(found.coherence(domain))}, "
            f"diversity {found.diversity(domain):.2f}"
        )
        made.append(TopicTable(domain, summary, rows[:SHOWN], rows[SHOWN:]))
    return made


def names(found: Topics) -> list[str]:
    """Return the names of the classes; those of clusters are more than their numbers."""
    return [
        f"cluster {c}" if found.columns == "clusters" else short_label(c) for c in found.classes
    ]


def _row(topic: Topic, classes: Sequence[str], longest: float, describe: Describe) -> TopicRow:
    parts = [
        (name, min(c, COLOURS), share)
        for c, (name, share) in enumerate(zip(classes, topic.classes, strict=True))
        if share >= 0.005
    ]
    documents = [
        (place, text[:BEGINNING] + "…" * (len(text) > BEGINNING))
        for place, text in (describe(topic.domain, row) for row in topic.typical)
    ]
    return TopicRow(
        topic.name,
        ", ".join(topic.words),
        topic.share,
        100 * topic.share / longest,
        parts,
        coherence_text(topic.coherence),
        documents,
    )
