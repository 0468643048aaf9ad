"""Interactive pictures: Vega-Lite specifications of the same data as the SVG files.

The pages show the SVG file first. The script of the library, SCRIPT, is written once beside the
pages, if the extra `plots` is installed, and replaces the file by the plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from transferbench.evidence import figures, labels, pictures
from transferbench.evidence.boards import Board
from transferbench.evidence.pictures import LOOKS
from transferbench.experiments.experiment import Experiment
from transferbench.measures import COSTS, TITLES

#: A Vega-Lite specification.
Spec = dict[str, Any]
#: The script of the library, beside the pages.
SCRIPT = "plots.js"
#: Points of a curve over iterations at most.
MAX_POINTS = 60
#: What all specifications share; pages write it once.
CONFIG: Spec = {
    "background": None,
    "font": "system-ui, DejaVu Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": figures.INK, "titleColor": figures.INK, "labelFontSize": 12,
        "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": figures.PUBLISHED,
        "gridOpacity": 0.3, "domainColor": figures.INK, "tickColor": figures.INK,
        "labelLimit": 220,
    },
    "legend": {
        "labelColor": figures.INK, "labelFontSize": 12, "orient": "bottom", "columns": 3,
        "labelLimit": 0, "symbolOpacity": 1,
    },
    "title": {"color": figures.INK, "anchor": "start", "fontSize": 13},
    "text": {"color": figures.INK},
}  # fmt: skip


def is_available() -> bool:
    """Return True if the library is installed."""
    return find_spec("vl_convert") is not None


@cache
def script() -> str:
    """Return the text of SCRIPT: Vega, Vega-Lite and Vega-Embed."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def scatter(papers: Mapping[str, pd.DataFrame]) -> list[Spec]:
    """Return a plot for each paper, see `pictures.scatter`."""
    return [_scatter(paper, frame) for paper, frame in papers.items() if len(frame)]


def _scatter(paper: str, frame: pd.DataFrame) -> Spec:
    low, high = pictures.limits(frame)
    domain = {"domain": [_short(low), _short(high)], "nice": False, "zero": False}
    bands = [
        {
            "data": {"values": [{"x": end, "low": end - tolerance, "high": end + tolerance}
                                for end in (_short(low), _short(high))]},
            "mark": {"type": "area", "color": figures.PUBLISHED, "opacity": 0.25, "clip": True},
            "encoding": {"x": _axis("x"), "y": _axis("low"), "y2": {"field": "high"}},
        }
        for tolerance in sorted({frame["tolerance"].min(), frame["tolerance"].max()})
    ]  # fmt: skip
    diagonal = {
        "data": {"values": [{"x": _short(low)}, {"x": _short(high)}]},
        "mark": {"type": "line", "color": figures.PUBLISHED, "strokeWidth": 1},
        "encoding": {"x": _axis("x"), "y": _axis("x")},
    }
    points = {
        "data": {"values": _records(frame, ["experiment", "row", "column", "printed", "ours",
                                            "difference", "result"])},
        "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.9},
        "encoding": {
            "x": _axis("printed", "printed, %", scale=domain, axis={"tickCount": 5}),
            "y": _axis("ours", "ours, %", scale=domain, axis={"tickCount": 5}),
            **_looks(),
            "tooltip": _tooltip("column", "row", "experiment", "printed", "ours", "difference",
                                "result"),
        },
    }  # fmt: skip
    return _spec(paper, [*bands, diagonal, points], 190, least=216)


