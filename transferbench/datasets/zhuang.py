"""20 Newsgroups as Zhuang and Luo preprocessed it: the form that the GTL paper cites.

Zhuang and Luo distributed weighted words of comp against sci, rec against sci and sci against talk.
A file has the posts of one sub-category, in lines "word document value"; words and documents are
numbers from 1, the words have no names. `zhuang/<pair>` has these values as distributed, at raw
length. The last line of each file, the last word of the last document with the value 1.1e-05, sets
the size of a matrix; it is kept. A word that occurs in no file of a task has no column (13 of comp
against sci, none of the others).

The recipe, learned from these files: take the counts of Rennie's "bydate" matrices (18,774 posts
without headers and subject; 61,188 lower-case words of two letters or more, stop words included).
Keep the words in 16 or more posts (sci against talk: 6) of the n posts of both top categories, with
comp.windows.x. Multiply each count by log2(n / document frequency). The counts are exactly those of
the DAM paper's matrices, as far as these have the same posts.

`zhuang/<pair>-rebuilt` applies the recipe to the posts of `newsgroups`, for all six pairs: no files
are known for comp against rec, comp against talk and rec against talk. These posts begin with their
subject, 6 to 8 words, and posts that consist of a subject alone (0.2 %) are additional documents.
"""

from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.data.problems import problem_from_counts
from transferbench.data.text import count, document_frequency, select
from transferbench.datasets import newsgroups
from transferbench.datasets._published import facts, originals
from transferbench.problem import Problem, Truth

ZHUANG = originals("zhuang")
FILES = ZHUANG | newsgroups.FILES
#: Words of each pair.
PAIRS = {"comp-vs-sci": 6960, "rec-vs-sci": 7270, "sci-vs-talk": 16249}
#: Task → pair.
TASK_PAIRS = {f"zhuang/{pair}": pair for pair in PAIRS} | {
    f"zhuang/{P}-vs-{Q}-rebuilt": f"{P}-vs-{Q}"
    for P, Q in combinations(("comp", "rec", "sci", "talk"), 2)
}
TASKS = {
    task: f"20 Newsgroups, {pair.replace('-vs-', ' against ')}, Zhuang and Luo's weights"
    f"{' rebuilt' if task.endswith('-rebuilt') else ''}: 2 domains, the first labelled"
    for task, pair in TASK_PAIRS.items()
}
FACTS = facts(TASKS)


def _groups(pair: str) -> list[str]:
    """Return the sub-categories of a pair, in alphabetical order."""
    tops = pair.split("-vs-")
    return [group for group, name in newsgroups.GROUPS.items() if name.split(".")[0] in tops]


def needed(task: str) -> list[str]:
    """Return the files of a pair, or those of the posts."""
    if task.endswith("-rebuilt"):
        return list(newsgroups.FILES)
    folder = f"zhuang-newsgroups/{TASK_PAIRS[task]}/"
    return [name for name in ZHUANG if name.startswith(folder)]


def build(
    task: str,
    files: dict[str, Path],
    *,
    split: Literal["gtl", "dtl"] = "gtl",
    unit_length: bool = False,
) -> tuple[Problem, Truth]:
    """Build one task.

    split: the paper whose sub-categories are the source and the target; they differ in sci.
    unit_length: divide each row by its Euclidean length.
    """
    pair = TASK_PAIRS[task]
    weights = (_rebuilt if task.endswith("-rebuilt") else _distributed)(pair, files)
    parts = {}
    for domain, classes in newsgroups.SPLITS[f"{split}/{pair}"].items():
        blocks = [
            (weights[group], c) for c, groups in enumerate(classes.values()) for group in groups
        ]
        X = sp.vstack([X for X, _ in blocks], format="csr")
        parts[domain] = X, np.repeat([c for _, c in blocks], [X.shape[0] for X, _ in blocks])
    # "tf": the weights as they are.
    return problem_from_counts(
        task, "transfer", pair.split("-vs-"), parts, weighting="tf", unit_length=unit_length
    )


def _distributed(pair: str, files: dict[str, Path]) -> dict[str, sp.csr_array]:
    """Return by sub-category the weights (documents, words) of a pair's files."""
    weights = {}
    # Both are in alphabetical order of 20 Newsgroups.
    for group, name in zip(_groups(pair), needed(f"zhuang/{pair}"), strict=True):
        lines = np.fromfile(files[name], sep=" ").reshape(-1, 3)
        words, rows = lines[:, :2].astype(np.intp).T - 1
        shape = (rows.max() + 1, PAIRS[pair])
        weights[group] = sp.csr_array((lines[:, 2], (rows, words)), shape=shape)
    return weights


def _rebuilt(pair: str, files: dict[str, Path]) -> dict[str, sp.csr_array]:
    """Return by sub-category the weights (documents, words) of the posts, by the recipe."""
    groups, texts = newsgroups.posts(files[name] for name in newsgroups.FILES)
    names = [newsgroups.GROUPS[group] for group in _groups(pair)]
    if "comp" in pair:
        names.append("comp.windows.x")
    chosen = np.flatnonzero(np.isin(groups, names))
    counts, vocabulary = count((texts[i] for i in chosen), "[a-z]{2,}")
    min_df = 6 if pair == "sci-vs-talk" else 16
    counts = counts[:, select(counts, vocabulary, stop_words="none", min_df=min_df)]
    idf = np.log2(len(chosen) / document_frequency(counts))
    weights = sp.csr_array(counts.multiply(idf))
    return {group: weights[groups[chosen] == newsgroups.GROUPS[group]] for group in _groups(pair)}
