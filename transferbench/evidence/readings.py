"""Readings of a paper: what its method gives under each way to fill what the paper leaves open.

The columns of the experiment are the readings, fixed before the runs. For each printed value the
page shows where it lies among them. For all printed values together it shows the nearest reading,
and the share of made-up rows to which some reading comes as close.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from transferbench.evidence import figures, tables
from transferbench.evidence.figures import COLOURS
from transferbench.evidence.frame import Cell, to_frame
from transferbench.experiments.experiment import Experiment

#: A made-up row has each printed value plus normal noise of this standard deviation, in points.
NOISE = 2.0
MADE_UP_ROWS = 10_000
#: Columns of readings.csv.
STRIP_COLUMNS = [
    "row", "printed", "least", "lower_quartile", "median", "upper_quartile", "greatest",
    "percentile", "position", "seeds_std", "best_iteration_least", "best_iteration_greatest",
]  # fmt: skip


@dataclass(frozen=True)
class Nearest:
    """The reading nearest to the printed row.

    distance  : mean absolute difference over the rows, in the table's unit.
    as_close  : share of made-up rows to which some reading is at least as close.
    """

    reading: str
    distance: float
    as_close: float


def strips(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a line for each row: its printed value and the readings' distribution.

    percentile: share of the readings below the printed value, in per cent. position: inside, above
    or below all readings. seeds_std: median over the readings of the standard deviation over seeds.
    best_iteration_…: least and greatest over the readings when each run stops at its best iteration
    by the labels of the target; NaN if the models report no iterations. See STRIP_COLUMNS.
    """
    lines = []
    finished = to_frame([cell for cell in cells if not math.isnan(cell.mean)])
    for row, printed in printed_values(experiment).items():
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
        lines.append([*line, here["best"].min(), here["best"].max()])
    return pd.DataFrame(lines, columns=STRIP_COLUMNS)


def nearest(experiment: Experiment, cells: Sequence[Cell]) -> Nearest | None:
    """Return the reading nearest to the printed row; None if no reading has finished every row.

    Made-up rows have noise of NOISE points (a fiftieth where values are fractions); the generator
    has a fixed seed.
    """
    printed = printed_values(experiment)
    values = to_frame(cells).pivot_table(index="column", columns="row", values="mean", sort=False)
    values = values.reindex(columns=list(printed)).dropna()
    if values.empty:
        return None
    ours, row = values.to_numpy(), np.array(list(printed.values()))
    noise = NOISE if experiment.spec.unit == "percent" else NOISE / 100
    made_up = row + noise * np.random.default_rng(0).standard_normal((MADE_UP_ROWS, len(row)))
    distances = np.abs(ours - row).mean(axis=1)
    least = np.min([np.abs(made_up - reading).mean(axis=1) for reading in ours], axis=0)
    as_close = float((least <= distances.min()).mean())
    return Nearest(str(values.index[distances.argmin()]), float(distances.min()), as_close)


def sentences(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return sentences about the printed values as a whole."""
    table = strips(experiment, cells)
    positions = table["position"].value_counts()
    inside, above, below = (int(positions.get(p, 0)) for p in ("inside", "above", "below"))
    total = inside + above + below
    result = [
        f"Of {total} printed values {inside} lie inside the range of the readings, {above} above "
        f"and {below} below all of them."
    ]
    if found := nearest(experiment, cells):
        digits = 2 if experiment.spec.unit == "percent" else 3
        result.append(
            f"Nearest to the whole row is {found.reading}: {found.distance:.{digits}f} away on "
            f"average. The same readings come as close to {found.as_close:.0%} of made-up rows "
            f"(printed values with normal noise of {NOISE:g} points): the higher this share, the "
            "less the fit shows."
        )
    if table["best_iteration_least"].notna().any():
        result.append(
            "Best iteration: the range if every run stopped at its best iteration by the labels of "
            "the target. No method may do that; the band only shows what such a choice could give."
        )
    return result


def printed_values(experiment: Experiment) -> dict[str, float]:
    """Return the printed value of each row."""
    readings = experiment.spec.readings
    assert readings is not None
    return experiment.printed(readings)


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
