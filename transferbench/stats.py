"""Tests of claims over seeds, documents and units.

An experiment without units makes a statement about its own rows, as a paper's table does. A row has
two errors: that of the random starts, from the differences by seed, and that of the scored
documents, if it is known. Their variances add, and one test of the mean uses the sum
(`one_sided_p`). Two single runs have an exact test instead. An error that is not known is not 0.
docs/decisions/claims.md has the reasons.

The mean of all rows has the same two errors: that of the rows' means by seed, and the mean of the
rows' document errors, which no standard error of the mean exceeds, whatever documents the rows
share. To test that at least r of n rows are ahead, multiply the r-th smallest p by n − r + 1
(Benjamini and Heller, Biometrics 2008). This needs no independence of the rows either.

A claim of an experiment with units generalises to units. Units are taken as independent; rows of
one unit are not. Each unit has the mean of its rows. An average is tested by changes of the units'
signs, a majority by the sign test. The p of k units is at least 2⁻ᵏ.

Two frames hold what is compared, with the same index: comparison, unit and row. `differences` has a
column for each seed: the difference of two methods, above 0 if it is as claimed, NaN if the row has
no run of this seed. Its column NO_SEED is for two methods that take none. `rows` has the columns

error
    The standard error that the choice of documents causes, NaN if it is not known.
least_error
    Of measures without such an error, what one document can change; else 0. It adds to the error
    over the seeds, if they show one.
exact_for, exact_against
    Exact p over the documents, for the claim and against it; NaN if there is no exact test.
identical
    True if the two methods have the same values on every row of the experiment.
n_pairs
    Number of pairs that were searched; the Bonferroni factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: Significance level.
ALPHA = 0.05
#: Documents that are added for each method, so that no error is 0.
ADDED_DOCUMENTS = 2
#: Differences by seed that differ less are the same but for rounding.
ROUNDING = 1e-9
#: Number of changes of signs: all for up to 16 units, random ones for more.
MAX_FLIPS = 2**16
#: Largest number of values of which all changes of signs are tried.
MAX_EXACT = 16
#: Means that differ by less, beside the observed one, are equal but for rounding: as SciPy has it.
TIED = 100 * float(np.finfo(float).eps)
#: Columns of `differences` in place of a seed: for methods without seeds, and for a mean over rows
#: that have no seed in common.
NO_SEED, NO_COMMON_SEED = "no seed", "no common seed"

#: The two sides that are tested, and the sign that a difference has on each.
SIDES = {"for": 1, "against": -1}
#: The rows on which a difference is claimed.
Extent = Literal["every", "most", "some", "average"]
#: The rows on which the contrary must be shown for the claim to fail.
CONTRARY: dict[Extent, Extent] = {
    "every": "some", "most": "most", "some": "every", "average": "average"
}  # fmt: skip
#: Why the test of a row can decide nothing.
IDENTICAL, SMALL = "Identical columns", "No difference that matters"
ONE_RUN = "No error is known for a single run"
EQUAL = "All seeds give the same difference, so no error is known"
FEW = "Fewer than five equal seeds decide nothing"


def one_sided_p(mean: Any, seeds_error: Any, n: Any, error: Any) -> Any:
    """Return the one-sided p of means above 0, from their two standard errors; NaN if unknown."""
    # It is a t-test with the sum of both variances and Welch's degrees of freedom. For two or three
    # seeds these may be far too many, so p is at least that of the seeds alone. n equal seeds give
    # at least 2⁻ⁿ: a method that ends in one of two solutions gives them as often. Arguments and
    # value are arrays of one shape, or numbers.
    # `seeds_error`, `n`: Standard error over the seeds, and their number; see `seeds_error`.
    # `error`: Standard error that the choice of documents causes. If it is NaN, the seeds decide.
    from scipy.special import stdtr

    mean, of_seeds, n, error = (np.asarray(x, float) for x in (mean, seeds_error, n, error))
    vary = of_seeds > 0
    error = np.where(vary & np.isnan(error), 0.0, error)
    total = np.hypot(of_seeds, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        dof = np.where(vary, (n - 1) * (total / of_seeds) ** 4, np.inf)
        alone = np.where(vary, stdtr(n - 1, -mean / of_seeds), np.exp2(-n))
        return np.maximum(stdtr(dof, -mean / total), alone)


@dataclass(frozen=True)
class PairedTest:
    """The test of one row, by itself."""

    row: str
    differences: tuple[float, ...]
    #: Their seeds; (None,) if neither method takes one.
    seeds: tuple[int | None, ...] = ()
    #: Standard error that the choice of documents causes; NaN if it is not known.
    error: float = math.nan

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    @property
    def p_two_sided(self) -> float:
        """The p of a difference in either direction; 1 if no error is known."""
        import pandas as pd

        names = [NO_SEED] if self.seeds == (None,) else [*range(len(self.differences))]
        of_seeds, n = seeds_error(pd.DataFrame([self.differences], columns=names))
        p = float(one_sided_p(abs(self.mean), of_seeds, n, self.error)[0])
        return 1.0 if math.isnan(p) else min(2 * p, 1.0)


def seeds_error(differences: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard error of each row's mean over its seeds, and their number."""
    # The error is 0 if several seeds are equal, and NaN if there is only one. If neither method
    # takes a seed, it is 0 and the number is infinite.
    known = differences.notna().to_numpy()
    has_seeds = known[:, differences.columns != NO_SEED].any(axis=1)
    n = np.where(has_seeds, known.sum(axis=1), np.inf)
    spread = (differences.max(axis=1) - differences.min(axis=1)).to_numpy()
    equal = (spread <= ROUNDING) & (n > 1)
    return np.where(equal, 0.0, differences.sem(axis=1).to_numpy()), n


