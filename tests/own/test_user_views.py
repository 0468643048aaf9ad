"""The user's own multi-label data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from user_documents import refused

from transferbench import tasks
from transferbench.own import tasks as user


@pytest.fixture
def mine(tmp_path):
    """A folder with three views of six documents, two tasks and two labels."""
    folder = tmp_path / "my data"
    (folder / "views").mkdir(parents=True)
    sp.save_npz(folder / "views" / "a.npz", sp.csr_array(np.eye(6, 4)))
    (folder / "views" / "b.svm").write_text("0 1:2.5 3:1\n" * 6)
    (folder / "views" / "c.csv").write_text("volts,amps\n" + "0,2\n1,2\n" * 3)
    (folder / "labels.csv").write_text("up,down\n" + "1,0\n0,1\n1,1\n" * 2)
    (folder / "tasks.csv").write_text("task\nold\nold\nnew\nnew\nold\nnew\n")
    (folder / "train.csv").write_text("train\n1\n0\n1\n0\n0\n1\n")
    return folder


def test_own_data_are_read(mine, home):
    problem, truth = tasks.load(tasks.Task.parse("multilabel/own", path=str(mine)), home)
    assert problem.name == f"multilabel/own:path={mine}"
    assert problem.classes == ("up", "down")
    assert truth.names == ("old", "new")
    old, new = problem.domains
    assert old.seen.tolist() == [True, False, False]
    assert new.seen.tolist() == [True, False, True]
    np.testing.assert_array_equal(old.X.toarray(), np.eye(6, 4)[[0, 1, 4]])
    np.testing.assert_array_equal(new.views[1].toarray(), [[2.5, 1]] * 3)
    np.testing.assert_array_equal(new.views[2], [[0, 2], [1, 2], [1, 2]])
    np.testing.assert_array_equal(old.Y, [[1, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(truth.Y[1], [[1, 1], [1, 0], [1, 1]])


def test_own_files_in_the_data_folder_need_no_path(mine, home):
    folder = home.data / "own" / "multilabel"
    folder.parent.mkdir(parents=True)
    mine.rename(folder)
    task = tasks.Task.parse("multilabel/own")
    problem, truth = tasks.load(task, home)
    assert problem.name == "multilabel/own"
    assert truth.names == ("old", "new")
    before = task.built_path(home)
    (folder / "train.csv").write_text("train\n0\n0\n1\n0\n0\n1\n")
    assert tasks.load(task, home)[0].domains[0].seen.tolist() == [False] * 3
    assert task.built_path(home) != before


def test_tasks_and_training_rows_are_optional(mine):
    (mine / "tasks.csv").unlink()
    (mine / "train.csv").unlink()
    problem, truth = user.build("multilabel/own", {}, path=str(mine), train=0.7, split=3)
    assert truth.names == ("all",)
    assert problem.domains[0].seen.sum() == 4


def test_numbers_too_large_for_a_view_are_scaled_with_a_warning(mine):
    (mine / "views" / "b.svm").write_text("0 1:5e38 3:1e39\n" * 6)
    with pytest.warns(UserWarning, match=r"b.svm: the largest number is 1e\+39, so all were"):
        problem, _ = user.build("multilabel/own", {}, path=str(mine))
    view = problem.domains[0].views[1].toarray()
    assert 2 * view[1, 0] == pytest.approx(view[1, 1])


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("labels.csv", None, "labels.csv: no such file"),
        ("labels.csv", "up,down\n1,0\n", "tasks.csv has 6 documents, labels.csv has 1"),
        ("labels.csv", "up,down\n1,2\n", "labels.csv:2: expected 0 or 1"),
        ("labels.csv", "up,\n" + "0,1\n1,0\n" * 3, "a value in a column without a name"),
        ("tasks.csv", "group\n" + "a\n" * 6, "no column .task. among"),
        ("train.csv", "train\n" + "1\n" * 6, "documents for training and not"),
        ("views/a.npz", b"no archive", "views/a.npz: "),
        ("views/b.svm", "0 1:x\n", "views/b.svm:1: expected"),
        (
            "views/b.svm",
            "0 1:-1\n" * 6,
            "views/b.svm: document 1 has -1; expected finite numbers of 0 or",
        ),
        ("views/c.csv", "volts\n" + "1\n" * 5, "views/c.csv has 5 documents, labels.csv has 6"),
        ("views/c.csv", "volts\nmany\n", "c.csv:2: expected finite numbers"),
        ("views/d.txt", "1\n", "views/d.txt: expected the ending .csv, .svm"),
    ],
)
def test_own_data_in_another_layout_are_refused_in_one_line(mine, home, file, content, message):
    path = mine / file
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with refused(f"{mine}.*{message}"):
        tasks.load(tasks.Task.parse("multilabel/own", path=str(mine)), home)


def test_a_pickle_in_a_view_is_not_loaded(mine, home):
    np.savez(mine / "views" / "a.npz", data=np.array([{"a": 1}], object), format="csr")
    with refused("views/a.npz: "):
        tasks.load(tasks.Task.parse("multilabel/own", path=str(mine)), home)
