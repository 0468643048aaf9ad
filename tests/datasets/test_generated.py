"""Generated documents follow their model, in any number."""

from __future__ import annotations

import numpy as np
import pytest

from transferbench.datasets import generated

PLAIN = {"weighting": "tf", "unit_length": False}


def built(**options):
    return generated.build("generated/clusters", {}, **PLAIN | options)


def test_sizes_of_tasks_and_classes_differ_by_at_most_one():
    problem, truth = built(documents=1003, tasks=3, classes=4)
    assert [len(domain.seen) for domain in problem.domains] == [335, 334, 334]
    assert truth.names == ("task-1", "task-2", "task-3")
    for Y in truth.Y:
        assert np.ptp(Y.sum(axis=0)) <= 1
        assert (np.diff(Y[:20].argmax(axis=1)) < 0).any()  # not sorted


def test_word_frequencies_follow_the_model():
    """Frequencies over 20,000 documents of a class, against the law; a chi-squared statistic."""
    features, classes = 40, 3
    problem, truth = built(documents=60_000, tasks=1, classes=classes, features=features)
    X, y = problem.domains[0].X, truth.Y[0].argmax(axis=1)
    shift = np.random.default_rng(0).standard_normal(features)
    for c in range(classes):
        chance = np.array([
            np.exp(shift[f] / 2) / (f + 1) * (2 if f % classes == c else 1) for f in range(features)
        ])  # fmt: skip
        counts = X[y == c].sum(axis=0)
        expected = chance / chance.sum() * counts.sum()
        assert ((counts - expected) ** 2 / expected).sum() < 90  # 39 degrees: 1e-5 beyond 90
    lengths = X.sum(axis=1)
    assert lengths.mean() == pytest.approx(60, rel=0.01)
    assert lengths.var() == pytest.approx(60, rel=0.05)


def test_a_transfer_task_has_one_labelled_domain():
    problem, truth = generated.build("generated/transfer", {}, documents=600, tasks=3)
    assert truth.names == ("source", "target-1", "target-2")
    assert [bool(domain.seen.all()) for domain in problem.domains] == [True, False, False]
    assert [int(scored.sum()) for scored in truth.scored] == [0, 200, 200]
