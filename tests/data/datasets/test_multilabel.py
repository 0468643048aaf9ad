"""Multi-label problems: tasks, training documents, topics; data in a user's folder."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.data import tasks
from transferbench.data.datasets._multilabel import (
    assign_tasks,
    problem_from_views,
    topic_view,
    train_mask,
)
from transferbench.errors import Unavailable, UserError


def test_sub_categories_are_assigned_in_turn_by_size():
    """Tops a and b; a1 is in 3 documents, a2 in 2, a3 in 1, b1 in 2, b2 in 1."""
    names = ["a2", "a1", "b1", "a3", "b2"]
    has = ["a1", "a1 a2", "a1", "a2", "a3", "b1", "b1", "b2", "", ""]
    Y = np.array([[name in document.split() for name in names] for document in has])
    assigned = assign_tasks(Y, [name[0] for name in names], 2)
    assert assigned.tolist() == [0, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    assert assign_tasks(Y, [name[0] for name in names], 1).tolist() == [0] * 10
    assert assign_tasks(Y, [name[0] for name in names], 3).tolist()[:8] == [0, 0, 0, 1, 2, 0, 0, 1]


def test_a_document_belongs_to_its_largest_sub_category():
    """All documents of a11 and a12 have the larger a1, so that a2 is next in turn."""
    names = ["a1", "a11", "a12", "a2"]
    has = ["a1 a11", "a1 a11", "a1 a12", "a1", "a2"]
    Y = np.array([[name in document.split() for name in names] for document in has])
    assert assign_tasks(Y, ["a"] * 4, 4).tolist() == [0, 0, 0, 0, 1]


def test_the_training_documents_depend_on_the_split():
    one, same, other = train_mask(1000, 0.3, 0), train_mask(1000, 0.3, 0), train_mask(1000, 0.3, 1)
    assert one.sum() == other.sum() == 300
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_unseen_labels_are_hidden_and_the_truth_is_complete():
    rng = np.random.default_rng(0)
    X = sp.csr_array(np.eye(6, 9))
    dense = rng.random((6, 2))
    Y = rng.integers(0, 2, (6, 3))
    task, seen = np.array([1, 0, 1, 0, 1, 1]), np.array([1, 0, 0, 1, 1, 0], bool)
    problem, truth = problem_from_views("made-up", "abc", [X, dense], Y, task, seen)
    assert problem.family == "multilabel"
    assert truth.names == ("task-1", "task-2")
    for t, domain in enumerate(problem.domains):
        rows = np.flatnonzero(task == t)
        np.testing.assert_array_equal(truth.Y[t], Y[rows])
        np.testing.assert_array_equal(domain.Y, Y[rows] * seen[rows, None])
        np.testing.assert_array_equal(truth.scored[t], ~seen[rows])
        np.testing.assert_array_equal(domain.X.toarray(), np.eye(6)[rows])  # 3 features never occur
        np.testing.assert_array_equal(domain.views[1], dense[rows])


def test_topics_are_positive_probabilities():
    X = sp.csr_array(np.random.default_rng(0).poisson(0.5, (30, 40)).astype(np.float32))
    topics = topic_view(X, 4)
    assert topics.min() > 0
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-4)


@pytest.mark.parametrize("name", ["multilabel/own", "nus-wide"])
def test_a_missing_folder_is_reported(tmp_path, home, name):
    with pytest.raises(UserError, match="is no folder; ") as error:
        tasks.load(tasks.Task.named(name, path=str(tmp_path / "nowhere")), home)
    assert not isinstance(error.value, Unavailable)
