"""Multi-label triples: the documents that a printed F1, accuracy and Hamming loss can be of.

Let a document have t labels that are true and decided, u that are true or decided, and let m be the
number of labels. Its F1 is 2t/(t + u), its accuracy t/u and its Hamming loss (u − t)/m. It is right
if t = u. The printed values are means over documents. With

    x = (F1 − accuracy) / (1 − F1)        y = Hamming loss / (1 − F1)

right documents cancel: x is the mean of t/u over the wrong ones, and y the mean of (t + u)/m, both
with the weights 1 − F1 of the documents. So x says how much of a wrong document is right, and m·y
is its number of labels, true and decided. As t ≤ u − 1 and u ≤ m, y − 1 ≤ x ≤ (m·y − 1)/(m·y + 1);
the second limit is concave in y, so it holds for means, too. Documents without a decided label have
t = 0 and x = 0, so they are at most a share of (1 − F1) · (1 − x·m/(m − 1)) of all documents.

If every document has a label, and as many labels are decided as are true, the label density is the
mean of (t + u)/(2m). Its least value follows from the triple by a linear program over the shares of
documents with each t and u.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from transferbench.evidence.grim import Number

#: Most labels: those of a linear program with 20,100 kinds of documents.
MAX_LABELS = 200


class Triple(NamedTuple):
    """Printed means over one set of documents."""

    f1: Number
    accuracy: Number
    hamming: Number

    @property
    def position(self) -> tuple[float, float]:
        """The triple's x and y."""
        return position(*(float(number.value) for number in self))


def position(f1: float, accuracy: float, hamming: float) -> tuple[float, float]:
    """Return x and y of three means; NaN if F1 is 1."""
    error = 1 - f1 if f1 < 1 else np.nan
    return (f1 - accuracy) / error, hamming / error


def largest_x(wrong_labels: np.ndarray) -> np.ndarray:
    """Return the largest x by m·y, the mean number of labels of a wrong document."""
    return np.asarray((wrong_labels - 1) / (wrong_labels + 1))


def is_possible(triple: Triple, labels: int) -> bool:
    """Return whether any documents with this number of labels can have the triple."""
    return _least(triple, labels, *_kinds(labels)) is not None


def least_density(triple: Triple, labels: int) -> float | None:
    """Return the least label density of documents with the triple; None if there are none."""
    # Every document has a true label, and in the mean as many are decided as are true: at least
    # max(t, 1) labels are true, and together these are no more than half of all t + u.
    t, u = _kinds(labels)
    return _least(triple, labels, t, u, np.maximum(t, 1) - (t + u) / 2)


@lru_cache(maxsize=4)
def _kinds(labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return t and u of every kind of wrong document, and of right ones with one label."""
    u, t = np.tril_indices(labels + 1, -1)
    return np.append(t, 1), np.append(u, 1)


def _least(
    triple: Triple, labels: int, t: np.ndarray, u: np.ndarray, *at_most_0: np.ndarray
) -> float | None:
    """Return the least mean of (t + u)/(2m) over shares of kinds of documents, None if none fit."""
    # NaN if the solver stops without an answer, which nothing then follows from.
    # `at_most_0`: Sums over the shares that are not above 0.
    from scipy.optimize import linprog

    measures = np.array([2 * t / (t + u), t / u, (u - t) / labels])
    values = np.array([float(number.value) for number in triple])
    halves = np.array([float(number.half) for number in triple])
    found = linprog(
        (t + u) / (2 * labels),
        A_ub=np.vstack([measures, -measures, *at_most_0]),
        b_ub=np.concatenate([values + halves, halves - values, np.zeros(len(at_most_0))]),
        A_eq=np.ones((1, len(t))),
        b_eq=[1],
    )
    infeasible = 2  # of the statuses of `linprog`
    if found.status == infeasible:
        return None
    return float(found.fun) if found.success else math.nan
