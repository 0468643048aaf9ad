"""Measure the level of the tests of claims: `python benchmarks/claims_level.py`.

Each function draws or enumerates what runs can show if a claim is just not true, and returns the
share of cases in which the test calls it true at 5 per cent, or at a smaller level of Bonferroni.
docs/decisions/claims.md has the results.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from time import process_time

import numpy as np
import pandas as pd
from scipy.stats import binom

from transferbench import stats
from transferbench.stats import ALPHA, NO_SEED


def rng() -> np.random.Generator:
    """Return the same random numbers for every case."""
    return np.random.default_rng(0)


def share(p: np.ndarray, alpha: float = ALPHA) -> float:
    """Return the share of p that are significant."""
    return float(np.mean(p <= alpha))


def frame_of(differences: np.ndarray, **columns: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames of `stats` for differences (claims, rows, seeds)."""
    claims, rows, _ = differences.shape
    index = pd.MultiIndex.from_tuples(
        [(claim, row, row) for claim in range(claims) for row in range(rows)],
        names=["comparison", "unit", "row"],
    )
    known = {
        "error": np.nan,
        "least_error": 0.0,
        "exact_for": np.nan,
        "exact_against": np.nan,
        "n_pairs": 1,
    }
    frame = pd.DataFrame(known | {"identical": False} | columns, index)
    return pd.DataFrame(differences.reshape(claims * rows, -1), index), frame


def both_errors(seeds: int, ratio: float, draws: int = 100_000) -> float:
    """Normal errors of seeds and documents; that of the documents is `ratio` times as large."""
    normal = rng().normal
    d = normal(0, np.sqrt(seeds), (draws, seeds)) + normal(0, ratio, (draws, 1))
    of_seeds = d.std(axis=1, ddof=1) / np.sqrt(seeds)
    return share(stats.one_sided_p(d.mean(axis=1), of_seeds, seeds, ratio))


def two_solutions(seeds: int) -> float:
    """A method that ends in one of two solutions; the error of the documents is small."""
    d = np.array([*product([-0.1, 0.1], repeat=seeds)])
    of_seeds, n = stats.seeds_error(pd.DataFrame(d))
    return share(stats.one_sided_p(d.mean(axis=1), of_seeds, n, 1e-3))


