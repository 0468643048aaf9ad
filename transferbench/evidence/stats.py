"""Paired comparisons: over the seeds of one row, and over rows.

On one row, seeds are the units: a t-test over differences by seed; where nothing is random, the
difference decides. Over rows, each the mean of its seeds, data sets are the units: Wilcoxon's
signed-rank test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy import stats

#: How improbable a difference must be without anything behind it, to count as told.
ALPHA = 0.05


@dataclass(frozen=True)
class Case:
    """A comparison on one row: differences by seed, above 0 where they are as claimed.

    open: why there are none. tests: among how many such comparisons this is the least favourable.
    """

    row: str
    differences: tuple[float, ...]
    open: str = ""
    tests: int = 1

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    def p(self, contrary: bool = False) -> float:
        """The paired t-test's p, one-sided: for the claim or for its contrary."""
        sign = -1 if contrary else 1
        n = len(self.differences)
        spread = stdev(self.differences) if n > 1 else 0.0
        if not spread:
            return 0.0 if sign * self.mean > 0 else 1.0
        return float(stats.t.sf(sign * self.mean / (spread / math.sqrt(n)), n - 1))


@dataclass(frozen=True)
class Pair:
    """What is compared with what, by row; the margin that was taken off the differences.

    printed: the same differences in the published tables, for the rows that they have.
    """

    label: str
    cases: tuple[Case, ...]
    margin: float = 0.0
    printed: tuple[float, ...] = ()

    @property
    def rows(self) -> dict[str, float]:
        """The mean difference on each row."""
        labels = dict.fromkeys(case.row for case in self.cases)
        return {row: fmean(c.mean for c in self.cases if c.row == row) for row in labels}

    def p(self, contrary: bool = False) -> float:
        """Wilcoxon's p, one-sided. A margin ahead has to be met, but only a lead to be shown."""
        shift = 0.0 if contrary else max(self.margin, 0.0)
        # Rounded, so that equal differences are ties; every assignment of signs is then counted.
        found = [round(d + shift, 9) for d in self.rows.values() if round(d + shift, 9)]
        if not found:
            return 1.0
        ties = len({abs(d) for d in found}) < len(found) <= 16
        method = stats.PermutationMethod(n_resamples=2**16) if ties else "auto"
        side = "less" if contrary else "greater"
        return float(stats.wilcoxon(found, alternative=side, method=method).pvalue)
