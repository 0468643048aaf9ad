"""NUS-WIDE-LITE, on made-up files in the layout of the original ones."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from transferbench import tasks
from transferbench.data import archive
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
        pattern = nus_wide.TAGS if kind == "tags" else nus_wide.FEATURES
        for path in (pattern.format(kind, part) for part in SIZES):
            file, name = folder / path, f"nus-wide/{path}"
            known = replace(nus_wide.KNOWN[name], digest=archive.digest(file, "git-blob"))
            monkeypatch.setitem(nus_wide.KNOWN, name, known)
    monkeypatch.setattr(nus_wide, "LABEL_FACTS", (5, 3, 1.2, 3, 0))
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


def test_a_clone_holds_the_files_in_a_folder(images, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(images, clone / "NUS-WIDE-Lite")
    problem, _ = build(clone, views="CH+CORR+BoW")  # visual words are not verified
    assert [view.shape[1] for view in problem.domains[0].views] == [2, 3, 4]
    assert len(nus_wide.user_files(clone)) == 16


def test_a_changed_or_missing_features_file_is_refused(images):
    path = images / "NUS-WIDE-Lite_features/Normalized_CORR_Lite_Test.dat"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=r"Test\.dat is git-blob:.*, expected git-blob:"):
        build(images)
    path.unlink()
    with pytest.raises(ValueError, match=r"Test\.dat is missing"):
        build(images)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("groundtruth/Lite_Labels_sky_Test.txt", "0\n0\n", r"numbers \(5, 3, 1\.0, .*\(5, 3, 1\.2"),
        ("groundtruth/Lite_Labels_cat_Test.txt", "0\n0\n", "must match exactly"),
        ("groundtruth/Lite_Labels_sky_Test.txt", "a\n0\n", "sky_Test.txt: not a table of numbers"),
        ("features/Normalized_BoW_Lite_Test.dat", "-1 0 1 1\n1 1 1 1\n", "view 0 has"),
        ("features/Normalized_BoW_Lite_Test.dat", "1 0 0 0\n", "a line for each of the 5 images"),
        ("features/Normalized_BoW_Lite_Test.dat", "a b\n", "Test.dat: not a table of numbers"),
    ],
)
def test_other_content_is_refused(images, home, file, text, message):
    (images / f"NUS-WIDE-Lite_{file}").write_text(text)
    task = tasks.Task.parse("nus-wide", path=str(images), views="BoW+CH", tasks=1)
    with pytest.raises(UserError, match=message) as error:
        tasks.load(task, home)
    assert "\n" not in str(error.value)
