"""Paired comparisons over seeds, documents and problems; methods ranked over problems.

On one row the seeds are units, in a t-test over differences by seed, and so are the scored
documents, if their number is known: the larger of the two p counts. Over problems, each the mean of
its rows, data sets are the units: Wilcoxon's signed-rank test, whose differences contain the
documents' noise. Ranks over problems have Friedman's test and the critical difference.
"""

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from transferbench.evidence import figures
from transferbench.evidence.frame import Cell, to_frame
from transferbench.experiments.experiment import Experiment
from transferbench.measures import LOWER_IS_BETTER
from transferbench.messages import install_hint

#: Significance level.
ALPHA = 0.05
#: Fewest problems with which the signed-rank test can be significant: 2⁻⁵ is below 5 per cent.
MIN_PROBLEMS = 5

#: The rows on which a difference is claimed.
Extent = Literal["every", "most", "some", "average"]


@dataclass(frozen=True)
class PairedTest:
    """Differences by seed on one row, above 0 if they are as claimed.

    missing: why there are none. seeds: those of the differences, None without one. n_comparisons:
    the number of comparisons of which this is the least favourable one. problem: what the row
    shares with other rows. matters: the smallest difference that matters. error: the standard error
    that the choice of documents causes, NaN if it is not known. identical: True if the two columns
    are the same on every row.
    """

    row: str
    differences: tuple[float, ...]
    missing: str = ""
    n_comparisons: int = 1
    seeds: tuple[int | None, ...] = ()
    problem: str = ""
    matters: float = 0.0
    error: float = math.nan
    identical: bool = False

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    @property
    def single(self) -> bool:
        """True if there is one difference, which no test can tell from noise."""
        return len(self.differences) == 1

    def p_seeds(self, contrary: bool = False) -> float:
        """Return the one-sided p of the paired t-test, for the claim or for its contrary."""
        from scipy.special import stdtr

        sign = -1 if contrary else 1
        n = len(self.differences)
        spread = stdev(self.differences) if n > 1 else 0.0
        if not spread:
            return 0.0 if sign * self.mean > 0 else 1.0
        return float(stdtr(n - 1, -sign * self.mean / (spread / math.sqrt(n))))

    def p_documents(self, contrary: bool = False) -> float:
        """Return the one-sided p of a normal test with the documents' error, NaN without one.

        For accuracies a and b of two methods on n documents the error is the root of
        a (1 − a) / n + b (1 − b) / n, as if each had documents of its own. On the same documents
        twice the covariance is subtracted from that. It is positive where both methods tend to be
        right on the same documents, so the test is conservative.
        """
        from scipy.special import ndtr

        if not self.error:  # all right, or all wrong
            return self.p_seeds(contrary)
        return float(ndtr((1 if contrary else -1) * self.mean / self.error))

    def p(self, contrary: bool = False) -> float:
        """Return the p that decides: the larger one, or 1 if the difference decides nothing.

        That is so if it is a single one, too small to matter, or one of identical columns.
        """
        if self.single or self.identical or abs(self.mean) < self.matters:
            return 1.0
        return max(each for each in self.parts(contrary) if each == each)

    def parts(self, contrary: bool = False) -> tuple[float, float]:
        """Return the p over the seeds and that over the documents."""
        return self.p_seeds(contrary), self.p_documents(contrary)


class Decision(NamedTuple):
    """The p that decides, to be compared with ALPHA; its parts, NaN if it is not of one row."""

    p: float
    seeds: float = math.nan
    documents: float = math.nan


