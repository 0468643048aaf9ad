"""The fields of a record that the worker fills in."""

from __future__ import annotations

import numpy as np

from transferbench import metrics
from transferbench.problem import Fit, Truth
from transferbench.runs import worker


def test_the_scored_documents_of_each_measured_domain_are_counted():
    Y = np.eye(3)[[0, 1, 2, 0, 1]]
    scored = np.array([1, 1, 0, 0, 1], bool), np.ones(5, bool), np.zeros(5, bool)
    truth = Truth("multilabel", ("p", "q", "r"), ("x", "y", "seen"), (Y,) * 3, scored)
    measured = metrics.evaluate(Fit((Y,) * 3), truth)
    assert worker._documents(truth, measured) == {"x": 3, "y": 5, "all": 8}
