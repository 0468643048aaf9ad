"""Tests of claims over seeds, documents and units.

An experiment without units makes a statement about its own rows, as a paper's table does. A row has
two errors: that of the random starts, from the differences by seed, and that of the scored
documents, from the differences by document (`paired_error`), if it is known. Their variances add.
The mean of all rows has the same two: that of the rows' means by seed, and the mean of the rows'
document errors, which no standard error of the mean exceeds, whatever documents the rows share.
That a number of rows is ahead is tested by their ordered p, multiplied by the number of rows that
may be behind plus one (Benjamini and Heller, Biometrics 2008), which needs no independence either.

An experiment with units asks what holds beyond its rows. Its units, each with the mean of its rows,
are independent, its rows are not: an average is tested by all changes of the units' signs, a
majority by the sign test. k units cannot give a p below 2⁻ᵏ.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal, NamedTuple

import numpy as np

#: Significance level.
ALPHA = 0.05
#: Most units whose changes of signs are all counted; of more units, as many are drawn at random.
MAX_EXACT = 16

#: The rows on which a difference is claimed.
Extent = Literal["every", "most", "some", "average"]


@dataclass(frozen=True)
class PairedTest:
    """Differences by seed on one row, above 0 if they are as claimed.

    missing: why there are none. seeds: those of the differences, None without one. n_comparisons:
    the number of comparisons of which this is the least favourable one. unit: of what the row is a
    sample, "" if it stands for itself. matters: the smallest difference that matters. error: the
    standard error that the choice of documents causes, NaN if it is not known. identical: True if
    the two columns are the same on every row.
    """

    row: str
    differences: tuple[float, ...]
    missing: str = ""
    n_comparisons: int = 1
    seeds: tuple[int | None, ...] = ()
    unit: str = ""
    matters: float = 0.0
    error: float = math.nan
    identical: bool = False

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    def p_seeds(self, contrary: bool = False) -> float:
        """Return the one-sided p of the paired t-test, for the claim or for its contrary.

        NaN if neither method has seeds, and 1 if there is one seed: its error is not known.
        """
        from scipy.special import stdtr

        n, mean = len(self.differences), -self.mean if contrary else self.mean
        if n == 1:
            return math.nan if self.seeds == (None,) else 1.0
        spread = stdev(self.differences)
        return float(stdtr(n - 1, mean / spread * -math.sqrt(n))) if spread else float(mean <= 0)

    def p_documents(self, contrary: bool = False) -> float:
        """Return the one-sided p of a normal test with the documents' error, NaN without one."""
        from scipy.special import ndtr

        mean = -self.mean if contrary else self.mean
        return float(ndtr(-mean / self.error)) if self.error else float(mean <= 0)

    def p_both(self, contrary: bool = False) -> float:
        """Return the one-sided p of a t-test with the sum of both variances, NaN without both.

        Welch's degrees of freedom. If both errors are alike, each of the two tests alone could
        hold for 1 in 10 untrue claims at the level of 5 per cent.
        """
        from scipy.special import stdtr

        n, mean = len(self.differences), -self.mean if contrary else self.mean
        seeds = stdev(self.differences) ** 2 / n if n > 1 else 0.0
        if not seeds or not self.error:
            return math.nan
        variance = seeds + self.error**2
        return float(stdtr((n - 1) * (variance / seeds) ** 2, -mean / math.sqrt(variance)))

    def p(self, contrary: bool = False) -> float:
        """Return the p that decides: the largest one of those known, or 1 if nothing is decided.

        That is so if none is known, if the difference is too small to matter, and for identical
        columns.
        """
        if self.identical or abs(self.mean) < self.matters:
            return 1.0
        known = (*self.parts(contrary), self.p_both(contrary))
        return max((each for each in known if each == each), default=1.0)

    @property
    def p_two_sided(self) -> float:
        """The p of a difference in either direction."""
        return min(2 * self.p(), 2 * self.p(contrary=True), 1.0)

    def parts(self, contrary: bool = False) -> tuple[float, float]:
        """Return the p over the seeds and that over the documents."""
        return self.p_seeds(contrary), self.p_documents(contrary)


class Decision(NamedTuple):
    """The p that decides, to be compared with ALPHA; its parts, NaN if it is not of one row."""

    p: float
    seeds: float = math.nan
    documents: float = math.nan


