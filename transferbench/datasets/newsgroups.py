"""20 Newsgroups, all-terms: 18,821 posts as Cachopo prepared them; for GTL, MTC, SKADA-Bench.

The posts have lower-case letters only. The subject comes first, and there are no other headers. A
package index has this collection, so `gtl/<pair>` needs nothing else. The papers used other
collections: see `newsgroups-bydate` (MRTL, GTL) and `newsgroups-19997` (DTL). Documents of a domain
are in the order of the files, and the training part comes first.

Words are two letters a to z or more. scikit-learn's English stop words are left out. The tasks of
mtc/ use the 2,000 words of highest document frequency. For the option min_df, documents are counted
over the papers' 16 sub-categories; for clustering tasks, over the task.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared, read
from transferbench.data.problems import Content, text_builder
from transferbench.data.text import count, document_frequency, select
from transferbench.problem import Names

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


def _read(task: str, files: dict[str, Path]) -> Content:
    is_clustering, split = _is_clustering(task), SPLITS[task]
    counts, vocabulary, groups = _corpus(*files.values())
    counted = np.isin(groups, SIXTEEN)
    if is_clustering:
        counted = np.any([labels(classes, groups) >= 0 for classes in split.values()], axis=0)
    columns = select(
        counts[counted],
        vocabulary,
        stop_words="english",
        min_df=1,
        max_features=MTC_FEATURES if is_clustering else None,
    )
    frequency = document_frequency(counts[counted])[columns]
    _, texts = posts(files.values())
    content = by_domain(split, counts[:, columns], groups, vocabulary[columns], texts)
    return content._replace(frequency=frequency)


def _is_clustering(task: str) -> bool:
    return task.startswith("mtc/")


build = text_builder(
    _read, lambda task: "clustering" if _is_clustering(task) else "transfer", min_df=5
)


def by_domain(
    split: Split,
    X: sp.csr_array,
    groups: np.ndarray,
    vocabulary: Names = (),
    texts: Sequence[str] = (),
) -> Content:
    """Return the posts of each domain, and their classes."""
    # `groups`: (n,) the group of each post.
    # `vocabulary`: (d,) the words; empty if they are not known.
    # `texts`: (n,) the texts of the posts; empty if they are not needed.
    # Shapes: X (n, d).
    y_of = {domain: labels(classes, groups) for domain, classes in split.items()}
    rows = {domain: np.flatnonzero(y >= 0) for domain, y in y_of.items()}
    parts = {domain: (X[rows[domain]], y[rows[domain]]) for domain, y in y_of.items()}
    chosen = [texts[row] for row in np.concatenate([*rows.values()])] if texts else ()
    return Content(list(next(iter(split.values()))), parts, vocabulary, chosen)


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
