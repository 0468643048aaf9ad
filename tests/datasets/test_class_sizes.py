"""Classes cut to given sizes."""

from __future__ import annotations

import numpy as np
import pytest

from transferbench.data.problems import cut_classes

Y = np.repeat([0, 1], [30, 50])
PARTS = {"source": (np.arange(80), Y), "target": (np.arange(80) + 100, Y)}


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [("1:1", [30, 30]), ("1:10", [5, 50]), ("3:1", [30, 10]), ("3:5", [30, 50])],
)
def test_the_ratio_is_met_with_as_many_documents_as_possible(ratio, expected):
    found = cut_classes(PARTS, ("a", "b"), ratio, "target")
    assert found["source"][0].tolist() == PARTS["source"][0].tolist()
    rows, y = found["target"]
    assert np.bincount(y).tolist() == expected
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(Y[rows - 100], y)


def test_both_domains_are_cut_and_the_same_every_time():
    first, second = (cut_classes(PARTS, ("a", "b"), "1:5", "both") for _ in range(2))
    for name in PARTS:
        assert np.bincount(first[name][1]).tolist() == [10, 50]
        np.testing.assert_array_equal(first[name][0], second[name][0])


def test_without_a_ratio_nothing_changes():
    assert cut_classes(PARTS, ("a", "b"), "", "both") == PARTS


@pytest.mark.parametrize("ratio", ["1", "1:2:3", "a:b", "0:1", "-1:1", "1:inf", "1;2"])
def test_another_form_is_refused(ratio):
    with pytest.raises(ValueError, match=r"expected 2 positive numbers joined by colons"):
        cut_classes(PARTS, ("a", "b"), ratio, "target")


def test_an_empty_class_is_refused():
    with pytest.raises(ValueError, match="leaves a class of target empty"):
        cut_classes(PARTS, ("a", "b"), "1:1000", "target")
