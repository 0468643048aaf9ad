"""Number of printed numbers that are the same as ours by chance.

The printed numbers of each row of a table are put in random order, each with its deviation. Ours
stay. Permutations give the p of the number of cells that are the same. Derangements, in which no
number stays where it is printed, give what chance alone yields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from transferbench import stats
from transferbench.evidence.frame import Cell

#: Number of random orders, of either kind.
ORDERS = 5_000
#: Permutations for each derangement, of which at least one in three is one, but for a single cell.
DRAWN = 4


@dataclass(frozen=True)
class Place:
    """A printed number, and the values of ours that may be compared with it."""

    column: str
    #: A cell with the printed number.
    printed: Cell
    #: Our cells by label: one, or several among which a reading of the column is chosen. The first
    #: one stands for a label that is missing here.
    values: Mapping[str, Cell]
    #: True if the reading of its column is chosen on this cell. A column without such a cell is
    #: chosen on all its cells.
    chosen_on: bool = False


@dataclass(frozen=True)
class Chance:
    """A number of cells that are the same, and those of random orders of the printed numbers."""

    #: The number in the order of print, with readings chosen by the rule of all other orders.
    observed: int
    #: `permuted`, `deranged`: The numbers of random permutations and derangements, (ORDERS,).
    permuted: np.ndarray
    deranged: np.ndarray

    @classmethod
    def from_rows(cls, label: str, rows: Sequence[Sequence[Place]]) -> Self:
        """Return the numbers for the rows of one paper, whose label is the seed."""
        random = np.random.default_rng(list(label.encode()))

        def permutations(n: int, orders: int = ORDERS) -> np.ndarray:
            return random.permuted(np.tile(np.arange(n), (orders, 1)), axis=1)

        def derangements(n: int) -> np.ndarray:
            drawn = permutations(n, DRAWN * ORDERS)
            moved: np.ndarray = drawn[(drawn != np.arange(n)).all(axis=1) | (n == 1)]
            return moved[:ORDERS]

        observed = int(_numbers(rows, lambda n: np.arange(n)[None])[0])
        return cls(observed, _numbers(rows, permutations), _numbers(rows, derangements))

    def __add__(self, other: Chance) -> Chance:
        """Return the sum, for two papers whose orders are independent."""
        return Chance(
            self.observed + other.observed,
            self.permuted + other.permuted,
            self.deranged + other.deranged,
        )

    @property
    def mean(self) -> float:
        """The mean over derangements."""
        return float(self.deranged.mean())

    @property
    def p(self) -> float:
        """Share of permutations with at least as many; the order of print counts as one of them."""
        return (1 + int((self.permuted >= self.observed).sum())) / (1 + len(self.permuted))

    @property
    def in_brackets(self) -> str:
        """Mean and p, as tables write them: p with two digits, four decimals at most."""
        decimals = 2 if self.p >= 0.1 else 3 if self.p >= 0.01 else 4
        return f"({self.mean:.0f}, p {f'{self.p:.{decimals}f}'.removeprefix('0')})"


def _numbers(rows: Sequence[Sequence[Place]], orders: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return the number of cells that are the same for each order."""
    # In each order, every column has the reading with the most such cells among those that it is
    # chosen on; of equal ones the first.
    labels: dict[str, dict[str, int]] = {}
    chosen_on = {place.column for row in rows for place in row if place.chosen_on}
    for row in rows:
        for place in row:
            known = labels.setdefault(place.column, {})
            for label in place.values:
                known.setdefault(label, len(known))
    drawn = [orders(len(row)) for row in rows]
    n = len(drawn[0]) if drawn else ORDERS
    counted = {column: np.zeros((len(of), n), int) for column, of in labels.items()}
    scores = {column: np.zeros((len(of), n), int) for column, of in labels.items()}
    for row, order in zip(rows, drawn, strict=True):
        for i, place in enumerate(row):
            first = next(iter(place.values.values()))
            for label, k in labels[place.column].items():
                hits = _same_as(place.values.get(label, first), row)[order[:, i]]
                counted[place.column][k] += hits
                if place.chosen_on or place.column not in chosen_on:
                    scores[place.column][k] += hits
    total = np.zeros(n, int)
    for column, of_labels in counted.items():
        chosen = scores[column].argmax(axis=0)
        total += np.take_along_axis(of_labels, chosen[None], axis=0)[0]
    return total


def _same_as(cell: Cell, row: Sequence[Place]) -> np.ndarray:
    """Return which printed numbers of a row a cell of ours would be the same as."""
    if cell.reason:
        return np.zeros(len(row), bool)
    values, errors, dofs = np.array(
        [(p.printed.published, p.printed.published_error, p.printed.published_dof) for p in row]
    ).T
    margins = stats.difference_margin(cell.error, cell.runs - 1, errors, dofs)
    return np.asarray(stats.is_equivalent(cell.mean - values, margins, cell.tolerance))
