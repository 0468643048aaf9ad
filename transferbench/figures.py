"""Records to figures: curves over a parameter or over iterations, the published level drawn in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from transferbench import experiment as experiments
from transferbench.experiment import Experiment
from transferbench.files import writing
from transferbench.records import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Told apart in black and white: a line style and a marker for each column, in order.
STYLES = ("-", "--", "-.", ":")
MARKERS = "os^Dvx*P"
COLOURS = ("#1b1b1b", "#0b62a8", "#b3400b", "#3f7d20", "#7a3e9d", "#8a6d00", "#a11a4d", "#4d4d4d")


class Point(NamedTuple):
    """Mean and standard deviation over runs at one x; x is None for a level line."""

    row: str
    column: str
    x: float | None
    mean: float
    std: float | None
    runs: int


def points(experiment: Experiment, lines: list[dict[str, str]]) -> list[Point]:
    """Every point of the figure, from the lines of runs.csv that its cells still stand for."""
    planned = {
        (p.row, p.column, short(p.x), "" if p.cell.seed is None else str(p.cell.seed)): p.cell
        for p in experiment.cells()
    }
    values: dict[tuple[str, str, float | None], dict[str, list[float]]] = {}
    for line in lines:
        row, column, seed = line["row"], line["column"], line["seed"]
        cell = planned.get((row, column, line["x"], seed))
        if cell is None or line["status"] != "done" or json.loads(line["params"]) != cell.params:
            continue
        if experiment.spec.rows[row].domain in (None, line["domain"]):
            for x, value in _read(experiment, line):
                values.setdefault((row, column, x), {}).setdefault(seed, []).append(value)
    made = []
    for (row, column, x), seeds in values.items():
        means = [fmean(domains) for domains in seeds.values()]
        spread = stdev(means) if len(means) > 1 else None
        made.append(Point(row, column, x, fmean(means), spread, len(means)))
    return made


def _read(experiment: Experiment, line: dict[str, str]) -> Iterator[tuple[float | None, float]]:
    """(x, y) of one run: along its iterations, or the one point it stands for."""
    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    scale = 100 if spec.unit == "percent" and not figure.objective else 1
    if figure.iterations and line["curve"]:
        for i, value in enumerate(json.loads(line["objectives" if figure.objective else "curve"])):
            yield i + 1.0, value * scale
    else:
        yield (float(line["x"]) if line["x"] else None), float(line[spec.metric] or "nan") * scale


def render(experiment: Experiment, lines: list[dict[str, str]]) -> dict[str, str]:
    """File name → text: the points, and a page that shows the figure."""
    spec = experiment.spec
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*Point._fields, "published"])
    for point in points(experiment, lines):
        published = _level(experiment, point.row)
        writer.writerow(
            [point.row, point.column, short(point.x), short(point.mean), short(point.std),
             point.runs, short(published)]
        )  # fmt: skip
    paper = spec.paper
    page = [
        f"# {experiment.name}: {spec.title}",
        "",
        f"{paper.authors}: *{paper.title}*, {paper.venue}, {paper.place}.",
        f"Mean of up to {spec.repeats} runs, band: one standard deviation. "
        "Points: [figure.csv](figure.csv).",
        "",
        f"![{spec.title}](figure.svg)",
        *(f"\n- {column}: {method.note}" for column, method in spec.columns.items() if method.note),
        *(f"\n- {note}" for note in spec.notes),
    ]
    return {"figure.csv": out.getvalue(), "figure.md": "\n".join(page) + "\n"}


def draw(experiment: Experiment, lines: list[dict[str, str]], folder: Path) -> list[Path]:
    """figure.svg and figure.png: a panel for each row, a line for each column."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    spec = experiment.spec
    rows = list(spec.rows)
    across = min(3, len(rows))
    down = -(-len(rows) // across)
    style: dict[Any, Any] = {
        "svg.hashsalt": experiment.name,
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
    }
    made = points(experiment, lines)
    with plt.rc_context(style):
        size = (max(3.4 * across, 5.0), 2.6 * down + 0.7)
        figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
        for ax, row in zip(axes.flat, rows, strict=False):
            _panel(experiment, ax, row, [point for point in made if point.row == row])
        for ax in axes.flat[len(rows) :]:
            ax.set_axis_off()
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))
        paths = []
        for kind in ("svg", "png"):
            with writing(folder / f"figure.{kind}") as temporary:
                nothing = {"Date": None} if kind == "svg" else {"Software": None}
                figure.savefig(temporary, format=kind, dpi=150, metadata=nothing)
            paths.append(folder / f"figure.{kind}")
        plt.close(figure)
    return paths


def _panel(experiment: Experiment, ax: Axes, row: str, made: list[Point]) -> None:
    from matplotlib.ticker import MaxNLocator

    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    for i, column in enumerate(spec.columns):
        line = sorted(
            (p for p in made if p.column == column and p.x is not None), key=lambda p: p.x or 0
        )
        style, colour = STYLES[i % len(STYLES)], COLOURS[i % len(COLOURS)]
        for p in made:
            if p.column == column and p.x is None:
                ax.axhline(p.mean, linewidth=1, label=column, linestyle=style, color=colour)
        if not line:
            continue
        x, mean = [p.x or 0 for p in line], [p.mean for p in line]
        ax.plot(
            x, mean, label=column, linewidth=1.3, linestyle=style, color=colour,
            marker=MARKERS[i % len(MARKERS)], markersize=4, markevery=max(1, len(x) // 8),
        )  # fmt: skip
        low, high = zip(
            *((p.mean - (p.std or 0), p.mean + (p.std or 0)) for p in line), strict=True
        )
        ax.fill_between(x, low, high, alpha=0.15, linewidth=0, color=colour)
    published = _level(experiment, row)
    if published is not None:
        ax.axhline(published, color="grey", linewidth=1)
        # Said on the line itself, which no line style could say in black and white.
        place = ax.get_yaxis_transform()
        ax.text(0.99, published, "published", transform=place, fontsize=7, ha="right", va="bottom")
    if not figure.log:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(row, fontsize=9)
    ax.set_xlabel(figure.label)
    ax.set_ylabel(
        "objective" if figure.objective else f"{spec.metric} {'%' * (spec.unit == 'percent')}"
    )
    if figure.log:
        ax.set_xscale("log")
    if figure.objective:
        ax.set_yscale("log")


def _level(experiment: Experiment, row: str) -> float | None:
    """The published value of a row that the figure's `levels` point to."""
    figure = experiment.spec.figure
    if figure is None or figure.levels is None or figure.objective:
        return None
    value = experiments.load(figure.levels.experiment).published(row, figure.levels.column)
    return value[0] if value else None
