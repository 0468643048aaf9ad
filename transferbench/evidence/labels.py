"""Regret of a choice by labelled documents of the target, from the recorded decisions of runs.

A column with the option `labelled` is the method of `Schema.by_labels` with a sample of labels. By
this sample, that method or one of the single methods is chosen, see `choose.sample`. Regret is the
accuracy of the best single method on a task less that of the chosen one, on all documents. The
labelled ones are among them, which made the choice; the columns `…_outside` leave them out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from transferbench.choose.sample import judge_draw, sampled_rows, wilson
from transferbench.errors import UserError
from transferbench.evidence.frame import Cell
from transferbench.experiments.experiment import Experiment

#: Column of the regret of the method of `by_labels` with the sample, whatever its name is.
BY_LABELS = "consensus"


def summary(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the regret for each row and number of labels.

    Parameters
    ----------
    experiment
        An experiment with the key `by_labels`.
    cells
        Its cells. Rows where a method without labels has no finished run are left out.

    Returns
    -------
    DataFrame
        A line for each row and number of labels, with these columns. Values are means over the
        draws of a sample, in per cent with four digits.

        - task, corpus, and a column for each variant.
        - labels: number of labelled documents; 0 stands for the method of `by_labels` without any.
        - regret: regret of the chosen method.
        - consensus: regret of the method of `by_labels` with the sample, see BY_LABELS.
        - expected: accuracy of the chosen method that its sample leads to expect.
        - accuracy: its accuracy on all documents, also the labelled ones.
        - covered: the share of draws whose 95 per cent interval contains this accuracy.
        - regret_outside, accuracy_outside, covered_outside: the same on the documents outside the
          sample. The best single method is still the best one on all documents.

    Raises
    ------
    UserError
        If a run was scored on several targets: a task draws a sample of each.
    """
    spec = experiment.spec
    right: dict[tuple[str, str], np.ndarray] = {}
    for cell in cells:
        for record in cell.records:
            if len(record.right) > 1:
                raise UserError(f"{record.task} has several targets; by_labels expects one.")
            for rows in record.correct().values():
                right[cell.row, cell.column] = rows
    samples, plain = _samples(experiment), single_methods(experiment)
    lines: list[dict[str, Any]] = []
    for row in spec.rows:
        if any((row, name) not in right for name in (spec.by_labels, *plain)):
            continue
        single = {name: right[row, name] for name in plain}
        best_method = max(single.values(), key=np.mean)
        best = np.mean(best_method)
        where = {"task": row, "corpus": experiment.corpus(row), **spec.rows[row].variant}
        without_labels = np.mean(right[row, spec.by_labels])
        lines.append(where | {"labels": 0, "regret": 100 * (best - without_labels)})
        drawn: dict[int, list[dict[str, float]]] = {}
        for name, (m, draw) in samples.items():
            if (row, name) not in right:
                continue
            methods = {spec.by_labels: right[row, name]} | single
            judged = judge_draw(methods, m, draw)
            chosen = methods[next(iter(judged.right))]
            outside = ~sampled_rows(len(chosen), m, draw)
            accuracy, accuracy_outside = np.mean(chosen), np.mean(chosen[outside])
            low, high = wilson(judged.accuracy, m)
            drawn.setdefault(m, []).append(
                {
                    "regret": 100 * (best - accuracy),
                    BY_LABELS: 100 * (best - np.mean(right[row, name])),
                    "expected": 100 * judged.accuracy,
                    "accuracy": 100 * accuracy,
                    "covered": float(low <= accuracy <= high),
                    "regret_outside": 100 * (np.mean(best_method[outside]) - accuracy_outside),
                    "accuracy_outside": 100 * accuracy_outside,
                    "covered_outside": float(low <= accuracy_outside <= high),
                }
            )
        lines += [
            where | {"labels": m} | {name: fmean(each[name] for each in of_m) for name in of_m[0]}
            for m, of_m in drawn.items()
        ]
    numbers = ["regret", BY_LABELS, "expected", "accuracy", "covered"]
    numbers += ["regret_outside", "accuracy_outside", "covered_outside"]
    table = pd.DataFrame(lines, columns=["task", "corpus", *spec.variants, "labels", *numbers])
    table[numbers] = table[numbers].map(lambda value: float(f"{value:.4g}"))
    return table


def _samples(experiment: Experiment) -> dict[str, tuple[int, int]]:
    """Return the number of labelled documents and that of the draw, by column with `labelled`."""
    options = {name: column.options for name, column in experiment.spec.columns.items()}
    return {
        name: (int(str(given["labelled"])), int(str(given.get("draw", 0))))
        for name, given in options.items()
        if given.get("labelled")
    }


def single_methods(experiment: Experiment) -> list[str]:
    """Return the columns that are neither the method of `by_labels` nor have a sample."""
    others = {experiment.spec.by_labels, *_samples(experiment)}
    return [name for name in experiment.spec.columns if name not in others]


def draws(experiment: Experiment) -> dict[int, int]:
    """Return the number of samples of a task by their number of labelled documents."""
    return dict(Counter(m for m, _ in _samples(experiment).values()))


def rows(experiment: Experiment, table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the heads of the page's table, then its rows: for all tasks, variants and corpora.

    Parameters
    ----------
    experiment
        The experiment.
    table
        The lines of `summary`.
    """
    numbers = sorted(table["labels"].unique())
    yield ["tasks", *(f"{m} labels" if m else "without" for m in numbers)]
    axes = list(experiment.spec.variants)
    parts = [("all", table)]
    for values, part in table.groupby(axes, sort=False) if axes else ():
        texts = zip(axes, values, strict=True)
        name = ", ".join(f"{v} documents" if axis == "documents" else v for axis, v in texts)
        parts.append((name, part))
    for name, part in [*parts, *table.groupby("corpus")]:
        yield [name, *(_cell(part[part["labels"] == m]) for m in numbers)]


def _cell(part: pd.DataFrame) -> str:
    """Return the mean over the corpora, the worst task, and the number of tasks."""
    if part.empty:
        return "–"
    mean = part.groupby("corpus")["regret"].mean().mean()
    return f"{round(mean, 6):.1f} / {part['regret'].max():.1f} ({len(part)})"


def reliability(table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the heads of a table by number of labels, then its rows: all documents, and the others.

    Regret is the mean over the corpora, the other numbers are means over the tasks.

    Parameters
    ----------
    table
        The lines of `summary`.
    """
    sampled = table[table["labels"] > 0]
    by_number = sampled.groupby("labels")
    yield ["documents", *(f"{m} labels" for m in by_number.groups)]
    for label, end in (("all", ""), ("without the labelled ones", "_outside")):
        cells = []
        for _, part in by_number:
            regret = part.groupby("corpus")[f"regret{end}"].mean().mean()
            above = (part["expected"] - part[f"accuracy{end}"]).mean()
            covered = 100 * part[f"covered{end}"].mean()
            cells.append(f"{regret:.2f} / {above:.1f} / {covered:.0f} %")
        yield [label, *cells]
