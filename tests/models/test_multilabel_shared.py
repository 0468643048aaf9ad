"""Functions shared by the multi-label models."""

from __future__ import annotations

import numpy as np
import pytest

from transferbench.models.multilabel._shared import FOLDS, best_setting, tuned_fit
from transferbench.problem import Domain, Problem


def tuned(settings, predict, Y, seen, ensure_one_label=False):
    """Return the scores of a problem whose documents are all in one domain."""
    domain = Domain("all", (np.ones((len(Y), 2)),), np.where(seen[:, None], Y, 0), seen)
    problem = Problem("p", "multilabel", tuple("abcd"[: Y.shape[1]]), (domain,))
    return tuned_fit(problem, settings, predict, ensure_one_label).scores[0]


def test_the_best_setting_is_chosen_on_held_out_rows_not_on_others():
    """One setting is right on the rows it may learn from, the other on the rows held out."""
    Y = np.tile([[1.0, 0.0], [0.0, 1.0]], (20, 1))
    seen = np.arange(40) < 30

    def predict(setting, train_mask):
        right = train_mask if setting == "memorises" else ~train_mask
        return np.where(right[:, None], Y, 1 - Y)

    for settings in (["memorises", "generalises"], ["generalises", "memorises"]):
        assert best_setting(settings, predict, Y, seen, [np.arange(3, 12)]) == "generalises"


def test_cross_validation_hides_the_labels_of_the_fold_and_of_unseen_rows():
    rng = np.random.default_rng(1)
    Y = np.ones((43, 3))
    seen = np.arange(43) < 32
    calls = []

    def predict(setting, known, train_mask):
        calls.append((setting, train_mask))
        np.testing.assert_array_equal(known, np.where(train_mask[:, None], Y, 0))
        assert not (train_mask & ~seen).any()
        scores = np.where(rng.random(Y.shape) < setting, 1 - Y, Y)
        scores[~seen] = 0 if setting == 0.0 else 1  # wrong where it must not count
        return scores

    tuned([0.9, 0.0, 0.5, 0.0], predict, Y, seen)
    assert len(calls) == 4 * FOLDS + 1
    setting, mask = calls.pop()
    assert setting == 0.0
    np.testing.assert_array_equal(mask, seen)
    masks = [mask for setting, mask in calls if setting == 0.5]
    hidden = np.array([seen & ~mask for mask in masks])
    np.testing.assert_array_equal(hidden.sum(axis=0), seen)
    assert sorted(hidden.sum(axis=1)) == [6, 6, 6, 7, 7]
    for first, mask in zip(masks, [mask for _, mask in calls[::4]], strict=True):
        np.testing.assert_array_equal(first, mask)


def test_cross_validation_needs_two_documents_a_fold_unless_there_is_one_setting():
    Y, seen = np.ones((12, 1)), np.arange(12) < 9
    with pytest.raises(ValueError, match="needs 10 labelled documents, got 9"):
        tuned([1, 2], lambda *_: Y, Y, seen)
    calls = []
    tuned([3], lambda *given: calls.append(given) or Y, Y, seen)
    assert len(calls) == 1
