"""Pictures of our values beside the printed ones: scatter, differences and pairs.

A verdict has a colour and a marker.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from transferbench.evidence import boards, figures
from transferbench.evidence.boards import Board
from transferbench.evidence.figures import Mark, draw_points
from transferbench.evidence.frame import Cell
from transferbench.evidence.groups import signed
from transferbench.evidence.triples import largest_x
from transferbench.evidence.verdict import DIFFERENT, LOOKS
from transferbench.experiments.experiment import Experiment
from transferbench.measures import LOWER_IS_BETTER, TITLES, significant

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: The file with the scatter of all papers, in the folder of results.
PAPERS = "papers.svg"
#: The file with the triples of F1, accuracy and Hamming loss, in the folder of results.
PLANE = "triples.svg"
#: Files of a table, in its folder.
DIFFERENCES, PAIRS = "differences.svg", "pairs.svg"


MARKS = {
    "same": Mark(figures.COLOURS[3], "o"),
    "cannot tell": Mark(figures.COLOURS[7], "D"),
    "better": Mark(figures.COLOURS[1], "^"),
    "worse": Mark(figures.COLOURS[2], "v"),
    "within": Mark(figures.COLOURS[3], "o", is_hollow=True),
    "outside": Mark(figures.COLOURS[7], "o", is_hollow=True),
}
#: Of a board: methods that an experiment adds to its suite, those of the front, and all others.
ADDED, FRONT = Mark(figures.COLOURS[2], "s"), Mark(figures.COLOURS[1], "*")
OTHER = Mark(figures.COLOURS[-1])
PRINTED = Mark(figures.PAPER, "s")
#: Differences in points from which a number that differs has a darker colour, in either direction.
STEPS = (3, 10)
#: Columns of `compared`.
COLUMNS = [
    "experiment", "row", "column", "measure", "printed", "ours", "difference", "tolerance",
    "points", "verdict", "title",
]  # fmt: skip


def compared(experiment: Experiment, cells: Iterable[Cell]) -> pd.DataFrame:
    """Return the printed numbers that have a value of ours."""
    # Returns: With COLUMNS, in the table's unit. Points are per cent, above 0 if ours is better.
    # Titles stand under the mouse.
    spec, unit = experiment.spec, experiment.spec.value_unit
    lines = []
    for cell in cells:
        if cell.verdict not in MARKS:
            continue
        points = spec.to_percent * cell.difference
        points *= -1 if cell.metric in LOWER_IS_BETTER else 1
        title = (
            f"{experiment.name}: {cell.column}, {cell.row}: "
            f"ours {unit.text(cell.mean)}{unit.sign}, "
            f"printed {unit.text(cell.published)}{unit.sign}, "
            f"difference {signed(experiment, cell.difference)}; {LOOKS[cell.verdict].words}"
        )
        lines.append([
            experiment.name, cell.row, cell.column, TITLES[cell.metric], cell.published, cell.mean,
            cell.difference, cell.tolerance, points, cell.verdict, title,
        ])  # fmt: skip
    return pd.DataFrame(lines, columns=COLUMNS)


def as_percent(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    """Return `compared` with values in per cent, so that tables of one paper have one scale."""
    factor = experiment.spec.to_percent
    values = ["printed", "ours", "difference", "tolerance"]
    return frame.assign(**{name: factor * frame[name] for name in values})


def tint(verdict: str, points: float) -> str:
    """Return the colour of a verdict; of numbers that differ, by the difference in points."""
    if verdict in ("same", "within"):
        return figures.SAME
    level = 1 + sum(abs(points) >= step for step in STEPS) if verdict in DIFFERENT else 0
    return figures.TINTS[len(figures.TINTS) // 2 + (level if points > 0 else -level)]


def limits(frame: pd.DataFrame) -> tuple[float, float]:
    """Return the ends of both axes of a scatter: all numbers, and a margin."""
    values = frame[["printed", "ours"]].to_numpy()
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def shown(frames: Iterable[pd.DataFrame]) -> list[tuple[str, Mark]]:
    """Return the verdicts that frames have, and their marks."""
    found = {name for frame in frames for name in frame["verdict"]}
    return [(name, mark) for name, mark in MARKS.items() if name in found]


def shape(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the rows and the columns of a table, in their order."""
    return list(dict.fromkeys(table["row"])), list(dict.fromkeys(table["column"]))


