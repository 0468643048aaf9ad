"""Settings chosen by labels that were hidden from the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Setting = TypeVar("Setting")


def best_setting(
    settings: Sequence[Setting],
    scores: Callable[[Setting, np.ndarray], np.ndarray],
    Y: np.ndarray,
    seen: np.ndarray,
    *,
    share: float,
    seed: int,
) -> Setting:
    """The setting with the best example-based F₁ on hidden labels; of equals the first.

    Y (n, m) 0/1 labels of the rows that are seen (n,). A share of those rows, at least one, is
    hidden; scores(setting, kept) returns (n, m), read at 0.5, and may use labels of the rows kept
    (n,) alone. A single setting is returned untried.
    """
    if len(settings) == 1:
        return settings[0]
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(seen))
    hidden = rows[: max(1, round(share * len(rows)))]
    kept = seen.copy()
    kept[hidden] = False
    return max(settings, key=lambda s: example_f1(Y[hidden], scores(s, kept)[hidden] >= 0.5))


def example_f1(Y: np.ndarray, D: np.ndarray) -> float:
    """Mean over rows of 2|Y_i ∩ D_i| / (|Y_i| + |D_i|), 1 where both are empty; Y, D (n, m) 0/1."""
    both, size = np.sum(Y * D, axis=1), np.sum(Y, axis=1) + np.sum(D, axis=1)
    return float(np.mean(np.where(size > 0, 2 * both / np.maximum(size, 1), 1.0)))
