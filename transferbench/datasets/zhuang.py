"""20 Newsgroups as Zhuang and Luo weighted it: three pairs of top categories, from their files.

Zhuang and Luo distributed weighted words of comp against sci, rec against sci and sci against talk.
The GTL paper cites them, but states more words than these files have; `gtl/<pair>-bydate` has as
many. A file has the posts of one sub-category, in lines "word document value"; words and documents
are numbers from 1, the words have no names. The tasks have the values as distributed, at raw
length. The last line of each file, the last word of the last document with the value 1.1e-05, sets
the size of a matrix; it is kept. A word that occurs in no file of a task has no column (13 of comp
against sci, none of the others).

All values follow from Rennie's counts by `newsgroups_bydate.recipe`, with the words in 16 posts or
more of both top categories (sci against talk: in 6).
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.problems import problem_from_counts
from transferbench.datasets import newsgroups
from transferbench.datasets._published import facts, originals
from transferbench.problem import Problem, Truth

FILES = originals("zhuang")
#: Words of each pair.
PAIRS = {"comp-vs-sci": 6960, "rec-vs-sci": 7270, "sci-vs-talk": 16249}
TASKS = {
    f"zhuang/{pair}": newsgroups.line(newsgroups.SPLITS[f"gtl/{pair}"], "Zhuang and Luo's weights")
    for pair in PAIRS
}
FACTS = facts(TASKS)


def needed(task: str) -> list[str]:
    """Return the files of a pair."""
    folder = f"zhuang-newsgroups/{task.removeprefix('zhuang/')}/"
    return [name for name in FILES if name.startswith(folder)]


def build(task: str, files: dict[str, Path], *, unit_length: bool = False) -> tuple[Problem, Truth]:
    """Build one task.

    Parameters
    ----------
    unit_length
        Divide each row by its Euclidean length.
    """
    weights, parts = distributed(task, files), {}
    for domain, classes in newsgroups.SPLITS[task.replace("zhuang/", "gtl/")].items():
        blocks = [
            (weights[group], c) for c, groups in enumerate(classes.values()) for group in groups
        ]
        X = sp.vstack([X for X, _ in blocks], format="csr")
        parts[domain] = X, np.repeat([c for _, c in blocks], [X.shape[0] for X, _ in blocks])
    # "tf": the weights as they are.
    return problem_from_counts(
        task, "transfer", list(classes), parts, weighting="tf", unit_length=unit_length
    )


def distributed(task: str, files: dict[str, Path]) -> dict[str, sp.csr_array]:
    """Return by sub-category the weights (documents, words) of a pair's files."""
    pair, weights = task.removeprefix("zhuang/"), {}
    groups = [
        group
        for group, name in newsgroups.GROUPS.items()
        if name.split(".")[0] in pair.split("-vs-") and name in newsgroups.SIXTEEN
    ]
    # Both are in alphabetical order of 20 Newsgroups.
    for group, name in zip(groups, needed(task), strict=True):
        lines = np.fromfile(files[name], sep=" ").reshape(-1, 3)
        words, rows = lines[:, :2].astype(np.intp).T - 1
        shape = (rows.max() + 1, PAIRS[pair])
        weights[group] = sp.csr_array((lines[:, 2], (rows, words)), shape=shape)
    return weights