def scatter(papers: Mapping[str, pd.DataFrame]) -> str:
    """Return an SVG text of panels: ours over the printed number in per cent."""
    with figures.style("papers"):
        across = 3
        drawing, axes = figures.panels(len(papers), across, 7.6, 2.65, 0.6)
        for i, (ax, (paper, frame)) in enumerate(zip(axes, papers.items(), strict=True)):
            ends = limits(frame)
            for tolerance in sorted({frame["tolerance"].min(), frame["tolerance"].max()}):
                ax.fill_between(
                    ends, [end - tolerance for end in ends], [end + tolerance for end in ends],
                    color=figures.PUBLISHED, alpha=0.25, linewidth=0,
                )  # fmt: skip
            ax.plot(ends, ends, color=figures.PUBLISHED, linewidth=1)
            placed = frame.assign(x=frame["printed"], y=frame["ours"])
            for name, mark in MARKS.items():
                part = placed[placed["verdict"] == name]
                edge = mark.colour if mark.is_hollow else figures.PAPER
                width = 0.8 if mark.is_hollow else 0.4
                draw_points(
                    ax, part, mark, markersize=4.5, markeredgecolor=edge, markeredgewidth=width
                )
            ax.set(xlim=ends, ylim=ends, title=paper, aspect="equal")
            ticks = [t for t in ax.get_yticks() if ends[0] <= t <= ends[1]]
            ax.set_xticks(ticks)
            ax.set_yticks(ticks)
            ax.grid()
            if i % across == 0:
                ax.set_ylabel("ours, %")
            if i + across >= len(papers):
                ax.set_xlabel("printed, %")
        first = axes[0]
        handles = [_legend(first, mark, LOOKS[v].words) for v, mark in shown(papers.values())]
        band = first.fill_between([], [], color=figures.PUBLISHED, alpha=0.4)
        band.set_label("within the tolerance")
        handles.append(band)
        drawing.legend(handles=handles, loc="outside lower center", ncols=3)
        return figures.to_svg(drawing)


def _legend(ax: Axes, mark: Mark, label: str, **style: Any) -> Artist:
    """Return a mark for a legend."""
    nothing = pd.DataFrame(columns=["x", "y", "title"])
    return draw_points(ax, nothing, mark, label=label, **style)


