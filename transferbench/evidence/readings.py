"""Readings of a paper: what its method gives under each way to fill what the paper leaves open.

The columns of the experiment are the readings. For each printed value the page shows where it lies
among them. For all printed values together it shows the nearest reading, and how often a row
without relation to the readings comes as near to one of them (`share_as_near`).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

from transferbench import experiments
from transferbench.evidence import figures, tables
from transferbench.evidence.figures import COLOURS
from transferbench.evidence.frame import Cell, to_frame
from transferbench.experiments.experiment import Experiment

#: Number of made-up rows if the tasks have more orders than this.
DRAWS = 10_000
#: Largest share that counts as a fit.
LEVEL = 0.05
#: Columns of readings.csv.
STRIP_COLUMNS = [
    "row", "printed", "least", "lower_quartile", "median", "upper_quartile", "greatest",
    "percentile", "position", "seeds_std", "best_iteration_least", "best_iteration_greatest",
]  # fmt: skip


@dataclass(frozen=True)
class Nearest:
    """The reading nearest to the printed row.

    distance : mean absolute difference over the rows, in the table's unit.
    share    : of made-up rows to which some reading is as near, see `share_as_near`.
    smallest : the smallest share that is possible.
    others   : the shares of the other printed columns of the same table.
    """

    reading: str
    distance: float
    share: float
    smallest: float
    others: list[float]


def strips(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a line for each row: its printed value and the readings' distribution.

    percentile: share of the readings below the printed value, in per cent. position: inside, above
    or below all readings. seeds_std: median over the readings of the standard deviation over seeds.
    best_iteration_…: least and greatest over the readings when each run stops at its best iteration
    by the labels of the target; NaN if the models report no iterations. See STRIP_COLUMNS.
    """
    lines = []
    finished = to_frame([cell for cell in cells if not math.isnan(cell.mean)])
    for row, printed in printed_columns(experiment)[0].items():
        here = finished[finished["row"] == row]
        if here.empty:
            continue
        means = here["mean"].to_numpy()
        quartiles = np.quantile(means, (0, 0.25, 0.5, 0.75, 1))
        below = float((means < printed).mean() * 100)
        position = "inside"
        if printed > quartiles[-1]:
            position = "above"
        elif printed < quartiles[0]:
            position = "below"
        line = [row, printed, *quartiles, below, position, here["std"].median()]
        lines.append([*line, math.nan, math.nan])
    return pd.DataFrame(lines, columns=STRIP_COLUMNS)


def nearest(experiment: Experiment, cells: Sequence[Cell]) -> Nearest | None:
    """Return the reading nearest to the printed row; None if no reading has finished every row.

    Tasks with unequal numbers of rows cannot be exchanged: they count as one.
    """
    printed = printed_columns(experiment)
    rows = sorted(printed[0], key=experiment.problem)
    values = to_frame(cells).pivot_table(index="column", columns="row", values="mean", sort=False)
    values = values.reindex(columns=rows).dropna()
    if values.empty:
        return None
    sizes = Counter(experiment.problem(row) for row in rows)
    tasks = len(sizes) if len(set(sizes.values())) == 1 else 1
    of_columns = pd.DataFrame(printed)[rows].to_numpy()
    shares = [share_as_near(column, values.to_numpy(), tasks) for column in of_columns]
    distances = np.abs(values - of_columns[0]).mean(axis=1)
    smallest = 1 / len(_orders(tasks, DRAWS))
    return Nearest(distances.idxmin(), distances.min(), shares[0], smallest, shares[1:])


def share_as_near(printed: np.ndarray, values: np.ndarray, tasks: int, draws: int = DRAWS) -> float:
    """Return the share of made-up rows to which some reading is as near as to the printed row.

    A made-up row exchanges the printed row's differences from the readings' medians between the
    tasks; the given order counts too. The share is that of an exact permutation test: with the
    differences exchangeable over the tasks and unrelated to the readings, it is at most p with
    probability p or less. It is 1 if the printed row lies so far above or below that no order
    changes a distance.

    printed : (n,), the rows of one task one after the other.
    values  : (number of readings, n).
    tasks   : number of tasks, each with n / tasks rows, which stay together.
    draws   : number of random orders, with a fixed seed, if the tasks have more orders than this.
    """
    centre = np.median(values, axis=0)
    orders = _orders(tasks, draws)
    made_up = (printed - centre).reshape(tasks, -1)[orders].reshape(len(orders), -1)
    least = np.min([np.abs(made_up - each).mean(axis=1) for each in values - centre], axis=0)
    return float((least <= least[0] + 1e-9).mean())  # sums in another order differ by rounding


@cache
def _orders(tasks: int, draws: int) -> np.ndarray:
    """Return orders of the tasks, one a row, the given one first: all of them, or random ones."""
    if math.factorial(tasks) <= draws:
        return np.array(list(permutations(range(tasks))))
    random = np.random.default_rng(0).permuted(np.tile(np.arange(tasks), (draws, 1)), axis=1)
    return np.vstack([np.arange(tasks), random])


def printed_columns(experiment: Experiment) -> list[dict[str, float]]:
    """Return the printed values by row, then those of the table's other columns with all rows."""
    source = experiment.spec.readings
    assert source is not None
    columns = experiments.load(source.experiment).spec.columns.items()
    names = [source.column, *(n for n, c in columns if n != source.column and not c.reading_of)]
    found = [experiment.printed(source.model_copy(update={"column": name})) for name in names]
    return [each for each in found if each.keys() == found[0].keys()]


def draw(experiment: Experiment, cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Draw readings.svg and .pdf, a strip for each row.

    Raise UserError if a file cannot be written.
    """
    table = strips(experiment, cells)
    with figures.style(experiment.name):
        import matplotlib.pyplot as plt

        drawing, ax = plt.subplots(figsize=(7, 0.36 * len(table) + 1.4), layout="constrained")
        y = range(len(table))
        if table["best_iteration_least"].notna().any():
            ax.hlines(
                y, table["best_iteration_least"], table["best_iteration_greatest"],
                color=figures.RANGE, linewidth=9, alpha=0.35, label="best iteration, by labels",
            )  # fmt: skip
        ax.hlines(y, table["least"], table["greatest"], color=COLOURS[-1], linewidth=1)
        ax.hlines(
            y, table["lower_quartile"], table["upper_quartile"],
            color=COLOURS[1], linewidth=5, label="middle half of the readings",
        )  # fmt: skip
        shown = to_frame([cell for cell in cells if cell.row in set(table["row"])])
        places = [list(table["row"]).index(row) for row in shown["row"]]
        ax.plot(shown["mean"], places, "|", color=figures.INK, markersize=9, label="a reading")
        ax.plot(table["printed"], y, "D", color=COLOURS[2], markersize=5, label="printed")
        ax.set_yticks(y, table["row"])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.invert_yaxis()
        ax.grid(axis="x")
        unit = "per cent" if experiment.spec.unit == "percent" else ""
        ax.set_xlabel(tables.measures(experiment, unit))
        figures.legend(drawing, ax.get_legend_handles_labels()[0])
        return figures.save(drawing, folder / "readings")
