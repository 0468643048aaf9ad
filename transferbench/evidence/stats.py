"""Paired comparisons: over the seeds of one row, and over rows.

On one row the seeds are the units: a t-test over differences by seed; if nothing is random, the
sign of the difference decides. Over rows, each the mean of its seeds, data sets are the units:
Wilcoxon's signed-rank test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, stdev

#: Significance level.
ALPHA = 0.05


@dataclass(frozen=True)
class PairedTest:
    """Differences by seed on one row, above 0 if they are as claimed.

    missing: why there are none. n_comparisons: the number of comparisons of which this is the
    least favourable one.
    """

    row: str
    differences: tuple[float, ...]
    missing: str = ""
    n_comparisons: int = 1

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    def p(self, contrary: bool = False) -> float:
        """Return the one-sided p of the paired t-test, for the claim or for its contrary."""
        from scipy.special import stdtr

        sign = -1 if contrary else 1
        n = len(self.differences)
        spread = stdev(self.differences) if n > 1 else 0.0
        if not spread:
            return 0.0 if sign * self.mean > 0 else 1.0
        return float(stdtr(n - 1, -sign * self.mean / (spread / math.sqrt(n))))


@dataclass(frozen=True)
class Comparison:
    """Paired tests of one method against another, a row each.

    margin: what was subtracted from the differences. printed: the same differences in the published
    tables, for the rows that have them.
    """

    label: str
    tests: tuple[PairedTest, ...]
    margin: float = 0.0
    printed: tuple[float, ...] = ()

    @property
    def rows(self) -> dict[str, float]:
        """The mean difference on each row."""
        labels = dict.fromkeys(test.row for test in self.tests)
        return {row: fmean(t.mean for t in self.tests if t.row == row) for row in labels}

    def p(self, contrary: bool = False) -> float:
        """Return Wilcoxon's one-sided p, for the claim or for its contrary.

        For the claim, a positive margin is added back: the test asks for a lead, of any size. For
        the contrary, it asks for differences that fall short of the margin.
        """
        from scipy import stats

        shift = 0.0 if contrary else max(self.margin, 0.0)
        # Rounded, so that equal differences are ties; every assignment of signs is then counted.
        shifted = [round(d + shift, 9) for d in self.rows.values() if round(d + shift, 9)]
        if not shifted:
            return 1.0
        ties = len({abs(d) for d in shifted}) < len(shifted) <= 16
        method = stats.PermutationMethod(n_resamples=2**16) if ties else "auto"
        side = "less" if contrary else "greater"
        return float(stats.wilcoxon(shifted, alternative=side, method=method).pvalue)