@dataclass(frozen=True)
class PairedTests:
    """Paired tests of one method against another, on all rows.

    margin: what was subtracted from the differences. printed: the same differences in the published
    tables, for the rows that have them.
    """

    label: str
    tests: tuple[PairedTest, ...]
    margin: float = 0.0
    printed: tuple[float, ...] = ()

    @property
    def units(self) -> list[PairedTest]:
        """A test for each unit, or row without one, with the mean differences by seed."""
        tests: dict[str, list[PairedTest]] = {}
        for test in self.tests:
            tests.setdefault(test.unit or test.row, []).append(test)
        return [_merge(same) for same in tests.values()]

    def over_units(self, extent: Extent) -> bool:
        """True if the claim is tested over units: about most rows or their average."""
        return extent in ("most", "average") and all(test.unit for test in self.tests)

    def decision(self, extent: Extent, n_compared: int, contrary: bool) -> Decision:
        """Return the p that decides on the claim, or on its contrary, and its parts.

        Where one of the claim's n_compared comparisons is enough, p is multiplied by their number.
        """
        factor = n_compared if contrary != (extent == "some") else 1
        if self.over_units(extent):
            return Decision(min(1.0, factor * self.p_units(extent, contrary)))
        tests = self.units if extent in ("most", "average") else list(self.tests)
        tests = [_merge(tests)] if extent == "average" else tests
        all_needed = extent == ("some" if contrary else "every")
        needed = len(tests) // 2 + 1 if extent == "most" else len(tests) if all_needed else 1
        test = sorted(tests, key=lambda test: test.p(contrary))[needed - 1]
        p, parts = test.p(contrary), test.parts(contrary)
        factor *= (len(tests) - needed + 1) * (test.n_comparisons if contrary else 1)
        return Decision(*(min(factor * each, 1.0) for each in ((p, *parts) if p < 1 else (p,))))

    def p_units(self, extent: Extent, contrary: bool) -> float:
        """Return the one-sided p over the units: of the mean, or that most units are ahead."""
        sign = -1 if contrary else 1
        values = np.array([0.0 if each.identical else sign * each.mean for each in self.units])
        n, matters = len(values), self.tests[0].matters
        if extent == "most":
            ahead = int(((values >= matters) & (values > 0)).sum())
            return float(sum(math.comb(n, i) for i in range(ahead, n + 1)) / 2**n)
        return sign_flip_p(values) if values.mean() >= matters else 1.0

    def undecided(self, extent: Extent) -> str:
        """Return why the comparison cannot decide anything, "" if it can."""
        if all(test.identical for test in self.tests):
            return "Identical columns"
        if all(abs(test.mean) < test.matters for test in self.tests):
            return "No difference that matters"
        unknown = all(len(t.differences) == 1 and t.p() == t.p(True) == 1 for t in self.tests)
        return "No error is known for a single run" * (unknown and not self.over_units(extent))


def paired_error(differences: Sequence[np.ndarray]) -> float:
    """Return the standard error of a mean difference that the choice of documents causes.

    For two methods that are right or wrong, their test is McNemar's with the correction of Bonett
    and Price: one document is added for each method. So it holds its level if few documents differ.

    Parameters
    ----------
    differences
        Of each domain (n,), from −1 to 1: for each document, how often the first method was right,
        as a mean over the seeds, less how often the second one was. Each domain counts once and
        has documents of its own.

    References
    ----------
    Q. McNemar, Psychometrika 12 (1947). D. G. Bonett and R. M. Price, Journal of Educational and
    Behavioral Statistics 37 (2012).
    """
    added = [np.append(of_domain, (1.0, -1.0)) for of_domain in differences]
    return math.sqrt(sum(each.var(ddof=1) / len(each) for each in added)) / len(added)


def sign_flip_p(values: np.ndarray) -> float:
    """Return the one-sided p of the permutation test of the mean: all changes of signs, (n,) → p.

    It is the share of the changes whose mean is at least the observed one, exact if the values are
    independent, each with a distribution that is symmetric about 0.
    """
    n = len(values)
    if n <= MAX_EXACT:
        signs = np.array(list(itertools.product((1, -1), repeat=n)))
    else:
        signs = np.random.default_rng(0).choice((1, -1), (2**MAX_EXACT, n))
        signs[0] = 1  # the observed signs are one of the changes
    return float(np.mean(signs @ values >= values.sum() - 1e-9))


def _merge(tests: list[PairedTest]) -> PairedTest:
    """Return one test of the mean over several rows or units, by the seeds that all have.

    Without one there is a single difference. The documents may be the same ones, so the error is
    the mean of the errors.
    """
    rows = [dict(zip(t.seeds, t.differences, strict=True)) for t in tests]
    seeds = [seed for seed in rows[0] if all(seed in row for row in rows)]
    differences = [fmean(row[seed] for row in rows) for seed in seeds]
    return replace(
        tests[0],
        differences=tuple(differences) or (fmean(test.mean for test in tests),),
        seeds=tuple(seeds),
        error=fmean(test.error for test in tests),
        identical=all(test.identical for test in tests),
    )
