"""Figures of an experiment: curves over a parameter, the iterations or the rows.

`style` and `save` give all pictures one style, colours for light and dark pages, and titles under
the mouse. `draw_points` draws every set of points. `inline` makes a picture a part of a page.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import escape

from transferbench import experiments
from transferbench.evidence.frame import Cell, to_frame
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Figure
from transferbench.files import write_text
from transferbench.measures import COSTS, TITLES
from transferbench.messages import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Seven tints, from orange over grey to blue, for dark text.
TINTS = ("#ee9f78", "#f6c3a7", "#fbe4d8", "#ecebe6", "#dfeaf7", "#b3d1f0", "#7fb2e5")
#: Tint of what is the same.
SAME = "#e0f0e2"
INK, PAPER, PUBLISHED, RANGE = "#1b1b1b", "#ffffff", "#9b9890", "#d9a441"
#: Colours of the columns in order. All contrast with PAPER by 4.5 to 1.
COLOURS = (INK, "#0b62a8", "#b3400b", "#3f7d20", "#7a3e9d", "#8a6d00", "#a11a4d", "#4d4d4d")
#: What each colour becomes on a dark page, with the same contrast; black is a library's default.
DARK = dict(
    zip(
        (*COLOURS, PAPER, PUBLISHED, RANGE, "#000000", *TINTS, SAME),
        ("#f1eee8", "#6db6f2", "#ff9b61", "#8fd06b", "#cd9df0", "#e3c544", "#ff87af", "#a9a9a9",
         "#1c1f23", "#7d7a73", "#b98a35", "#f1eee8",
         "#8a3d14", "#66300f", "#4a2412", "#2b2e33", "#14304c", "#17456f", "#1d5c94", "#17361f"),
        strict=True,
    )
)  # fmt: skip
#: A line style and a marker for each column, in order, to distinguish columns in print.
STYLES = ("-", "--", "-.", ":")
MARKERS = "os^Dvx*P"
#: Columns of figure.csv.
POINT_COLUMNS = ["row", "column", "x", "mean", "std", "runs", "published"]
#: Size of a picture in a page, beside that of its file.
LARGER = 1.4
#: What the attribute `gid` of a part of a picture begins with, if the rest is titles.
_TITLES = "titles:"


class Mark(NamedTuple):
    """Style of points."""

    colour: str
    marker: str = "o"
    #: True for points of which nothing was tested.
    is_hollow: bool = False
    #: Style of the line that joins them; without one, they are not joined.
    line: str = "none"


def points(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the points of a figure."""
    # `cells`: Its cells; those without a finished run are left out.
    # Returns: With POINT_COLUMNS; x is NaN for a level line.
    levels = published_levels(experiment)
    frame = to_frame([cell for cell in cells if cell.runs])
    return frame.assign(published=frame["row"].map(levels).astype(float))[POINT_COLUMNS]


