"""20 Newsgroups with sentence embeddings: the gtl/ tasks with a second view of 384 numbers a post.

The first view, the domains and the labels are those of the gtl/ task of the same name, so models
that use one view give the same results. The second view are embeddings by all-MiniLM-L6-v2, of
length one, with both signs, of the first 256 word pieces of a post; the texts have no case, digits
or punctuation. Two cores embed about 25 posts a second: ten minutes for all six tasks. Each post is
embedded once, even if it is in several tasks.

`data/sentences.py` is the encoder.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from transferbench.data import sentences
from transferbench.data.declared import declared
from transferbench.data.sentences import MODEL, SIZE
from transferbench.datasets import newsgroups
from transferbench.problem import Problem, Truth

FILES = newsgroups.FILES | MODEL
_, TASKS = declared(__file__)

MAX_LENGTH = 256  # word pieces of a text, with those for its begin and end


def build(task: str, files: dict[str, Path]) -> tuple[Problem, Truth]:
    """Build one task.

    Raises
    ------
    Unavailable
        Without the extra `modern`.
    """
    gtl = task.replace("embedded/", "gtl/")
    corpus = {name: files[name] for name in newsgroups.FILES}
    paths, model = tuple(corpus.values()), tuple(files[name] for name in MODEL)
    groups, _ = newsgroups.posts(paths)
    problem, truth = newsgroups.build(gtl, corpus)
    domains = []
    for domain in problem.domains:
        labels = newsgroups.labels(newsgroups.SPLITS[gtl][domain.name], groups)
        group_of_post = groups[labels >= 0]
        view = np.empty((len(group_of_post), SIZE), np.float32)
        for group in np.unique(group_of_post):
            view[group_of_post == group] = _embed_group(paths, model, str(group))
        domains.append(replace(domain, views=(domain.X, view)))
    return replace(problem, name=task, domains=tuple(domains)), truth


@cache
def _embed_group(paths: tuple[Path, ...], model: tuple[Path, ...], group: str) -> np.ndarray:
    """Return the embeddings of a group's posts, in the order of the files."""
    groups, texts = newsgroups.posts(paths)
    group_texts = [text for text, other in zip(texts, groups, strict=True) if other == group]
    return embed(group_texts, *model)


def embed(texts: Sequence[str], weights: Path, tokenizer: Path) -> np.ndarray:
    """Return the embeddings (n, 384) of the first 256 word pieces of the texts."""
    return sentences.Encoder.from_files(weights, tokenizer, MAX_LENGTH).embed(texts)
