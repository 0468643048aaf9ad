"""Means over corpora by any keys, and their table."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

from transferbench import stats
from transferbench.evidence import groups

#: Regrets of two methods on tasks of corpora of different sizes.
LINES = pd.DataFrame(
    [
        ("LR", "A", "one", 3.0), ("LR", "A", "two", 5.0), ("LR", "B", "three", 10.0),
        ("LR", "C", "four", 1.0), ("LR", "C", "five", math.nan),
        ("SVM", "B", "three", -2.0), ("SVM", "C", "four", 0.0),
    ],
    columns=["method", "corpus", "task", "regret"],
)  # fmt: skip


def of(lines, method="LR", **more):
    return groups.over_corpora(lines, ["method"], "regret", **more).set_index("method").loc[method]


def test_corpora_weigh_equally_and_lines_without_a_value_are_left_out():
    found = of(LINES)
    assert (found["A"], found["B"], found["C"]) == (4, 10, 1)
    assert found["mean"] == pytest.approx(5)
    assert (found["tasks"], found["corpora"]) == (4, 3)
    twice = pd.concat([LINES, LINES[LINES["corpus"] == "A"]], ignore_index=True)
    assert of(twice)["mean"] == found["mean"]


def test_the_worst_task_is_the_largest_or_the_least():
    assert tuple(of(LINES)[["worst", "worst_row"]]) == (10, "three")
    assert tuple(of(LINES, worst="idxmin")[["worst", "worst_row"]]) == (1, "four")


def test_the_interval_is_a_bootstrap_over_the_corpora():
    """Compare with SciPy's interval of the corpora's means; fewer than three have none."""
    values = pd.Series([1.0, 4.0, 2.0, 8.0, 5.0, 7.0, math.nan])
    options = {"method": "percentile", "n_resamples": 20_000}
    scipys = bootstrap((values.dropna(),), np.mean, **options).confidence_interval
    assert list(stats.bootstrap_interval(values)) == pytest.approx(list(scipys), abs=0.1)
    assert tuple(of(LINES)[["low", "high"]]) == (1, 10)
    assert of(LINES, "SVM")[["low", "high"]].isna().all()


def test_groups_share_the_lines_and_have_the_order_of_their_keys():
    frame = groups.in_order(LINES.assign(size=list("bbaabab")), "method", "size")
    found = groups.over_corpora(frame, ["size", "method"], "regret")
    assert found["tasks"].sum() == LINES["regret"].notna().sum()
    assert found["size"].tolist() == ["b", "b", "a", "a"][: len(found)]
    table = groups.grid("", found, "method", "size", "{:.0f}".format, "size {}".format)
    assert table.heads == ["method", "size b", "size a"]
    assert [row[0] for row in table.rows] == ["LR", "SVM"]
    assert table.texts()[1] == ["LR", "4 / 5 (2)", "6 / 10 (2)"]


def test_a_combination_without_a_task_has_a_dash():
    found = groups.over_corpora(LINES, ["corpus", "method"], "regret")
    assert groups.grid("", found, "method", "corpus", str).texts()[2][1] == "–"
