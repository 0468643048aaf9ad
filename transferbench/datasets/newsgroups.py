"""20 Newsgroups, all-terms: 18,821 posts as Cachopo prepared them; for GTL, MTC, SKADA-Bench.

The posts have lower-case letters only. The subject comes first, and there are no other headers. A
package index has this collection, so `gtl/<pair>` needs nothing else. The papers used other
collections: see `newsgroups-bydate` (MRTL, GTL) and `newsgroups-19997` (DTL). Documents of a domain
are in the order of the files, and the training part comes first.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared, read
from transferbench.data.problems import (
    Counts,
    add_text_views,
    problem_from_counts,
)
from transferbench.data.text import Weighting, count, select
from transferbench.parameters import Count, CountOrZero
from transferbench.problem import Names, Problem, Truth
from transferbench.settings import Settings

#: Domain → class → sub-categories, by short name.
Split = dict[str, dict[str, list[str]]]

FILES, TASKS = declared(__file__)
#: Sub-categories by short name.
GROUPS: dict[str, str] = read(__file__)["groups"]
#: Every paper's split by name; this file has the tasks of some, the other collections' of others.
#: gtl/    GTL, Table 2; and the same halves with three and four top categories.
#: dtl/    DTL, Table 2: as GTL, except sci.
#: skada/  SKADA-Bench. Its six ordered pairs are three tasks: the order only exchanges the classes.
#: mrtl/   MRTL, Table 1.
#: dai/    Dai, Xue, Yang and Yu (KDD 2007), known here at second hand.
#: mtc/    Multi-task clustering, Table 1; `newsgroups_mtc` has the paper's own matrices.
SPLITS: dict[str, Split] = read(__file__)["splits"]
#: The sub-categories of the five papers; comp.windows.x is Dai's.
SIXTEEN = [name for group, name in GROUPS.items() if group != "windows-x"]
MTC_FEATURES = 2000  # stated by the paper


def build(
    task: str,
    files: dict[str, Path],
    settings: Settings | None = None,
    *,
    min_df: Count = 5,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
    characters: CountOrZero = 0,
    embeddings: bool = False,
) -> tuple[Problem, Truth]:
    """Build one task.

    Words are two letters a to z or more. scikit-learn's English stop words are left out. The tasks
    of mtc/ use the 2,000 words of highest document frequency.

    Parameters
    ----------
    settings
        Settings that name the model of embeddings and the folder where they are stored. By default
        the environment decides.
    min_df
        Drop features in fewer documents. Documents are counted over the papers' 16 sub-categories;
        for clustering tasks, over the task.
    weighting, unit_length
        See `text.weight`. Weights are fitted on all documents of the task together.
    characters
        Largest number of n-grams of characters in a further view; 0 for none.
    embeddings
        Add a view of sentence embeddings, which need the extra `modern`.
    """
    is_clustering, split = task.startswith("mtc/"), SPLITS[task]
    counts, vocabulary, groups = _corpus(*files.values())
    selected = by_domain(split, counts, groups)
    counted = np.isin(groups, SIXTEEN)
    if is_clustering:
        counted = np.any([labels(classes, groups) >= 0 for classes in split.values()], axis=0)
    columns = select(
        counts[counted],
        vocabulary,
        stop_words="english",
        min_df=min_df,
        max_features=MTC_FEATURES if is_clustering else None,
    )
    problem, truth = problem_from_counts(
        task,
        "clustering" if is_clustering else "transfer",
        list(next(iter(split.values()))),
        {name: (X[:, columns], y) for name, (X, y) in selected.items()},
        weighting=weighting,
        unit_length=unit_length,
        vocabulary=vocabulary[columns],
    )
    if characters or embeddings:
        _, texts = posts(files.values())
        rows = [np.flatnonzero(labels(classes, groups) >= 0) for classes in split.values()]
        in_task = [texts[row] for row in np.concatenate(rows)]
        problem = add_text_views(
            problem, in_task, characters=characters, embeddings=embeddings, weighting=weighting,
            unit_length=unit_length, settings=settings,
        )  # fmt: skip
    return problem, truth


def build_from_weights(
    task: str,
    split: Split,
    weights: sp.csr_array,
    groups: np.ndarray,
    unit_length: bool,
    vocabulary: Names = (),
) -> tuple[Problem, Truth]:
    """Build a transfer task from posts whose words are already weighted."""
    # `weights`: (n, d) of all posts; they are not weighted again.
    # `groups`: (n,) the group of each post.
    # `vocabulary`: (d,) the words; empty if they are not known.
    parts, classes = by_domain(split, weights, groups), list(next(iter(split.values())))
    # The weights pass as counts: "tf" keeps them as they are.
    return problem_from_counts(
        task, "transfer", classes, parts, weighting="tf", unit_length=unit_length,
        vocabulary=vocabulary,
    )  # fmt: skip


def by_domain(split: Split, X: sp.csr_array, groups: np.ndarray) -> dict[str, Counts]:
    """Return the posts of each domain, and their classes."""
    # `groups`: (n,) the group of each post.
    # Shapes: X (n, d).
    y_of = {domain: labels(classes, groups) for domain, classes in split.items()}
    return {domain: (X[np.flatnonzero(y >= 0)], y[y >= 0]) for domain, y in y_of.items()}


def labels(classes: dict[str, list[str]], groups: np.ndarray) -> np.ndarray:
    """Return (n,) the class of each post in a domain, by its group; −1 for posts of no class."""
    y = np.full(len(groups), -1)
    for c, members in enumerate(classes.values()):
        y[np.isin(groups, [GROUPS[member] for member in members])] = c
    return y


def posts(paths: Iterable[Path]) -> tuple[np.ndarray, list[str]]:
    """Return the group and the text of every post, in the order of the files."""
    groups, texts = [], []
    for path in paths:
        # Three header lines (names, types, flags), then `group<TAB>text`.
        for line in path.read_text(encoding="utf-8").split("\n")[3:]:
            group, tab, text = line.partition("\t")
            if tab:
                groups.append(group)
                texts.append(text)
    return np.array(groups), texts


@lru_cache(maxsize=1)
def _corpus(*paths: Path) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Return counts (n, d) of the whole corpus, the d tokens, and the group of each post."""
    groups, texts = posts(paths)
    return (*count(texts, "[a-z]{2,}"), groups)
