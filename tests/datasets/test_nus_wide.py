"""NUS-WIDE-LITE, on made-up files in the layout of the original ones."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from transferbench.data import archive, tasks
from transferbench.datasets import nus_wide
from transferbench.errors import UserError

SIZES = {"Train": 3, "Test": 2}
KINDS = {"CH": 2, "CORR": 3, "EDH": 2, "BoW": 4}
CONCEPTS = {"sky": [1, 0, 1], "animal": [0, 1, 1], "book": [0, 0, 0]}


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Write 3 + 2 images, which count as the known ones; return their folder."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "images"
    for part, n in SIZES.items():
        for kind, d in KINDS.items():
            rows = rng.random((n, d))
            # Lines of the original files end with a space.
            text = "".join(" ".join(f"{x:.4f}" for x in row) + " \n" for row in rows)
            write(folder / f"NUS-WIDE-Lite_features/Normalized_{kind}_Lite_{part}.dat", text)
        for concept, column in CONCEPTS.items():
            text = "".join(f"{value}\r\n" for value in column[:n])
            write(folder / f"NUS-WIDE-Lite_groundtruth/Lite_Labels_{concept}_{part}.txt", text)
        write(folder / f"NUS-WIDE-Lite_tags/Lite_Tags1k_{part}.txt", "1 0 0 1 \n" * n)
    for kind in ("CH", "CORR", "EDH", "tags"):
        for file in nus_wide._paths(folder, kind):
            name = f"nus-wide/{file.relative_to(folder).as_posix()}"
            known = replace(nus_wide.KNOWN[name], digest=archive.digest(file, "git-blob"))
            monkeypatch.setitem(nus_wide.KNOWN, name, known)
    monkeypatch.setattr(nus_wide, "LABEL_FACTS", (3, 2, 3, 1.2, 3, 0))
    return folder


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def build(folder, **options):
    return nus_wide.build("nus-wide", {}, **{"path": str(folder), "tasks": 1} | options)


def test_files_are_read(images):
    problem, truth = build(images)
    assert problem.classes == ("animal", "book", "sky")
    np.testing.assert_array_equal(
        truth.Y[0], [[0, 0, 1], [1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]]
    )
    assert [view.shape for view in problem.domains[0].views] == [(5, 2), (5, 3)]
    assert all(view.dtype == np.float32 for view in problem.domains[0].views)
    first = (images / "NUS-WIDE-Lite_features/Normalized_CORR_Lite_Test.dat").read_text().split()
    np.testing.assert_allclose(problem.domains[0].views[1][3], np.array(first[:3], float))
    problem, _ = build(images, views="EDH+tags")
    np.testing.assert_array_equal(problem.domains[0].views[1].toarray(), np.ones((5, 2)))
    assert len(nus_wide.user_files(images)) == 16


def test_known_files_pass_and_a_clone_holds_them_in_a_folder(images, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(images, clone / "NUS-WIDE-Lite")
    problem, truth = build(images)
    cloned, same_truth = build(clone)
    np.testing.assert_array_equal(truth.Y[0], same_truth.Y[0])
    np.testing.assert_array_equal(problem.domains[0].X, cloned.domains[0].X)
    assert [file.relative_to(clone / "NUS-WIDE-Lite") for file in nus_wide.user_files(clone)] == [
        file.relative_to(images) for file in nus_wide.user_files(images)
    ]
    problem, _ = build(clone, views="CH+CORR+BoW")  # visual words are not verified
    assert [view.shape[1] for view in problem.domains[0].views] == [2, 3, 4]
    assert [view.shape[1] for view in build(clone, views="tags")[0].domains[0].views] == [2]


@pytest.mark.parametrize("file", ["CH_Lite_Train", "CORR_Lite_Test"])
def test_a_changed_or_missing_features_file_is_refused(images, file):
    path = images / f"NUS-WIDE-Lite_features/Normalized_{file}.dat"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=rf"{file}\.dat is git-blob:.*, expected git-blob:"):
        build(images)
    path.unlink()
    with pytest.raises(ValueError, match=rf"{file}\.dat is missing"):
        build(images)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("sky_Test", "0\n0\n", r"groundtruth: numbers \(3, 2, 3, 1\.0, .*expected \(3, 2, 3, 1\.2"),
        ("book_Test", "1\n1\n", r"\(3, 2, 3, 1\.6"),
        ("cat_Test", "0\n0\n", "must match exactly"),
        ("sky_Test", "a\n0\n", "Lite_Labels_sky_Test.txt: not a table of numbers"),
        ("sky_Test", "1\n", "must have the same shape"),
        (None, None, r"\(3, 2, 2, "),
    ],
)
def test_labels_that_are_not_the_known_ones_are_refused(images, file, text, message):
    folder = images / "NUS-WIDE-Lite_groundtruth"
    if file:
        (folder / f"Lite_Labels_{file}.txt").write_text(text)
    else:
        for part in SIZES:
            (folder / f"Lite_Labels_book_{part}.txt").unlink()
    with pytest.raises(ValueError, match=message):
        build(images)


def test_a_folder_without_features_or_labels_is_refused(tmp_path, images, home):
    task = tasks.Task.named("nus-wide", path=str(tmp_path / "empty"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"CH_Lite_Train.dat is missing .*; run `git clone"):
        tasks.load(task, home)
    for file in images.glob("NUS-WIDE-Lite_groundtruth/*"):
        file.unlink()
    with pytest.raises(UserError, match=r"NUS-WIDE-Lite_groundtruth: numbers \(0, 0, "):
        tasks.load(tasks.Task.named("nus-wide", path=str(images)), home)


def test_only_regular_files_are_the_users_files(images):
    import os

    os.mkfifo(images / "NUS-WIDE-Lite_groundtruth/Lite_Labels_pipe_Train.txt")
    assert all("pipe" not in file.name for file in nus_wide.user_files(images))


def test_the_remedy_has_the_commands(home):
    with pytest.raises(UserError) as error:
        tasks.load(tasks.Task.named("nus-wide"), home)
    commit = "8bf9e9bcdf4934ccf0cd81d5e968ac84f587e5b3"
    for command in ("git clone https://github.com/Umauro/", f"git -C FOLDER checkout {commit}"):
        assert command in str(error.value)
        assert command in (nus_wide.__doc__ or "")
