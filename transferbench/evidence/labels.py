"""Regret of a choice by labelled documents of the target, from the recorded decisions of runs.

A column with the option `labelled` is the method of `Schema.by_labels` with a sample of labels. By
this sample, that method or one of the single methods is chosen, see `choose.sample`. Regret is the
accuracy of the best single method on a task less that of the chosen one.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from transferbench.choose.sample import judge_draw, wilson
from transferbench.evidence.frame import Cell
from transferbench.experiments.experiment import Experiment


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
        - consensus: regret of the method of `by_labels` with the sample.
        - expected: accuracy of the chosen method that its sample leads to expect.
        - accuracy: its accuracy on all documents.
        - covered: the share of draws whose 95 per cent interval contains this accuracy.
    """
    spec = experiment.spec
    right = {
        (cell.row, cell.column): np.concatenate([*record.correct().values()])
        for cell in cells
        for record in cell.records
        if record.right
    }
    samples = {n: c.options for n, c in spec.columns.items() if "labelled" in c.options}
    plain = [name for name in spec.columns if name not in samples]
    lines: list[dict[str, Any]] = []
    for row in spec.rows:
        if any((row, name) not in right for name in plain):
            continue
        single = {name: right[row, name] for name in plain if name != spec.by_labels}
        best = max(np.mean(of_method) for of_method in single.values())
        where = {"task": row, "corpus": experiment.corpus(row), **spec.rows[row].variant}
        without_labels = np.mean(right[row, spec.by_labels])
        lines.append(where | {"labels": 0, "regret": 100 * (best - without_labels)})
        drawn: dict[int, list[dict[str, float]]] = {}
        for name, options in samples.items():
            if (row, name) not in right:
                continue
            m, draw = (int(str(options.get(key, 0))) for key in ("labelled", "draw"))
            methods = {spec.by_labels: right[row, name]} | single
            judged = judge_draw(methods, m, draw)
            accuracy = np.mean(methods[next(iter(judged.right))])
            low, high = wilson(judged.accuracy, m)
            drawn.setdefault(m, []).append(
                {
                    "regret": 100 * (best - accuracy),
                    "consensus": 100 * (best - np.mean(right[row, name])),
                    "expected": 100 * judged.accuracy,
                    "accuracy": 100 * accuracy,
                    "covered": float(low <= accuracy <= high),
                }
            )
        lines += [
            where | {"labels": m} | {name: fmean(each[name] for each in draws) for name in draws[0]}
            for m, draws in drawn.items()
        ]
    columns = ["task", "corpus", *spec.variants, "labels", "regret"]
    columns += ["consensus", "expected", "accuracy", "covered"]
    table = pd.DataFrame(lines, columns=columns)
    table[columns[-5:]] = table[columns[-5:]].map(lambda value: float(f"{value:.4g}"))
    return table


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


def reliability(table: pd.DataFrame) -> str:
    """Return a sentence that compares the accuracy to expect with the true one.

    Parameters
    ----------
    table
        The lines of `summary`.
    """
    sampled = table[table["labels"] > 0]
    bias = (sampled["expected"] - sampled["accuracy"]).groupby(sampled["labels"]).mean()
    covered = sampled.groupby("labels")["covered"].mean()
    above = ", ".join(f"{value:.1f} points ({m} labels)" for m, value in bias.items())
    shares = ", ".join(f"{100 * value:.0f} %" for value in covered)
    return (
        f"The accuracy to expect is above the true one by {above} on average; its 95 % interval "
        f"has the true one in {shares} of the draws."
    )