def paired_tests(differences: pd.DataFrame, rows: pd.DataFrame, matters: float) -> pd.DataFrame:
    """Test each row for the claim and against it."""
    # `matters`: The smallest difference that matters.
    # Returns: `rows` with these columns added: the mean difference; n, the number of differences;
    # for_p and against_p; and `undecided`, the reason why the test can decide nothing, or "".
    mean, n = differences.mean(axis=1).to_numpy(), differences.count(axis=1).to_numpy()
    of_seeds, seeds = seeds_error(differences)
    error, least_error = rows["error"].to_numpy(), rows["least_error"].to_numpy()
    of_seeds = np.where(of_seeds > 0, np.hypot(of_seeds, least_error), of_seeds)
    p = {}
    for side, sign in SIDES.items():
        exact = rows[f"exact_{side}"].to_numpy()
        by_errors = one_sided_p(sign * mean, of_seeds, seeds, error)
        p[f"{side}_p"] = np.where(np.isnan(exact), by_errors, exact)
    identical, unknown = rows["identical"].to_numpy(bool), np.isnan(p["for_p"])
    small = np.abs(mean) < matters
    few = (of_seeds == 0) & np.isfinite(seeds) & (np.exp2(-seeds) > ALPHA)
    reasons = [IDENTICAL, SMALL, ONE_RUN, EQUAL, FEW]
    conditions = [identical, small, unknown & (n == 1), unknown, few]
    nothing = identical | small | unknown
    tested = {name: np.where(nothing, 1.0, of_side) for name, of_side in p.items()}
    return rows.assign(mean=mean, n=n, **tested, undecided=np.select(conditions, reasons, ""))


