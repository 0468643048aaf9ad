"""Multi-label problems: documents dealt into tasks by what they are about, some labelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.core.plsa import plsa
from transferbench.problem import Domain, Matrix, Problem, Truth


def deal(Y: np.ndarray, tops: Sequence[str], tasks: int) -> np.ndarray:
    """(n,) which of the tasks 0, 1, … each document falls to.

    Y (n, m) 0/1 are sub-categories, `tops` (m,) the top category each belongs to. A document falls
    under the largest sub-category it has. Those of each top category, from the one with most
    documents on, are dealt to the tasks in turn, so that every task has some of all top categories;
    documents without any are dealt one by one.
    """
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    under = order[Y[:, order].argmax(axis=1)]
    size = np.bincount(under[Y.any(axis=1)], minlength=len(tops))
    turn = np.zeros(len(tops), np.intp)
    for top in dict.fromkeys(tops):
        own = [c for c in np.argsort(-size, kind="stable") if tops[c] == top]
        turn[own] = np.arange(len(own)) % tasks
    task = np.asarray(turn[under])
    none = np.flatnonzero(~Y.any(axis=1))
    task[none] = np.arange(len(none)) % tasks
    return task


def topic_view(counts: sp.csr_array, topics: int) -> np.ndarray:
    """P(z|d) (n, topics) by PLSA; never zero, so that rounding does not decide what is."""
    found, _, _ = plsa([counts], topics, max_iter=100, tol=1e-4, seed=0)
    return np.asarray(np.maximum(found, np.float32(1e-6)))


def share(n: int, train: float, split: int) -> np.ndarray:
    """(n,) bool: a random share `train` of n documents, another for each split 0, 1, …"""
    seen = np.zeros(n, bool)
    seen[np.random.default_rng(split).permutation(n)[: round(train * n)]] = True
    return seen


def problem(
    name: str,
    classes: Sequence[str],
    views: Sequence[Matrix],
    Y: np.ndarray,
    task: np.ndarray,
    seen: np.ndarray,
    names: Sequence[str] = (),
) -> tuple[Problem, Truth]:
    """A multi-label problem of one domain for each task that has documents, and its truth.

    views (n, d) each, Y (n, m) 0/1, task (n,) from 0, seen (n,) bool; domains are called task-1, …
    (or as `names` has them), and "all" where there is one. Features that never occur are dropped.
    """
    present = np.unique(task)
    names = names or [f"task-{t + 1}" if len(present) > 1 else "all" for t in range(task.max() + 1)]
    kept = [view[:, np.flatnonzero(np.asarray(abs(view).sum(axis=0)).ravel())] for view in views]
    domains, truth = [], []
    for t in present:
        rows = np.flatnonzero(task == t)
        own = [sp.csr_array(v[rows]) if sp.issparse(v) else np.asarray(v[rows]) for v in kept]
        labels = np.where(seen[rows, None], Y[rows], 0).astype(float)
        domains.append(Domain(names[t], tuple(own), labels, seen[rows]))
        truth.append(Y[rows].astype(float))
    called = tuple(domain.name for domain in domains)
    scored = tuple(~domain.seen for domain in domains)
    return (
        Problem(name, "multilabel", tuple(classes), tuple(domains)),
        Truth("multilabel", tuple(classes), called, tuple(truth), scored),
    )
