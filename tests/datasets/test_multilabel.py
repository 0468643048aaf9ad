"""Multi-label problems: tasks, training documents, topics; data in a user's folder."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from transferbench import tasks
from transferbench.data.problems import (
    MultilabelData,
    assign_tasks,
    assign_tasks_from,
    largest_categories,
    problem_from_views,
    train_mask,
)
from transferbench.errors import Unavailable, UserError


def data(Y, tops, X):
    """Return data whose documents X are in the sub-categories Y of the top categories."""
    return MultilabelData((), (), Y, Y, tops, X)


def test_sub_categories_are_assigned_in_turn_by_size():
    """Tops a and b; a1 is in 3 documents, a2 in 2, a3 in 1, b1 in 2, b2 in 1."""
    names = ["a2", "a1", "b1", "a3", "b2"]
    has = ["a1", "a1 a2", "a1", "a2", "a3", "b1", "b1", "b2", "", ""]
    Y = np.array([[name in document.split() for name in names] for document in has])
    category, tops = largest_categories(Y), [name[0] for name in names]
    assert assign_tasks(category, tops, 2).tolist() == [0, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    assert assign_tasks(category, tops, 1).tolist() == [0] * 10
    assert assign_tasks(category, tops, 3).tolist()[:8] == [0, 0, 0, 1, 2, 0, 0, 1]


def test_a_document_belongs_to_its_largest_sub_category():
    """All documents of a11 and a12 have the larger a1, so that a2 is next in turn."""
    names = ["a1", "a11", "a12", "a2"]
    has = ["a1 a11", "a1 a11", "a1 a12", "a1", "a2"]
    Y = np.array([[name in document.split() for name in names] for document in has])
    assert assign_tasks(largest_categories(Y), ["a"] * 4, 4).tolist() == [0, 0, 0, 0, 1]


def test_an_unseen_document_belongs_to_the_nearest_mean_of_seen_ones():
    """Sub-categories a1 (3 seen), a2 (2), a3 (1), none (1); the sizes decide the tasks.

    The true labels of the unseen documents, all a3, would make a3 the largest.
    """
    Y = np.eye(4, dtype=int)[[0, 0, 0, 1, 1, 2, 3, *[2] * 7]][:, :3]
    X = np.array([
        *([2, 0, 0, 0], [4, 1, 0, 0], [3, 0, 0, 0]),  # a1
        *([0, 9, 0, 0], [0, 9, 0, 0]),  # a2: longer, but only the direction counts
        *([0, 0, 1, 0], [5, 5, 5, 5]),  # a3, none
        *([1, 0.1, 0, 0], [5, 0, 2, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 7], [0, 0, 8, 0]),
        [1, 2, 0, 0],
    ])  # fmt: skip
    seen = np.arange(len(Y)) < 7
    for features in (X, sp.csr_array(X)):
        assigned = assign_tasks_from("train-labels", data(Y, "aaa", features), 3, seen, 0)
        # Documents without a sub-category, rows 6, 10 and 11, are assigned in turn.
        assert assigned.tolist() == [0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 1, 2, 2, 1]


@hypothesis.given(
    seed=st.integers(0, 2**32 - 1),
    sparse=st.booleans(),
    how=st.sampled_from(["train-labels", "random"]),
)
@hypothesis.settings(max_examples=25, deadline=None)
def test_labels_of_unseen_documents_change_no_task(seed, sparse, how):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 40)), int(rng.integers(1, 6))
    Y = (rng.random((n, m)) < rng.random()).astype(int)
    X = rng.random((n, 5)) * (rng.random((n, 5)) < 0.5)
    X = sp.csr_array(X) if sparse else X
    seen, tops, tasks = rng.random(n) < rng.random(), "abab"[:m] + "a" * (m - 4), 3
    other, erased, complement = Y.copy(), Y.copy(), Y.copy()
    other[~seen] = rng.permutation(Y[~seen])
    erased[~seen], complement[~seen] = 0, 1 - Y[~seen]

    def assigned(labels):
        return assign_tasks_from(how, data(labels, tops, X), tasks, seen, 1).tolist()

    assert set(assigned(Y)) <= {0, 1, 2}
    assert assigned(other) == assigned(erased) == assigned(complement) == assigned(Y)


def test_random_tasks_are_of_equal_size_and_depend_on_the_split():
    def assigned(split, how="random"):
        Y, seen = np.zeros((999, 2)), train_mask(999, 0.5, split)
        return assign_tasks_from(how, data(Y, "ab", Y), 3, seen, split)

    assert np.bincount(assigned(0)).tolist() == [333] * 3
    np.testing.assert_array_equal(assigned(0), assigned(0))
    assert (assigned(0) != assigned(1)).any()
    in_training = np.bincount(assigned(0)[train_mask(999, 0.5, 0)])
    assert in_training.min() > 130  # tasks do not separate training from test documents
    assert in_training.max() - in_training.min() > 1  # and are no part of the same draw


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


@pytest.mark.parametrize("name", ["multilabel/own", "nus-wide"])
def test_a_missing_folder_is_reported(tmp_path, home, name):
    with pytest.raises(UserError, match="is no folder; ") as error:
        tasks.load(tasks.Task.parse(name, path=str(tmp_path / "nowhere")), home)
    assert not isinstance(error.value, Unavailable)