def draw(experiment: Experiment, frame: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw DIFFERENCES and PAIRS of a table."""
    # `frame`: Its printed numbers, see `compared`; without any, nothing is drawn.
    if frame.empty:
        return []
    with figures.style(experiment.name):
        drawings = {DIFFERENCES: _heat_map(experiment, frame), PAIRS: _pairs(experiment, frame)}
        return [figures.save(drawing, folder / name) for name, drawing in drawings.items()]


def _heat_map(experiment: Experiment, frame: pd.DataFrame) -> Drawing:
    """Draw the differences by row and method."""
    from matplotlib.patches import Rectangle

    rows, columns = shape(frame)
    left = 0.075 * max(map(len, rows)) + 0.2
    size = left + max(0.68 * len(columns), 3.2), 0.3 * len(rows) + 1.0
    drawing, ((ax,),) = figures.subplots(1, 1, size)
    for line in frame.itertuples():
        x, y = columns.index(line.column), rows.index(line.row)
        text = signed(experiment, line.difference)
        box = Rectangle(
            (x - 0.48, y - 0.46), 0.96, 0.92, color=tint(line.verdict, line.points), linewidth=0,
            gid=figures.titles([line.title]),
        )  # fmt: skip
        ax.add_patch(box)
        sign = LOOKS[line.verdict].sign
        ax.text(x, y, f"{text} {sign}", ha="center", va="center", fontsize=8)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    signs = [f"{LOOKS[name].sign} {LOOKS[name].words}" for name, _ in shown([frame])]
    lines = [", ".join(signs)] if size[0] > 6 else [", ".join(signs[:2]), ", ".join(signs[2:])]
    drawing.text(0.01, 0.01, "\n".join(lines), fontsize=8, ha="left", va="bottom")
    ax.set_xlabel("\n" * len(lines))  # room for the line below
    return drawing


def _pairs(experiment: Experiment, frame: pd.DataFrame) -> Drawing:
    """Draw ours and the printed number of each row, a panel for each method."""
    rows, columns = shape(frame)
    across = -(-len(columns) // -(-len(columns) // 5))  # of panels, at most 5 of equal lines
    width = 0.07 * max(map(len, rows)) + 0.2 + 1.75 * across
    size = width, 0.19 * len(rows) + 0.45, 0.7
    drawing, axes = figures.panels(len(columns), across, *size, sharex=True, sharey=True)
    unit = experiment.spec.value_unit.words if experiment.spec.value_unit.sign else ""
    for i, (ax, column) in enumerate(zip(axes, columns, strict=True)):
        of_column = frame[frame["column"] == column].assign(
            y=lambda part: part["row"].map(rows.index)
        )
        printed = of_column.assign(x=of_column["printed"])
        ends = of_column[["printed", "ours"]].agg(["min", "max"], axis=1)
        ax.hlines(of_column["y"], *ends.to_numpy().T, color=figures.PUBLISHED, linewidth=1.5)
        draw_points(ax, printed, PRINTED, markersize=4.5, markeredgecolor=figures.INK)
        for name, mark in MARKS.items():
            part = of_column[of_column["verdict"] == name]
            draw_points(ax, part.assign(x=part["ours"]), mark, markersize=5)
        ax.set_title(column)
        ax.set_yticks(range(len(rows)), rows)
        ax.tick_params(axis="y", length=0, labelleft=i % across == 0)
        if i + across >= len(columns):
            ax.set_xlabel(unit)
            ax.tick_params(axis="x", labelbottom=True)
        ax.grid()
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    handles = [_legend(axes[0], PRINTED, "printed", markeredgecolor=figures.INK)]
    for name, mark in shown([frame]):
        handles.append(_legend(axes[0], mark, f"ours: {LOOKS[name].words}"))
    drawing.legend(handles=handles, loc="outside lower center", ncols=3)
    return drawing


def draw_board(board: Board, folder: Path) -> list[Path]:
    """Draw the regrets and seconds of each method, and the ranks if they are tested."""
    with figures.style(board.experiment.name):
        drawings = {".svg": _regrets(board)}
        if board.has_ranks:
            drawings[boards.RANKS] = _ranks(board)
        name = board.experiment.name
        return [figures.save(one, folder / f"{name}{end}") for end, one in drawings.items()]


def _regrets(board: Board) -> Drawing:
    """Draw the regrets with their intervals, and the seconds, of each method."""
    from matplotlib.ticker import LogLocator, NullFormatter

    unit = board.experiment.spec.value_unit
    lines = board.standings.dropna(subset=["seconds", "regret"])
    lines = lines.sort_values("regret", kind="stable")
    interval = ", 95 % interval" if board.has_intervals else ""
    titles = []
    for line in lines.itertuples():
        ends = f"{interval} {unit.text(line.regret_low)} to {unit.text(line.regret_high)}"
        titles.append(
            f"{line.method}: regret {unit.text(line.regret)} {unit.differences}"
            f"{ends if interval else ''}; {significant(line.seconds)} s"
            f"{', perhaps of another machine' if line.added else ''}"
        )
    lines = lines.assign(
        y=range(len(lines)), low=lines["regret_low"], high=lines["regret_high"], title=titles
    )
    labels = [f"{line.method}{' ★' if line.front else ''}" for line in lines.itertuples()]
    drawing, ((left, right),) = figures.subplots(
        1, 2, (7.6, 0.21 * len(lines) + 0.9), sharey=True, width_ratios=(3, 2)
    )  # fmt: skip
    kinds = {
        ADDED: lines["added"],
        FRONT: lines["front"],
        OTHER: ~(lines["added"] | lines["front"]),
    }
    for mark, chosen in kinds.items():
        part = lines[chosen.astype(bool)]
        size = 8 if mark is FRONT else 5
        draw_points(left, part.assign(x=part["regret"]), mark, across=True, markersize=size)
        seconds = part.drop(columns=["low", "high"]).assign(x=part["seconds"])
        # Hollow, as seconds of another machine cannot be compared.
        at = mark._replace(is_hollow=mark is ADDED)
        draw_points(right, seconds, at, markersize=size)
    left.set_yticks(range(len(lines)), labels, parse_math=False)
    left.set_ylim(len(lines) - 0.4, -0.6)
    left.set_xlim(left=min(0, left.get_xlim()[0]))
    left.set_xlabel(f"mean regret, {unit.differences}{interval} (0 is best)")
    if len(lines):
        right.set_xscale("log")
        right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        right.xaxis.set_major_formatter("{x:g}")
        right.xaxis.set_minor_formatter(NullFormatter())
    right.set_xlabel("seconds for a task, geometric mean")
    for ax in (left, right):
        ax.tick_params(axis="y", length=0)
        ax.grid()
    return drawing


def _ranks(board: Board) -> Drawing:
    """Draw the mean ranks on a scale, with a bar for each group that is not told apart."""
    # As Demšar draws it: the better half is named on the left, the others on the right.
    lines = board.standings
    ranks, count = lines["rank"].to_list(), len(lines)
    alike = ~board.told_apart.to_numpy()
    ends = [int(row.nonzero()[0].max()) for row in alike]
    groups = [
        (first, last)
        for first, last in enumerate(ends)
        if last > first and (not first or last > ends[first - 1])
    ]
    critical = board.critical(len(board.corpora))
    margin = 0.075 * max(map(len, lines["method"])) + 0.25
    half, top = -(-count // 2), 0.3 * len(groups) + 0.7
    height = top + 0.75 * half
    drawing, ((ax,),) = figures.subplots(1, 1, (7.6, 0.26 * height + 0.88))
    scale = max(count, 1 + critical) - 1
    margin *= scale / (7.6 - 2 * margin)
    left, right = 1 - margin, 1 + scale + margin
    titles = []
    for i, line in enumerate(lines.itertuples()):
        is_left = i < half
        y = top + 0.75 * (i if is_left else count - 1 - i)
        edge = 1 - 0.1 * margin if is_left else 1 + scale + 0.1 * margin
        colour = ADDED.colour if line.added else figures.INK
        x = [line.rank, line.rank, edge]
        ax.plot(x, [0, y, y], color=colour, linewidth=0.7)
        ax.text(
            1 - 0.15 * margin if is_left else 1 + scale + 0.15 * margin, y, line.method,
            ha="right" if is_left else "left", va="center", color=colour, parse_math=False,
        )  # fmt: skip
        titles.append(f"{line.method}: mean rank {line.rank:.1f}")
    for i, (first, last) in enumerate(groups):
        y = 0.3 * i + 0.45
        ax.plot(
            [ranks[first], ranks[last]], [y, y], color=figures.COLOURS[1], linewidth=3,
            solid_capstyle="round",
        )  # fmt: skip
    draw_points(ax, lines.assign(x=ranks, y=0, title=titles), OTHER, markersize=4)
    ax.plot([1, 1 + critical], [-1.4, -1.4], color=figures.INK, linewidth=1.5, marker="|")
    ax.text(1 + critical / 2, -1.6, f"critical difference {critical:.1f}", ha="center", va="bottom")
    ax.set(xlim=(left, right), ylim=(height, -2.4))
    ax.set_yticks([])
    ax.set_xticks(range(1, count + 1, -(-count // 12)))
    ax.xaxis.tick_top()
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.spines["top"].set(visible=True, position=("data", 0), bounds=(1, count))
    return drawing


def draw_labels(experiment: Experiment, points: pd.DataFrame, path: Path) -> list[Path]:
    """Draw the accuracy of each method over the number of labels; without points, nothing."""
    # `points`: A line for each method and number of labels, with method, labels, mean, low and
    # high; see `labels.curves`.
    if points.empty:
        return []
    with figures.style(experiment.name):
        drawing, ((ax,),) = figures.subplots(1, 1, (6.6, 3.6))
        methods = list(dict.fromkeys(points["method"]))
        for i, method in enumerate(methods):
            line = points[points["method"] == method]
            titles = [
                f"{method}, {point.labels} labels: {point.mean:.1f} %"
                f"{'' if math.isnan(point.low) else f' [{point.low:.1f}, {point.high:.1f}]'}"
                for point in line.itertuples()
            ]
            x = line["labels"] + 0.9 * (i - (len(methods) - 1) / 2)  # no intervals overlap
            draw_points(
                ax, line.assign(x=x, y=line["mean"], title=titles), figures.mark(i), label=method,
                linewidth=1.3, markersize=4.5,
            )  # fmt: skip
        ax.set_xticks(sorted(set(points["labels"])))
        ax.set_xlabel("labelled documents of the target")
        ax.set_ylabel(f"{experiment.spec.metric} in per cent")
        ax.grid()
        figures.name_lines(ax)
        return [figures.save(drawing, path)]


def draw_plane(triples: pd.DataFrame, path: Path) -> list[Path]:
    """Draw x and y of triples of F1, accuracy and Hamming loss; without any, nothing."""
    # `triples`: See `audit.plane`.
    if triples.empty:
        return []
    with figures.style("triples"):
        drawing, ((ax,),) = figures.subplots(1, 1, (6.6, 4.2))
        for i, (source, points) in enumerate(triples.groupby("source", sort=False)):
            look = figures.mark(i)._replace(line="none", is_hollow=str(source).startswith("ours"))
            draw_points(ax, points, look, label=str(source), markersize=5)
        labels = int(triples["labels"].max())
        low, high = ax.get_ylim()
        y = np.linspace(low, high, 50)
        ax.plot(
            largest_x(labels * y), y, color=figures.PUBLISHED, linewidth=1,
            label=f"largest x of {labels} labels",
        )  # fmt: skip
        ax.set_xlabel("x = (F1 − accuracy) / (1 − F1)")
        ax.set_ylabel("y = Hamming loss / (1 − F1)")
        ax.grid()
        drawing.legend(loc="outside lower center", ncols=3)
        return [figures.save(drawing, path)]
