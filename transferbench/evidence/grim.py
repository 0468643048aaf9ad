"""Arithmetic of the audit: which accuracies and deviations whole numbers of documents can give.

The accuracy of one run on n documents is k/n. Whether a printed mean can come from whole numbers is
the GRIM test (Brown and Heathers, "The GRIM Test", Social Psychological and Personality Science
8(4), 2017, pages 363-369, doi 10.1177/1948550616673876). Here the whole numbers are documents that
are classified correctly, and the mean of r runs on n documents is K/(n·r).

Whether a deviation fits its mean is the GRIMMER test (Anaya, "The GRIMMER test", PeerJ Preprints 4,
2016, e2400v1): the squares of r whole numbers have a whole sum S, which is even if K is.

A printed number is given as whole units of its last decimal: 87.4 per cent is 874 with 3 decimals
of the fraction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

#: Up to this sum of squared differences from the mean, every sum S is searched for; that of up to
#: MAX_RUNS_SEARCHED runs up to a larger one.
MAX_SQUARES, MAX_SQUARES_OF_FEW = 64, 10_000
MAX_RUNS_SEARCHED, FEW_RUNS = 50, 4
#: With more possible sums S than this, or more possible K, none is searched for.
MAX_SUMS, MAX_TOTALS = 20, 1000

#: "one run": a single run has no deviation; "mean": the mean itself is impossible.
DeviationVerdict = Literal["possible", "too large", "too small", "impossible", "one run", "mean"]


@lru_cache(maxsize=64)
def printable(documents: int, decimals: int) -> frozenset[str]:
    """Return k/documents in per cent for every k, as C and Python print k/n·100 and 100·k/n."""
    digits, n = decimals - 2, documents
    return frozenset(
        f"{value:.{digits}f}" for k in range(n + 1) for value in (k / n * 100, 100 * k / n)
    )


def allows(documents: int, value: float, decimals: int) -> bool:
    """Return True if an accuracy on this many documents is printed as the value by C or Python."""
    return f"{value * 100:.{decimals - 2}f}" in printable(documents, decimals)


@lru_cache(maxsize=2**12)
def printed_shares(documents: int, decimals: int) -> tuple[float, float]:
    """Return the share of values that `allows` allows, and of these the share that end in 0."""
    scale = 10**decimals
    if documents >= scale:
        return 1.0, (scale // 10 + 1) / (scale + 1)
    values = printable(documents, decimals)
    return len(values) / (scale + 1), sum(v.endswith("0") for v in values) / len(values)


def p_of_fits(fits: int, shares: Sequence[float]) -> float:
    """Return the probability that `fits` or more of independent events occur."""

    def numbers(first: int, last: int) -> np.ndarray:
        """Return the probability of each number of events among some, half by half."""
        if last - first < 2:
            return np.array([1 - shares[first], shares[first]] if last > first else [1.0])
        middle = (first + last) // 2
        return np.convolve(numbers(first, middle), numbers(middle, last))

    return float(numbers(0, len(shares))[fits:].sum())


def correct(documents: int, units: int, decimals: int) -> range:
    """Return every k whose share k/documents is printed as a value; halves round either way."""
    # `documents`: The number n of documents; of r runs together n·r.
    scale = 10**decimals
    first = -((documents - 2 * units * documents) // (2 * scale))
    last = (2 * units * documents + documents) // (2 * scale)
    return range(max(first, 0), min(last, documents) + 1)


@lru_cache(maxsize=2**12)
def shares(documents: int, decimals: int) -> tuple[float, float]:
    """Return the share of values that `correct` allows, and of these the share that end in 0."""
    scale, n = 10**decimals, documents
    if n >= scale:  # k/n is in every interval as long as a unit
        return 1.0, (scale // 10 + 1) / (scale + 1)
    doubled = 2 * scale * np.arange(n + 1, dtype=np.int64)
    lowest, highest = -((n - doubled) // (2 * n)), (doubled + n) // (2 * n)
    values = np.union1d(lowest, highest)
    return values.size / (scale + 1), float((values % 10 == 0).mean())


def nearest(documents: int, units: int, decimals: int) -> list[int]:
    """Return the next lower and the next higher value that `correct` allows; see there."""
    scale, n = 10**decimals, documents
    k = units * n // scale
    lower, higher = (2 * k * scale + n) // (2 * n), -((n - 2 * (k + 1) * scale) // (2 * n))
    return [lower, higher] if k < n else [lower]


@dataclass(frozen=True)
class DeviationFit:
    """A printed deviation, compared with those that its mean allows."""

    #: "possible" if some whole numbers give both; also if too many could to search for them.
    verdict: DeviationVerdict
    #: `low`, `high`: Smallest and largest deviation that the mean allows, over r - 1, as fractions.
    low: float = math.nan
    high: float = math.nan


def fit_deviation(
    documents: int, runs: int, mean: tuple[int, int], deviation: tuple[int, int]
) -> DeviationFit:
    """Return whether r runs on n documents can have a printed mean and standard deviation."""
    # With K and S, the sums of the correct documents and of their squares, the deviation is sqrt((S
    # - K²/r) / (r - 1)) / n, or the same over r. Both are tried, and every K that the mean allows.
    # What is impossible is so for sure. What is possible is so for sure for two runs, and where
    # MAX_SQUARES and the like allow a search.
    n, r = documents, runs
    totals = correct(n * r, *mean)
    if r == 1 or not totals:
        return DeviationFit("one run" if r == 1 else "mean")
    units, decimals = deviation
    # Of X = r·S - K²: a deviation s over d has X = d·r·n²·s².
    scale = 4 * 10 ** (2 * decimals)
    windows = [
        (-(-d * r * (n * max(0, 2 * units - 1)) ** 2 // scale),
         d * r * (n * (2 * units + 1)) ** 2 // scale)
        for d in (r - 1, r)
    ]  # fmt: skip
    if len(totals) > MAX_TOTALS:
        middle = min(max(n * r // 2, totals[0]), totals[-1])
        low, high = 0, middle * (n * r - middle) + r  # K may be half of an odd n·r
        fits = any(lower <= high for lower, _ in windows)
    else:
        low = min(total % r * (r - total % r) for total in totals)
        high = max(r * _largest_sum(r, n, total) - total**2 for total in totals)
        fits = any(_in_window(r, n, total, window) for total in totals for window in windows)
    bounds = (math.sqrt(x / (r * (r - 1))) / n for x in (low, high))
    if fits:
        return DeviationFit("possible", *bounds)
    if all(lower > high for lower, _ in windows):
        return DeviationFit("too large", *bounds)
    if all(upper < low for _, upper in windows):
        return DeviationFit("too small", *bounds)
    return DeviationFit("impossible", *bounds)


def largest_deviation(mean: tuple[int, int]) -> float:
    """Return a bound of the standard deviation of any number of runs with a printed mean."""
    units, decimals = mean
    half = 10**decimals / 2
    nearest_to_half = min(max(half, units - 0.5), units + 0.5) / 10**decimals
    return math.sqrt(2 * nearest_to_half * (1 - nearest_to_half))  # two runs have the largest


def _smallest_sum(runs: int, total: int) -> int:
    """Return the smallest sum of squares of whole numbers with a sum: all are nearly equal."""
    quotient, rest = divmod(total, runs)
    return runs * quotient**2 + rest * (2 * quotient + 1)


def _largest_sum(runs: int, documents: int, total: int) -> int:
    """Return the largest sum of squares of whole numbers with a sum: nearly all are 0 or n."""
    quotient, rest = divmod(total, max(documents, 1))
    return quotient * documents**2 + rest**2


def _in_window(runs: int, documents: int, total: int, window: tuple[int, int]) -> bool:
    """Return True if some whole numbers have the sum K, and r·S - K² within the window."""
    lower, upper = window
    if runs == 2:  # r·S - K² is the square of their difference
        first, last = math.isqrt(max(lower - 1, 0)) + (lower > 0), math.isqrt(upper)
        last = min(last, total, 2 * documents - total)
        return first + (total - first) % 2 <= last
    first = max(-(-(total**2 + lower) // runs), _smallest_sum(runs, total))
    last = min((total**2 + upper) // runs, _largest_sum(runs, documents, total))
    sums = range(first + (total - first) % 2, last + 1, 2)
    if len(sums) > MAX_SUMS:
        return True
    return any(
        not _is_searched(runs, total, squares) or _has_counts(runs, documents, total, squares)
        for squares in sums
    )


def _is_searched(runs: int, total: int, squares: int) -> bool:
    spread = squares - total**2 / runs
    return runs <= MAX_RUNS_SEARCHED and spread <= (
        MAX_SQUARES_OF_FEW if runs <= FEW_RUNS else MAX_SQUARES
    )


@lru_cache(maxsize=2**16)
def _has_counts(runs: int, documents: int, total: int, squares: int) -> bool:
    """Return True if r whole numbers from 0 to n have this sum and this sum of squares."""
    if not 0 <= total <= runs * documents or (total - squares) % 2:
        return False
    if not _smallest_sum(runs, total) <= squares <= _largest_sum(runs, documents, total):
        return False
    if runs == 1:
        return True
    if runs == 2:
        square = 2 * squares - total**2
        return math.isqrt(square) ** 2 == square and math.isqrt(square) <= 2 * documents - total
    # The largest of them is k; it cannot be further from the mean than this.
    furthest = math.isqrt((runs * squares - total**2) * (runs - 1))
    largest = min(documents, (total + furthest) // runs)
    return any(
        _has_counts(runs - 1, k, total - k, squares - k * k)
        for k in range(-(-total // runs), largest + 1)
    )
