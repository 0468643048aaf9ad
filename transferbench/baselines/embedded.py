"""20 Newsgroups with sentence embeddings: the gtl/ tasks with a second view of 384 numbers a post.

The first view, the domains and the labels are those of the gtl/ task of the same name, so models
that use one view give the same results. The second view are embeddings by all-MiniLM-L6-v2, of
length one, with both signs, of the first 256 word pieces of a post; the texts have no case, digits
or punctuation. Two cores embed about 25 posts a second: ten minutes for all six tasks. Each post is
embedded once, even if it is in several tasks.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench.baselines import _minilm
from transferbench.baselines._minilm import SIZE
from transferbench.datasets import newsgroups

if TYPE_CHECKING:
    import numpy as np

    from transferbench.problem import Problem, Truth

FILES = newsgroups.FILES | _minilm.FILES
TASKS = {
    name.replace("gtl/", "embedded/"): f"{line}; with sentence embeddings"
    for name, line in newsgroups.TASKS.items()
    if name.startswith("gtl/")
}

#: `Facts.digest` of each task. All entries of an embedding count as nonzeros.
DIGESTS = {
    "embedded/comp-vs-rec": "389d271fbc8de5b1",
    "embedded/comp-vs-sci": "8b88003fcdbd132d",
    "embedded/comp-vs-talk": "acbe192969b7591a",
    "embedded/rec-vs-sci": "23ed6f3ba7770f51",
    "embedded/rec-vs-talk": "b67a405f0a29a644",
    "embedded/sci-vs-talk": "abadd89ce9d2e6de",
}


def _facts(task: str) -> dict[str, Any]:
    """Return the facts of the gtl/ task, with an embedding for each document."""
    facts = newsgroups.FACTS[task.replace("embedded/", "gtl/")]
    same = {key: facts[key] for key in ("classes", "documents", "per_class")}
    return same | {
        "features": [*facts["features"], SIZE],
        "nonzeros": facts["nonzeros"] + SIZE * sum(facts["documents"].values()),
        "digest": DIGESTS[task],
    }


FACTS = {task: _facts(task) for task in TASKS}


def build(task: str, files: dict[str, Path]) -> tuple[Problem, Truth]:
    """Build one task. Raise Unavailable without the extra `modern`."""
    import numpy as np

    from transferbench.problem import Domain, Problem

    gtl = task.replace("embedded/", "gtl/")
    paths = tuple(files[name] for name in newsgroups.FILES)
    model = tuple(files[name] for name in _minilm.FILES)
    groups, _ = newsgroups.posts(paths)

    def embeddings(domain: Domain) -> np.ndarray:
        labels = newsgroups.labels(newsgroups.SPLITS[gtl][domain.name], groups)
        group_of_post = groups[labels >= 0]
        view = np.empty((len(group_of_post), SIZE), np.float32)
        for group in np.unique(group_of_post):
            view[group_of_post == group] = _embed_group(paths, model, str(group))
        return view

    problem, truth = newsgroups.build(gtl, files)
    domains = tuple(
        Domain(domain.name, (domain.X, embeddings(domain)), domain.Y, domain.seen)
        for domain in problem.domains
    )
    return Problem(task, problem.family, problem.classes, domains), truth


@cache
def _embed_group(paths: tuple[Path, ...], model: tuple[Path, ...], group: str) -> np.ndarray:
    """Return the embeddings of a group's posts, in the order of the files."""
    groups, texts = newsgroups.posts(paths)
    own = [text for text, other in zip(texts, groups, strict=True) if other == group]
    return _minilm.embed(own, *model)