def differences(experiment: Experiment, frame: pd.DataFrame) -> list[Spec]:
    """Return the heat map of a table, see `pictures.draw`."""
    rows, columns = pictures.shape(frame)
    values = _records(frame, ["row", "column", "printed", "ours", "difference", "result"])
    for value, line in zip(values, frame.itertuples(), strict=True):
        sign = LOOKS[str(line.result)].sign
        value["text"] = f"{pictures.signed(experiment, line.difference)} {sign}"
        value["tint"] = pictures.tint(line.points)
    place = {
        "x": {"field": "column", "type": "nominal", "sort": columns, "title": None,
              "axis": {"orient": "top", "labelAngle": 0, "domain": False, "ticks": False}},
        "y": {"field": "row", "type": "nominal", "sort": rows, "title": None,
              "axis": {"domain": False, "ticks": False}},
    }  # fmt: skip
    tip = {"tooltip": _tooltip("column", "row", "printed", "ours", "difference", "result")}
    cells = {
        "mark": {"type": "rect", "strokeWidth": 2, "stroke": figures.PAPER},
        "encoding": {"color": {"field": "tint", "type": "nominal", "scale": None}, **tip},
    }
    texts = {
        "mark": {"type": "text", "fontSize": 12, "tooltip": None},
        "encoding": {"text": {"field": "text"}, **tip},
    }
    spec = _spec("", [cells, texts], 30 * len(rows), least=110 + 68 * len(columns))
    return [spec | {"data": {"values": values}, "encoding": place}]


def pairs(experiment: Experiment, frame: pd.DataFrame) -> list[Spec]:
    """Return a plot of ours beside the printed numbers for each method, see `pictures.draw`."""
    rows, columns = pictures.shape(frame)
    ends = frame[["printed", "ours"]].to_numpy()
    margin = 0.04 * float(np.ptp(ends))
    scale = {"domain": [_short(ends.min() - margin), _short(ends.max() + margin)], "nice": False,
             "zero": False}  # fmt: skip
    unit = experiment.spec.value_unit
    specs = []
    for column in columns:
        of_column = frame[frame["column"] == column]
        y = {"field": "row", "type": "nominal", "sort": rows, "title": None}
        x = _axis("printed", unit.words if unit.sign else None, scale=scale)
        tip = {"tooltip": _tooltip("row", "printed", "ours", "difference", "result")}
        line = {
            "mark": {"type": "rule", "color": figures.PUBLISHED, "strokeWidth": 2},
            "encoding": {"x": x, "x2": {"field": "ours"}, "y": y},
        }
        printed = {
            "mark": {"type": "point", "shape": "square", "filled": False, "size": 45,
                     "stroke": figures.INK, "fill": figures.PAPER, "opacity": 1},
            "encoding": {"x": x, "y": y, **tip},
        }  # fmt: skip
        ours = {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"x": _axis("ours"), "y": y, **_looks(), **tip},
        }
        spec = _spec(column, [line, printed, ours], 20 * len(rows))
        values = _records(of_column, ["row", "printed", "ours", "difference", "result"])
        specs.append(spec | {"data": {"values": values}})
    return specs


def board(one: Board) -> list[Spec]:
    """Return the regrets with their intervals, and regret over seconds, see `boards.draw`."""
    unit = one.experiment.spec.value_unit.differences
    names = ["method", "rank", "regret", "regret_low", "regret_high", "worst", "mean", "seconds"]
    lines = one.standings.dropna(subset=["seconds", "regret"]).sort_values("regret", kind="stable")
    if lines.empty:
        return []
    values = _records(lines, names)
    for value, line in zip(values, lines.itertuples(), strict=True):
        value["kind"] = (
            "added" if line.method in one.added
            else "no faster method has a smaller regret" if line.front
            else "other"
        )  # fmt: skip
    kinds = {
        "other": (figures.COLOURS[7], "circle"),
        "no faster method has a smaller regret": (figures.COLOURS[1], "diamond"),
        "added": (figures.COLOURS[2], "square"),
    }
    shown = [kind for kind in kinds if any(value["kind"] == kind for value in values)]
    colours, shapes = ([kinds[kind][k] for kind in shown] for k in (0, 1))
    colour = {"field": "kind", "type": "nominal", "title": None,
              "scale": {"domain": shown, "range": colours}}  # fmt: skip
    look = {
        "color": colour,
        "shape": colour | {"scale": {"domain": shown, "range": shapes}},
        "tooltip": _tooltip(*(name for name in names if not lines[name].isna().all())),
    }
    y = {"field": "method", "type": "nominal", "sort": list(lines["method"]), "title": None}
    point = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    intervals = {
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": _axis("regret_low"), "x2": {"field": "regret_high"}, "y": y,
                     "color": colour},
    }  # fmt: skip
    title = f"mean regret, {unit} (0 is best)"
    means = {"mark": point, "encoding": {"x": _axis("regret", title), "y": y, **look}}
    layers = [means] if lines["regret_low"].isna().all() else [intervals, means]
    costs: Spec = {
        "mark": point,
        "encoding": {
            "x": _axis(
                "seconds", "seconds for a task", scale={"type": "log", "nice": False, "padding": 12}
            ),
            "y": _axis("regret", title, scale={"reverse": True}),
            **look,
        },
    }
    # Names of methods on the front fit; the others are shown under the mouse.
    names_of_front = {
        "transform": [{"filter": "datum.kind !== 'other'"}],
        "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 11},
        "encoding": {"x": costs["encoding"]["x"], "y": costs["encoding"]["y"],
                     "text": {"field": "method"}},
    }  # fmt: skip
    data = {"data": {"values": values}}
    return [
        _spec("Regret and its 95 % interval", layers, 20 * len(lines)) | data,
        _spec("Regret over seconds", [costs, names_of_front], 20 * len(lines)) | data,
    ]


