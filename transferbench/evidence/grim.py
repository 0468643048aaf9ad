"""Arithmetic of the audit: which accuracies and deviations whole numbers of documents can give.

The accuracy of one run on n documents is k/n. Whether a printed mean can come from whole numbers is
the GRIM test (Brown and Heathers, "The GRIM Test", Social Psychological and Personality Science
8(4), 2017, pages 363-369, doi 10.1177/1948550616673876). Here the whole numbers are documents that
are classified correctly, and the mean of r runs on n documents is K/(n·r).

Whether a deviation fits its mean is the GRIMMER test (Anaya, "The GRIMMER test", PeerJ Preprints 4,
2016, e2400v1): the squares of r whole numbers have a whole sum S, which is even if K is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest

import numpy as np

#: Up to this sum of squared differences from the mean, every sum S is searched for; that of up to
#: FEW_RUNS runs up to a larger one, that of more than MAX_RUNS_SEARCHED runs never.
MAX_SQUARES, MAX_SQUARES_OF_FEW = 64, 10_000
MAX_RUNS_SEARCHED, FEW_RUNS = 50, 4
#: With more possible sums S than this, or more possible K, none is searched for.
MAX_SUMS, MAX_TOTALS = 20, 1000


@dataclass(frozen=True)
class Number:
    """A printed share or deviation, in whole units of its last decimal."""

    units: int
    #: Decimals of the fraction: 87.4 per cent is 874 units with 3 decimals.
    decimals: int = 4
    #: 2 if it is printed in per cent, 0 if it is printed as a fraction.
    shift: int = 2

    @property
    def value(self) -> Fraction:
        """The number as a fraction."""
        return Fraction(self.units, 10**self.decimals)

    @property
    def half(self) -> Fraction:
        """Half a unit, the largest error of rounding."""
        return Fraction(1, 2 * 10**self.decimals)

    def text(self, fraction: float, more: int = 0) -> str:
        """Return a fraction as this number is printed, with some more digits."""
        return self._printed(fraction * 10**self.shift, more)

    def __str__(self) -> str:
        """Return the number as it is printed."""
        return self.text(float(self.value))

    def prints(self, correct: int, documents: int) -> set[str]:
        """Return how C and Python print correct/documents, computed as k/n·100 or 100·k/n."""
        whole = 10**self.shift
        return {*map(self._printed, (correct / documents * whole, whole * correct / documents))}

    def _printed(self, value: float, more: int = 0) -> str:
        return f"{value:.{max(self.decimals - self.shift, 0) + more}f}"


def p_of_fits(fits: int, shares: Sequence[float]) -> float:
    """Return the probability that `fits` or more of independent events occur."""
    parts = [np.ones(1), *(np.array([1 - share, share]) for share in shares)]
    while len(parts) > 1:
        pairs = zip_longest(parts[::2], parts[1::2], fillvalue=np.ones(1))
        parts = [np.convolve(*pair) for pair in pairs]
    return float(parts[0][fits:].sum())


def correct(documents: int, number: Number) -> range:
    """Return every k whose share k/documents is printed as a number; halves round either way."""
    # `documents`: The number n of documents; of r runs together n·r.
    first = math.ceil((number.value - number.half) * documents)
    last = math.floor((number.value + number.half) * documents)
    return range(max(first, 0), min(last, documents) + 1)


def allows(documents: int, number: Number) -> bool:
    """Return True if C or Python print some k/documents as a number."""
    right = correct(documents, number)
    # Of three k in a row the middle one is no half.
    return len(right) > 2 or any(str(number) in number.prints(k, documents) for k in right)


@lru_cache(maxsize=2**12)
def shares(documents: int, decimals: int, strict: bool = False) -> tuple[float, float]:
    """Return the share of values that k/documents allows, and of these the share that end in 0."""
    # `strict`: Halves are rounded as C and Python do, not either way.
    scale, n = 10**decimals, documents
    if n >= scale:  # k/n is in every interval as long as a unit
        return 1.0, (scale // 10 + 1) / (scale + 1)
    if strict:
        number = Number(0, decimals)
        printed = {text for k in range(n + 1) for text in number.prints(k, n)}
        return len(printed) / (scale + 1), sum(v.endswith("0") for v in printed) / len(printed)
    doubled = 2 * scale * np.arange(n + 1, dtype=np.int64)
    values = np.union1d(-((n - doubled) // (2 * n)), (doubled + n) // (2 * n))
    return values.size / (scale + 1), float((values % 10 == 0).mean())


def nearest(documents: int, number: Number) -> tuple[str, ...]:
    """Return the next lower and the next higher value that `correct` allows."""
    k = math.floor(number.value * documents)
    lower = math.floor(Fraction(k, documents) / (2 * number.half) + Fraction(1, 2))
    higher = math.ceil(Fraction(k + 1, documents) / (2 * number.half) - Fraction(1, 2))
    near = [lower, higher] if k < documents else [lower]
    return tuple(str(replace(number, units=units)) for units in near)


def fit_deviation(documents: int, runs: int, mean: Number, deviation: Number) -> str:
    """Return in words whether r runs on n documents can have a printed mean and deviation."""
    # With K and S, the sums of the correct documents and of their squares, the deviation is sqrt((S
    # - K²/r) / (r - 1)) / n, or the same over r. Both are tried, and every K that the mean allows.
    # What is impossible is so for sure. What is possible is so for sure for two runs, and where
    # MAX_SQUARES and the like allow a search.
    n, r = documents, runs
    totals = correct(n * r, mean)
    if r == 1:
        return "impossible: one run has no deviation"
    if not totals:
        return "of an impossible mean"
    # Of X = r·S - K²: a deviation s over d has X = d·r·n²·s².
    least = max(deviation.value - deviation.half, Fraction())
    most = deviation.value + deviation.half
    windows = [
        (math.ceil(d * r * (n * least) ** 2), math.floor(d * r * (n * most) ** 2))
        for d in (r - 1, r)
    ]
    if len(totals) > MAX_TOTALS:
        middle = min(max(n * r // 2, totals[0]), totals[-1])
        low, high = 0, middle * (n * r - middle) + r  # K may be half of an odd n·r
        fits = any(lower <= high for lower, _ in windows)
    else:
        low = min(total % r * (r - total % r) for total in totals)
        high = max(r * _largest_sum(r, n, total) - total**2 for total in totals)
        fits = any(_in_window(r, n, total, window) for total in totals for window in windows)
    if fits:
        return "possible"
    if all(lower > high for lower, _ in windows):
        most_text = deviation.text(math.sqrt(high / (r * (r - 1))) / n, 1)
        return f"too large: at most {most_text} of {r} runs"
    if all(upper < low for _, upper in windows):
        return f"too small: at least {deviation.text(math.sqrt(low) / r / n, 1)} of {r} runs"
    return f"impossible: no {r} runs give it"


def largest_deviation(mean: Number) -> float:
    """Return a bound of the standard deviation of any number of runs with a printed mean."""
    nearest_to_half = min(max(Fraction(1, 2), mean.value - mean.half), mean.value + mean.half)
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
    most = MAX_SQUARES_OF_FEW if runs <= FEW_RUNS else MAX_SQUARES
    return len(sums) > MAX_SUMS or any(
        runs > MAX_RUNS_SEARCHED
        or squares - total**2 / runs > most
        or _has_counts(runs, documents, total, squares)
        for squares in sums
    )


@lru_cache(maxsize=2**16)
def _has_counts(runs: int, documents: int, total: int, squares: int) -> bool:
    """Return True if r ≥ 2 whole numbers from 0 to n have this sum and this sum of squares."""
    if not _smallest_sum(runs, total) <= squares <= _largest_sum(runs, documents, total):
        return False
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
