"""A row below the threshold takes its best label, and nothing else moves."""

from __future__ import annotations

import numpy as np
from transferbench.core.decide import top1


def test_lifts_the_best_of_a_row_without_a_label_alone():
    scores = np.array([[0.2, 0.4, 0.1], [0.6, 0.1, 0.9], [0.0, 0.0, 0.0], [-2.0, -3.0, -1.0]])
    expected = [[0.2, 0.5, 0.1], [0.6, 0.1, 0.9], [0.5, 0.0, 0.0], [-2.0, -3.0, 0.5]]
    before = scores.copy()
    np.testing.assert_array_equal(top1(scores), expected)
    np.testing.assert_array_equal(scores, before)


def test_a_label_exactly_at_the_threshold_is_one_already():
    scores = np.array([[0.5, 0.49]])
    np.testing.assert_array_equal(top1(scores), scores)