def average(
    differences: pd.DataFrame, rows: pd.DataFrame, by: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both frames for the mean over several rows."""
    # The mean is by seed, for the seeds that all rows have. Without such a seed there is a single
    # difference. Rows may share documents, so the error is the mean of their errors.
    # `by`: Levels of the index that stay: comparison, or comparison and unit.
    groups = rows.groupby(level=by, sort=False)
    seeds = differences.drop(columns=NO_COMMON_SEED, errors="ignore")
    seeds = seeds.groupby(level=by, sort=False)
    in_common = seeds.count().eq(groups.size(), axis=0)
    means = seeds.mean().where(in_common)
    of_means = differences.mean(axis=1).groupby(level=by, sort=False).mean()
    means[NO_COMMON_SEED] = of_means.mask(in_common.any(axis=1))
    # pandas ignores NaN in a mean, but the mean is unknown if the error of one row is.
    errors = rows["error"].fillna(np.inf).groupby(level=by, sort=False).mean()
    averaged = groups.agg(
        identical=("identical", "all"),
        n_pairs=("n_pairs", "max"),
        least_error=("least_error", "mean"),
    )
    for exact in ("exact_for", "exact_against"):  # no exact test is known for a mean over rows
        averaged[exact] = groups[exact].first().where(groups.size() == 1)
    return means, averaged.assign(error=errors.replace(np.inf, np.nan))


def decide(
    differences: pd.DataFrame,
    rows: pd.DataFrame,
    extent: Extent,
    matters: float = 0.0,
    over_units: bool = False,
) -> pd.DataFrame:
    """Return for each comparison the p of a claim, the p of its contrary, and the mean."""
    # Over units, an average that is below what matters gives p = 1 without a test.
    # `over_units`: True if a claim about most rows or their average is tested over the units.
    if extent in ("most", "average"):
        differences, rows = average(differences, rows, ["comparison", "unit"])
    if extent == "average" and not over_units:
        differences, rows = average(differences, rows, ["comparison"])
    tests, decisions = paired_tests(differences, rows, matters), []
    for side in SIDES:
        if over_units:
            p = _over_units(tests, extent, matters, side)
        else:
            p = _over_rows(tests, extent if side == "for" else CONTRARY[extent], side)
        decisions.append(p.clip(upper=1.0).rename(f"{side}_p"))
    decisions.append(tests["mean"].groupby(level="comparison", sort=False).mean())
    return decisions[0].to_frame().join(decisions[1:])


def _over_rows(tests: pd.DataFrame, extent: Extent, side: str) -> pd.Series:
    """Return for each comparison the p that the claimed number of rows is ahead."""
    p = tests[f"{side}_p"]
    ordered = p.groupby(level="comparison", sort=False)
    n, rank = ordered.transform("size"), ordered.rank(method="first")
    needed = {"every": n, "most": n // 2 + 1}.get(extent, 1)
    factor = n - needed + 1  # Benjamini and Heller: n − needed rows may be behind
    if side == "against":  # Bonferroni: any other pair would suffice
        factor = factor * tests["n_pairs"]
    decisive = (p * factor)[rank == needed]
    return decisive.set_axis(decisive.index.get_level_values("comparison"))


def _over_units(tests: pd.DataFrame, extent: Extent, matters: float, side: str) -> pd.Series:
    """Return for each comparison the p that the mean of the units, or most units, are ahead."""

    def p(means: pd.Series) -> float:
        if extent == "average":
            return sign_flip_p(means.to_numpy()) if means.mean() >= matters else 1.0
        n_ahead = int(((means >= matters) & (means > 0)).sum())
        return binomial_p(n_ahead, len(means), 0.5)[0]

    means = SIDES[side] * tests["mean"].mask(tests["identical"], 0.0)
    return means.groupby(level="comparison", sort=False).agg(p)


def paired_error(differences: Sequence[np.ndarray], margin: float = 0.0) -> float:
    """Return the standard error of a mean difference that the choice of documents causes."""
    # For two methods that are right or wrong, b documents for the first and c for the second one,
    # it is that of McNemar's z = (b − c) / √(b + c), with two documents added for each method, so
    # it is never 0: z = (b − c) / √(b + c + 4). With a margin the variance is the one that a mean
    # has which equals the margin: such a mean needs at least a share of |margin| documents that
    # differ, and those that the sample lacks are added to b + c.
    # `differences`: A vector (n,) for each domain, with a value from −1 to 1 for each document: the
    # share of seeds in which the first method is right less that of the second one. Domains weigh
    # equally and share no document. They also share the added documents.
    # Q. McNemar, Psychometrika 12 (1947). Added documents: A. Agresti and B. Caffo, The American
    # Statistician 54 (2000); D. G. Bonett and R. M. Price, Journal of Educational and Behavioral
    # Statistics 37 (2012).
    n = np.array([len(domain) for domain in differences])
    squares = np.array([float((domain**2).mean()) for domain in differences])
    lacking = max(0.0, abs(margin) - fmean(float(np.abs(domain).mean()) for domain in differences))
    variances = (squares + lacking + 2 * ADDED_DOCUMENTS / (len(n) * n)) / n
    return math.sqrt(variances.sum()) / len(n)


def difference_margin(error: Any, dof: Any, other_error: Any, other_dof: Any) -> Any:
    """Return half the width of the interval of 1 - 2·`ALPHA` of a difference of two means."""
    # It is t s with s² = e₁² + e₂², where t is the quantile 1 - `ALPHA` of Student's distribution
    # with Welch's degrees of freedom, s⁴ / (e₁⁴/f₁ + e₂⁴/f₂). Arguments and value are arrays of one
    # shape, or numbers.
    # `error`, `dof`: Standard error e₁ of the one mean, and its degrees of freedom f₁: of a mean of
    # n runs n - 1; infinite for an error that counts as known. An error of 0 has none, and that of
    # both makes a margin of 0. NaN if it is not known; then the margin is NaN, too.
    # `other_error`, `other_dof`: The same of the other mean, e₂ and f₂.
    # B. L. Welch, Biometrika 34 (1947).
    from scipy.special import stdtrit

    square, other = np.square(error), np.square(other_error)
    variance = square + other
    with np.errstate(divide="ignore", invalid="ignore"):
        of_one = np.where(square == 0, 0.0, square**2 / dof)
        of_other = np.where(other == 0, 0.0, other**2 / other_dof)
        quantile = stdtrit(variance**2 / (of_one + of_other), 1 - ALPHA)
    margin = np.where(variance == 0, 0.0, quantile * np.sqrt(variance))
    return float(margin) if margin.ndim == 0 else margin


def is_equivalent(difference: Any, margin: Any, tolerance: Any) -> Any:
    """Return True where two one-sided tests show that a difference is within the tolerance."""
    # Both tests reject at `ALPHA` just if the interval of 1 - 2·`ALPHA`, difference ± margin, lies
    # within ± tolerance. A margin of NaN shows nothing. Arguments and value are arrays of one
    # shape, or numbers.
    # D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987); D. Lakens,
    # Social Psychological and Personality Science 8 (2017).

    # The difference of decimal fractions may exceed an equal tolerance in the last bit.
    return np.abs(difference) + margin <= np.asarray(tolerance) * (1 + ROUNDING)


def binomial_p(right: int, n: int, p: float) -> tuple[float, float]:
    """Return the exact p that more than a share p of documents is right, and that less is."""
    from scipy.special import betainc, betaincc

    more = float(betainc(right, n - right + 1, p)) if right > 0 else 1.0
    return more, float(betaincc(right + 1, n - right, p)) if right < n else 1.0


def mcnemar_p(differences: np.ndarray) -> tuple[float, float]:
    """Return McNemar's exact p that the first of two methods is right more, and less, often."""
    # `differences`: Values (n,): 1 if the first method alone is right, −1 if the second one alone
    # is, else 0.
    first, both = int((differences > 0).sum()), int((differences != 0).sum())
    return binomial_p(first, both, 0.5) if both else (1.0, 1.0)


def sign_flip_p(values: np.ndarray) -> float:
    """Return the one-sided p of a mean by a permutation test that changes the signs."""
    # It is the share of all changes of signs whose mean is at least the observed one. It is exact
    # if the values are independent and symmetric about 0. For more than 16 values SciPy draws N =
    # `MAX_FLIPS` changes at random; p is then (count + 1) / (N + 1), where count is the number of
    # drawn means that are at least the observed one.
    # Shapes: values (n,).
    n = len(values)
    if n == 1:  # a mean of 0 tells nothing
        return 0.5 if values[0] > 0 else 1.0
    if n <= MAX_EXACT:
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        means = (signs * values).mean(axis=1)
        return float((means >= means[0] - abs(means[0]) * TIED).mean())
    from scipy.stats import permutation_test

    test = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=MAX_FLIPS,
        alternative="greater", rng=0,
    )  # fmt: skip
    return float(test.pvalue)


