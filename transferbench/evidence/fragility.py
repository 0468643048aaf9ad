"""How far the cells of a table move with changes that should not matter, see `frame.Move`."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from transferbench.evidence.frame import Cell, Move
from transferbench.measures import COSTS

#: Not a change of a run: the other seeds of a random method.
SEEDS = "other seeds"


def to_csv(moves: Sequence[Move]) -> pd.DataFrame:
    """Return the content of fragility.csv."""
    table = pd.DataFrame(moves, columns=list(Move._fields))
    return table.assign(moved=table["value"] - table["committed"])


def summary(cells: Sequence[Cell], digits: int) -> dict[str, Any]:
    """Return what the page shows.

    kinds   : kinds of changes: order, dtype, threads, libraries of some versions, other seeds.
    columns : column → its largest move of each kind, with the number of cells if not all have one.
    fragile : sentences on the cells that a change moves by more than the tolerance, in two lists:
              not by more than another seed does (False: also by more).
    """
    moved = [(c, _largest(c)) for c in cells if c.by_seed and c.metric not in COSTS]
    table = pd.DataFrame([largest for _, largest in moved], [cell.column for cell, _ in moved])
    last = ("threads", "libraries", SEEDS)  # after order and dtype
    kinds = sorted(table, key=lambda kind: [kind.startswith(each) for each in last[::-1]])
    fragile: dict[bool, list[str]] = {False: [], True: []}
    for cell, largest in moved:
        if cell.fragile:
            words = [f"{kind} {_signed(value, digits)}" for kind, value in largest.items() if value]
            by = {kind: round(abs(value), digits) for kind, value in largest.items()}
            tolerance = f"(tolerance {cell.tolerance:g})"
            sentence = f"{cell.row}, {cell.column}: {', '.join(words)} {tolerance}"
            fragile[max(by.values()) == by.get(SEEDS)].append(sentence)
    columns = {
        name: [_text(of[kind].dropna().tolist(), len(of), digits) for kind in kinds]
        for name, of in table.groupby(level=0, sort=False)
    }
    return {"kinds": kinds, "columns": columns, "fragile": fragile}


def _largest(cell: Cell) -> dict[str, float]:
    """Return the largest move of a cell by kind of change."""
    moved: dict[str, float] = {}
    for move in cell.moves:
        kind = "order" if move.change.startswith("order") else move.change
        moved[kind] = max(moved.get(kind, 0.0), move.moved, key=abs)
    first, *others = cell.by_seed.values()
    return moved | ({SEEDS: max((v - first for v in others), key=abs)} if others else {})


def _text(moved: Sequence[float], cells: int, digits: int) -> str:
    """Return the largest move, and of how many cells it is if not of all."""
    text = _signed(max(moved, key=abs), digits) if moved else ""
    return f"{text} ({len(moved)} of {cells})" if 0 < len(moved) < cells else text


def _signed(value: float, digits: int) -> str:
    """Return a number with its sign; 0 if it is rounded to that."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else "0"
