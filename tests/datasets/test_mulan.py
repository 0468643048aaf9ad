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


def test_numbers_are_scaled_from_0_to_1_in_order():
    X = published("mulan/yeast")[0]
    problem, _ = mulan.build("mulan/yeast", originals("mulan/yeast"))
    scaled = problem.domains[0].X
    assert X.min() < 0
    np.testing.assert_array_equal((scaled.min(axis=0), scaled.max(axis=0)), ([0] * 103, [1] * 103))
    assert abs(np.corrcoef(X[:, 5], scaled[:, 5])[0, 1] - 1) < 1e-6
    constant = mulan.scale(np.float32([[3, -1], [3, 1], [3, 0]]))
    np.testing.assert_array_equal(constant, [[0, 0], [0, 1], [0, 0.5]])


def test_words_and_labels_are_as_published():
    X, Y, labels = published("mulan/medical")
    problem, truth = mulan.build("mulan/medical", originals("mulan/medical"))
    (domain,) = problem.domains
    assert problem.classes == tuple(labels)
    assert (domain.X != X).nnz == 0
    np.testing.assert_array_equal(truth.Y[0], Y)
    assert domain.seen.sum() == 489
