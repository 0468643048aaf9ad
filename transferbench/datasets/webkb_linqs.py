"""WebKB as the LINQS group prepared it: 877 pages of four universities by 1,703 words, 0 or 1.

Work on linked documents uses this version; here it is a check of our own parsing of the pages
(`mtc/webkb4`). The clustering paper uses four of its five classes; staff, with one page of Texas,
is left out: 838 pages remain. The links are not used. Words are numbers.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.archive import members
from transferbench.data.problems import Counts, builder
from transferbench.datasets._published import facts, originals
from transferbench.datasets.webkb import CLASSES, UNIVERSITIES

WORDS = 1703
FILES = originals("webkb-linqs")
TASKS = {"mtc/webkb4-linqs": "WebKB in the LINQS group's binary form: 4 clustering tasks"}
FACTS = facts(TASKS)


def _read(task: str, files: dict[str, Path]) -> tuple[tuple[str, ...], dict[str, Counts]]:
    contents = dict(members(*files.values()))
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
    return CLASSES, parts


build = builder(_read, "clustering")
