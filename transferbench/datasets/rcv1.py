"""RCV1-v2: five subsets of 6,000 Reuters news stories each, with 101 of its 103 topics as labels.

The multi-label paper uses these data (subsets 1–4 in Tables 1–9 and 13). They are R data frames of
cosine-normalised log tf-idf weights (Lewis et al., JMLR 2004), in which every document has length
one.

The files have a defect. In one half of the rows of each file, the 101 label columns are shifted to
the left, into the features. It is the half of the last 3,000 rows, and in subset 5 the half of the
first 3,000. In subsets 1 to 5 the shift is 1, 12, 14, 24 and 11 columns. So "Class1" is one topic
in one half and another topic in the other. The files themselves show the defect. With labels among
their features those rows are longer than one, and the label frequencies of the two halves are
uncorrelated (−0.07 to 0.17). The tasks undo the shift. Then every row has length one, and the label
frequencies of the halves agree (correlation 0.997 or more). Cardinality and diversity of the
uncorrected file of subset 1 are those of the paper's Table 1. The corrected labels are the first
101 topics in alphabetical order, and no story has a topic without its parent. MCAT and M143 are
missing; MCAT is the union of M11, M12, M13 and M14.

The labels are the four top topics CCAT, ECAT, GCAT and MCAT. The tasks …-101 have all 101 labels.
The paper states 101, but its Hamming losses are near 2 · density · (1 − F1), which implies a
density of .31 to .37. The density of the top topics is .29, and that of 101 labels is .03. The
views are the weights, and topics by PLSA on the term counts. The counts are recovered from the
weights; for 29,306 of the 30,000 documents every weight is exact. The paper does not state the
number of topics; 100 is our choice (`topics`).

Other label sets that the paper's words allow are options (`labels`): the three top topics that the
files have, the most frequent of their 101 labels, counted over all documents, and the topics of the
second level. With `drop_unlabelled=true` documents without any label of the set are left out. Both
use labels of test documents. The topics of the second view are those of all 6,000 documents under
every option.

About tasks the paper says only that a task has "instances belonging to different sub-categories".
Here the sub-categories of each top topic are assigned to the tasks in turn, and a story belongs to
its largest sub-category. By default (`tasks_from=labels`) this uses the true labels of all stories,
including test stories. So a method that uses the tasks receives label information. With
`tasks_from=train-labels` only labels of training stories are used. A test story then gets the
sub-category whose training stories have the nearest mean of tf-idf weights. `tasks_from=random`
uses no labels, and `tasks=1` makes no tasks. The paper does not state the fraction it trains on.
"""

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import scipy.sparse as sp
from annotated_types import Ge, Le

from transferbench.data.declared import declared
from transferbench.data.formats import read_rda
from transferbench.data.problems import MultilabelData, Views, multilabel_builder, topic_view
from transferbench.datasets._rcv1_counts import recover_counts
from transferbench.problem import Matrix

FILES, TASKS = declared(__file__)

NUMBERS = {
    "C": "11 12 13 14 15 151 1511 152 16 17 171 172 173 174 18 181 182 183 21 22 23 24 31 311 312 "
    "313 32 33 331 34 41 411 42 CAT",
    "E": "11 12 121 13 131 132 14 141 142 143 21 211 212 31 311 312 313 41 411 51 511 512 513 61 "
    "71 CAT",
    "G": "15 151 152 153 154 155 156 157 158 159 CAT CRIM DEF DIP DIS ENT ENV FAS HEA JOB MIL OBIT "
    "ODD POL PRO REL SCI SPO TOUR VIO VOTE WEA WELF",
    "M": "11 12 13 131 132 14 141 142",
}
TOPICS = [letter + number for letter, some in NUMBERS.items() for number in some.split()]
TOPS = {"CCAT": ["CCAT"], "ECAT": ["ECAT"], "GCAT": ["GCAT"], "MCAT": ["M11", "M12", "M13", "M14"]}
FEATURES = 47_236
#: By file: columns by which the labels of each half of the rows are shifted to the left.
SHIFTS = dict(zip(FILES, ((0, 1), (0, 12), (0, 14), (0, 24), (11, 0)), strict=True))
#: Labels of a task: the top topics with the rebuilt MCAT ("tops") or without it ("file-tops"), the
#: most frequent of the 101 labels of the subset, or the topics below a top topic ("second-level").
Labels = Literal[
    "tops", "file-tops", "frequent-3", "frequent-4", "frequent-5", "frequent-6", "frequent-7",
    "frequent-8", "second-level",
]  # fmt: skip
#: Number of topics of the second view.
Topics = Annotated[int, Ge(1), Le(1000)]
IDF_DOCUMENTS = 23_307  # documents that RCV1-v2's document frequencies were counted on


