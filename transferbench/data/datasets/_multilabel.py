"""Build multi-label problems: assign documents to tasks, choose those with seen labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.data.datasets._problems import split_by_domain
from transferbench.problem import Matrix, Problem, Truth


def assign_tasks(Y: np.ndarray, tops: Sequence[str], tasks: int) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document.

    Y (n, m) 0/1 are sub-categories, `tops` (m,) the top category of each. A document belongs to its
    largest sub-category. The sub-categories of each top category, largest first, are assigned to
    the tasks in turn, so that every task has documents of all top categories. Documents without a
    sub-category are assigned in turn, one by one.
    """
    by_size = np.argsort(-Y.sum(axis=0), kind="stable")
    largest = by_size[Y[:, by_size].argmax(axis=1)]
    size = np.bincount(largest[Y.any(axis=1)], minlength=len(tops))
    task_of_category = np.zeros(len(tops), np.intp)
    for top in dict.fromkeys(tops):
        categories = [c for c in np.argsort(-size, kind="stable") if tops[c] == top]
        task_of_category[categories] = np.arange(len(categories)) % tasks
    task = np.asarray(task_of_category[largest])
    without = np.flatnonzero(~Y.any(axis=1))
    task[without] = np.arange(len(without)) % tasks
    return task


def topic_view(counts: sp.csr_array, topics: int) -> np.ndarray:
    """Return P(z|d) (n, topics) by PLSA, never zero, so that no zero depends on rounding."""
    from transferbench.core.plsa import plsa  # loads scipy.special, which takes long

    topics_of_documents, _, _ = plsa([counts], topics, max_iter=100, tol=1e-4, seed=0)
    return np.asarray(np.maximum(topics_of_documents, np.float32(1e-6)))


def train_mask(n: int, train: float, split: int) -> np.ndarray:
    """Return (n,) bool: True for a random fraction `train`; each split 0, 1, … draws another."""
    seen = np.zeros(n, bool)
    seen[np.random.default_rng(split).permutation(n)[: round(train * n)]] = True
    return seen


def problem_from_views(
    name: str,
    classes: Sequence[str],
    views: Sequence[Matrix],
    Y: np.ndarray,
    task: np.ndarray,
    seen: np.ndarray,
    names: Sequence[str] = (),
) -> tuple[Problem, Truth]:
    """Return a multi-label problem with one domain for each task that has documents, and its truth.

    views (n, d) each, Y (n, m) 0/1, task (n,) from 0, seen (n,) bool. Domains have the `names`
    given, or task-1, task-2, …, or "all" if there is one task. Features that never occur are
    dropped.
    """
    present, domain = np.unique(task, return_inverse=True)
    names = names or [f"task-{t + 1}" if len(present) > 1 else "all" for t in present]
    views = [view[:, np.flatnonzero(np.asarray(abs(view).sum(axis=0)).ravel())] for view in views]
    return split_by_domain(
        name, "multilabel", classes, names, domain, views, Y.astype(float), seen, scored=~seen
    )
