"""RCV1-v2: five subsets of 6,000 Reuters news stories each, with 101 of its 103 topics as labels.

The data of the multi-label paper (Tables 1–9 and 13 use subsets 1–4), as R data frames of cosine-
normalised log tf-idf weights (Lewis et al., JMLR 2004), in which every document has length one.

The files have a defect. In one half of the rows of each (the last 3,000; the first of subset 5)
the 101 labels stand some columns too far to the left (1, 12, 14, 24 and 11), among the features, so
that "Class1" is one topic in one half and another in the other. It shows in the file itself: with
labels among their features those rows are longer than one, and how often a label occurs in one half
says nothing about the other (correlations of −0.07 to 0.17). The tasks undo it: the smallest shift
that gives every row length one is taken, and the two halves' label frequencies must then agree
(0.997 and more). `rcv1/subset1-as-published` has the file as it is (its topics are those of the
mended one); its cardinality and diversity are those of the paper's Table 1. The mended labels are
the first 101 topics in alphabetical order, and no story has a topic without the topic above it.
MCAT and M143 are missing; MCAT is what is in M11, M12, M13 or M14.

Labels: the four top topics CCAT, ECAT, GCAT and MCAT, or (…-101) all. The paper speaks of 101, but
its Hamming losses are near 2 · density · (1 − F1), which asks for a density of .31 to .37: that of
the top topics is .29, that of 101 labels .03. Views: the weights, and topics by PLSA on the term
counts, which are recovered from the weights (of the 30,000 documents, 29,306 come out with every
weight exact). Tasks: sub-categories, dealt in turn within each top topic by the largest label of a
story. How the paper deals them, and what part it trains on, it does not say. A task's name thus
comes from true labels, of test rows, too: `tasks=1` is without.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Lt

from transferbench.data.fetch import File, Url
from transferbench.parameters import Count

if TYPE_CHECKING:
    import numpy as np
    import scipy.sparse as sp

    from transferbench.problem import Matrix, Problem, Truth

ORIGIN = "https://raw.githubusercontent.com/fcharte/mldr.datasets"
LICENCE = (
    "RCV1-v2 is distributed for research; the stories are Reuters', the R package of these files "
    "is LGPL-3."
)
ORIGINALS = (
    ("23d103ab63a2afbcc32a2a0b9924f4cce236f3f5", 3_901_552,
     "6a1d636e37f96d4c145237798ab8fad3e483dab30b80beb9bcf1d2a88c2e9419"),
    ("69df423b563597b8df9d41ecbfd234c8bed7875b", 3_887_436,
     "747c2c791de146f726085574ebfa546b8bfccea3765d7e6e85ed815667668c09"),
    ("010268ae3a4dfe3593ac3e867229c2e8bf239913", 3_920_352,
     "3676392175cf3c44749e23b07d50f538e26e540b2521ff91b42e415cf8eb0fcc"),
    ("225e64d926a69a07bf78f647b2a0f981a81b9d48", 3_882_768,
     "3c6ce9e6ece53228e3b4330fc13d787e3eb052641623b05b8c44a0a2087336ca"),
    ("a796d66ae4f878132fba50d76af210f79d19ebb6", 3_889_244,
     "1bfdd729eb4e459a9a410c364c2e441289856db50a3e42287808b432b6f2856d"),
)  # fmt: skip
FILES = {
    f"rcv1/rcv1sub{number}.rda": File(
        name=f"rcv1/rcv1sub{number}.rda",
        size=size,
        digest=f"sha256:{sha256}",
        origins=(Url(f"{ORIGIN}/{commit}/additional-data/rcv1sub{number}.rda"),),
        licence=LICENCE,
    )
    for number, (commit, size, sha256) in enumerate(ORIGINALS, 1)
}
TASKS = {
    **{f"rcv1/subset{n}": f"RCV1-v2, subset {n}: four top topics, 4 tasks" for n in range(1, 6)},
    **{f"rcv1/subset{n}-101": f"RCV1-v2, subset {n}: 101 topics, 4 tasks" for n in range(1, 6)},
    "rcv1/subset1-as-published": (
        "RCV1-v2, subset 1 with labels that mean two things, as the file has them: 4 tasks"
    ),
}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

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
WEIGHED_ON = 23_307  # documents on which RCV1-v2's document frequencies were counted


def needed(task: str) -> list[str]:
    """The file of the subset."""
    return [f"rcv1/rcv1sub{task.removeprefix('rcv1/subset')[0]}.rda"]


def build(
    task: str,
    files: dict[str, Path],
    *,
    views: Literal["both", "tf-idf", "topics"] = "both",
    topics: Count = 100,
    tasks: Count = 4,
    train: Annotated[float, Gt(0), Lt(1)] = 0.5,
    split: Annotated[int, Ge(0)] = 0,
) -> tuple[Problem, Truth]:
    """One task as a Problem and its Truth.

    views: the published weights, the topics (P(z|d) of every document of the subset), or both.
    topics: how many. tasks: how many the stories are dealt into, 1 for none. train: the share of
    the stories whose labels are seen, drawn at random; split: which draw. Raises ValueError for a
    file that does not hold what it should.
    """
    import numpy as np

    from transferbench.data.datasets._multilabel import deal, problem, share

    path = files[needed(task)[0]]
    if task.endswith("published"):
        X, Y = _published(path)
        classes, sub, top = [f"Class{n + 1}" for n in range(len(TOPICS))], Y, [""] * len(TOPICS)
    else:
        X, Y = _mended(path)
        classes, below = TOPICS, [n for n, topic in enumerate(TOPICS) if topic not in TOPS]
        sub, top = Y[:, below], [TOPICS[n][0] for n in below]
        if not task.endswith("101"):
            columns = [[TOPICS.index(topic) for topic in some] for some in TOPS.values()]
            classes, Y = list(TOPS), np.stack([Y[:, some].any(axis=1) for some in columns], axis=1)
    chosen: list[Matrix] = [] if views == "topics" else [X.astype(np.float32)]
    if views != "tf-idf":
        chosen.append(_topics(path, topics))
    dealt = deal(sub, top, tasks)
    return problem(task, classes, chosen, Y, dealt, share(len(Y), train, split))


Table = tuple["sp.csr_array", "np.ndarray"]


@lru_cache(maxsize=5)
def _mended(path: Path) -> Table:
    """Weights (6000, 47236) and labels (6000, 101) of a subset, realigned."""
    return realigned(*_published(path))


@lru_cache(maxsize=5)
def _topics(path: Path, topics: int) -> np.ndarray:
    """P(z|d) (6000, topics) of a subset."""
    from transferbench.data.datasets._multilabel import topic_view
    from transferbench.data.datasets._term_counts import counts

    return topic_view(counts(_mended(path)[0], WEIGHED_ON)[0], topics)


@lru_cache(maxsize=5)
def _published(path: Path) -> Table:
    """Weights (n, d) and labels (n, 101) of a file, as they stand in it."""
    import numpy as np
    import scipy.sparse as sp

    from transferbench.data.formats.rda import Numbers, read

    found = next(iter(read(path).values()))
    frame = found.get("dataset") if isinstance(found, dict) else None
    columns = [c for n, c in (frame or {}).items() if n.startswith(("Att", "Class"))]
    if not columns or not all(
        isinstance(c, Numbers) and c.size == columns[0].size for c in columns
    ):
        raise ValueError(f"{path.name}: expected a data set with columns Att1, … and Class1, …")
    ends = np.cumsum([0, *(len(c.places) for c in columns)])
    values, places = (
        np.concatenate([getattr(c, p) for c in columns]) for p in ("values", "places")
    )
    shape = columns[0].size, len(columns)
    table = sp.csr_array(sp.csc_array((values, places, ends), shape=shape))
    return table[:, : -len(TOPICS)], table[:, -len(TOPICS) :].toarray()


def realigned(X: sp.csr_array, Y: np.ndarray) -> Table:
    """Weights (n, 47236) and labels of a file with the shift of either half undone.

    Raises ValueError where no shift gives every row length one, or the halves' labels disagree.
    """
    import numpy as np
    import scipy.sparse as sp

    table, half = sp.csr_array(sp.hstack([X, Y])), len(Y) // 2
    weights, labels = [], []
    for rows in (table[:half], table[half:]):
        at = X.shape[1] - _shift(rows, X.shape[1])
        own = sp.csr_array(rows[:, :at])
        own.resize((rows.shape[0], FEATURES))
        weights.append(own)
        labels.append(rows[:, at : at + Y.shape[1]].toarray())
    one, other = (part.mean(axis=0) for part in labels)
    if np.corrcoef(one, other)[0, 1] < 0.99 or not np.isin(labels, (0, 1)).all():
        raise ValueError("the labels of the two halves do not agree, even shifted")
    return sp.csr_array(sp.vstack(weights)), np.vstack(labels)


def _shift(rows: sp.csr_array, features: int) -> int:
    """How many columns further left than after the features the labels stand."""
    import numpy as np

    square = rows.multiply(rows)
    for shift in range(min(len(TOPICS), features)):
        length = np.sqrt(square[:, : features - shift].sum(axis=1))
        if np.abs(length - 1).max() < 1e-5:
            return shift
    raise ValueError("rows are not of length one, wherever the labels begin")
