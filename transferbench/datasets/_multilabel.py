"""Build multi-label problems: assign documents to tasks, choose those with seen labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.data.options import TasksFrom
from transferbench.datasets._problems import split_by_domain
from transferbench.problem import Matrix, Problem, Truth


def assign_tasks_from(
    how: TasksFrom,
    Y: np.ndarray,
    tops: Sequence[str],
    tasks: int,
    *,
    seen: np.ndarray,
    X: Matrix,
    split: int,
) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document.

    how: "labels" uses the sub-categories Y (n, m) of all documents; see `assign_tasks`.
    "train-labels" uses Y of the documents that are seen (n,) alone. Each other document belongs to
    the sub-category whose mean in X (n, d), over the seen documents that belong to it, has the
    largest cosine with the document. "random" draws tasks of equal size; each split another draw.
    Raises ValueError for more tasks than documents.
    """
    if tasks > len(Y):
        raise ValueError(f"tasks = {tasks}, expected at most the {len(Y):,} documents")
    if how == "labels":
        return assign_tasks(Y, tops, tasks)
    if how == "random":  # (split, 1): not the permutation of `train_mask`
        return np.random.default_rng((split, 1)).permutation(len(Y)) % tasks
    category = _largest_categories(np.where(seen[:, None], Y, 0))
    category[~seen] = _nearest_categories(X[~seen], X[seen], category[seen], len(tops))
    return _assign_categories(category, tops, tasks)


def assign_tasks(Y: np.ndarray, tops: Sequence[str], tasks: int) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document.

    Y (n, m) 0/1 are sub-categories, `tops` (m,) the top category of each. A document belongs to its
    largest sub-category. The sub-categories of each top category, largest first, are assigned to
    the tasks in turn, so that every task has documents of all top categories. Documents without a
    sub-category are assigned in turn, one by one.
    """
    return _assign_categories(_largest_categories(Y), tops, tasks)


def _largest_categories(Y: np.ndarray) -> np.ndarray:
    """Return (n,) the largest sub-category of each document, −1 for a document without one."""
    by_size = np.argsort(-Y.sum(axis=0), kind="stable")
    return np.where(Y.any(axis=1), by_size[Y[:, by_size].argmax(axis=1)], -1)


def _nearest_categories(X: Matrix, known: Matrix, category: np.ndarray, m: int) -> np.ndarray:
    """Return (n,) the sub-category 0 … m−1 whose mean has the largest cosine with each row of X.

    category: those of the rows of `known`; −1 for none. A row of X without a positive cosine has
    −1, too.
    """
    rows = np.flatnonzero(category >= 0)
    members = sp.csr_array((np.ones(len(rows)), (category[rows], rows)), (m, len(category)))
    sums = members @ known
    centroids = sums.toarray() if sp.issparse(sums) else sums
    length = np.linalg.norm(centroids, axis=1, keepdims=True)
    cosine = np.asarray(X @ (centroids / np.where(length > 0, length, 1)).T)
    return np.where(cosine.max(axis=1) > 0, cosine.argmax(axis=1), -1)


def _assign_categories(category: np.ndarray, tops: Sequence[str], tasks: int) -> np.ndarray:
    """Return (n,) the task of each document from its sub-category; see `assign_tasks`."""
    size = np.bincount(category[category >= 0], minlength=len(tops))
    task_of_category = np.zeros(len(tops), np.intp)
    for top in dict.fromkeys(tops):
        categories = [c for c in np.argsort(-size, kind="stable") if tops[c] == top]
        task_of_category[categories] = np.arange(len(categories)) % tasks
    task = np.asarray(task_of_category[category])
    without = np.flatnonzero(category < 0)
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
