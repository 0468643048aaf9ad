"""Functions shared by the multi-label models."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_multilabel

from transferbench.models.multilabel._shared import (
    FOLDS,
    best_setting,
    cross_validated,
    scores_by_domain,
)


def test_scores_are_split_by_domain_and_every_document_gets_a_label():
    problem, _ = make_multilabel(documents=2)
    scores = np.array([[0.1, 0.4, 0.2], [0.9, 0.7, 0.0], [0.3, 0.3, 0.3], [0.0, 0.0, 0.5]])
    plain = scores_by_domain(problem, scores, ensure_one_label=False)
    np.testing.assert_array_equal(plain, np.split(scores, 2))
    expected = scores.copy()
    expected[0, 1] = expected[2, 0] = 0.5
    np.testing.assert_array_equal(
        scores_by_domain(problem, scores, ensure_one_label=True), np.split(expected, 2)
    )


@pytest.mark.parametrize(("fraction", "rows"), [(0.01, 1), (0.2, 6)])
def test_best_setting_predicts_the_validation_labels(fraction, rows):
    rng = np.random.default_rng(1)
    Y = (rng.random((40, 3)) < 0.5).astype(float)
    seen = np.arange(40) < 30
    masks = []

    def predict(setting, train_mask):
        masks.append(train_mask)
        return np.where(rng.random(Y.shape) < setting, 1 - Y, Y)

    settings = [0.9, 0.0, 0.5, 0.0]
    best = best_setting(settings, predict, Y, seen, validation_fraction=fraction, seed=4)
    assert best == 0.0
    assert (seen & ~masks[0]).sum() == rows
    assert all((mask == masks[0]).all() for mask in masks)
    assert not (masks[0] & ~seen).any()


def test_best_setting_is_chosen_on_hidden_rows_not_on_kept_ones():
    """One setting is right on the rows it may learn from, the other on the rows held out."""
    Y = np.tile([[1.0, 0.0], [0.0, 1.0]], (20, 1))
    seen = np.arange(40) < 30

    def predict(setting, train_mask):
        right = train_mask if setting == "memorises" else ~train_mask
        return np.where(right[:, None], Y, 1 - Y)

    for settings in (["memorises", "generalises"], ["generalises", "memorises"]):
        best = best_setting(settings, predict, Y, seen, validation_fraction=0.3, seed=0)
        assert best == "generalises"


def test_a_single_setting_is_not_tried():
    def predict(setting, train_mask):
        raise AssertionError

    Y, seen = np.ones((2, 1)), np.ones(2, bool)
    assert best_setting([3], predict, Y, seen, validation_fraction=0.5, seed=0) == 3


def test_cross_validation_hides_the_labels_of_the_fold_and_of_unseen_rows():
    rng = np.random.default_rng(1)
    Y = np.ones((43, 3))  # also on unseen rows, whose labels must not be used
    seen = np.arange(43) < 32
    calls = []

    def predict(setting, known, train_mask):
        calls.append((setting, train_mask))
        np.testing.assert_array_equal(known, np.where(train_mask[:, None], Y, 0))
        assert not (train_mask & ~seen).any()
        scores = np.where(rng.random(Y.shape) < setting, 1 - Y, Y)
        scores[~seen] = 0 if setting == 0.0 else 1  # wrong where it must not count
        return scores

    assert cross_validated([0.9, 0.0, 0.5, 0.0], predict, Y, seen) == 0.0
    assert len(calls) == 4 * FOLDS
    masks = [mask for setting, mask in calls if setting == 0.5]
    hidden = np.array([seen & ~mask for mask in masks])
    np.testing.assert_array_equal(hidden.sum(axis=0), seen)
    assert sorted(hidden.sum(axis=1)) == [6, 6, 6, 7, 7]
    for first, mask in zip(masks, [mask for _, mask in calls[::4]], strict=True):
        np.testing.assert_array_equal(first, mask)


def test_on_a_tie_cross_validation_takes_the_first_setting():
    Y, seen = np.ones((10, 1)), np.ones(10, bool)
    assert cross_validated(["b", "a"], lambda *_: Y, Y, seen) == "b"


def test_cross_validation_needs_two_documents_a_fold_unless_there_is_one_setting():
    Y, seen = np.ones((12, 1)), np.arange(12) < 9
    with pytest.raises(ValueError, match="needs 10 labelled documents, got 9"):
        cross_validated([1, 2], lambda *_: Y, Y, seen)

    def never(*_):
        raise AssertionError

    assert cross_validated([3], never, Y, seen) == 3
