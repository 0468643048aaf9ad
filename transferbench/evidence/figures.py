"""Figures of an experiment: curves over a parameter, iterations or rows, or bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from transferbench.experiments.experiment import Experiment
from transferbench.experiments.measures import COSTS, NAMES
from transferbench.experiments.schema import Figure
from transferbench.files import writing
from transferbench.runs.record import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A line style, a marker and a hatch for each column, in order, to distinguish columns in print.
STYLES = ("-", "--", "-.", ":")
MARKERS = "os^Dvx*P"
HATCHES = ("", "//", "..", "xx", "--", "++", "oo", "**")
COLOURS = ("#1b1b1b", "#0b62a8", "#b3400b", "#3f7d20", "#7a3e9d", "#8a6d00", "#a11a4d", "#4d4d4d")
#: Columns of figure.csv.
POINT_COLUMNS = ["row", "column", "x", "mean", "std", "runs", "published"]


def points(experiment: Experiment, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the points of a figure, those of its cells that have a value; see POINT_COLUMNS.

    x is NaN for a level line.
    """
    levels = published_levels(experiment)
    shown = cells[cells["runs"] > 0]
    return shown.assign(published=shown["row"].map(levels).astype(float))[POINT_COLUMNS]


def growth(experiment: Experiment, points: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return exponents of growth by column: over all x, and between the last two.

    The value is taken to grow like x to that power; the first exponent is the slope of a straight
    line fitted to the logarithms by least squares. Only for figures of costs with both axes
    logarithmic, and columns with three points or more.
    """
    figure = experiment.spec.figure
    if not (figure and figure.rows and figure.log and experiment.spec.metric in COSTS):
        return {}
    exponents = {}
    for column, line in points.dropna(subset=["x"]).groupby("column", sort=False):
        x, mean = np.log(line.sort_values("x")[["x", "mean"]].to_numpy(float)).T
        if len(x) > 2:
            last = (mean[-1] - mean[-2]) / (x[-1] - x[-2])
            exponents[str(column)] = float(np.polyfit(x, mean, 1)[0]), float(last)
    return exponents


def published_levels(experiment: Experiment) -> dict[str, float]:
    """Return the published values, by row, that the figure's `levels` refer to."""
    figure = experiment.spec.figure
    if figure is None or figure.levels is None or figure.objective:
        return {}
    return experiment.printed(figure.levels)


def draw(experiment: Experiment, points: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw figure.svg and figure.png from the points: a panel for each row, a line for each column.

    Raise UserError if a file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    rows = [""] if figure.rows else list(spec.rows)
    across = min(3, len(rows))
    down = -(-len(rows) // across)
    style: dict[Any, Any] = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    levels = published_levels(experiment)
    with plt.rc_context(style | {"svg.hashsalt": experiment.name}):
        size = (max(3.4 * across, 5.0), (3.4 if figure.rows else 2.6) * down + 0.7)
        drawing, axes = plt.subplots(
            down, across, figsize=size, squeeze=False, layout="constrained"
        )
        for ax, row in zip(axes.flat, rows, strict=False):
            shown = points[points["row"] == row] if row else points
            if figure.rows and shown["x"].isna().all():
                _bars(experiment, ax, shown)
            else:
                _lines(experiment, figure, ax, shown)
            if row in levels:
                ax.axhline(levels[row], color="grey", linewidth=1)
                # A label on the line itself: all line styles are taken.
                ax.text(0.99, levels[row], "published", transform=ax.get_yaxis_transform(),
                        fontsize=7, ha="right", va="bottom")  # fmt: skip
            unit = "%" * (spec.unit == "percent")
            measure = NAMES.get(spec.metric, spec.metric)
            ax.set_title(row, fontsize=9)
            ax.set_xlabel(figure.label)
            ax.set_ylabel("objective" if figure.objective else f"{measure} {unit}".strip())
            if figure.objective or (figure.rows and figure.log):
                ax.set_yscale("log")
        for ax in axes.flat[len(rows) :]:
            ax.set_axis_off()
        handles, labels = axes.flat[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))
        paths = [folder / "figure.svg", folder / "figure.png"]
        for path, varying in zip(paths, ("Date", "Software"), strict=True):
            with writing(path) as temporary:
                kind = path.suffix.removeprefix(".")
                drawing.savefig(temporary, format=kind, dpi=150, metadata={varying: None})
        plt.close(drawing)
    return paths


def _bars(experiment: Experiment, ax: Axes, shown: pd.DataFrame) -> None:
    """Draw a group of bars for each row, a bar for each column."""
    rows, columns = list(experiment.spec.rows), list(experiment.spec.columns)
    width = 0.8 / len(columns)
    for i, column in enumerate(columns):
        here = shown[shown["column"] == column]
        ax.bar(
            [rows.index(name) - 0.4 + (i + 0.5) * width for name in here["row"]],
            list(here["mean"]), width, yerr=list(here["std"].fillna(0)), label=column,
            color=COLOURS[i % len(COLOURS)], hatch=HATCHES[i % len(HATCHES)], edgecolor="white",
        )  # fmt: skip
    ax.set_xticks(range(len(rows)), rows)


def _lines(experiment: Experiment, figure: Figure, ax: Axes, shown: pd.DataFrame) -> None:
    """Draw a line, or a level line, for each column."""
    from matplotlib.ticker import MaxNLocator

    for i, column in enumerate(experiment.spec.columns):
        here = shown[shown["column"] == column]
        line = here[here["x"].notna()].sort_values("x", kind="stable")
        style, colour = STYLES[i % len(STYLES)], COLOURS[i % len(COLOURS)]
        for mean in here.loc[here["x"].isna(), "mean"]:
            ax.axhline(mean, linewidth=1, label=column, linestyle=style, color=colour)
        if line.empty:
            continue
        x, mean, std = (line[name].to_numpy() for name in ("x", "mean", "std"))
        ax.plot(
            x, mean, label=column, linewidth=1.3, linestyle=style, color=colour,
            marker=MARKERS[i % len(MARKERS)], markersize=4, markevery=max(1, len(x) // 8),
        )  # fmt: skip
        std = np.nan_to_num(std)
        ax.fill_between(x, mean - std, mean + std, alpha=0.15, linewidth=0, color=colour)
    if not figure.log:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    ax.set_xscale("log")
    if figure.values:
        ax.set_xticks(figure.values, [short(value) for value in figure.values])
        ax.minorticks_off()
