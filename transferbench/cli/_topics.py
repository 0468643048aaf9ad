"""Topics in the terminal: of documents without labels, and of a model."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from transferbench.cli._terminal import WIDTH, echo, echo_sentences, echo_table
from transferbench.messages import counted, short_label
from transferbench.own.corpus import (
    LACKING,
    NEARLY,
    REFITS,
    choose_number,
    compare_numbers,
    find_topics,
)
from transferbench.own.topics import coherence_text

if TYPE_CHECKING:
    from transferbench.own.corpus import CorpusTopic, CorpusTopics, NumberOfTopics
    from transferbench.own.page import Describe
    from transferbench.own.topics import Topic, Topics
    from transferbench.problem import Problem

#: A topic with a larger share is named, because it may be a remainder.
REMAINDER = 0.5
#: Pairs of topics with words in common that are named.
MAX_PAIRS = 3
#: Domains whose shares have a column each; of more the largest and the smallest share are printed.
MAX_DOMAINS = 4
#: Smaller shares are not printed.
LEAST_SHARE = 0.0005
#: Shares of more classes than this are not printed, only the largest one.
FEW_CLASSES = 4


def fit(
    problem: Problem, ks: Sequence[int], **settings: Any
) -> tuple[CorpusTopics, list[NumberOfTopics]]:
    """Return the topics, and the compared numbers of topics if there are several."""
    from tqdm import tqdm

    domains = {domain.name: domain.X for domain in problem.domains}
    features = problem.features or [str(i + 1) for i in range(problem.domains[0].X.shape[1])]
    if len(ks) == 1:
        return find_topics(domains, features, ks[0], **settings), []
    bar = partial(tqdm, desc="numbers of topics", leave=False, disable=None)
    numbers = compare_numbers(domains, features, ks, progress=bar, **settings)
    return choose_number(numbers).found, numbers


def print_numbers(numbers: Sequence[NumberOfTopics], found: CorpusTopics) -> None:
    """Print how good the topics of each number are, and which number is shown."""
    rows = [["topics", *numbers[0].measures]]
    for n in numbers:
        values = map(coherence_text, n.measures.values())
        rows.append([f"{n.k}{' *' * (n.found is found)}", *values])
    echo_table(rows)
    echo()
    echo_sentences(
        f"*: shown below, the largest number whose product is at least {100 * NEARLY:.0f} % of the "
        "best. This is a rule of thumb: few topics give an overview, many give detail, and "
        "coherence alone grows with their number. Stability: the share of words that stay the same "
        f"in {REFITS} fits on four fifths of the documents."
    )
    echo()


def notes(found: CorpusTopics) -> list[str]:
    """Return sentences on topics of function words and on topics that are alike."""
    said = list[str]()
    if alike := found.alike():
        first = ", ".join(f"{one.number} and {two.number}" for one, two, _ in alike[:MAX_PAIRS])
        more = f" and {counted(len(alike) - MAX_PAIRS, 'more pair')}" * (len(alike) > MAX_PAIRS)
        said.append(
            f"topics with half of their words in common: {first}{more}; fewer topics may do"
        )
    for domain, shares in found.shares.items():
        if without := int((~shares.any(axis=1)).sum()):
            said.append(f"{counted(without, 'document')} of {domain} without any word of a topic")
    for topic in found.topics:
        if max(topic.shares.values()) > REMAINDER:
            said.append(f"topic {topic.name} is the largest one of most documents of a domain")
    if incoherent := [str(topic.number) for topic in found.topics if topic.coherence < 0]:
        said.append(f"topics whose words seldom occur together: {', '.join(incoherent)}")
    if of_functions := [topic.name for topic in found.topics if topic.is_function]:
        said.append(
            f"mostly words that say little: {'; '.join(of_functions)}; --option stop_words=english "
            "leaves out English ones, --option stop_words=FILE words of your own"
        )
    return said


def contrasts(found: CorpusTopics) -> list[str]:
    """Return sentences on the topics that one domain has and another one lacks, or has less of."""
    first, *others = found.shares
    said = []

    def named(topics: Sequence[CorpusTopic], one: str, other: str) -> str:
        shares = [(t.name, _percent(t.shares[one]), _percent(t.shares[other])) for t in topics]
        return "; ".join(f"{name} ({a} % against {b} %)" for name, a, b in shares)

    for other in others:
        for has, lacks in ((other, first), (first, other)):
            only, more = found.only_in(has, lacks), found.more_in(has, lacks)
            if only:
                said.append(f"{has} has, {lacks} lacks: {named(only, has, lacks)}.")
            if more := [topic for topic in more if topic not in only]:
                said.append(f"More in {has} than in {lacks}: {named(more, has, lacks)}.")
    none = f"With {len(found.topics)} topics, no difference from {first} is more than chance."
    return said or [none] * bool(others)


def print_topics(found: CorpusTopics, describe: Describe, most: int, documents: int) -> None:
    """Print the topics side by side in the domains."""
    names = [*found.shares]
    for sentence in contrasts(found):
        echo_sentences(sentence)
    if len(names) > 1:
        echo()
    shown = found.topics[:most]
    rows = [[str(t.number), *_cells(t, names), coherence_text(t.coherence)] for t in shown]
    typical = [[(d, row) for d in names for row in t.typical[d][:documents]] for t in shown]

    def with_share(domain: str, row: int) -> tuple[str, str]:
        place, text = describe(domain, row)
        return f"{place} ({100 * found.shares[domain][row].max():.0f} %)", text

    heads = ["topic", *_heads(names), "NPMI"]
    _print_rows(heads, rows, [t.words for t in shown], typical, with_share)
    if hidden := len(found.topics) - len(shown):
        more = f"--topics {len(found.topics)} prints all"
        echo(f"… and {counted(hidden, 'smaller topic')} ({more}, --csv writes all)")
    echo()
    echo_sentences(_legend(names))
    echo()


def _legend(names: Sequence[str]) -> str:
    """Return what the columns mean."""
    several = (
        f" A domain lacks a topic if its share is at most {100 * LACKING:.0f} % of that in the "
        "other, and the interval of the difference excludes 0."
    ) + " *: the interval excludes 0." * (2 < len(names) <= MAX_DOMAINS)
    two = (
        " difference: points of the share, with a 95 % interval over documents for all topics "
        "together."
    )
    return (
        "Below the name of a domain: the per cent of its documents of which the topic is the "
        "largest one; NPMI: the coherence of the words in the domain with the largest share, 0 is "
        f"chance and 1 is always together.{two * (len(names) == 2)}{several * (len(names) > 1)}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _heads(names: Sequence[str]) -> list[str]:
    """Return the heads of the columns of the shares."""
    if len(names) > MAX_DOMAINS:
        return ["largest", "smallest"]
    return [f"{short_label(name)} %" for name in names] + ["difference"] * (len(names) == 2)


def _cells(topic: CorpusTopic, names: Sequence[str]) -> list[str]:
    """Return the shares of a topic."""
    if len(names) > MAX_DOMAINS:
        ends = (pick(names, key=topic.shares.__getitem__) for pick in (max, min))
        return [f"{short_label(name)} {_percent(topic.shares[name])}" for name in ends]
    differ = {name: of.low > 0 or of.high < 0 for name, of in topic.differences.items()}
    if len(names) == 2:
        return [*map(_percent, topic.shares.values()), *map(str, topic.differences.values())]
    return [_percent(share) + "*" * differ.get(d, False) for d, share in topic.shares.items()]


def print_topics_of_model(found: Topics, describe: Describe, most: int, documents: int) -> None:
    """Print a table of topics for each domain."""
    for domain, topics in found.topics.items():
        echo(
            f"{domain}: {len(topics)} topics (effective number {found.effective(domain):.1f}), "
            f"coherence {coherence_text(found.coherence(domain))}, "
            f"diversity {found.diversity(domain):.2f}"
        )
        echo()
        few = len(found.classes) <= FEW_CLASSES
        kind = "cluster" if found.columns == "clusters" else "class"
        class_head = "/".join(map(short_label, found.classes)) if few and kind == "class" else kind
        visible = [topic for topic in topics if topic.share >= LEAST_SHARE]
        shown = visible[:most]
        heads = ["topic", "share %", "documents %", class_head, "NPMI"]
        rows = [
            [
                topic.name, f"{100 * topic.share:.1f}", f"{100 * topic.documents:.1f}",
                _classes(topic, found), coherence_text(topic.coherence),
            ]
            for topic in shown
        ]  # fmt: skip
        typical = [[(domain, row) for row in topic.typical[:documents]] for topic in shown]
        _print_rows(heads, rows, [topic.words for topic in shown], typical, describe)
        if hidden := len(topics) - len(shown):
            more = f"--topics {len(visible)} prints more, " * (len(visible) > most)
            echo(f"… and {counted(hidden, 'smaller topic')} ({more}--csv writes all)")
        echo()
    echo_sentences(
        "share: the topic's part of all entries; documents: the part of which it is the largest "
        "topic; NPMI: the coherence of the words, 0 is chance and 1 is always together."
    )
    echo()


def _classes(topic: Topic, found: Topics) -> str:
    """Return the shares of the classes in per cent; of clusters or many the largest, by name."""
    if len(found.classes) <= FEW_CLASSES and found.columns == "classes":
        return "/".join(f"{100 * share:.0f}" for share in topic.classes)
    best = max(range(len(found.classes)), key=topic.classes.__getitem__)
    share = f" {100 * topic.classes[best]:.0f}" * (found.columns == "classes")
    return f"{short_label(found.classes[best])}{share}"


def _print_rows(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: Sequence[Sequence[str]],
    typical: Sequence[Sequence[tuple[str, int]]],
    describe: Describe,
) -> None:
    """Print aligned rows, each with its words and with documents (domain, row) below."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    left = sum(widths) + 2 * len(widths)
    echo(f"{'  '.join(map(str.ljust, heads, widths))}  words")
    for row, of_row, documents in zip(rows, words, typical, strict=True):
        cells = f"{'  '.join(map(str.ljust, row, widths))}  "
        width, indent = max(left + 40, WIDTH), " " * left
        echo(
            textwrap.fill(", ".join(of_row), width, initial_indent=cells, subsequent_indent=indent)
        )
        for domain, document in documents:
            place = ": ".join(filter(None, describe(domain, document)))
            echo(f"    {textwrap.shorten(place, WIDTH - 4)}")
