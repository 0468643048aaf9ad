"""Number of printed numbers that are the same as ours by chance.

The printed numbers of each row of a table are put in random order, each with its deviation. Ours
stay. Permutations give the p of the number of cells that are the same. Derangements, in which no
number stays where it is printed, give what chance alone yields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
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
        permuted, deranged = _orders(label, tuple(map(len, rows)))
        in_print = [np.arange(len(row))[:, None] for row in rows]
        same = [[_same_as(place, row) for place in row] for row in rows]
        observed = int(_numbers(rows, same, in_print)[0])
        return cls(observed, _numbers(rows, same, permuted), _numbers(rows, same, deranged))

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


@lru_cache(maxsize=16)
def _orders(label: str, sizes: tuple[int, ...]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return permutations of rows of these sizes, each (n, ORDERS), and derangements."""
    # They are the same for each way to compare the numbers of a paper.
    random = np.random.default_rng(list(label.encode()))

    def permutations(n: int, orders: int = ORDERS) -> np.ndarray:
        return random.permuted(np.tile(np.arange(n), (orders, 1)), axis=1)

    def derangements(n: int) -> np.ndarray:
        drawn = permutations(n, DRAWN * ORDERS)
        moved: np.ndarray = drawn[(drawn != np.arange(n)).all(axis=1) | (n == 1)]
        return moved[:ORDERS]

    small = np.uint8 if max(sizes, default=0) < 256 else np.intp
    permuted, deranged = (
        [np.ascontiguousarray(orders(n).T, small) for n in sizes]
        for orders in (permutations, derangements)
    )
    return permuted, deranged


def _numbers(
    rows: Sequence[Sequence[Place]],
    same: Sequence[Sequence[Mapping[str, np.ndarray]]],
    drawn: Sequence[np.ndarray],
) -> np.ndarray:
    """Return the number of cells that are the same for each order."""
    # `same`: See `_same_as`, of each place of each row.
    # `drawn`: Orders of each row, (n, orders).
    # In each order, every column has the reading with the most such cells among those that it is
    # chosen on; of equal ones the first.
    labels: dict[str, dict[str, None]] = {}
    for place in chain(*rows):
        labels.setdefault(place.column, {}).update(dict.fromkeys(place.values))
    chosen_on = {place.column for place in chain(*rows) if place.chosen_on}
    n = drawn[0].shape[1] if drawn else ORDERS
    counted, scores = (
        {(column, label): np.zeros(n, int) for column, of in labels.items() for label in of}
        for _ in range(2)
    )
    for row, of_row, order in zip(rows, same, drawn, strict=True):
        for i, (place, by_label) in enumerate(zip(row, of_row, strict=True)):
            first = next(iter(by_label.values()))
            for label in labels[place.column]:
                hits = by_label.get(label, first)[order[i]]
                counted[place.column, label] += hits
                if place.chosen_on or place.column not in chosen_on:
                    scores[place.column, label] += hits
    total = np.zeros(n, int)
    for column, of in labels.items():
        best = np.argmax([scores[column, label] for label in of], axis=0)
        total += np.choose(best, [counted[column, label] for label in of])
    return total


def _same_as(place: Place, row: Sequence[Place]) -> dict[str, np.ndarray]:
    """Return which printed numbers of a row each of our cells would be the same as, by label."""
    values, errors, dofs = np.array(
        [(p.printed.published, p.printed.published_error, p.printed.published_dof) for p in row]
    ).T
    same = {}
    for label, cell in place.values.items():
        margins = stats.difference_margin(cell.error, cell.runs - 1, errors, dofs)
        is_same = stats.is_equivalent(cell.mean - values, margins, cell.tolerance)
        same[label] = np.asarray(is_same) & (not cell.reason)
    return same
