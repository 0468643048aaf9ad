"""One test of a mean by its two errors, and the level that it holds."""

from __future__ import annotations

import importlib
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from scipy.stats import norm, t, ttest_1samp

from transferbench import stats
from transferbench.stats import PairedTest, one_sided_p, paired_error, sign_flip_p

NO_DOCUMENTS = np.nan


def frames(rows: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames of rows with their differences and, where it matters, other fields."""
    known = [
        {"comparison": "A over B", "row": i, "unit": i, "error": np.nan, "identical": False,
         "n_pairs": 1, "least_error": 0.0, "exact_for": np.nan, "exact_against": np.nan} | row
        for i, row in enumerate(rows)
    ]  # fmt: skip
    frame = pd.DataFrame(known).set_index(["comparison", "unit", "row"])
    return pd.DataFrame([dict(enumerate(d)) for d in frame.pop("d")], frame.index), frame


def decided(rows: list[dict], extent: str, over_units: bool = False) -> tuple[float, float]:
    """Return the p for a claim about these rows, and that against it."""
    (found,) = stats.decide(*frames(rows), extent, 0.0, over_units).itertuples()
    return found.for_p, found.against_p


@pytest.mark.parametrize("extent", ["every", "some", "most", "average"])
def test_p_over_seeds_is_the_paired_t_test(extent):
    differences = (0.4, 0.1, 0.7, -0.2)
    sides = [ttest_1samp(differences, 0, alternative=side).pvalue for side in ("greater", "less")]
    assert decided([{"d": differences}], extent) == pytest.approx(sides)
    assert PairedTest("r", differences).p_two_sided == pytest.approx(2 * min(sides))


def test_both_errors_add_and_neither_makes_a_claim_easier():
    seeds = 4
    for mean, of_seeds, error in product((0.5, 2.0), (0.3, 1.0), (0.01, 0.3, 1.0, 5.0)):
        p = one_sided_p(mean, of_seeds, seeds, error)
        total = np.hypot(of_seeds, error)
        welch = t.sf(mean / total, (seeds - 1) * (total / of_seeds) ** 4)
        alone = one_sided_p(mean, of_seeds, seeds, NO_DOCUMENTS)
        assert p == pytest.approx(max(welch, alone))
        assert alone == pytest.approx(t.sf(mean / of_seeds, seeds - 1))
        # Without seeds the documents decide.
        assert one_sided_p(mean, 0.0, np.inf, error) == pytest.approx(norm.sf(mean / error))


def test_an_error_that_is_not_known_is_not_zero():
    """One seed shows no error, nor do equal ones, also if they are equal but for rounding."""
    for d in ((0.1,), (0.1, 0.1, 0.1), (0.9 - 0.8, 0.8 - 0.7, 0.7 - 0.6)):
        assert decided([{"d": d}], "every") == (1, 1)
        assert PairedTest("r", d).p_two_sided == 1
    assert decided([{"d": (1.0, 1.0)}, {"d": (2.0, 2.0)}], "average") == (1, 1)
    assert decided([{"d": (0.1,), "error": 1e-3}], "every") == (1, 1)  # of a random method


@pytest.mark.parametrize("seeds", [2, 4, 5])
def test_equal_seeds_are_tested_by_their_number_and_the_documents(seeds):
    """A method that ends in one of two solutions gives s equal seeds in 2 of 2ˢ cases."""
    row = {"d": (0.1,) * seeds, "error": 1e-3}
    assert decided([row], "every") == decided([row], "average") == (2.0**-seeds, 1)
    assert PairedTest("r", row["d"], tuple(range(seeds)), 1e-3).p_two_sided == 2 * 2.0**-seeds
    assert PairedTest("r", (0.1,), (None,), 1e-3).p_two_sided < 1e-30  # no seed, so no such bound
    row["error"] = 0.2
    assert decided([row], "every")[0] == pytest.approx(max(2.0**-seeds, norm.sf(0.5)))


def test_a_mean_of_rows_has_the_seeds_that_all_have_and_the_mean_of_their_errors():
    rows = [{"d": (1.0, 2.0, 4.0), "error": 1.0}, {"d": (2.0, np.nan, 7.0), "error": 3.0}]
    (test,) = stats.paired_tests(*stats.average(*frames(rows), ["comparison"]), 0.0).itertuples()
    assert (test.mean, test.n, test.error) == (3.5, 2, 2.0)
    rows[1]["d"] = (np.nan, 3.0, np.nan)
    rows[0]["d"] = (1.0, np.nan, 4.0)
    (test,) = stats.paired_tests(*stats.average(*frames(rows), ["comparison"]), 0.0).itertuples()
    assert (test.mean, test.n, test.for_p) == (2.75, 1, 1.0)  # of means without a common seed
    rows[1]["error"] = np.nan
    _, known = stats.average(*frames(rows), ["comparison"])
    assert known.error.isna().all()


def over_units(*means: float, extent: str = "average", contrary: bool = False) -> float:
    return decided([{"d": (mean,)} for mean in means], extent, over_units=True)[contrary]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_tests_over_units_agree_with_enumeration(n):
    values = np.random.default_rng(n).normal(0.5, 1, n).round(1)  # rounded, so that there are ties
    flipped = [np.multiply(values, signs) for signs in product((1, -1), repeat=n)]
    share = sum(each.mean() >= values.mean() - 1e-12 for each in flipped) / 2**n
    assert over_units(*values) == pytest.approx(share)
    assert over_units(*-values, contrary=True) == pytest.approx(share)
    ahead = sum(((each > 0).sum() >= (values > 0).sum()) for each in flipped) / 2**n
    if all(values):
        assert over_units(*values, extent="most") == pytest.approx(ahead)
    assert over_units(*range(1, n + 1)) == over_units(*range(1, n + 1), extent="most") == 2**-n
    assert over_units(*[0.0] * n) == over_units(*[0.0] * n, extent="most") == 1


def test_signs_of_many_units_are_drawn_at_random(monkeypatch):
    values = np.random.default_rng(0).normal(0.5, 1, 12)
    exact = sign_flip_p(values)
    monkeypatch.setattr(stats, "MAX_FLIPS", 2**11)
    assert sign_flip_p(values) == pytest.approx(exact, rel=0.2)
    # The observed signs count, so p is never 0.
    assert sign_flip_p(np.ones(100)) == pytest.approx(2**-11, rel=1e-3)


def test_the_error_of_many_paired_documents_is_that_of_the_bootstrap():
    rng = np.random.default_rng(0)
    domains = [rng.choice([-1, 0, 1 / 3, 1], n, p=[0.3, 0.3, 0.2, 0.2]) for n in (300, 500)]
    means = [np.mean([rng.choice(d, len(d)).mean() for d in domains]) for _ in range(2000)]
    assert paired_error(domains) == pytest.approx(np.std(means), rel=0.05)
    for margin in (0.01, 0.9):  # more documents must differ than do, to reach a large margin
        error = paired_error(domains, margin)
        assert error == paired_error([-d for d in domains], -margin) >= paired_error(domains)


@pytest.fixture
def level(monkeypatch):
    """The functions of benchmarks/claims_level.py."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr(stats, "MAX_FLIPS", 2**10)  # faster
    return importlib.import_module("claims_level")


#: A few cases of each kind; the program has all of them.
LEVELS = [
    *(("both_errors", (seeds, ratio)) for seeds in (2, 3, 5) for ratio in (0, 0.3, 1, 3)),
    *(("two_solutions", (seeds,)) for seeds in (2, 3, 5)),
    *(("single_runs", (n, 0, differ)) for n in (1, 5, 12, 75) for differ in (0.2, 1)),
    *(("single_runs", (n, margin, 0.02)) for n in (4, 45, 988) for margin in (0.02, -0.02)),
    ("single_runs", (1500, -0.01, 0.01)),
    *(("single_runs", (75, margin, 1)) for margin in (0.2, -0.2, 0.5, -0.5)),
    ("avoided_errors", (300, 0.3, 0.3)),
    ("avoided_errors", (20, 0.5, 0.9)),
    ("means_of_seeds", (3, 0.3, 100, 300)),
    ("small_domains", (40, 5, 0.0, 300)),
    *(("other_documents", sizes) for sizes in ((2, 2), (5, 50), (50, 50))),
    ("stated_value", (20,)),
    *(("f1", (seeds, 10)) for seeds in (5, 10)),
    *(("fixed_rows", (extent, 1, 1, 300)) for extent in ("every", "some", "most", "average")),
    *(("units", (extent,)) for extent in ("average", "most")),
]


@pytest.mark.parametrize(("case", "arguments"), LEVELS)
def test_at_most_six_per_cent_of_untrue_claims_hold(level, case, arguments):
    draws = {"small_domains": 300, "means_of_seeds": 300, "fixed_rows": 300, "units": 400}
    chance = 2 * np.sqrt(0.05 * 0.95 / draws[case]) if case in draws else 0.0
    assert getattr(level, case)(*arguments) <= 0.06 + chance


def test_many_small_domains_have_power(level):
    """The documents of all domains count together, also those that are added."""
    assert level.small_domains(40, 5, 0.1, 300) >= 0.65
