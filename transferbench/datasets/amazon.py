"""Amazon reviews of books, DVDs, electronics and kitchen appliances, positive or negative.

The Multi-Domain Sentiment Dataset (Blitzer, Dredze and Pereira, ACL 2007), the usual benchmark of
text transfer: 1,000 positive and 1,000 negative reviews of each domain, as counts of words and of
pairs of adjacent words. A task has the labelled reviews of one domain as source and those of
another as target. Reviews are in the order of the files, the negative ones first.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.data.fetch import files_of
from transferbench.data.options import Natural, StopWords, UnequalIn, Weighting
from transferbench.data.text import select
from transferbench.datasets._class_sizes import cut
from transferbench.datasets._problems import problem_from_counts
from transferbench.parameters import Count
from transferbench.problem import Problem, Truth

ORIGIN = (
    "https://raw.githubusercontent.com/soj3/TransferLearning/"
    "7accc2df9c78a8863124c6fa884cbf87eadac766/data-sets/processed_acl"
)
LICENCE = (
    "The Multi-Domain Sentiment Dataset (Blitzer, Dredze and Pereira, ACL 2007) is distributed for "
    "research; no licence is stated."
)
CLASSES = ("negative", "positive")
ORIGINALS = {
    "books/negative.review": (2_950_909,
        "1b7421e4cc6b18f4d42fee0014f62e85d10509c6930f7b77a8cea8a040c364e4"),
    "books/positive.review": (2_860_546,
        "2a6167686bfd0e6927f31e8cb1f75fee5659933d378e66cab18844e7b534903f"),
    "dvd/negative.review": (2_630_644,
        "73d4214973139ba22ceb58ce8e2c8db789fc89b99f3eea42b57820c80aa133ed"),
    "dvd/positive.review": (2_922_403,
        "a14ab28bc3a78ef1dc774e7d04be9bcfe3321956f6865db5d1b49af6a7dc012f"),
    "electronics/negative.review": (1_794_684,
        "1d4532083c71aff7f39cba4b92a368f19631b71378f80f15962c34edb668bf7e"),
    "electronics/positive.review": (1_759_673,
        "6831c9dc9d52c85cf13bcb1a11a0a5243750fc4d0ec37b116a84b23c2430901e"),
    "kitchen/negative.review": (1_504_573,
        "73fd980fba4b7f079bd440bc4bee02d658b67f483c8be8edd6252b313c63b4f9"),
    "kitchen/positive.review": (1_491_635,
        "b727718361d0138583f12499add2ed30acec18a54c4bae388fedf1d5a6cb2935"),
}  # fmt: skip
FILES = files_of("amazon-reviews", ORIGIN, ORIGINALS, LICENCE)
DOMAINS = ("books", "dvd", "electronics", "kitchen")
TASKS = {
    f"amazon/{source}-vs-{target}": (
        f"Amazon reviews, {source} to {target}: 2 domains, the first labelled"
    )
    for source, target in permutations(DOMAINS, 2)
}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def needed(task: str) -> list[str]:
    """Return the two files of the source and of the target."""
    domains = task.removeprefix("amazon/").split("-vs-")
    return [f"amazon-reviews/{domain}/{name}.review" for domain in domains for name in CLASSES]


def build(
    task: str,
    files: dict[str, Path],
    *,
    terms: Literal["both", "unigrams", "bigrams"] = "both",
    stop_words: StopWords = "none",
    min_df: Count = 5,
    max_features: Natural = 0,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
    class_sizes: str = "",
    unequal_in: UnequalIn = "target",
) -> tuple[Problem, Truth]:
    """Build one task.

    terms: single words, pairs of adjacent words, or both. stop_words: drop these single words.
    min_df: drop terms in fewer reviews, counted over both domains. max_features: keep only so many,
    of highest document frequency; 0 keeps all. weighting, unit_length: see `text.weight`; fitted on
    both domains together. class_sizes, unequal_in: cut the classes, see `_class_sizes.cut`; weights
    and document frequencies are those of the documents that remain. Raises ValueError for a file
    with other content than expected.
    """
    counts, y, vocabulary = _read([files[name] for name in needed(task)])
    pairs = np.char.find(vocabulary, "_") >= 0
    chosen = np.flatnonzero({"both": pairs | ~pairs, "unigrams": ~pairs, "bigrams": pairs}[terms])
    counts, vocabulary = counts[:, chosen], vocabulary[chosen]
    rows, half = np.arange(len(y)), len(y) // 2
    whole = {"source": (rows[:half], y[:half]), "target": (rows[half:], y[half:])}
    parts = cut(whole, CLASSES, class_sizes, unequal_in)
    columns = select(
        counts[np.concatenate([rows for rows, _ in parts.values()])],
        vocabulary,
        stop_words=stop_words,
        min_df=min_df,
        max_features=max_features or None,
    )
    return problem_from_counts(
        task,
        "transfer",
        CLASSES,
        {name: (counts[rows], y) for name, (rows, y) in parts.items()},
        columns=columns,
        weighting=weighting,
        unit_length=unit_length,
    )


def _read(paths: list[Path]) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Return counts (n, d), class indices (n,) and the d terms in alphabetical order."""
    column_of: dict[str, int] = {}
    columns, values, starts, labels = [], [], [0], []
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").strip().split("\n"), 1):
            *pairs, label = line.strip().split(" ")
            try:
                labels.append(CLASSES.index(label.removeprefix("#label#:")))
                for pair in pairs:
                    term, _, count = pair.rpartition(":")
                    columns.append(column_of.setdefault(term, len(column_of)))
                    values.append(int(count))
            except ValueError as error:
                expected = "expected 'term:count … #label#:positive' or negative"
                raise ValueError(f"{path.name}, line {number}: {expected}") from error
            starts.append(len(columns))
    counts = sp.csr_array((values, columns, starts), shape=(len(labels), len(column_of)))
    counts.sum_duplicates()
    vocabulary = np.array(list(column_of))
    order = np.argsort(vocabulary)
    return counts[:, order], np.array(labels), vocabulary[order]
