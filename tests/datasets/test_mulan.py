"""Mulan's sets: known sizes, scaled numbers, words as published, names of labels in XML."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals

from transferbench.data.formats import read_arff
from transferbench.datasets import mulan

#: Documents, features, labels and cardinality that the publishers state.
STATED = {
    "mulan/emotions": (593, 72, 6, 1.869),
    "mulan/yeast": (2417, 103, 14, 4.237),
    "mulan/medical": (978, 1449, 45, 1.245),
    "mulan/enron": (1702, 1001, 53, 3.378),
    "mulan/bibtex": (7395, 1836, 159, 2.402),
}


def published(task: str):
    data, labels = (originals(task)[name] for name in mulan.needed(task))
    return read_arff(data, mulan.label_names(labels))


@pytest.mark.parametrize("task", STATED)
def test_a_set_has_the_stated_sizes(task):
    X, Y, _ = published(task)
    n, d, m, cardinality = STATED[task]
    assert X.shape == (n, d)
    assert Y.shape == (n, m)
    assert abs(Y.sum(axis=1).mean() - cardinality) < 0.001
    assert sp.issparse(X) == (task not in mulan.NUMERIC)


@pytest.mark.parametrize("task", mulan.NUMERIC)
def test_numbers_are_scaled_from_0_to_1_in_order(task):
    X = published(task)[0]
    problem, _ = mulan.build(task, originals(task))
    scaled = problem.domains[0].X
    np.testing.assert_array_equal(scaled.min(axis=0), 0)
    np.testing.assert_array_equal(scaled.max(axis=0), 1)
    assert X.min() < 0
    for column in (0, 5, -1):
        assert abs(np.corrcoef(X[:, column], scaled[:, column])[0, 1] - 1) < 1e-6


def test_words_and_labels_are_as_published_and_unseen_labels_hidden():
    task = "mulan/medical"
    X, Y, labels = published(task)
    problem, truth = mulan.build(task, originals(task))
    (domain,) = problem.domains
    assert (problem.family, domain.name) == ("multilabel", "all")
    assert problem.classes == tuple(labels)
    assert {*domain.X.data} == {1}
    assert (domain.X != X).nnz == 0
    np.testing.assert_array_equal(truth.Y[0], Y)
    assert domain.seen.sum() == 489
    np.testing.assert_array_equal(domain.Y, Y * domain.seen[:, None])
    np.testing.assert_array_equal(truth.scored[0], ~domain.seen)
