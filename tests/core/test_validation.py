from __future__ import annotations

import numpy as np
import pytest

from transferbench import metrics
from transferbench.core.validation import best_setting, example_f1


def test_example_f1_is_the_reported_one():
    rng = np.random.default_rng(0)
    Y, D = (rng.random((2, 50, 4)) < 0.3).astype(float)
    assert example_f1(Y, D) == metrics.example_f1(Y, D)
    assert example_f1(Y, D > 0) == metrics.example_f1(Y, D)


@pytest.mark.parametrize(("share", "rows"), [(0.01, 1), (0.2, 6)])
def test_the_setting_that_finds_the_hidden_labels_is_chosen(share, rows):
    rng = np.random.default_rng(1)
    Y = (rng.random((40, 3)) < 0.5).astype(float)
    seen = np.arange(40) < 30
    asked = []

    def scores(setting, kept):
        asked.append(kept)
        return np.where(rng.random(Y.shape) < setting, 1 - Y, Y)

    assert best_setting([0.9, 0.0, 0.5, 0.0], scores, Y, seen, share=share, seed=4) == 0.0
    hidden = seen & ~asked[0]
    assert hidden.sum() == rows
    assert all((kept == asked[0]).all() for kept in asked)
    assert not (asked[0] & ~seen).any()


def test_a_single_setting_is_not_tried():
    def never(setting, kept):
        raise AssertionError

    assert best_setting([3], never, np.ones((2, 1)), np.ones(2, bool), share=0.5, seed=0) == 3
