"""Paired comparisons: over the seeds and documents of one row, and over problems.

On one row the seeds are units, in a t-test over differences by seed, and so are the scored
documents, if their number is known: the larger of the two p counts. Over problems, each the mean of
its rows, data sets are the units: Wilcoxon's signed-rank test, whose differences contain the
documents' noise.
"""

import math
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal, NamedTuple

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
