"""Functions that multi-label models share: choice of a setting by the F₁ of held-out documents."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from transferbench import measures
from transferbench.core.documents import split_rows, stack_labels
from transferbench.measures import THRESHOLD, example_f1
from transferbench.problem import Fit, Problem

Setting = TypeVar("Setting")

#: Folds of cross-validation.
FOLDS = 5


def best_setting(
    settings: Sequence[Setting],
    predict: Callable[[Setting, np.ndarray], np.ndarray],
    Y: np.ndarray,
    seen: np.ndarray,
    folds: Sequence[np.ndarray],
) -> Setting:
    """Return the setting with the best example-based F₁ on held-out rows; on a tie the first."""
    # `settings`: The settings to choose from; a single setting is returned without a trial.
    # `predict`: predict(setting, train_mask) returns scores (n, m). It may use only the labels of
    # the rows in train_mask (n,). It is called for all settings of a fold before the next fold.
    # `seen`: (n,) bool, the rows whose labels may be used.
    # Shapes: Y (n, m).
    if len(settings) == 1:
        return settings[0]
    D = [np.zeros(Y.shape, bool) for _ in settings]
    for fold in folds:
        train_mask = seen.copy()
        train_mask[fold] = False
        for decisions, setting in zip(D, settings, strict=True):
            decisions[fold] = predict(setting, train_mask)[fold] >= THRESHOLD
    rows = np.concatenate(folds)
    return settings[int(np.argmax([example_f1(Y[rows], decisions[rows]) for decisions in D]))]


def tuned_fit(
    problem: Problem,
    settings: Sequence[Setting],
    predict: Callable[[Setting, np.ndarray, np.ndarray], np.ndarray],
    ensure_one_label: bool,
) -> Fit:
    """Return the scores of the setting that cross-validation chooses, trained on all seen rows."""
    # The seen rows are divided at random into `FOLDS` folds; the division is always the same.
    # `settings`: The settings to choose from; a single setting is used without cross-validation.
    # `predict`: predict(setting, Y, train_mask) returns scores (n, m) of all documents. Y (n, m) is
    # zero outside train_mask (n,).
    # `ensure_one_label`: Give each document without a label its best label.
    Y, seen = stack_labels(problem)
    if seen.sum() < 2:
        raise ValueError(f"{problem.name}: at least two labelled documents are needed")
    rows = np.random.default_rng(0).permutation(np.flatnonzero(seen))
    if len(settings) > 1 and len(rows) < 2 * FOLDS:
        raise ValueError(
            f"choosing among {len(settings)} settings needs {2 * FOLDS} labelled documents, got "
            f"{len(rows)}; give one value for each parameter"
        )

    def scores(setting: Setting, train_mask: np.ndarray) -> np.ndarray:
        F = predict(setting, np.where(train_mask[:, None], Y, 0), train_mask)
        return measures.ensure_one_label(F) if ensure_one_label else F

    best = best_setting(settings, scores, Y, seen, np.array_split(rows, FOLDS))
    return Fit(split_rows(problem, scores(best, seen)))
