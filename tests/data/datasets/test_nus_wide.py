"""NUS-WIDE-LITE, on made-up files in the laboratory's format."""

from __future__ import annotations

import numpy as np
import pytest

from transferbench.data import tasks
from transferbench.data.datasets import nus_wide
from transferbench.errors import UserError


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
    problem, truth = nus_wide.build("nus-wide", {}, path=str(images), tasks=1)
    assert problem.classes == ("animal", "book", "sky")
    np.testing.assert_array_equal(
        truth.Y[0], [[0, 0, 1], [1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]]
    )
    assert [view.shape for view in problem.domains[0].views] == [(5, 2), (5, 3), (5, 2)]
    first = (images / "NUS-WIDE-Lite_features/Normalized_CORR_Lite_Test.dat").read_text().split()
    np.testing.assert_allclose(problem.domains[0].views[1][3], np.array(first[:3], float))
    problem, _ = nus_wide.build("nus-wide", {}, path=str(images), tasks=1, views="EDH+tags")
    np.testing.assert_array_equal(problem.domains[0].views[1].toarray(), np.ones((5, 2)))
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
