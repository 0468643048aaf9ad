from __future__ import annotations

import numpy as np
import pytest
from conftest import make_problem
from sklearn.linear_model import LogisticRegression

from transferbench.core.documents import label_start, seen_rows
from transferbench.problem import Domain, Problem


def test_seen_rows_have_their_labels_and_others_probabilities():
    problem, truth = make_problem(targets=2)
    start = label_start(problem)
    np.testing.assert_array_equal(start[0], truth.Y[0])
    for domain, V in zip(problem.domains[1:], start[1:], strict=True):
        X, y = problem.domains[0].X, truth.Y[0].argmax(axis=1)
        expected = LogisticRegression(max_iter=1000).fit(X, y).predict_proba(domain.X)
        np.testing.assert_allclose(V, expected, atol=1e-6)
        assert (V > 0).all()


def test_a_class_without_examples_gets_probability_zero():
    problem, _ = make_problem(classes=3)
    source, target = problem.domains
    keep = np.flatnonzero(source.Y[:, 1] == 0)
    source = Domain("source", (source.X[keep],), source.Y[keep], source.seen[keep])
    start = label_start(Problem("p", "transfer", problem.classes, (source, target)))
    assert not start[1][:, 1].any()
    np.testing.assert_allclose(start[1].sum(axis=1), 1)


def test_fewer_than_two_labelled_classes_are_an_error():
    problem, _ = make_problem()
    with pytest.raises(ValueError, match="two classes"):
        seen_rows(Problem("p", "transfer", problem.classes, problem.targets))