@dataclass(frozen=True)
class Comparison:
    """Paired tests of one method against another, on all rows.

    margin: what was subtracted from the differences. printed: the same differences in the published
    tables, for the rows that have them.
    """

    label: str
    tests: tuple[PairedTest, ...]
    margin: float = 0.0
    printed: tuple[float, ...] = ()

    @property
    def problems(self) -> list[PairedTest]:
        """A test for each problem, with the mean differences over its rows by seed."""
        tests: dict[str, list[PairedTest]] = {}
        for test in self.tests:
            tests.setdefault(test.problem or test.row, []).append(test)
        return [_merge(same) for same in tests.values()]

    def decision(self, extent: Extent, n_tests: int, n_compared: int, contrary: bool) -> Decision:
        """Return the p that decides on the claim, or on its contrary, and its parts.

        Where one of several tests is enough, p is multiplied by their number: n_tests tests of
        rows or problems, or n_compared comparisons over problems.
        """
        over_problems = extent in ("most", "average") or all(test.single for test in self.tests)
        if extent == "average" or (over_problems and len(self.problems) >= MIN_PROBLEMS):
            p = self.p_over_problems(contrary) if self._matters(extent, contrary) else 1.0
            one_is_enough = contrary != (extent == "some")
            return Decision(min(1.0, p * (n_compared if one_is_enough else 1)))
        tests = self.problems if extent == "most" else self.tests
        ordered = sorted(tests, key=lambda test: test.p(contrary))
        if extent == ("some" if contrary else "every"):
            test, factor = ordered[-1], 1
        else:  # more than half of the problems, or one row
            test, factor = ordered[len(ordered) // 2 if extent == "most" else 0], n_tests
        p, parts = test.p(contrary), test.parts(contrary)
        if p not in parts:
            return Decision(1.0)
        return Decision(
            *(min(1.0, each * factor) if each == each else each for each in (p, *parts))
        )

    def _matters(self, extent: Extent, contrary: bool) -> bool:
        """True if the mean, all, or more than half of the differences are large enough."""
        differences = sorted(-t.mean if contrary else t.mean for t in self.problems)
        least = differences[(len(differences) - 1) // 2]
        if extent == "average":
            least = fmean(differences)
        elif extent == ("some" if contrary else "every"):
            least = differences[0]
        return least > 0 and least >= self.tests[0].matters

    def p_over_problems(self, contrary: bool = False) -> float:
        """Return Wilcoxon's one-sided p, for the claim or for its contrary.

        For the claim, a positive margin is added back: the test asks for a lead, of any size. For
        the contrary, it asks for differences that fall short of the margin.
        """
        from scipy import stats

        shift = 0.0 if contrary else max(self.margin, 0.0)
        # Rounded, so that equal differences are ties; every assignment of signs is then counted.
        means = [round(test.mean + shift, 9) for test in self.problems if not test.identical]
        shifted = [difference for difference in means if difference]
        if not shifted:
            return 1.0
        ties = len({abs(d) for d in shifted}) < len(shifted) <= 16
        method = stats.PermutationMethod(n_resamples=2**16) if ties else "auto"
        side = "less" if contrary else "greater"
        return float(stats.wilcoxon(shifted, alternative=side, method=method).pvalue)

    def undecided(self) -> str:
        """Return why the comparison cannot decide anything, "" if it can."""
        if all(test.identical for test in self.tests):
            return "Identical columns"
        if all(abs(test.mean) < test.matters for test in self.tests):
            return "No difference that matters"
        if all(test.single for test in self.tests) and len(self.problems) < MIN_PROBLEMS:
            return "A single difference on each row"
        return ""


def _merge(tests: list[PairedTest]) -> PairedTest:
    """Return one test of the rows of a problem, with their mean differences by seed.

    Without a seed in common there is a single difference. The rows' documents may be the same ones,
    so the error is the mean of the rows' errors.
    """
    if len(tests) == 1:
        return tests[0]
    rows = [dict(zip(t.seeds, t.differences, strict=True)) for t in tests]
    seeds = [seed for seed in rows[0] if all(seed in row for row in rows)]
    differences = [fmean(row[seed] for row in rows) for seed in seeds]
    return replace(
        tests[0],
        row=tests[0].problem,
        differences=tuple(differences) or (fmean(test.mean for test in tests),),
        seeds=tuple(seeds),
        error=fmean(test.error for test in tests),
        identical=all(test.identical for test in tests),
    )


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
    decided = to_frame([cell for cell in cells if not cell.unfinished])
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


def ranking_words(ranking: Ranking) -> str:
    """Return the ranking as a paragraph."""
    n, k = ranking.values.shape
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in ranking.ranks.items())
    return (
        f"Friedman's test over {n} problems and {k} methods: χ² = {ranking.statistic:.1f}, "
        f"p = {ranking.p:.1g}. Average ranks, 1 being best: {ranks}. Ranks that differ by "
        f"less than {ranking.critical:.2f} do not differ significantly (Nemenyi, 5 per cent)."
    )


def draw_ranks(experiment: Experiment, ranking: Ranking, folder: Path) -> list[Path]:
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
    colours = dict(zip(ranking.ranks, itertools.cycle(figures.COLOURS), strict=False))
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