def by_labels(experiment: Experiment, points: pd.DataFrame) -> list[Spec]:
    """Return the accuracy over the number of labels, see `labels.draw`."""
    methods = list(dict.fromkeys(points["method"]))
    sizes = [int(m) for m in sorted(set(points["labels"]))]
    x = _axis("x", "labelled documents of the target", axis={"values": sizes, "format": "d"})
    title = f"{experiment.spec.metric} in per cent"
    colour = _columns(methods, "method")
    band = {
        "mark": {"type": "rule", "opacity": 0.6},
        "encoding": {"x": x, "y": _axis("low", title), "y2": {"field": "high"},
                     "color": colour["color"]},
    }  # fmt: skip
    line = {
        "mark": {"type": "line", "point": {"size": 50, "filled": True}},
        "encoding": {"x": x, "y": _axis("mean", title, scale={"zero": False}), **colour,
                     "tooltip": _tooltip("method", "labels", "mean", "low", "high")},
    }  # fmt: skip
    points = points.assign(x=labels.side_by_side(points))
    values = _records(points, ["method", "labels", "x", "mean", "low", "high"])
    return [_spec("", [band, line], 320) | {"data": {"values": values}}] if values else []


def figure(experiment: Experiment, points: pd.DataFrame) -> list[Spec]:
    """Return the panels of a figure, see `figures.draw`."""
    spec, described = experiment.spec, experiment.spec.figure
    assert described is not None
    if points.empty:
        return []
    rows = [""] if described.rows else list(spec.rows)
    measure = "objective" if described.objective else TITLES[spec.metric]
    if spec.metric not in COSTS and spec.value_unit.sign and not described.objective:
        measure += f" in {spec.value_unit.words}"
    std = points["std"].fillna(0)
    points = points.assign(low=points["mean"] - std, high=points["mean"] + std)
    is_log = described.objective or (described.rows and described.log)
    scale: Spec = {"type": "log"} if is_log else {"zero": False}
    if figures.shares_scale(described) and len(rows) > 1:
        ends = points[["low", "high", "published"]].to_numpy()
        low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
        margin = 0.05 * (high - low)
        scale |= {"domain": [_short(low - margin), _short(high + margin)], "nice": False}
    specs = []
    for row in rows:
        panel = points[points["row"] == row] if row else points
        curves = panel.dropna(subset=["x"]).sort_values("x", kind="stable")
        if described.iterations:
            every = -(-len(curves) // (MAX_POINTS * max(1, curves["column"].nunique())))
            steps = curves.groupby("column").cumcount()
            last = curves["x"] == curves["x"].max()
            curves = curves[(steps % every == 0) | last]
        colour = _columns(list(spec.columns), "column")
        run = sorted(_short(value) for value in curves["x"].unique())
        x = _axis(
            "x",
            described.label,
            scale={"type": "log"} if described.log else {},
            axis={"values": run, "format": ",~r"} if len(run) < 12 else {},
        )
        y = _axis("mean", measure, scale=scale)
        layers: list[Spec] = []
        values = _records(curves, ["column", "x", "mean", "std", "low", "high", "runs"])
        if values:
            data = {"data": {"values": values}}
            tip = {"tooltip": _tooltip("column", "x", "mean", "std", "runs")}
            band = {
                "mark": {"type": "area", "opacity": 0.15},
                "encoding": {"x": x, "y": _axis("low", measure, scale=scale),
                             "y2": {"field": "high"}, "color": colour["color"]},
            }  # fmt: skip
            line = {
                "mark": {"type": "line", "point": {"size": 25, "filled": True}},
                "encoding": {"x": x, "y": y, **colour, **tip},
            }
            layers += [data | line] if is_log else [data | band, data | line]
        level = _records(panel[panel["x"].isna()], ["column", "mean", "std", "runs"])
        if level:
            rule = {
                "mark": {"type": "rule", "strokeWidth": 1.5, "strokeDash": [4, 3]},
                "encoding": {"y": y, "color": colour["color"],
                             "tooltip": _tooltip("column", "mean", "std", "runs")},
            }  # fmt: skip
            layers.append({"data": {"values": level}} | rule)
        published = panel["published"].dropna().unique()
        if len(published) and row:
            mark = {
                "data": {"values": [{"published": _short(published[0])}]},
                "mark": {"type": "point", "shape": "triangle-left", "filled": True, "size": 90,
                         "color": figures.PUBLISHED, "stroke": figures.INK, "opacity": 1,
                         "xOffset": 8},
                "encoding": {"x": {"value": "width"}, "y": _axis("published", scale=scale),
                             "tooltip": _tooltip("published")},
            }  # fmt: skip
            layers.append(mark)
        if layers:
            specs.append(_spec(row, layers, 300 if len(rows) == 1 else 190))
    return specs


def _spec(title: str, layers: Sequence[Spec], height: int, least: int = 280) -> Spec:
    """Return a plot as wide as its place, which has at least `least` pixels."""
    spec: Spec = {"width": "container", "height": height, "layer": list(layers)}
    spec["usermeta"] = {"least": least}
    return spec | ({"title": title} if title else {})


def _axis(field: str, title: str | None = None, **more: Any) -> Spec:
    """Return the encoding of numbers along an axis; of several titles, one alone is not None."""
    named = {"title": title} if title else {}
    return {"field": field, "type": "quantitative", **named, **more}


def _looks() -> Spec:
    """Return colour and shape by result, without a legend: the caption has it."""
    result = {"field": "result", "type": "nominal", "legend": None}
    domain = list(LOOKS)
    colours = [look.colour for look in LOOKS.values()]
    shapes = [look.shape for look in LOOKS.values()]
    return {
        "color": result | {"scale": {"domain": domain, "range": colours}},
        "shape": result | {"scale": {"domain": domain, "range": shapes}},
    }


def _columns(names: Sequence[str], field: str) -> Spec:
    """Return colour and dashes by method; a single one needs no legend."""
    stroke = {"symbolType": "stroke", "symbolSize": 400, "symbolStrokeWidth": 2}
    legend = {"legend": stroke if len(names) > 1 else None}
    method = {"field": field, "type": "nominal", "title": None, **legend}
    n = len(names)
    colours = [figures.COLOURS[i % len(figures.COLOURS)] for i in range(n)]
    dashes = [([1, 0], [6, 3], [6, 2, 1, 2], [2, 2])[i % 4] for i in range(n)]
    return {
        "color": method | {"scale": {"domain": list(names), "range": colours}},
        "strokeDash": method | {"scale": {"domain": list(names), "range": dashes}},
    }


def _tooltip(*fields: str) -> list[Spec]:
    """Return the fields that stand under the mouse."""
    titles = {"column": "method", "regret_low": "regret, from", "regret_high": "regret, to"}
    return [{"field": field, "title": titles.get(field, field)} for field in fields]


def _records(frame: pd.DataFrame, names: Sequence[str]) -> list[Spec]:
    """Return the lines of a table, numbers with five digits; what is unknown is left out."""
    lines = frame[list(names)].to_dict("records")
    return [
        {name: _short(value) for name, value in line.items() if value == value} for line in lines
    ]


def _short(value: Any) -> Any:
    """Return a number with five digits, as JSON knows it, and anything else unchanged."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.5g}")
    return int(value) if isinstance(value, np.integer) else value