def needed(task: str) -> list[str]:
    """Return the file of the subset."""
    return [f"rcv1/rcv1sub{task.removeprefix('rcv1/subset')[0]}.rda"]


def _read(
    task: str,
    files: dict[str, Path],
    *,
    views: Views = "both",
    labels: Labels = "tops",
    drop_unlabelled: bool = False,
    topics: Topics = 100,
) -> MultilabelData:
    """Read one task."""
    # `views`: The published weights ("tf-idf"), the topics P(z|d) of every document of the subset
    # ("topics"), or both ("both").
    # `drop_unlabelled`: Leave out documents without a label of the task.
    # `topics`: Number of topics of the second view.
    (path,) = files.values()
    X, Y = _corrected(path)
    below = [n for n, topic in enumerate(TOPICS) if topic not in TOPS]
    Y_subcategories, top_categories = Y[:, below], [TOPICS[n][0] for n in below]
    if task.endswith("101"):
        if labels != "tops":
            raise ValueError(f"labels = {labels}, expected a task without -101 to choose labels of")
        groups = {topic: [topic] for topic in TOPICS}
    else:
        groups = _groups(labels, Y)
    columns = [[TOPICS.index(topic) for topic in group] for group in groups.values()]
    Y = np.stack([Y[:, part].any(axis=1) for part in columns], axis=1)
    matrices: list[Matrix] = [] if views == "topics" else [X.astype(np.float32)]
    if views != "tf-idf":
        matrices.append(_topics(path, topics))
    kept = Y.any(axis=1) | (not drop_unlabelled)
    return MultilabelData(
        list(groups), [view[kept] for view in matrices], Y[kept], Y_subcategories[kept],
        top_categories, X[kept],
    )  # fmt: skip


def _groups(labels: Labels, Y: np.ndarray) -> dict[str, list[str]]:
    """Return the labels of a set, each with the topics of the file that it is the union of."""
    if labels == "tops":
        return TOPS
    if labels == "file-tops":
        names = [topic for topic in TOPS if topic in TOPICS]
    elif labels == "second-level":  # C15, but not C151
        names = [t for t in TOPICS if t not in TOPS and (len(t) == 3 or t[:3] not in TOPICS)]
    else:
        by_size = np.argsort(-Y.sum(axis=0), kind="stable")
        names = [TOPICS[n] for n in by_size[: int(labels.removeprefix("frequent-"))]]
    return {topic: [topic] for topic in names}


build = multilabel_builder(_read)

Table = tuple["sp.csr_array", "np.ndarray"]


@lru_cache(maxsize=5)
def _corrected(path: Path) -> Table:
    """Return weights (6000, 47236) and labels (6000, 101) of a subset with the shifts undone."""
    return undo_shifts(*_published(path), SHIFTS[f"rcv1/{path.name}"])


@lru_cache(maxsize=5)
def _topics(path: Path, topics: int) -> np.ndarray:
    """Return P(z|d) (6000, topics) of a subset."""
    counts, _ = recover_counts(_corrected(path)[0], IDF_DOCUMENTS)
    return topic_view(counts, topics)


@lru_cache(maxsize=5)
def _published(path: Path) -> Table:
    """Return weights (n, d) and labels (n, 101) of a file as they are published."""
    (variable,) = read_rda(path).values()
    columns = [c for n, c in variable["dataset"].items() if n.startswith(("Att", "Class"))]
    indptr = np.cumsum([0, *(len(c.positions) for c in columns)])
    values = np.concatenate([c.values for c in columns])
    positions = np.concatenate([c.positions for c in columns])
    shape = columns[0].size, len(columns)
    table = sp.csr_array(sp.csc_array((values, positions, indptr), shape=shape))
    return table[:, : -len(TOPICS)], table[:, -len(TOPICS) :].toarray()


def undo_shifts(X: sp.csr_array, Y: np.ndarray, shifts: tuple[int, int]) -> Table:
    """Return weights (n, 47236) and labels of a file, with the shift of each half undone."""
    table, half = sp.csr_array(sp.hstack([X, Y])), len(Y) // 2
    weights, labels = [], []
    for rows, shift in zip((table[:half], table[half:]), shifts, strict=True):
        start = X.shape[1] - shift  # first column of the labels
        part = sp.csr_array(rows[:, :start])
        part.resize((rows.shape[0], FEATURES))
        weights.append(part)
        labels.append(rows[:, start : start + Y.shape[1]].toarray())
    return sp.csr_array(sp.vstack(weights)), np.vstack(labels)
