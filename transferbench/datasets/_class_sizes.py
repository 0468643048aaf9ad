"""Cut classes to given sizes, to make transfer tasks with unequal classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from transferbench.data.options import UnequalIn

#: Anything with a row for each document.
Rows = TypeVar("Rows")


def cut(
    parts: Mapping[str, tuple[Rows, np.ndarray]],
    classes: Sequence[str],
    class_sizes: str,
    unequal_in: UnequalIn,
) -> dict[str, tuple[Rows, np.ndarray]]:
    """Return the parts with classes of sizes in a given ratio; the order of documents stays.

    parts       : by domain name, rows (n, …) and (n,) class indices; the first is the source.
    class_sizes : sizes in the order of the classes, such as "1:10"; "" changes nothing. As many
                  documents as this ratio allows remain: of "1:10", one class as a rule is complete.
    unequal_in  : cut the targets alone, or the source too.

    Documents are drawn by NumPy's default generator with seed 0, anew for each domain, so a task is
    the same every time. Raises ValueError for another form of ratio, or if a class would be empty.
    """
    if not class_sizes:
        return dict(parts)
    ratio = _ratio(class_sizes, classes)
    result = {}
    for i, (name, (rows, y)) in enumerate(parts.items()):
        if i or unequal_in == "both":
            kept = _draw(y, ratio)
            if not np.bincount(y[kept], minlength=len(classes)).all():
                raise ValueError(f"class_sizes {class_sizes} leaves a class of {name} empty")
            rows, y = rows[kept], y[kept]  # type: ignore[index]
        result[name] = rows, y
    return result


def _ratio(class_sizes: str, classes: Sequence[str]) -> np.ndarray:
    """Return the numbers (c,) of a text such as "1:10". Raises ValueError for another form."""
    try:
        ratio = np.array([float(part) for part in class_sizes.split(":")])
    except ValueError:
        ratio = np.empty(0)
    if len(ratio) != len(classes) or not (np.isfinite(ratio).all() and (ratio > 0).all()):
        expected = f"{len(classes)} positive numbers joined by colons, such as 1:10"
        order = f"in the order {', '.join(classes)}"
        raise ValueError(f"class_sizes {class_sizes!r}: expected {expected}, {order}")
    return ratio


def _draw(y: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Return the ascending rows of y (n,) that remain, with classes in the ratio (c,)."""
    rng = np.random.default_rng(0)
    available = np.bincount(y, minlength=len(ratio))
    sizes = np.rint(ratio * np.min(available / ratio)).astype(int)
    rows = [rng.permutation(np.flatnonzero(y == label))[:size] for label, size in enumerate(sizes)]
    return np.sort(np.concatenate(rows))