def growth(experiment: Experiment, points: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return exponents of growth."""
    # The value is taken to grow like x to that power. Only figures of costs with logarithmic axes
    # have exponents, and there only columns with three points or more.
    # Returns: Two exponents by column: the slope of a straight line fitted to the logarithms by
    # least squares, and the slope between the last two points.
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
    table, column = experiments.load(figure.levels.experiment), figure.levels.column
    cells = {row: table.published(row, column) for row in experiment.spec.rows}
    return {row: cell[0] for row, cell in cells.items() if cell}


def draw(experiment: Experiment, points: pd.DataFrame, folder: Path) -> Path:
    """Draw figure.svg: a panel for each row, a line for each column."""
    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    rows = [""] if figure.rows else list(spec.rows)
    across = min(3, len(rows))
    measure = TITLES[spec.metric]
    if spec.metric not in COSTS and spec.value_unit.sign:
        measure += f" in {spec.value_unit.words}"
    levels = published_levels(experiment)
    direct = across == 1 and len(spec.columns) > 1
    with style(experiment.name):
        size = max(2.7 * across, 6.2), 3.4 if across == 1 else 2.3, 0.7
        drawing, axes = panels(len(rows), across, *size, sharey=shares_scale(figure))
        for i, (ax, row) in enumerate(zip(axes, rows, strict=True)):
            panel = points[points["row"] == row] if row else points
            _lines(experiment, figure, ax, panel)
            _ticks(figure, ax, panel["x"].dropna().unique(), most=11 if across == 1 else 6)
            if (level := levels.get(row)) is not None:
                ax.plot(
                    1.03, level, "<", color=PUBLISHED, markeredgecolor=INK, markersize=7,
                    transform=ax.get_yaxis_transform(), clip_on=False, zorder=3,
                    label="published value", gid=titles([f"{row}: published value {level:g}"]),
                )  # fmt: skip
            ax.set_title(row)
            ax.margins(y=0.1)
            ax.grid()
            ax.tick_params(labelleft=i % across == 0 or not shares_scale(figure))
            if i + across >= len(rows):
                ax.set_xlabel(figure.label)
            if i % across == 0:
                ax.set_ylabel("objective" if figure.objective else measure)
        drawn: dict[str, Artist] = {}  # each label once
        for ax in axes:
            handles, labels = ax.get_legend_handles_labels()
            drawn |= dict(zip(labels, handles, strict=True))
        if direct and drawn:
            name_lines(axes[0])
        elif len(drawn) > 1:
            drawing.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=4)
        return save(drawing, folder / "figure.svg")


def shares_scale(figure: Figure) -> bool:
    """Return True if all panels of a figure have one scale of values."""
    # Objectives differ by orders of magnitude, and have scales of their own.
    return not figure.objective


def name_lines(ax: Axes) -> None:
    """Write the name of each line of a panel beside its end, in its colour."""
    lines = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    ax.autoscale_view()
    to_axes = ax.transData + ax.transAxes.inverted()
    last = [float(np.asarray(line.get_ydata(), float)[-1]) for line in lines]
    ends = [float(np.asarray(to_axes.transform([(1.0, end)]))[0, 1]) for end in last]
    gap = 12 * ax.figure.dpi / 72 / ax.bbox.height
    for line, place in zip(lines, apart(ends, gap), strict=True):
        ax.text(
            1.04, place, str(line.get_label()), color=line.get_color(), transform=ax.transAxes,
            va="center", parse_math=False,
        )  # fmt: skip


def _lines(experiment: Experiment, figure: Figure, ax: Axes, panel: pd.DataFrame) -> None:
    """Draw a line, or a level line, for each column."""
    from matplotlib.ticker import LogFormatter

    unit = experiment.spec.value_unit
    sign = "" if figure.objective else unit.sign
    for i, column in enumerate(experiment.spec.columns):
        of_column = panel[panel["column"] == column]
        line = of_column[of_column["x"].notna()].sort_values("x", kind="stable")
        look = mark(i)
        for mean in of_column.loc[of_column["x"].isna(), "mean"]:
            ax.axhline(
                mean, linewidth=1, label=column, linestyle=look.line, color=look.colour,
                gid=titles([f"{column}: {unit.text(mean)}{sign}"]),
            )  # fmt: skip
        if line.empty:
            continue
        marked = line.assign(
            y=line["mean"],
            title=[
                f"{column}, {point.row}, {figure.label} {point.x:g}: {point.mean:.4g}{sign}"
                f"{'' if math.isnan(point.std) else f' ± {point.std:.2g}'}"
                for point in line.itertuples()
            ],
        )
        draw_points(
            ax, marked, look, every=max(1, len(line) // 8), label=column, linewidth=1.3,
            markersize=4,
        )  # fmt: skip
        x, mean, std = (line[name].to_numpy() for name in ("x", "mean", "std"))
        std = np.nan_to_num(std)
        ax.fill_between(x, mean - std, mean + std, alpha=0.15, linewidth=0, color=look.colour)
    if figure.objective or (figure.rows and figure.log):
        ax.set_yscale("log")
        # Those of a logarithmic axis are mathematics, as which no text is read here.
        ax.yaxis.set_major_formatter(LogFormatter())
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))


def mark(i: int) -> Mark:
    """Return the colour, the marker and the line of the i-th of several lines."""
    style = STYLES[i % len(STYLES)]
    return Mark(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], line=style)


def draw_points(
    ax: Axes,
    points: pd.DataFrame,
    look: Mark,
    *,
    every: int = 1,
    across: bool = False,
    **style: Any,
) -> Artist:
    """Draw points that have titles under the mouse, and their intervals if they have any."""
    # `points`: With columns x, y and title. Intervals have columns low and high, which are along x
    # if `across` is True, else along y.
    # `every`: Only one of so many points has a marker.
    # `style`: Of the points; see `Axes.plot`.
    known = points[points["x"].notna() & points["y"].notna()]
    if "low" in known:
        rule, at = (ax.hlines, "y") if across else (ax.vlines, "x")
        width, alpha = (1.5, None) if across else (1, 0.6)
        rule(
            known[at], known["low"], known["high"], color=look.colour, linewidth=width, alpha=alpha
        )
    if look.is_hollow:
        style = {"markerfacecolor": PAPER, "markeredgecolor": look.colour} | style
    (drawn,) = ax.plot(
        known["x"], known["y"], marker=look.marker, linestyle=look.line, color=look.colour,
        markevery=every, gid=titles(known["title"][::every]), **style,
    )  # fmt: skip
    return drawn


def _ticks(figure: Figure, ax: Axes, x: Iterable[float], most: int) -> None:
    """Set ticks on the x axis at values that were run; `most` is their largest number."""
    values = sorted(x)
    if figure.log:
        ax.set_xscale("log")
        ax.minorticks_off()
    if not values:
        ax.set_xticks([])
        ax.text(0.5, 0.25, "no finished runs", transform=ax.transAxes, ha="center", va="center")
    elif not figure.iterations:
        ticks = values[:: -(-len(values) // most)]
        ax.set_xticks(ticks, [f"{value:,.10g}" for value in ticks])


@contextmanager
def style(name: str) -> Iterator[None]:
    """Set the style of pictures in a block."""
    import matplotlib

    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: dict[Any, Any] = dict.fromkeys(inked, INK) | {
        "svg.hashsalt": name,
        "text.parse_math": False,  # a label may have dollar signs
        "svg.fonttype": "none",  # text, not outlines: smaller, and searchable
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 9,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": "#8a8a8a",
        "grid.alpha": 0.25,
        "legend.frameon": False,
    }
    # The browser has the glyphs that Matplotlib lacks.
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


def panels(
    n: int, across: int, width: float, height: float, margin: float, **options: Any
) -> tuple[Drawing, list[Axes]]:
    """Return a drawing with n panels, some in each line; sizes are in inches."""
    # `height`, `margin`: Those of a line of panels, and of what stands around them.
    down = -(-n // across)
    drawing, axes = subplots(down, across, (width, height * down + margin), **options)
    for ax in axes.flat[n:]:
        ax.set_axis_off()
    return drawing, [*axes.flat[:n]]


def subplots(
    down: int, across: int, size: tuple[float, float], **options: Any
) -> tuple[Drawing, np.ndarray]:
    """Return a drawing of this size in inches, and its panels, (down, across)."""
    # Without pyplot, which would keep each drawing, and takes longer to import.
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    drawing = Figure(figsize=size, layout="constrained")
    FigureCanvasSVG(drawing)
    return drawing, drawing.subplots(down, across, squeeze=False, **options)


def save(drawing: Drawing, path: Path) -> Path:
    """Write a picture as SVG with colours for light and dark pages."""
    # The same drawing gives the same bytes.
    write_text(path, to_svg(drawing))
    return path


def to_svg(drawing: Drawing) -> str:
    """Return a picture as an SVG text with titles, and colours for both schemes."""
    # `savefig` would draw all of it once only to place the panels.
    layout = drawing.get_layout_engine()
    if layout:
        drawing.set_dpi(72)
        layout.execute(drawing)
        drawing.set_layout_engine(None)
    text = StringIO()
    drawing.savefig(text, format="svg", metadata={"Date": None})
    parts = rf"""<g id=("{_TITLES}[^"]*"|'{_TITLES}[^']*')>(.*?)</g>"""
    svg = re.sub(parts, _with_titles, text.getvalue(), flags=re.DOTALL)
    rules = f"@media screen and (prefers-color-scheme:dark){{\n{dark_rules('', svg)}}}\n</style>"
    svg = svg.replace("</style>", rules, 1)
    return re.sub(r' (?:d|x|y)="[^"]*"', _rounded, svg)


def titles(texts: Iterable[str]) -> str:
    """Return the `gid` of a part of a picture that shows these texts under the mouse."""
    # A line has a text for each marker, anything else has one.
    lines = [printable(" ".join(text.split())) for text in texts]
    return _TITLES + "\n".join(lines) if lines else ""


def _with_titles(part: re.Match[str]) -> str:
    """Return a part of a picture with a title in each marker, or in all of it."""
    texts, content = part[1][1 + len(_TITLES) : -1].split("\n"), part[2]
    if "<use " not in content:
        return f"<g><title>{texts[0]}</title>{content}</g>"
    if content.count("<use ") == len(texts):  # otherwise some are out of sight
        named = iter(texts)
        content = re.sub(
            "(<use [^>]*)/>", lambda use: f"{use[1]}><title>{next(named)}</title></use>", content
        )
    return f"<g>{content}</g>"


def inline(svg: str, name: str, words: str) -> str:
    """Return a picture as a part of an HTML page, whose ids begin with a name."""
    # The page has the rules of style for all of them, see `dark_rules`.
    head, _, body = svg.partition("</defs>")
    box = re.findall(r'viewBox="([^"]*)"', head)[0]
    width = LARGER * float(box.split()[2])
    used = {f' id="{target}"' for target in re.findall(r'(?:href="|url\()#([\w-]+)', body)}

    def of_page(tag: re.Match[str]) -> str:
        text = re.sub(r' id="[^"]*"', lambda found: found[0] if found[0] in used else "", tag[0])
        return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", text).replace(
            "xlink:href", "href"
        )

    body = re.sub(r"<\w[^>]*>", of_page, body)
    return (
        f'<svg class="picture" role="img" aria-label="{escape(words)}" viewBox="{box}" '
        f'style="width:{width:.0f}pt">{body}'
    )


def dark_rules(scope: str, svg: str = "") -> str:
    """Return the rules of CSS for the colours of pictures, or of one picture, on a dark page."""
    return "".join(
        f'{scope}[style*="{part}: {light}"],{scope}[{part}="{light}"]{{{part}:{dark}!important}}\n'
        for light, dark in DARK.items()
        if light in svg or not svg
        for part in ("fill", "stroke")
    )


def _rounded(attribute: re.Match[str]) -> str:
    """Return an attribute of an SVG element with at most two decimals."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute[0])


def apart(ends: Sequence[float], gap: float) -> np.ndarray:
    """Return the places nearest to `ends`, in their order, that are at least `gap` apart."""
    from scipy.optimize import isotonic_regression

    order, steps, places = np.argsort(ends, kind="stable"), np.arange(len(ends)), np.array(ends)
    places[order] = isotonic_regression(places[order] - gap * steps).x + gap * steps
    return places
