"""Methods ranked over the problems of a table: Friedman's test and the critical difference."""

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from transferbench.evidence import figures
from transferbench.evidence.figures import COLOURS
from transferbench.evidence.frame import Cell, to_frame
from transferbench.evidence.stats import ALPHA, MIN_PROBLEMS
from transferbench.experiments.experiment import Experiment
from transferbench.measures import LOWER_IS_BETTER
from transferbench.messages import install_hint


@dataclass(frozen=True)
class Ranking:
    """Average ranks (1 is best) by method, Friedman's χ² and p, Nemenyi's critical difference."""

    ranks: dict[str, float]
    values: pd.DataFrame  # problems × methods, more is better
    statistic: float
    p: float
    critical: float


def ranking(experiment: Experiment, cells: Sequence[Cell]) -> Ranking | None:
    """Rank the methods that are not controls over problems, with the experiment's measure.

    The rows of one task are one problem, with their mean. Return None if the paper prints no table,
    if there are fewer than three methods or five problems, or if a cell has too few runs.
    """
    spec = experiment.spec
    rows = [
        name
        for name, row in spec.rows.items()
        if experiment.metric(name) == spec.metric and not row.reading_of
    ]
    problems = [experiment.problem(row) for row in rows]
    methods = spec.competitors
    if spec.figure or not spec.published or len(methods) < 3 or len(set(problems)) < MIN_PROBLEMS:
        return None
    decided = to_frame([cell for cell in cells if cell.is_decided])
    values = decided.pivot(index="row", columns="column", values="mean")
    values = values.reindex(index=rows, columns=methods)
    if values.isna().any(axis=None):
        return None
    values = values.groupby(problems, sort=False).mean()
    from scipy import stats

    values = values * (-1 if spec.metric in LOWER_IS_BETTER else 1)
    test = stats.friedmanchisquare(*values.to_numpy().T)
    mean = stats.rankdata(-values.to_numpy(), axis=1).mean(axis=0)
    n, k = values.shape
    quantile = stats.studentized_range.ppf(1 - ALPHA, k, math.inf) / math.sqrt(2)
    return Ranking(
        {methods[i]: float(mean[i]) for i in np.argsort(mean, kind="stable")},
        values,
        float(test.statistic),
        float(test.pvalue),
        float(quantile * math.sqrt(k * (k + 1) / (6 * n))),
    )


def words(ranking: Ranking) -> str:
    """Return the ranking as a paragraph."""
    n, k = ranking.values.shape
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in ranking.ranks.items())
    return (
        f"Friedman's test over {n} problems and {k} methods: χ² = {ranking.statistic:.1f}, "
        f"p = {ranking.p:.1g}. Average ranks, 1 being best: {ranks}. Ranks that differ by "
        f"less than {ranking.critical:.2f} do not differ significantly (Nemenyi, 5 per cent)."
    )


def draw(experiment: Experiment, ranking: Ranking, folder: Path) -> list[Path]:
    """Draw the critical-difference diagram as ranks.svg and .pdf.

    Warn and return [] without scikit-posthocs. Raise UserError if a file cannot be written.
    """
    try:
        import scikit_posthocs as posthocs
    except ImportError:
        path, remedy = folder / "ranks.svg", install_hint("report")
        warnings.warn(f"{path} is not drawn without scikit-posthocs: {remedy}", stacklevel=2)
        return []
    values = pd.DataFrame(ranking.values.to_numpy(), columns=list(ranking.values))
    colours = dict(zip(ranking.ranks, itertools.cycle(COLOURS), strict=False))
    p_values = posthocs.posthoc_nemenyi_friedman(values)
    with figures.style(experiment.name):
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(7, 0.5 + 0.2 * values.shape[1]), layout="constrained")
        drawn = posthocs.critical_difference_diagram(
            ranking.ranks, p_values, ax=figure.gca(), color_palette=colours,
            label_fmt_left="{label} ({rank:.1f}) ", label_fmt_right=" ({rank:.1f}) {label}",
        )  # fmt: skip
        for (bar,) in drawn["crossbars"]:
            bar.set_xdata(sorted(bar.get_xdata()))  # a set, whose order changes
        return figures.save(figure, folder / "ranks")
