"""Functions shared by the multi-label models: scores of each domain, and choice of settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from transferbench import metrics
from transferbench.core.documents import split_by_domain
from transferbench.metrics import THRESHOLD, example_f1
from transferbench.problem import Fit, Problem

Setting = TypeVar("Setting")

#: Folds of cross-validation.
FOLDS = 5


def scores_by_domain(
    problem: Problem, scores: np.ndarray, ensure_one_label: bool
) -> tuple[np.ndarray, ...]:
    """Split scores (n, m) of the documents of all domains into those of each domain.

    ensure_one_label: raise the best score of a document without a label to the threshold first.
    """
    if ensure_one_label:
        scores = metrics.ensure_one_label(scores)
    return split_by_domain(problem, scores)


def best_setting(
    settings: Sequence[Setting],
    predict: Callable[[Setting, np.ndarray], np.ndarray],
    Y: np.ndarray,
    seen: np.ndarray,
    validation_fraction: float,
    seed: int,
) -> Setting:
    """Return the setting with the best example-based F₁ on validation rows; on a tie the first.

    Y (n, m): 0/1 labels of the rows that are seen (n,). A random validation_fraction of the seen
    rows, at least one, is held out. predict(setting, train_mask) returns scores (n, m); it may use
    only the labels of the rows in train_mask (n,). Return a single setting without a trial.
    """
    if len(settings) == 1:
        return settings[0]
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(seen))
    validation = rows[: max(1, round(validation_fraction * len(rows)))]
    train_mask = seen.copy()
    train_mask[validation] = False

    def f1(setting: Setting) -> float:
        scores = predict(setting, train_mask)[validation]
        return example_f1(Y[validation], scores >= THRESHOLD)

    return max(settings, key=f1)


def tuned_fit(
    problem: Problem,
    settings: Sequence[Setting],
    predict: Callable[[Setting, np.ndarray, np.ndarray], np.ndarray],
    Y: np.ndarray,
    seen: np.ndarray,
    ensure_one_label: bool,
) -> Fit:
    """Return the scores of the setting that cross-validation chooses, trained on all seen rows.

    predict(setting, Y, train_mask) returns scores (n, m) of all documents; Y (n, m) is zero outside
    train_mask (n,).
    """

    def decided(setting: Setting, Y: np.ndarray, train_mask: np.ndarray) -> np.ndarray:
        return np.concatenate(
            scores_by_domain(problem, predict(setting, Y, train_mask), ensure_one_label)
        )

    best = cross_validated(settings, decided, Y, seen)
    return Fit(scores_by_domain(problem, decided(best, Y, seen), False))


def cross_validated(
    settings: Sequence[Setting],
    predict: Callable[[Setting, np.ndarray, np.ndarray], np.ndarray],
    Y: np.ndarray,
    seen: np.ndarray,
) -> Setting:
    """Return the setting with the best example-based F₁ of cross-validation; on a tie the first.

    Y (n, m): labels of the rows that are seen (n,). These are divided at random, always alike, into
    `FOLDS` folds; predict(setting, Y, train_mask) receives no label of the fold that it is scored
    on. It is called for all settings of a fold before the next fold. Return a single setting
    without a trial. Raise ValueError for fewer than two labelled rows a fold.
    """
    if len(settings) == 1:
        return settings[0]
    rows = np.random.default_rng(0).permutation(np.flatnonzero(seen))
    if len(rows) < 2 * FOLDS:
        raise ValueError(
            f"choosing among {len(settings)} settings needs {2 * FOLDS} labelled documents, got "
            f"{len(rows)}; give one value for each parameter"
        )
    D = [np.zeros(Y.shape, bool) for _ in settings]
    for fold in np.array_split(rows, FOLDS):
        train_mask = seen.copy()
        train_mask[fold] = False
        known = np.where(train_mask[:, None], Y, 0)
        for decisions, setting in zip(D, settings, strict=True):
            decisions[fold] = predict(setting, known, train_mask)[fold] >= THRESHOLD
    return settings[int(np.argmax([example_f1(Y[rows], each[rows]) for each in D]))]
