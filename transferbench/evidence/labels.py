"""Accuracy of methods that train on a labelled sample of the target, by the size of the sample.

A column with the option `labelled` is a method with a sample of labels; its name ends with the size
and the number of the draw, as "LR, 50 labels, draw 0". Methods without labels are the other
columns. The method of `Schema.by_labels` is compared with every other. Labelled documents are not
scored.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from transferbench.errors import UserError
from transferbench.evidence import pictures
from transferbench.evidence.frame import Cell
from transferbench.experiments.experiment import Experiment
from transferbench.stats import accuracy_interval, bootstrap_interval

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
    spec = experiment.spec
    methods = _methods(experiment)
    runs: dict[tuple[str, int, str], list[dict[str, float]]] = {}
    for cell in cells:
        m, method = methods[cell.column]
        for record in cell.records:
            if len(record.right) > 1:
                raise UserError(f"{record.task} has several targets; by_labels expects one.")
            for right in record.correct().values():
                line = {"accuracy": 100 * float(right.mean())}
                of_sample = record.diagnostics.get("held_out_right")
                if m and of_sample is not None:
                    low, high = accuracy_interval(int(of_sample), m, len(right))
                    line["expected"] = 100 * of_sample / m
                    line["covered"] = float(100 * low <= line["accuracy"] <= 100 * high)
                runs.setdefault((cell.row, m, method), []).append(line)
    lines: list[dict[str, Any]] = []
    for row in spec.rows:
        where = {"task": row, "corpus": experiment.corpus(row), **spec.rows[row].variant}
        for m in numbers(experiment):
            of_number = {name: number for number, name in methods.values() if number == m}
            found = {name: runs.get((row, m, name), []) for name in of_number}
            planned = [1 for number, _ in methods.values() if number == m]
            if sum(map(len, found.values())) < len(planned):
                continue
            for name, of_draws in found.items():
                means = {key: fmean(draw[key] for draw in of_draws) for key in of_draws[0]}
                lines.append(where | {"labels": m, "method": name, "draws": len(of_draws)} | means)
    columns = ["task", "corpus", *spec.variants, "labels", "method", "draws", *NUMBERS]
    table = pd.DataFrame(lines, columns=columns)
    table[NUMBERS] = table[NUMBERS].map(lambda value: float(f"{value:.4g}"))
    return table


def _methods(experiment: Experiment) -> dict[str, tuple[int, str]]:
    """Return the number of labelled documents and the name of the method, by column."""
    methods = {}
    for name, column in experiment.spec.columns.items():
        m = int(str(column.options.get("labelled", 0)))
        methods[name] = m, name.rsplit(", ", 2)[0] if m else name
    return methods


def numbers(experiment: Experiment) -> list[int]:
    """Return the numbers of labelled documents, ascending."""
    return sorted({m for m, _ in _methods(experiment).values()})


def rivals(experiment: Experiment) -> list[str]:
    """Return the other methods with labels, in their order."""
    named = dict.fromkeys(name for m, name in _methods(experiment).values() if m)
    return [name for name in named if name != experiment.spec.by_labels]


def differences(experiment: Experiment, table: pd.DataFrame, m: int, rival: str) -> pd.DataFrame:
    """Return task, corpus, variants and the `difference` of the judged method to a rival."""
    keys = ["task", "corpus", *experiment.spec.variants]
    part = table[table["labels"] == m]
    pairs = part.pivot(index=keys, columns="method", values="accuracy").reset_index()
    judged = experiment.spec.by_labels
    if not {judged, rival} <= {*pairs}:
        return pd.DataFrame(columns=[*keys, "difference"])
    return pairs[keys].assign(difference=pairs[judged] - pairs[rival])


def accuracies(experiment: Experiment, table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the heads of a table, then a row for each method: the accuracy by number of labels."""
    by_number = {m: table[table["labels"] == m] for m in numbers(experiment)}
    yield ["method", *(f"{_count(m)} ({p['task'].nunique()} tasks)" for m, p in by_number.items())]
    for method in dict.fromkeys(table["method"]):
        cells = []
        for part in by_number.values():
            of_method = part[part["method"] == method]
            cells.append(_mean(of_method, "accuracy") if len(of_method) else "–")
        yield [method, *cells]


