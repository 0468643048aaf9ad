"""From scores to labels, where a document must have at least one."""

from __future__ import annotations

import numpy as np

#: A score from here on is a label.
THRESHOLD = 0.5


def top1(scores: np.ndarray) -> np.ndarray:
    """A copy of scores (n, m) in which a row below the threshold has its best lifted to it.

    Of equals the first is lifted.
    """
    lifted = scores.copy()
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    lifted[rows, best] = np.maximum(scores[rows, best], THRESHOLD)
    return lifted
