"""WebKB of the LINQS group: content of the file."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import originals

from transferbench.data import tasks
from transferbench.datasets import webkb_linqs

#: Class and words of the pages 0, 9 and last of a university, without staff.
ITEMS = {
    "cornell": [("student", 71), ("project", 151), ("course", 93)],
    "texas": [("course", 54), ("course", 91), ("project", 83)],
    "washington": [("project", 31), ("course", 38), ("project", 121)],
    "wisconsin": [("project", 94), ("project", 1), ("faculty", 179)],
}


def test_the_task_may_be_named_without_its_paper():
    assert tasks.Task.named("webkb4-linqs").name == "mtc/webkb4-linqs"


@pytest.mark.parametrize("name", ITEMS)
def test_pages_0_9_and_the_last_are_the_right_ones(name):
    files = originals("mtc/webkb4-linqs")
    problem, truth = webkb_linqs.build("mtc/webkb4-linqs", files, weighting="tf", unit_length=False)
    at = truth.names.index(name)
    X, Y = problem.domains[at].X, truth.Y[at]
    assert set(X.data) == {1}
    items = [(problem.classes[Y[i].argmax()], int(np.diff(X.indptr)[i])) for i in (0, 9, -1)]
    assert items == ITEMS[name]
