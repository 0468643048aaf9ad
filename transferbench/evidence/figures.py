"""Records to figures: curves over a parameter or over iterations, the published level drawn in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from transferbench.evidence.frame import by_cell
from transferbench.experiments import experiment as experiments
from transferbench.experiments.experiment import Experiment
from transferbench.files import writing
from transferbench.runs.record import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Told apart in black and white: a line style and a marker for each column, in order.
STYLES = ("-", "--", "-.", ":")
MARKERS = "os^Dvx*P"
HATCHES = ("", "//", "..", "xx", "--", "++", "oo", "**")
COLOURS = ("#1b1b1b", "#0b62a8", "#b3400b", "#3f7d20", "#7a3e9d", "#8a6d00", "#a11a4d", "#4d4d4d")


class Point(NamedTuple):
    """Mean and standard deviation over runs at one x; x is None for a level line."""

    row: str
    column: str
    x: float | None
    mean: float
    std: float | None
    runs: int


def series(
    experiment: Experiment, lines: list[dict[str, str]]
) -> dict[tuple[str, str, float | None], dict[str, float]]:
    """(row, column, x) → the value of each finished run by seed, the mean over its domains.

    Only lines of runs.csv that the experiment's cells still stand for count.
    """
    found = by_cell(lines)
    values: dict[tuple[str, str, float | None], dict[str, list[float]]] = {}
    for row, column, x, cell in experiment.runs():
        for domain, line in found.get(cell.identity, {}).items():
            scored = experiment.spec.rows[row].domain in (None, domain)
            if line["status"] == "done" and scored:
                for place, value in _read(experiment, row, x, line):
                    runs = values.setdefault((row, column, place), {})
                    runs.setdefault(line["seed"], []).append(value)
    return {
        key: {seed: fmean(domains) for seed, domains in runs.items()}
        for key, runs in values.items()
    }


def points(experiment: Experiment, lines: list[dict[str, str]]) -> list[Point]:
    """Every point of the figure."""
    return [
        Point(
            *key, fmean(runs.values()), stdev(runs.values()) if len(runs) > 1 else None, len(runs)
        )
        for key, runs in series(experiment, lines).items()
    ]


def _read(
    experiment: Experiment, row: str, x: float | None, line: dict[str, str]
) -> Iterator[tuple[float | None, float]]:
    """(x, y) of one run: along its iterations, or the one point it stands for."""
    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    scale = 1 if figure.objective else experiment.scale(row)
    if figure.iterations and line["curve"]:
        for i, value in enumerate(json.loads(line["trace" if figure.objective else "curve"])):
            yield i + 1.0, value * scale
    else:
        metric = experiment.metric(row)
        x = spec.rows[row].x if figure.rows else x
        yield x, float(line[metric] or "nan") * scale


def render(experiment: Experiment, lines: list[dict[str, str]]) -> dict[str, str]:
    """File name → text: the points, and a page that shows the figure."""
    spec = experiment.spec
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*Point._fields, "published"])
    for point in points(experiment, lines):
        published = level(experiment, point.row)
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
    assert spec.figure is not None
    rows = [""] if spec.figure.rows else list(spec.rows)
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
        size = (max(3.4 * across, 5.0), (3.4 if spec.figure.rows else 2.6) * down + 0.7)
        figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
        for ax, row in zip(axes.flat, rows, strict=False):
            shown = [point for point in made if row in ("", point.row)]
            bars = spec.figure.rows and all(point.x is None for point in shown)
            (_bars if bars else _panel)(experiment, ax, row, shown)
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


def _bars(experiment: Experiment, ax: Axes, row: str, made: list[Point]) -> None:
    """A group of bars for each row, a bar for each column."""
    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    rows, width = list(spec.rows), 0.8 / len(spec.columns)
    for i, column in enumerate(spec.columns):
        points = [point for point in made if point.column == column]
        ax.bar(
            [rows.index(p.row) - 0.4 + (i + 0.5) * width for p in points],
            [p.mean for p in points], width, yerr=[p.std or 0 for p in points], label=column,
            color=COLOURS[i % len(COLOURS)], hatch=HATCHES[i % len(HATCHES)], edgecolor="white",
        )  # fmt: skip
    ax.set_xticks(range(len(rows)), rows)
    _axes(experiment, ax, row)


def _axes(experiment: Experiment, ax: Axes, row: str) -> None:
    """Title, labels and scales."""
    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    unit = "%" * (spec.unit == "percent")
    ax.set_title(row, fontsize=9)
    ax.set_xlabel(figure.label)
    ax.set_ylabel("objective" if figure.objective else f"{spec.metric} {unit}".strip())
    if figure.objective or (figure.rows and figure.log):
        ax.set_yscale("log")


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
    published = level(experiment, row) if row else None
    if published is not None:
        ax.axhline(published, color="grey", linewidth=1)
        # Said on the line itself, which no line style could say in black and white.
        place = ax.get_yaxis_transform()
        ax.text(0.99, published, "published", transform=place, fontsize=7, ha="right", va="bottom")
    if not figure.log:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _axes(experiment, ax, row)
    if figure.log:
        ax.set_xscale("log")
    if figure.log and figure.values:
        ax.set_xticks(figure.values, [short(value) for value in figure.values])
        ax.minorticks_off()


def level(experiment: Experiment, row: str) -> float | None:
    """The published value of a row that the figure's `levels` point to."""
    figure = experiment.spec.figure
    if figure is None or figure.levels is None or figure.objective:
        return None
    value = experiments.load(figure.levels.experiment).published(row, figure.levels.column)
    return value[0] if value else None
