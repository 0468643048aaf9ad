"""WebKB as the LINQS group prepared it: 877 pages of four universities by 1,703 words, 0 or 1.

Work on linked documents uses this version; here it is a check of our own parsing of the pages
(`mtc/webkb4`). The clustering paper uses four of its five classes; staff, with one page of Texas,
is left out: 838 pages remain. The links are not used. Words are numbers.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.archive import members
from transferbench.data.fetch import File, Url
from transferbench.data.options import Weighting
from transferbench.datasets._problems import problem_from_counts
from transferbench.datasets.webkb import CLASSES, UNIVERSITIES
from transferbench.problem import Problem, Truth

WORDS = 1703
ORIGINAL = File(
    name="webkb/webkb-linqs.zip",
    size=124_084,
    digest="sha256:c666ef4191d801f31d4b76fdd075b5df51fa338712d3b5dafc416f2f1cf5985d",
    origins=(
        Url(
            "https://raw.githubusercontent.com/ikenna-oluigbo/webkb-dataset/"
            "18720ae699a7b86c460e51a422f1d879cc8d6ddb/webkb.zip"
        ),
    ),
    licence="WebKB was prepared in this form by the LINQS group; no licence is stated.",
)
FILES = {ORIGINAL.name: ORIGINAL}
TASKS = {"mtc/webkb4-linqs": "WebKB in the LINQS group's binary form: 4 clustering tasks"}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def build(
    task: str, files: dict[str, Path], *, weighting: Weighting = "tf-idf", unit_length: bool = True
) -> tuple[Problem, Truth]:
    """Build the task.

    weighting: for counts of 0 and 1, "tf" and "log-tf" are the same. unit_length: see
    `text.weight`. Both are computed over the four universities together.
    """
    contents = dict(members(files[ORIGINAL.name]))
    parts = {}
    for name in UNIVERSITIES:
        words: list[int] = []
        starts, labels = [0], []
        # One page a line: its address, 0 or 1 for each word, its class.
        for line in contents[f"webkb/{name}.content"].decode().splitlines():
            _, *marks, label = line.split("\t")
            if label in CLASSES:
                words += [word for word, mark in enumerate(marks) if mark == "1"]
                starts.append(len(words))
                labels.append(CLASSES.index(label))
        marked = (np.ones(len(words)), words, starts)
        parts[name] = sp.csr_array(marked, shape=(len(labels), WORDS)), np.array(labels)
    return problem_from_counts(
        task, "clustering", CLASSES, parts, weighting=weighting, unit_length=unit_length
    )
