"""Accuracy of methods that train on a labelled sample of the target, by the size of the sample.

A column with the option `labelled` is a method with a sample of labels; its name ends with the size
and the number of the draw, as "LR, 50 labels, draw 0". Methods without labels are the other
columns. The method of `Schema.by_labels` is compared with every other. Labelled documents are not
scored.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from transferbench.errors import UserError
from transferbench.evidence import groups
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import Block, Page, Picture, Table, words
from transferbench.experiments.experiment import Experiment
from transferbench.stats import accuracy_interval

#: The picture, in the folder of the experiment.
PICTURE = "labels.svg"
NUMBERS = ["accuracy", "expected", "covered"]


def summary(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the accuracy for each row, method and number of labels."""
    # `cells`: A row is left out, for a number of labels, unless all methods have finished runs with
    # it.
    # Returns: A line for each row, number of labels and method, with these columns. Values are
    # means over the draws of a sample, in per cent with four digits.
    # - task, corpus, and a column for each variant.
    # - labels: number of labelled documents, 0 for a method without any.
    # - method, draws: the method, and the number of draws.
    # - accuracy: on the documents of the target that are not labelled.
    # - expected: the accuracy that the labelled documents lead to expect, by folds; of methods that
    #   say so.
    # - covered: share of the draws whose 95 per cent interval contains the accuracy.
    # Raises UserError: if a run was scored on several targets: a task draws a sample of each.
    several = [r.task for cell in cells for r in cell.records if len(r.metrics) > 1]
    if several:
        raise UserError(f"{several[0]} has several targets; by_labels expects one.")
    frame = groups.finished(groups.values(experiment, cells), "task", "labels")
    intervals = [
        accuracy_interval(int(right), m, rest) if right == right else (math.nan, math.nan)
        for right, m, rest in frame[["held_out_right", "labels", "scored"]].itertuples(index=False)
    ]
    low, high = 100 * np.array(intervals).reshape(-1, 2).T
    accuracy = frame["value"] * experiment.spec.to_percent
    expected = 100 * frame["held_out_right"] / frame["labels"]
    covered = ((low <= accuracy) & (accuracy <= high)).where(expected.notna())
    frame = frame.assign(accuracy=accuracy, expected=expected, covered=covered.astype(float))
    of_draws = groups.with_variants(experiment, frame).groupby(
        ["task", "corpus", *experiment.spec.variants, "labels", "method"], sort=False
    )
    table = of_draws[NUMBERS].mean().map(lambda value: float(f"{value:.4g}"))
    table.insert(0, "draws", of_draws.size())
    return table.reset_index()


def advantages(experiment: Experiment, table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of the rivals with labels, and how far the judged method is `above` them."""
    keys, lines = ["task", "labels"], table[table["labels"] > 0]
    is_judged = lines["method"] == experiment.spec.by_labels
    judged = lines[is_judged].set_index(keys)["accuracy"].rename("judged")
    lines = groups.in_order(lines[~is_judged], "method").join(judged, on=keys)
    return lines.assign(above=lines["judged"] - lines["accuracy"])


def curves(table: pd.DataFrame) -> pd.DataFrame:
    """Return the points of a picture of the accuracy over the number of labels."""
    # Returns: See `groups.over_corpora`. All points are of the same tasks: those with every number
    # of labels.
    numbers = table.groupby("task")["labels"].transform("nunique")
    full = groups.in_order(table[numbers == table["labels"].nunique()], "method")
    return _over_corpora(full, ["method", "labels"], "accuracy")


def page(experiment: Experiment, table: pd.DataFrame, points: pd.DataFrame) -> Page:
    """Return the page of the accuracies of `summary` and of the points of `curves`."""
    spec = experiment.spec
    picture = Picture(PICTURE, "Accuracy over the number of labelled documents, for each method")
    blocks: list[Block] = [words("labels", spec)]
    blocks += [picture, words("label_picture", points)] if len(points) else []
    blocks.append(_grid("Accuracy", groups.in_order(table, "method"), "method", "accuracy"))
    above = advantages(experiment, table)
    if len(above):
        less, rival = f"{spec.by_labels} less", above["method"].iloc[0]
        rivals = above.rename(columns={"method": less})
        blocks += [words("advantages", spec), _grid("Advantage", rivals, less, "above")]
        first = above[above["method"] == rival]
        first = first.assign(kind=groups.variants_text(spec.variants, first))
        first = groups.in_order(first, "kind")
        blocks.append(words("parts", rival))
        blocks += [_grid(f"Advantage by {key}", first, key, "above") for key in ("kind", "corpus")]
    judged = table[table["method"] == spec.by_labels].dropna(subset="expected")
    judged = judged.assign(
        above=judged["expected"] - judged["accuracy"], covered=100 * judged["covered"]
    )
    means = judged.groupby("labels")[["above", "covered"]].mean()
    rows = [
        ["expected less true accuracy, in points", *map("{:+.1f}".format, means["above"])],
        ["its 95 % interval contains the accuracy", *map("{:.0f} %".format, means["covered"])],
    ]
    heads = ["accuracy to expect", *map(_count, means.index)]
    blocks += [words("reliability"), Table("Accuracy to expect", heads, rows)]
    title = "methods that train on a labelled sample of the target"
    return Page(experiment.name, title, blocks, {"All numbers": "labels.csv"})


def _grid(title: str, lines: pd.DataFrame, rows: str, of: str) -> Table:
    means = _over_corpora(lines, ["labels", rows], of)
    text = "{:+.1f}" if of == "above" else "{:.1f}"
    return groups.grid(f"{title} by labels", means, rows, "labels", text.format, _count)


def _over_corpora(lines: pd.DataFrame, by: list[str], of: str) -> pd.DataFrame:
    return groups.over_corpora(lines.sort_values("corpus", kind="stable"), by, of, "idxmin")


def _count(m: int) -> str:
    return f"{m} labels" if m else "without labels"
