"""Texts of a comparison, the same in the terminal and on the page: cells, legend and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from transferbench.measures import headings
from transferbench.messages import short_label, short_number
from transferbench.own.compare import Comparison
from transferbench.own.sample import wilson
from transferbench.problem import Problem
from transferbench.stats import accuracy_interval

if TYPE_CHECKING:
    from pandas import DataFrame

#: Largest number of classes with a number each; of more, the table has the least and the largest.
FEW_CLASSES = 4
#: Number of scored documents from which the accuracy is printed without an interval.
MANY_SCORED = 200
#: How models that train on a labelled sample are scored on it.
TRAINED = (
    "accuracy and the columns after it are of fits that are trained on the other four fifths of "
    "the sample; untrained: accuracy without its labels"
)
#: Meaning of the table's columns by family; {} stands for the classes.
LEGEND = {
    "transfer": "; shares: {} among the decisions",
    "multilabel": "; labels: mean number of a document; none: documents without any label",
    "clustering": "",
}


def warning_lines(compared: Comparison, models: Iterable[str]) -> list[str]:
    """Return the doubts about the documents and about the decisions of models."""
    lines = [str(doubt) for doubt in compared.doubts]
    return lines + [f"{name}: {doubt}" for name in models for doubt in compared.models[name].doubts]


def scored_sentence(rows: Sequence[dict[str, Any]], problem: Problem) -> str:
    """Return the sentence on the documents that score the models of a target, "" if none do."""
    scored = rows[0].get("scored")
    if not scored:
        return ""
    few = problem.family == "transfer" and scored < MANY_SCORED
    sampled = any("untrained" in row for row in rows)
    of = " on the unlabelled documents" if sampled else ""
    interval = f"; [ ] is the 95 % interval of the accuracy{of}" if few else ""
    how = f"; {TRAINED}" if sampled else ""
    count = f"{scored:,} of {rows[0]['documents']:,} documents"
    return f"Scored on {count}, those with a label{interval}{how}."


def legend(table: DataFrame, problem: Problem) -> str:
    """Return the sentence that explains the columns of the table."""
    few = len(problem.classes) <= FEW_CLASSES
    classes = "/".join(map(short_label, problem.classes)) if few else "least and largest class"
    text = f"s is in seconds, the rest in per cent{LEGEND[problem.family].format(classes)}"
    if table["recommended"].any():
        text += "; *: recommended"
    if any(name.startswith("recall ") for name in table):
        text += "; recall: the part of each class that is found"
    if "ahead" in table:
        text += f"; over {table.model[0]}: points of accuracy above it (two-sided p)"
    if any(f"{name}_std" in table for name in headings(problem.family)):
        text += "; ±: standard deviation over the seeds"
    return f"{text}."


def columns(rows: Sequence[dict[str, Any]], problem: Problem) -> dict[str, list[str]]:
    """Return the cells of the table's columns by heading, without empty columns."""

    def by_class(name: str) -> list[str]:
        names = [f"{name} {label}" for label in problem.classes]
        return [_by_class([row.get(key, math.nan) for key in names]) for row in rows]

    found = {
        "model": [f"{row['model']}{' *' if row['recommended'] else ''}" for row in rows],
        "s": [short_number(row["seconds"]) for row in rows],
        "shares": by_class("share"),
        "labels": [short_number(row.get("labels", math.nan)) for row in rows],
        "none": [_by_class([row.get("none", math.nan)]) for row in rows],
    }
    for name, title in headings(problem.family).items():
        interval = problem.family == "transfer" and name == "accuracy"
        found[title] = [measure(row, name, interval) for row in rows]
        if name == "accuracy":
            found["untrained"] = [measure(row, "untrained", interval=False) for row in rows]
    found[f"over {rows[0]['model']}"] = [
        "" if math.isnan(row.get("ahead", math.nan))
        else f"{100 * row['ahead']:+.1f} ({row['ahead_p']:.2g})"
        for row in rows
    ]  # fmt: skip
    found["recall"] = by_class("recall")
    found = {title: cells for title, cells in found.items() if any(cells)}
    warnings = [
        "worthless" if row["worthless"] else f"{len(row['warnings']) or ''}" for row in rows
    ]
    return found | {"warnings": warnings}


def _by_class(values: Sequence[float]) -> str:
    """Return fractions by class in per cent; for many classes, the least and the largest."""
    numbers = [value for value in values if not math.isnan(value)]
    if numbers and len(values) > FEW_CLASSES:
        return f"{100 * min(numbers):.0f}–{100 * max(numbers):.0f}"
    parts = ("–" if math.isnan(value) else f"{100 * value:.0f}" for value in values)
    return "/".join(parts) if numbers else ""


def measure(row: dict[str, Any], name: str, interval: bool) -> str:
    """Return a measure in per cent with its deviation over seeds, "" if there is none."""
    # `interval`: True to give the 95 % interval instead if few documents are scored.
    value, deviation = (row.get(key, math.nan) for key in (name, f"{name}_std"))
    if math.isnan(value):
        return ""
    if interval and row["scored"] < MANY_SCORED:
        m = row["scored"]
        low, high = wilson(value, m)
        if "untrained" in row:  # a sample, from which the accuracy on the rest is expected
            low, high = accuracy_interval(m * value, m, row["documents"] - m)
        return f"{100 * value:.1f} [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{100 * value:.1f}" + ("" if math.isnan(deviation) else f"±{100 * deviation:.1f}")
