"""Multi-label problems: tasks, training documents, and the readers of users' own files."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.data import tasks
from transferbench.data.datasets import eurlex, nus_wide, own_multilabel
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
    made, truth = problem_from_views("made-up", "abc", [X, dense], Y, task, seen)
    assert made.family == "multilabel"
    assert truth.names == ("task-1", "task-2")
    for t, domain in enumerate(made.domains):
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


# EUR-Lex, in the format of its authors

WORDS = {
    "3": "oliv oil oil price",
    "5": "oil market",
    "7": "border visa visa",
    "9": "court visa oil",
}
QRELS = {
    "DC_l1": "3.x.x.x 3 1\n3.x.x.x 5 1\n19.x.x.x 7 1\n19.x.x.x 9 1\n3.x.x.x 9 1\n1.x.x.x 244 1\n",
    "DC_leaves": "3.60.59.x 3 1\n3.60.x.x 5 1\n19.10.x.x 7 1\n19.20.x.x 9 1\n",
    "DC_leaves_l2": "3.60.x.x 3 1\n3.60.x.x 5 1\n19.10.x.x 7 1\n19.20.x.x 9 1\n",
    "subject_matter": "oils_and_fats 3 1\nagriculture 3 1\noils_and_fats 5 1\n",
}


@pytest.fixture
def law(tmp_path):
    """Writes the two files; returns their folder."""

    def write(qrels=QRELS, lines=None, folder="eurlex_id2class/"):
        lines = lines or [f"{number},'{words}'" for number, words in WORDS.items()]
        head = [
            "@relation eurlex",
            "",
            "@attribute ID numeric",
            "@attribute text string",
            "",
            "@data",
        ]
        with gzip.open(tmp_path / eurlex.TEXTS, "wt", encoding="utf-8") as file:
            file.write("\n".join([*head, *lines, ""]))
        with zipfile.ZipFile(tmp_path / eurlex.CLASSES, "w") as archive:
            for kind, text in qrels.items():
                archive.writestr(f"{folder}id2class_eurlex_{kind}.qrels", text)
        return str(tmp_path)

    return write


def test_eurlex_files_are_read(law):
    made, truth = eurlex.build("eurlex/directory-codes", {}, path=law(), topics=2, tasks=2)
    assert made.classes == ("19.x.x.x", "3.x.x.x")
    assert truth.names == ("task-1", "task-2")
    # Sub-categories 3.60 (2 documents) and 19.10 (1) are the first of their top, 19.20 the second.
    np.testing.assert_array_equal(truth.Y[0], [[0, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(truth.Y[1], [[1, 1]])
    assert [view.shape[1] for view in made.domains[0].views] == [7, 2]
    tfidf = made.domains[0].X.toarray()
    np.testing.assert_allclose((tfidf**2).sum(axis=1), 1, rtol=1e-5)
    # market, oil, oliv, price, visa … in alphabetical order; "oil" twice in the first document.
    order = sorted({word for words in WORDS.values() for word in words.split()})
    assert order == ["border", "court", "market", "oil", "oliv", "price", "visa"]
    assert (tfidf[0] > 0).tolist() == [word in WORDS["3"].split() for word in order]
    assert sum(domain.seen.sum() for domain in made.domains) == 2


def test_eurlex_options(law):
    folder = law(folder="")
    made, truth = eurlex.build("eurlex/subject-matters", {}, path=folder, views="tf-idf", tasks=1)
    assert made.classes == ("agriculture", "oils_and_fats")
    np.testing.assert_array_equal(truth.Y[0], [[1, 1], [0, 1], [0, 0], [0, 0]])
    made, _ = eurlex.build(
        "eurlex/directory-codes-all", {}, path=folder, views="tf-idf", tasks=1, features=1
    )
    assert made.classes == ("19.10.x.x", "19.20.x.x", "3.60.59.x", "3.60.x.x")
    assert (made.domains[0].X.toarray().ravel() > 0).tolist() == [True, True, False, True]  # oil


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qrels": {"DC_l1": "3.x.x.x 3 1\n"}}, "has no id2class_eurlex_DC_leaves_l2.qrels"),
        ({"qrels": QRELS | {"DC_l1": "3.x.x.x 3\n"}}, "expected lines of a class"),
        ({"qrels": QRELS | {"DC_l1": "3.x.x.x 4 1\n"}}, "no document of"),
        ({"lines": ["no comma"]}, "expected lines of a number and words"),
    ],
)
def test_eurlex_files_in_another_format_are_refused(law, home, changes, message):
    task = tasks.Task.named("eurlex/directory-codes", path=law(**changes))
    with pytest.raises(UserError, match=message):
        tasks.load(task, home)


# NUS-WIDE-LITE, in the laboratory's format


@pytest.fixture
def images(tmp_path):
    """Writes 3 + 2 images; returns their folder."""
    kinds = {"CH": 2, "CORR": 3, "EDH": 2}
    rng = np.random.default_rng(0)
    for part, n in (("Train", 3), ("Test", 2)):
        for kind, d in kinds.items():
            file = tmp_path / f"NUS-WIDE-Lite_features/Normalized_{kind}_Lite_{part}.dat"
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(" ".join(f"{x:.4f}" for x in row) + " \n" for row in
                                    rng.random((n, d))))  # fmt: skip
        for concept, column in (("sky", [1, 0, 1]), ("animal", [0, 1, 1]), ("book", [0, 0, 0])):
            file = tmp_path / f"NUS-WIDE-Lite_groundtruth/Lite_Labels_{concept}_{part}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(f"{value}\r\n" for value in column[:n]))
        file = tmp_path / f"NUS-WIDE-Lite_tags/Lite_Tags1k_{part}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text("1 0 0 1 \n" * n)
    return tmp_path


def test_nus_wide_files_are_read(images):
    made, truth = nus_wide.build("nus-wide", {}, path=str(images), tasks=1)
    assert made.classes == ("animal", "book", "sky")
    np.testing.assert_array_equal(
        truth.Y[0], [[0, 0, 1], [1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]]
    )
    assert [view.shape for view in made.domains[0].views] == [(5, 2), (5, 3), (5, 2)]
    first = (images / "NUS-WIDE-Lite_features/Normalized_CORR_Lite_Test.dat").read_text().split()
    np.testing.assert_allclose(made.domains[0].views[1][3], np.array(first[:3], float))
    made, _ = nus_wide.build("nus-wide", {}, path=str(images), tasks=1, views="EDH+tags")
    np.testing.assert_array_equal(made.domains[0].views[1].toarray(), np.ones((5, 2)))
    assert len(nus_wide.own_files(images)) == 14


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("features/Normalized_CH_Lite_Test.dat", "-1 0\n1 1\n", "features CH: expected finite"),
        (
            "features/Normalized_CH_Lite_Test.dat",
            "1 0\n",
            "features CH are of 4 images, labels of 5",
        ),
        ("features/Normalized_CH_Lite_Test.dat", "1\n1\n", "Train and Test differ in columns"),
        (
            "features/Normalized_CH_Lite_Test.dat",
            "a b\n",
            "CH_Lite_Test.dat: not a table of numbers",
        ),
        ("features/Normalized_CH_Lite_Test.dat", None, "CH_Lite_Test.dat: not a table of numbers"),
        ("groundtruth/Lite_Labels_sky_Test.txt", "2\n0\n", "expected one 0 or 1"),
        ("groundtruth/Lite_Labels_sky_Test.txt", "1\n", "dimension"),
    ],
)
def test_nus_wide_files_in_another_format_are_refused(images, home, file, text, message):
    path = images / f"NUS-WIDE-Lite_{file}"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(UserError, match=message):
        tasks.load(tasks.Task.named("nus-wide", path=str(images)), home)
    with pytest.raises(UserError, match="no NUS-WIDE-Lite_groundtruth"):
        tasks.load(tasks.Task.named("nus-wide", path=str(images.parent)), home)


# The user's own data


@pytest.fixture
def mine(tmp_path):
    """A folder with three views of six documents, two tasks and two labels."""
    folder = tmp_path / "my data"
    (folder / "views").mkdir(parents=True)
    sp.save_npz(folder / "views" / "a.npz", sp.csr_array(np.eye(6, 4)))
    (folder / "views" / "b.svm").write_text("0 1:2.5 3:1\n" * 6)
    (folder / "views" / "c.csv").write_text("volts,amps\n" + "1,2\n" * 6)
    (folder / "labels.csv").write_text("up,down\n" + "1,0\n0,1\n1,1\n" * 2)
    (folder / "tasks.csv").write_text("task\nold\nold\nnew\nnew\nold\nnew\n")
    (folder / "train.csv").write_text("train\n1\n0\n1\n0\n0\n1\n")
    return folder


def test_own_data_are_read(mine, home):
    made, truth = tasks.load(tasks.Task.named("multilabel/own", path=str(mine)), home)
    assert made.name == f"multilabel/own:path={mine}"
    assert made.classes == ("up", "down")
    assert truth.names == ("old", "new")
    old, new = made.domains
    assert old.seen.tolist() == [True, False, False]
    assert new.seen.tolist() == [True, False, True]
    np.testing.assert_array_equal(old.X.toarray(), np.eye(6, 4)[[0, 1, 4]])
    np.testing.assert_array_equal(new.views[1].toarray(), [[2.5, 1]] * 3)
    np.testing.assert_array_equal(new.views[2], [[1, 2]] * 3)
    np.testing.assert_array_equal(old.Y, [[1, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(truth.Y[1], [[1, 1], [1, 0], [1, 1]])


def test_own_files_in_the_data_folder_need_no_path(mine, home):
    folder = home.data / "own" / "multilabel"
    folder.parent.mkdir(parents=True)
    mine.rename(folder)
    task = tasks.Task.named("multilabel/own")
    made, truth = tasks.load(task, home)
    assert made.name == "multilabel/own"
    assert truth.names == ("old", "new")
    before = task.cache(home)
    (folder / "train.csv").write_text("train\n0\n0\n1\n0\n0\n1\n")
    assert tasks.load(task, home)[0].domains[0].seen.tolist() == [False] * 3
    assert task.cache(home) != before


def test_bad_files_in_the_data_folder_are_a_user_error(law, home):
    folder = home.data / "own" / "eurlex"
    folder.mkdir(parents=True)
    for file in eurlex.own_files(Path(law(lines=["no comma"]))):
        file.rename(folder / file.name)
    with pytest.raises(UserError, match=r"words after @data; correct your files\.$"):
        tasks.load(tasks.Task.named("eurlex/subject-matters"), home)


def test_tasks_and_training_rows_are_optional(mine):
    (mine / "tasks.csv").unlink()
    (mine / "train.csv").unlink()
    made, truth = own_multilabel.build("multilabel/own", {}, path=str(mine), train=0.7, split=3)
    assert truth.names == ("all",)
    assert made.domains[0].seen.sum() == 4


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("labels.csv", "up,down\n" + "1,1\n0,1\n1,1\n" * 2),
        ("train.csv", "train\n0\n1\n1\n0\n0\n1\n"),
        ("views/c.csv", "volts,amps\n" + "1,2.00000001\n" * 6),
        ("views/d.svm", "0 1:1\n" * 6),
        ("tasks.csv", None),
    ],
)
def test_a_changed_file_rebuilds_the_task(mine, home, file, content):
    task = tasks.Task.named("multilabel/own", path=str(mine))
    tasks.load(task, home)
    before = task.cache(home)
    assert before.is_file()
    assert task.cache(home) == before
    (mine / file).unlink() if content is None else (mine / file).write_text(content)
    assert not task.cache(home).exists()
    tasks.load(task, home)
    assert task.cache(home) != before


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("labels.csv", None, "labels.csv cannot be read"),
        ("labels.csv", "up,down\n1,0\n", "tasks.csv has 6 documents, labels.csv has 1"),
        ("labels.csv", "up,down\n1,2\n", "labels.csv, line 2: expected 0 or 1"),
        ("labels.csv", "up,down\n1\n", "labels.csv, line 2: expected 2 columns"),
        ("labels.csv", "up,up\n1,1\n", "a line of different names"),
        ("tasks.csv", "group\n" + "a\n" * 6, "expected the one column 'task'"),
        ("train.csv", "train\n" + "1\n" * 6, "some documents must be for training"),
        ("train.csv", "train\nyes\n", "train.csv, line 2: expected 0 or 1"),
        ("views/a.npz", b"no archive", "views/a.npz: "),
        ("views/b.svm", "0 0:1\n", "views/b.svm: "),
        ("views/b.svm", "0 1:-1\n" * 6, "views/b.svm: expected finite numbers of at least 0"),
        ("views/c.csv", "volts\n" + "1\n" * 5, "views/c.csv has 5 documents, labels.csv has 6"),
        ("views/c.csv", "volts\n" + "nan\n" * 6, "views/c.csv: expected finite numbers"),
        ("views/c.csv", "volts\nmany\n", "c.csv: not a table of numbers"),
        ("views/d.txt", "1\n", "views/d.txt: expected the ending .npz, .svm or .csv"),
    ],
)
def test_own_data_in_another_layout_are_refused_in_one_line(mine, home, file, content, message):
    path = mine / file
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=message) as error:
        tasks.load(tasks.Task.named("multilabel/own", path=str(mine)), home)
    assert "\n" not in str(error.value)
    assert str(mine) in str(error.value)
    assert str(error.value).endswith("that `transferbench describe multilabel/own` shows.")


def test_a_pickle_in_a_view_is_not_loaded(mine, home):
    np.savez(mine / "views" / "a.npz", data=np.array([{"a": 1}], object), format="csr")
    with pytest.raises(UserError, match=r"views/a.npz: "):
        tasks.load(tasks.Task.named("multilabel/own", path=str(mine)), home)


@pytest.mark.parametrize("name", ["multilabel/own", "eurlex/subject-matters", "nus-wide"])
def test_a_missing_folder_is_reported(tmp_path, home, name):
    with pytest.raises(UserError, match="is no folder; ") as error:
        tasks.load(tasks.Task.named(name, path=str(tmp_path / "nowhere")), home)
    assert not isinstance(error.value, Unavailable)
