"""The report of `transferbench compare` for documents with one label."""

from __future__ import annotations

import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.choose.compare import Comparison
    from transferbench.problem import Truth

WIDTH = 100


def text(
    compared: Comparison,
    frame: DataFrame,
    truth: Truth | None,
    names: list[str],
    with_confusion: bool,
    as_json: bool,
) -> str:
    """Return what is printed: JSON, or a table for each target and the recommendation."""
    if as_json:
        return json.dumps(to_json(compared, frame, truth), ensure_ascii=False)
    return "\n".join(report(compared, frame, truth, names, with_confusion))


def report(
    compared: Comparison,
    frame: DataFrame,
    truth: Truth | None,
    names: list[str],
    with_confusion: bool,
) -> list[str]:
    """Return the lines to print: a table for each target, and the recommendation."""
    lines: list[str] = []
    for name, (target, part) in zip(names, frame.groupby("target", sort=False), strict=True):
        if len(names) > 1:
            lines += [f"{name}:", ""]
        lines += [*_table(part, compared.problem.classes), ""]
        if with_confusion and truth is not None and "scored" in part:
            lines += _confusions(compared, truth, str(target))
    if any(len(entry.fits) > 1 for entry in compared.entries.values()):
        lines += ["Means ± standard deviations over the seeds of random models.", ""]
    return [*lines, *textwrap.wrap(compared.recommendation, WIDTH)]


def _table(part: DataFrame, classes: tuple[str, ...]) -> list[str]:
    """Return the table of one target, at most WIDTH wide with names of usual length."""
    from transferbench.cli._report import percent
    from transferbench.measures import headings
    from transferbench.messages import aligned

    few = len(classes) <= 4
    titles = headings("transfer")
    measures = [m for m in titles if m in part and not part[m].isna().all()]
    head = ["model", "s", "shares", "=lr", "=vote", "back"]
    head += [titles[m] for m in measures]
    head += ["recall"] if measures else []
    rows = [[*head, "warnings"]]
    for line in part.to_dict("records"):
        row = [f"{line['model']}{' *' if line['recommended'] else ''}", _seconds(line["seconds"])]
        row.append(_by_class([line[f"share {c}"] for c in classes], few))
        row += [percent(line[key]) for key in ("agreement_lr", "agreement_vote", "reverse")]
        row += [percent(line[m], line.get(f"{m}_std", math.nan)) for m in measures]
        row += [_by_class([line[f"recall {c}"] for c in classes], few)] if measures else []
        row.append("worthless" if line["worthless"] else f"{len(line['warnings']) or ''}")
        rows.append(row)
    return [line[:WIDTH] for line in aligned(rows)] + ["", _legend(classes, few)]


def _legend(classes: tuple[str, ...], few: bool) -> str:
    """Return what the numbers are."""
    order = "/".join(classes) if few else "least and largest"
    text = f"* recommended. All in per cent; shares and recall by class: {order}."
    return textwrap.shorten(text, WIDTH, placeholder=" …")


def _by_class(values: list[float], few: bool) -> str:
    """Return fractions by class in per cent; of many classes the least and the largest."""
    known = [value for value in values if value == value]
    if not known:
        return ""
    if few:
        return "/".join("–" if value != value else f"{100 * value:.0f}" for value in values)
    return f"{100 * min(known):.0f}–{100 * max(known):.0f}"


def _seconds(value: float) -> str:
    return "" if value != value else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _confusions(compared: Comparison, truth: Truth, target: str) -> list[str]:
    """Return for each model the number of documents by true class (row) and decided class."""
    from transferbench.choose.table import confusion
    from transferbench.messages import aligned

    i = truth.names.index(target)
    rows, lines = truth.scored[i], []
    for entry in compared.entries.values():
        if entry.fits:
            counts = confusion(truth.Y[i][rows], entry.fits[0].scores[i][rows])
            table = [[f"{entry.model}: true", *truth.classes]]
            table += [[c, *map(str, row)] for c, row in zip(truth.classes, counts, strict=True)]
            lines += [*aligned(table), ""]
    return lines


def to_json(compared: Comparison, frame: DataFrame, truth: Truth | None) -> dict[str, Any]:
    """Return what `--json` prints: classes, source, results by target and model, recommendation."""
    from transferbench.choose.table import confusion
    from transferbench.cli._report import json_lines

    results = []
    for line in json_lines(frame):
        entry = compared.entries[line["model"]]
        line["params"] = dict(entry.params)
        for key in ("share", "recall"):
            values = {c: line.pop(f"{key} {c}", None) for c in compared.problem.classes}
            line["shares" if key == "share" else key] = values
        if truth is not None and entry.fits and "scored" in line:
            i = truth.names.index(line["target"])
            rows = truth.scored[i]
            table = confusion(truth.Y[i][rows], entry.fits[0].scores[i][rows])
            line["confusion"] = table.tolist()
        results.append(line)
    return {
        "classes": compared.problem.classes,
        "source_shares": frame.attrs["source"],
        "results": results,
        "warnings": [doubt.text for doubt in compared.doubts],
        "worthless": compared.worthless,
        "recommended": compared.recommended,
        "recommendation": compared.recommendation,
        "evidence": compared.evidence and vars(compared.evidence),
    }