def advantages(experiment: Experiment, table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the heads of a table, then for each rival the judged method's accuracy above it."""
    # Each cell has the mean over the corpora, its interval, and the least value of a task.
    sizes = [m for m in numbers(experiment) if m]
    yield [f"{experiment.spec.by_labels} less", *map(_count, sizes)]
    for rival in rivals(experiment):
        yield [
            rival,
            *(_difference(differences(experiment, table, m, rival)) for m in sizes),
        ]


def parts(experiment: Experiment, table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the heads of a table, then a row for each combination of variants and each corpus."""
    # Cells are as in `advantages`, of the first rival.
    sizes = [m for m in numbers(experiment) if m]
    yield ["tasks", *map(_count, sizes)]
    by_number = [differences(experiment, table, m, rivals(experiment)[0]) for m in sizes]
    axes = list(experiment.spec.variants)
    for keys in (axes, ["corpus"]):
        seen = dict.fromkeys(
            tuple(values) for each in by_number for values in each[keys].to_numpy().tolist()
        )
        for values in seen:
            texts = zip(keys, values, strict=True)
            name = ", ".join(f"{v} documents" if axis == "documents" else v for axis, v in texts)
            cells = [each[(each[keys] == list(values)).all(axis=1)] for each in by_number]
            yield [name or "all", *map(_difference, cells)]


def _difference(lines: pd.DataFrame) -> str:
    """Return the mean difference over the corpora, its interval, the least, and the tasks."""
    if lines.empty:
        return "–"
    mean = _mean(lines, "difference", "+")
    return f"{mean} / {lines['difference'].min():+.1f} ({len(lines)})"


def _mean(lines: pd.DataFrame, column: str, sign: str = "") -> str:
    """Return the mean of a column over the corpora, and its interval."""
    means = lines.groupby("corpus")[column].mean()
    low, high = bootstrap_interval(means)
    ends = "" if pd.isna(low) else f" [{low:.1f}, {high:.1f}]"
    return f"{means.mean():{sign}.1f}{ends}"


def reliability(experiment: Experiment, table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the heads of a table by number of labels, then how true the expected accuracy is."""
    judged = table[(table["method"] == experiment.spec.by_labels) & (table["labels"] > 0)]
    groups = dict(tuple(judged.groupby("labels")))
    yield ["accuracy to expect", *map(_count, groups)]
    above = [(part["expected"] - part["accuracy"]).mean() for part in groups.values()]
    yield ["expected less true accuracy, in points", *(f"{value:+.1f}" for value in above)]
    covered = [100 * part["covered"].mean() for part in groups.values()]
    yield ["its 95 % interval contains the accuracy", *(f"{value:.0f} %" for value in covered)]


def _count(m: int) -> str:
    return f"{m} labels" if m else "without labels"


def curves(experiment: Experiment, table: pd.DataFrame) -> pd.DataFrame:
    """Return the points of a picture of the accuracy over the number of labels."""
    # Returns: Columns method, labels, mean, low and high (the 95 per cent interval over the
    # corpora), and tasks. All points are of the same tasks: those with every number of labels.
    of_task = table.groupby("task")["labels"].nunique()
    full = of_task.index[of_task == len(numbers(experiment))]
    lines = []
    for (method, m), part in table[table["task"].isin(full)].groupby(
        ["method", "labels"], sort=False
    ):
        means = part.groupby("corpus")["accuracy"].mean()
        low, high = bootstrap_interval(means)
        lines.append([method, m, means.mean(), low, high, len(full)])
    return pd.DataFrame(lines, columns=["method", "labels", "mean", "low", "high", "tasks"])


def draw(experiment: Experiment, points: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw PICTURE, the accuracy over the number of labels."""
    return pictures.draw_labels(experiment, points, folder / PICTURE)