def outcomes(n: int, first: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    """Return likely numbers of documents that either method alone has right, and their chance."""
    b, c = (np.arange(1 + min(n, int(n * q + 8 * np.sqrt(n * q) + 9))) for q in (first, second))
    b, c = (each.ravel() for each in np.meshgrid(b, c))
    chance = binom.pmf(b, n, first)
    chance *= binom.pmf(c, np.maximum(n - b, 0), second / max(1 - first, second, 1e-12))
    likely = (chance > 1e-9) & (b + c <= n)
    return np.stack([b, c])[:, likely].T, chance[likely]


def single_runs(n: int, margin: float, differ: float, alpha: float = ALPHA) -> float:
    """Two single runs on n documents, of which a share differs; with a margin or McNemar's test."""
    found, chance = outcomes(n, (differ + margin) / 2, (differ - margin) / 2)
    p = []
    for b, c in found:
        d = np.repeat([1.0, -1.0, 0.0], [b, c, n - b - c])
        error = stats.paired_error([d], margin) if margin else 0.0
        excess = d.mean() - margin
        normal = stats.one_sided_p(excess, 0.0, np.inf, error) if margin else 1.0
        p.append(normal if margin else stats.mcnemar_p(d)[0])
    return float(chance[np.array(p) <= alpha].sum())


def avoided_errors(n: int, errors: float, fewer: float, alpha: float = ALPHA) -> float:
    """The first method errs on a share 1 − fewer of as many documents, the second one elsewhere."""
    shares = [(1 - fewer) * errors, errors, 1 - (2 - fewer) * errors]
    ours, theirs, _ = rng().multinomial(n, shares, 20_000).T
    pairs, number = np.unique(np.stack([ours, theirs]), axis=1, return_counts=True)
    d = [np.repeat([-1.0, 1 - fewer, 0.0], [i, j, n - i - j]) for i, j in pairs.T]
    p = [stats.one_sided_p(each.mean(), 0.0, np.inf, stats.paired_error([each])) for each in d]
    return float(number[np.array(p) <= alpha].sum() / number.sum())


def means_of_seeds(seeds: int, differ: float, n: int = 200, draws: int = 2000) -> float:
    """On each document a method decides as all others, or for itself with chance `differ`."""
    random = rng().random
    p = []
    for _ in range(draws):
        common = random(n) < 0.7
        a, b = (
            np.where(random((seeds, n)) < differ, random((seeds, n)) < 0.7, common)
            for _ in range(2)
        )
        d = a * 1.0 - b
        of_seeds, k = stats.seeds_error(pd.DataFrame([d.mean(axis=1)]))
        error = stats.paired_error([d.mean(axis=0)])
        p.append(stats.one_sided_p(d.mean(), of_seeds, k, error)[0])
    return share(np.nan_to_num(p, nan=1.0))


def small_domains(domains: int, n: int, gain: float = 0.0, draws: int = 2000) -> float:
    """Single runs on many small domains; with a gain it is the power."""
    random, p = rng(), []
    for _ in range(draws):
        d = list(random.choice([-1.0, 0, 1], (domains, n), p=[0.1, 0.8 - gain, 0.1 + gain]))
        p.append(stats.one_sided_p(np.mean(d), 0.0, np.inf, stats.paired_error(d)))
    return share(np.array(p))


def other_documents(n: int, m: int) -> float:
    """Two methods scored on different documents: the variances of `frame.Cell`."""
    a, b = np.arange(n + 1)[:, None] / n, np.arange(m + 1) / m
    error = np.sqrt((n * a * (1 - a) + 2) / n**2 + (m * b * (1 - b) + 2) / m**2)
    p = stats.one_sided_p(a - b, 0.0, np.inf, error)
    chances = (binom.pmf(n * a, n, q) * binom.pmf(m * b, m, q) for q in np.linspace(0.01, 0.99, 50))
    return max(float(chance[p <= ALPHA].sum()) for chance in chances)


def stated_value(n: int, domains: int = 2, draws: int = 20_000) -> float:
    """A mean over domains against a value that is stated."""
    levels = []
    for q in (0.05, 0.2, 0.5, 0.8, 0.95):
        right = rng().binomial(n, q, (draws, domains)).mean(axis=1) / n
        error = np.sqrt((q * (1 - q) + stats.ADDED_DOCUMENTS / n) / n / domains)
        levels.append(share(stats.one_sided_p(right - q, 0.0, np.inf, error)))
    return max(levels)


def f1(seeds: int, n: int, draws: int = 10_000) -> float:
    """F1 over the seeds, less its mean; a seed is right with one chance on each document."""
    levels = []
    for right in (0.5, 0.7, 0.9, 0.98):
        random, y = rng(), np.arange(n) < (n + 1) // 2
        positive = (random.random((40_000, n)) < right) == y
        values = 2 * (positive & y).sum(axis=1) / (positive.sum(axis=1) + y.sum())
        d = random.choice(values, (draws, 1, seeds)) - values.mean()
        tests = stats.paired_tests(*frame_of(d, least_error=1 / n), 0.0)
        levels += [share(tests[p].to_numpy()) for p in ("for_p", "against_p")]
    return max(levels)


def fixed_rows(extent: stats.Extent, common: float, seeds_error: float, draws: int = 1000) -> float:
    """Six rows that have a share of the documents' noise in common; its error is 1."""
    normal = rng().normal
    noise = np.sqrt(common) * normal(size=(draws, 1, 1))
    noise = noise + np.sqrt(1 - common) * normal(size=(draws, 6, 1))
    d = noise + normal(0, np.sqrt(5) * seeds_error, (draws, 6, 5))
    if extent == "most":  # half of the rows are far ahead: one more would be most
        d[:, :3] += 30
    return share(stats.decide(*frame_of(d, error=1.0), extent).for_p.to_numpy())


def units(extent: stats.Extent, n: int = 7, draws: int = 400) -> float:
    """Units of four rows each that are alike."""
    normal = rng().normal
    d = np.repeat(normal(size=(draws, n, 1)), 4, axis=1) + normal(0, 0.2, (draws, 4 * n, 1))
    differences, rows = frame_of(d)
    index = [(claim, row // 4, row) for claim, _, row in rows.index]
    rows.index = differences.index = pd.MultiIndex.from_tuples(index, names=rows.index.names)
    differences.columns = [NO_SEED]
    return share(stats.decide(differences, rows, extent, 0.0, True).for_p.to_numpy())


def rare_loss(seeds: int, rows: int = 12, draws: int = 2000) -> float:
    """A mean of rows of which one loses at half of the seeds as much as it wins at the others."""
    random = rng()
    d = random.normal(0, 0.01, (draws, rows, seeds))
    d[:, 0] = random.choice([-1.0, 1.0], (draws, seeds))
    return share(stats.decide(*frame_of(d, error=1e-3), "average").for_p.to_numpy())


MARGINS = [sign * margin for margin in (0.005, 0.01, 0.02, 0.05, 0.2, 0.5) for sign in (1, -1)]
SIZES = (1, 4, 10, 22, 45, 75, 140, 264, 988, 1500, 2741)


def margins(alpha: float = ALPHA, sizes: tuple[int, ...] = SIZES) -> float:
    """Return the largest level of claims with a margin, for all shares that differ."""
    cases = product(sizes, MARGINS, (1.0, 1.2, 2.0, 1e9))
    shares = [(n, m, min(1.0, factor * abs(m))) for n, m, factor in cases]
    return max(single_runs(n, m, q, alpha) for n, m, q in shares if n * q <= 160)


CASES: dict[str, Callable[[], float]] = {
    "seeds and documents, 2 seeds": lambda: max(both_errors(2, r) for r in (0, 0.1, 0.3, 1, 3)),
    "seeds and documents, 3 seeds": lambda: max(both_errors(3, r) for r in (0, 0.1, 0.3, 1, 3)),
    "seeds and documents, 10 seeds": lambda: max(both_errors(10, r) for r in (0, 0.3, 1, 3)),
    "two solutions, 2 to 8 seeds": lambda: max(map(two_solutions, range(2, 9))),
    "two single runs": lambda: max(single_runs(n, 0, q) for n in SIZES[:7] for q in (0.1, 0.5, 1)),
    "margins to 50 points": margins,
    "margins to 50 points, 9 times the level at 5 / 9": lambda: 9 * margins(ALPHA / 9),
    "margins to 50 points, 72 times the level at 5 / 72": lambda: 72 * margins(ALPHA / 72),
    "30 per cent fewer errors": lambda: max(avoided_errors(n, 0.3, 0.3) for n in (20, 100, 300)),
    "90 per cent fewer errors": lambda: max(avoided_errors(n, 0.5, 0.9) for n in (20, 300, 1000)),
    "the same, 9 times the level at 5 / 9": lambda: 9 * avoided_errors(1000, 0.5, 0.9, ALPHA / 9),
    "means over seeds": lambda: max(means_of_seeds(3, 0.3), means_of_seeds(5, 0.05)),
    "15 to 100 small domains": lambda: max(
        small_domains(*c) for c in ((15, 20), (40, 5), (100, 4))
    ),
    "other documents": lambda: max(other_documents(n, m) for n in (2, 5, 50) for m in (4, 12, 50)),
    "a stated value": lambda: max(map(stated_value, (5, 20, 100, 500))),
    "F1 on 5 to 300 documents": lambda: max(f1(s, n) for s in (2, 5, 10) for n in (5, 20, 300)),
    "rows: every": lambda: max(fixed_rows("every", *c) for c in ((0.95, 0.1), (1, 1))),
    "rows: some": lambda: max(fixed_rows("some", *c) for c in ((0.95, 0.1), (1, 1))),
    "rows: most": lambda: max(fixed_rows("most", *c) for c in ((0.95, 0.1), (1, 1))),
    "rows: average": lambda: max(fixed_rows("average", *c) for c in ((0.95, 0.1), (1, 1))),
    "units: average": lambda: units("average"),
    "units: most": lambda: units("most"),
    "a rare loss on a row, 2 seeds": lambda: rare_loss(2),
    "a rare loss on a row, 3 seeds": lambda: rare_loss(3),
    "a rare loss on a row, 5 seeds": lambda: rare_loss(5),
}

if __name__ == "__main__":
    for name, level in CASES.items():
        if all(word in name for word in sys.argv[1:]):
            start = process_time()
            print(f"| {name} | {100 * level():.1f} |  {process_time() - start:.0f} s", flush=True)
