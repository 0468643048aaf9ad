"""20 Newsgroups as Zhuang and Luo weighted it: three pairs of top categories, from their files.

Zhuang and Luo distributed weighted words of comp against sci, rec against sci and sci against talk.
The GTL paper cites them, but states more words than these files have. `gtl/<pair>-bydate` has as
many words as that paper states. A file has the posts of one sub-category, in lines "word document
value". Words and documents are numbers from 1, and the words have no names. The tasks have the
values as distributed, at raw length. The last line of each file is the last word of the last
document with the value 1.1e-05. It sets the size of a matrix, and it is kept. A word that occurs in
no file of a task has no column. There are 13 such words in comp against sci, and none in the other
pairs.

All values follow from Rennie's counts by `newsgroups_bydate.recipe`. They use the words in 16 posts
or more of both top categories; for sci against talk, the words in 6 posts or more.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared
from transferbench.data.problems import problem_from_counts
from transferbench.datasets import newsgroups
from transferbench.problem import Problem, Truth

FILES, TASKS = declared(__file__)
#: Words of each pair.
PAIRS = {"comp-vs-sci": 6960, "rec-vs-sci": 7270, "sci-vs-talk": 16249}


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
    split = newsgroups.SPLITS[task.replace("zhuang/", "gtl/")]
    content = newsgroups.by_domain(split, *distributed(task, files))
    return problem_from_counts(task, "transfer", content, unit_length=unit_length)


def distributed(task: str, files: dict[str, Path]) -> tuple[sp.csr_array, np.ndarray]:
    """Return the weights (documents, words) of a pair's files, and the group of each document."""
    pair = task.removeprefix("zhuang/")
    # The files are in alphabetical order of 20 Newsgroups, as GROUPS is.
    groups = [name for name in newsgroups.SIXTEEN if name.split(".")[0] in pair.split("-vs-")]
    weights = []
    for path in files.values():
        lines = np.fromfile(path, sep=" ").reshape(-1, 3)
        words, rows = lines[:, :2].astype(np.intp).T - 1
        shape = (rows.max() + 1, PAIRS[pair])
        weights.append(sp.csr_array((lines[:, 2], (rows, words)), shape=shape))
    return sp.vstack(weights, format="csr"), np.repeat(groups, [len(X.indptr) - 1 for X in weights])
