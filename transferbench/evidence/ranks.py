"""Methods ranked over the rows of a whole table: Friedman's test and the critical difference."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from transferbench.evidence.entries import Entry
from transferbench.evidence.figures import COLOURS
from transferbench.evidence.stats import ALPHA
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import LOWER_IS_BETTER
from transferbench.files import writing

TITLE = "Critical-difference diagram of average ranks"


@dataclass(frozen=True)
class Ranking:
    """Average ranks (1 is best) by method, Friedman's χ² and p, Nemenyi's critical difference."""

    ranks: dict[str, float]
    values: np.ndarray  # (rows, methods), more is better
    statistic: float
    p: float
    critical: float


def ranking(experiment: Experiment, made: list[Entry]) -> Ranking | None:
    """Of the methods that are no controls, over the rows that show the experiment's measure.

    None where the paper prints no table, under three methods or five rows, or with open cells.
    """
    spec = experiment.spec
    rows = [row for row in spec.rows if experiment.metric(row) == spec.metric]
    methods = [name for name, column in spec.columns.items() if not column.control]
    cells = {(e.row, e.column): e for e in made}
    if not spec.published or len(methods) < 3 or len(rows) < 5:
        return None
    found = [[cells[row, method] for method in methods] for row in rows]
    if any(cell.open for line in found for cell in line):
        return None
    sign = -1 if spec.metric in LOWER_IS_BETTER else 1
    values = np.array([[sign * (cell.mean or 0) for cell in line] for line in found])
    test = stats.friedmanchisquare(*values.T)
    mean = stats.rankdata(-values, axis=1).mean(axis=0)
    n, k = values.shape
    quantile = stats.studentized_range.ppf(1 - ALPHA, k, math.inf) / math.sqrt(2)
    return Ranking(
        {methods[i]: float(mean[i]) for i in np.argsort(mean, kind="stable")},
        values,
        float(test.statistic),
        float(test.pvalue),
        float(quantile * math.sqrt(k * (k + 1) / (6 * n))),
    )


def words(found: Ranking) -> str:
    """The ranking as a paragraph."""
    n, k = found.values.shape
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in found.ranks.items())
    return (
        f"Friedman's test over {n} rows and {k} methods: χ² = {found.statistic:.1f}, "
        f"p = {found.p:.1g}. Average ranks, 1 being best: {ranks}. Those that lie less than "
        f"{found.critical:.2f} apart cannot be told from each other (Nemenyi, 5 per cent)."
    )


def draw(experiment: Experiment, found: Ranking, path: Path) -> bool:
    """The critical-difference diagram as SVG; False, and none, where scikit-posthocs is not."""
    try:
        import scikit_posthocs as posthocs
    except ImportError:
        remedy = "pip install 'transferbench[report]'"
        warnings.warn(f"{path} is not drawn without scikit-posthocs: {remedy}", stacklevel=2)
        return False
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import pandas as pd

    methods = [name for name, column in experiment.spec.columns.items() if not column.control]
    colours = dict(zip(found.ranks, itertools.cycle(COLOURS), strict=False))
    apart = posthocs.posthoc_nemenyi_friedman(pd.DataFrame(found.values, columns=methods))
    with plt.rc_context({"svg.hashsalt": experiment.name, "font.size": 9}):
        figure = plt.figure(figsize=(7, 0.5 + 0.2 * len(methods)), layout="constrained")
        drawn = posthocs.critical_difference_diagram(
            found.ranks, apart, ax=figure.gca(), color_palette=colours
        )
        for (bar,) in drawn["crossbars"]:
            bar.set_xdata(sorted(bar.get_xdata()))  # out of a set, in no order of its own
        with writing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        plt.close(figure)
    return True