#: Variance of the share of held-out documents that are right, against that of independent ones. It
#: was chosen in the experiment `choice-labels`: by 5/4 the interval has the accuracy in 90, 94 and
#: 96 per cent of the draws of 20, 50 and 100 labels.
VARIANCE = 5 / 3
#: Number of documents from which the accuracy on them varies by their number no longer.
MANY_REST = 2000


def accuracy_interval(right: float, m: int, rest: int) -> tuple[float, float]:
    """Return the 95 per cent interval of the accuracy on the documents that are not labelled."""
    # It is the interval of the beta-binomial distribution of the number of right documents among
    # the rest, if the accuracy has the distribution Beta(r + ½, m' − r + ½). Here r = .6 · right
    # and m' = .6 m, because the folds of a sample are not independent. The interval is wider if few
    # documents are left.
    # `right`: Number of documents of the sample that are right, less the optimism of the choice.
    from scipy.stats import beta, betabinom

    a, b = right / VARIANCE + 0.5, (m - right) / VARIANCE + 0.5
    ends = np.array([0.025, 0.975])
    if rest > MANY_REST:  # it is nearly the limit for infinitely many
        low, high = beta.ppf(ends, a, b)
    else:
        low, high = betabinom.ppf(ends, max(rest, 1), a, b) / max(rest, 1)
    return float(low), float(high)


#: Samples of corpora for an interval.
DRAWS = 10_000


@lru_cache(maxsize=8)
def _drawn(n: int) -> np.ndarray:
    """Return the numbers of the corpora in each sample of as many, (DRAWS, n)."""
    return np.random.default_rng(0).choice(n, (DRAWS, n))


def bootstrap_interval(by_corpus: pd.Series) -> pd.Series:
    """Return the 95 per cent bootstrap interval of the mean over corpora."""
    # Its ends are percentiles of the means of as many corpora, drawn with replacement, so they are
    # never outside the range of the values. For few corpora the interval is too narrow.
    # `by_corpus`: A value for each corpus, or NaN.
    # Returns: `low` and `high`; NaN for fewer than three values.
    import pandas as pd

    values = by_corpus.dropna().to_numpy()
    if len(values) < 3:
        return pd.Series({"low": math.nan, "high": math.nan})
    means = values[_drawn(len(values))].mean(axis=1)
    return pd.Series(np.percentile(means, [2.5, 97.5]), ["low", "high"])
