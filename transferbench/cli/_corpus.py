"""Topics of documents without labels in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transferbench.cli._terminal import echo, echo_sentences, echo_table
from transferbench.messages import counted, short_label
from transferbench.own.corpus import LACKING, REFITS, compare_numbers, find_topics
from transferbench.own.topics import coherence_text

if TYPE_CHECKING:
    from transferbench.own.corpus import CorpusTopic, CorpusTopics, NumberOfTopics
    from transferbench.own.page import Describe
    from transferbench.problem import Problem

#: Characters of a line.
WIDTH = 100
#: Domains whose shares have a column each; of more the largest and the smallest share are printed.
MAX_DOMAINS = 4


def fit(
    problem: Problem, ks: Sequence[int], **settings: Any
) -> tuple[CorpusTopics, list[NumberOfTopics]]:
    """Return the topics, and the compared numbers of topics if there are several."""
    from tqdm import tqdm

    domains = {domain.name: domain.X for domain in problem.domains}
    sizes = ", ".join(f"{name} {X.shape[0]:,}" for name, X in domains.items())
    echo(f"documents: {sizes}; features: {problem.domains[0].X.shape[1]:,}", err=True)
    features = problem.features or [str(i + 1) for i in range(problem.domains[0].X.shape[1])]
    if len(ks) == 1:
        return find_topics(domains, features, ks[0], **settings), []
    with tqdm(ks, "numbers of topics", leave=False, disable=None) as bar:
        numbers = compare_numbers(domains, features, bar, **settings)
    return max(numbers, key=lambda number: number.quality).found, numbers


def print_numbers(numbers: Sequence[NumberOfTopics], found: CorpusTopics) -> None:
    """Print how good the topics of each number are, and which number is shown."""
    rows = [["topics", "coherence", "diversity", "their product", "stability"]]
    for n in numbers:
        values = (n.found.coherence, n.found.diversity, n.quality, n.stability)
        rows.append([f"{n.k}{' *' * (n.found is found)}", *map(coherence_text, values)])
    echo_table(rows)
    echo()
    echo_sentences(
        "*: shown below, because coherence × diversity is largest. It is one of several good "
        "choices: few topics give an overview, many give detail. Stability: the share of words "
        f"that stay the same in {REFITS} fits on four fifths of the documents."
    )
    echo()


def notes(found: CorpusTopics) -> list[str]:
    """Return sentences on topics of function words and on topics that are alike."""
    of_functions = [topic.name for topic in found.topics if topic.is_function]
    said = [
        f"topics {one.number} and {two.number} are alike: {n} words in common"
        for one, two, n in found.alike()
    ]
    if of_functions:
        said.append(
            f"mostly function words or words of many documents: {'; '.join(of_functions)}. "
            "--option stop_words=english, or stop_words=FILE with words of your own, leaves such "
            "words out"
        )
    return said


def contrasts(found: CorpusTopics) -> list[str]:
    """Return sentences on the topics that one domain has and another one lacks."""
    first, *others = found.shares
    said = []
    for other in others:
        for has, lacks in ((other, first), (first, other)):
            named = [
                f"{topic.name} ({_percent(topic.shares[has])} % against "
                f"{_percent(topic.shares[lacks])} %)"
                for topic in found.only_in(has, lacks)
            ]
            said.append(f"{has} has, {lacks} lacks: {'; '.join(named) or 'no topic'}.")
    return said


def print_topics(found: CorpusTopics, describe: Describe, most: int, documents: int) -> None:
    """Print the topics side by side in the domains."""
    names = [*found.shares]
    for sentence in contrasts(found):
        echo_sentences(sentence)
    if len(names) > 1:
        echo()
    heads = ["topic", *_heads(names), "NPMI"]
    shown = found.topics[:most]
    rows = [[str(t.number), *_cells(t, names), coherence_text(t.coherence)] for t in shown]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    left = sum(widths) + 2 * len(widths)

    def line(cells: Sequence[str]) -> str:
        return "  ".join(map(str.ljust, cells, widths))

    echo(f"{line(heads)}  words")
    for topic, row in zip(shown, rows, strict=True):
        first, *more = textwrap.wrap(", ".join(topic.words), max(40, WIDTH - left)) or [""]
        echo(f"{line(row)}  {first}".rstrip())
        for rest in more:
            echo(" " * left + rest)
        for name in names:
            for document in topic.typical[name][:documents]:
                place = ": ".join(filter(None, describe(name, document)))
                echo(f"    {textwrap.shorten(place, WIDTH - 4)}")
    if hidden := len(found.topics) - len(shown):
        echo(
            f"… and {counted(hidden, 'smaller topic')} (--topics {len(found.topics)} prints all, "
            "--csv writes all)"
        )
    echo()
    echo_sentences(_legend(names))
    echo()


def _legend(names: Sequence[str]) -> str:
    """Return what the columns mean."""
    several = (
        f" A domain lacks a topic if its share is at most {100 * LACKING:.0f} % of that in the "
        "other, and the interval of the difference excludes 0."
    )
    two = (
        " difference: points of the share, with a 95 % interval over documents for all topics "
        "together."
    )
    return (
        "The domain names head the topic's mean share of a document in per cent; NPMI: the "
        "coherence of the words in the domains that have the topic, 0 is chance and 1 is always "
        f"together.{two * (len(names) == 2)}{several * (len(names) > 1)}"
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
    cells = [_percent(topic.shares[name]) for name in names]
    if len(names) == 2:
        cells += map(str, topic.differences.values())
    return cells
