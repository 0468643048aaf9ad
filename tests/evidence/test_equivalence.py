"""The verdict by two one-sided tests: their level, and what tolerances and signs change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_ind

from transferbench import stats
from transferbench.evidence.verdict import TESTED, judge
from transferbench.stats import ALPHA, difference_margin, is_equivalent

ERRORS = st.one_of(st.just(0.0), st.floats(0.01, 10))
DOFS = st.integers(1, 40)


@pytest.mark.parametrize(("n", "m", "ratio"), [(5, 10, 1), (3, 30, 4), (10, 10, 0)])
def test_the_level_of_both_results_is_that_of_the_tests(n, m, ratio):
    """At a true difference of just the tolerance, either result is untrue in 1 of 20 cases."""
    random, tolerance, draws = np.random.default_rng(0), 4.0, 20_000
    ours = random.normal(tolerance, 1, (draws, n))
    printed = random.normal(0, ratio, (draws, m))
    errors = [x.std(axis=1, ddof=1) / math.sqrt(x.shape[1]) for x in (ours, printed)]
    difference = ours.mean(axis=1) - printed.mean(axis=1)
    margin = difference_margin(errors[0], n - 1, errors[1], m - 1)
    equivalent = is_equivalent(difference, margin, tolerance).mean()
    different = (np.abs(difference) - margin > tolerance).mean()
    assert equivalent == pytest.approx(ALPHA, abs=0.012)
    assert different == pytest.approx(ALPHA, abs=0.012)


@given(st.floats(-20, 20), ERRORS, DOFS, ERRORS, DOFS, st.floats(0, 9), st.floats(0, 9))
def test_results_are_symmetric_and_monotone_in_the_tolerance(d, e, f, other, g, tolerance, more):
    margin = difference_margin(e, f, other, g)
    assert margin == difference_margin(other, g, e, f)
    narrow, wide = (judge(d, margin, t, is_ahead=True) for t in (tolerance, tolerance + more))
    assert narrow == judge(-d, margin, tolerance, is_ahead=True)
    order = "better", "cannot tell", "same"
    assert order.index(narrow) <= order.index(wide)
    ahead, behind = (judge(d, margin, tolerance, is_ahead=side) for side in (True, False))
    assert ahead == behind or (ahead, behind) == ("better", "worse")
    assert ahead in TESTED


@given(st.floats(0.01, 10), DOFS)
def test_one_error_has_its_own_degrees_of_freedom(error, dof):
    expected = t.ppf(1 - ALPHA, dof) * error
    assert difference_margin(error, dof, 0.0, math.inf) == pytest.approx(expected)
    known = difference_margin(error, math.inf, 0.0, 1)
    assert known == pytest.approx(1.6449 * error, rel=1e-4)
    assert known < expected


def test_welch_is_that_of_scipy():
    random = np.random.default_rng(1)
    a, b = random.normal(size=5), random.normal(1, 3, size=12)
    interval = ttest_ind(a, b, equal_var=False).confidence_interval(1 - 2 * ALPHA)
    errors = [x.std(ddof=1) / math.sqrt(len(x)) for x in (a, b)]
    margin = difference_margin(errors[0], 4, errors[1], 11)
    assert margin == pytest.approx((interval.high - interval.low) / 2)


def test_without_an_error_the_difference_decides():
    assert stats.difference_margin(0.0, 0, 0.0, math.inf) == 0
    assert judge(1 + 4e-16, 0.0, 1.0, is_ahead=True) == "same"  # of decimal fractions
    assert judge(1.01, 0.0, 1.0, is_ahead=False) == "worse"


def test_one_run_of_a_random_method_is_not_tested():
    unknown = difference_margin(math.nan, 0, 0.0, math.inf)
    assert judge(1.0, unknown, 1.0, is_ahead=True) == "within"
    assert judge(1.01, unknown, 1.0, is_ahead=True) == "outside"
