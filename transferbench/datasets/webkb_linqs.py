"""WebKB as the LINQS group prepared it: 877 pages of four universities by 1,703 words, 0 or 1.

Work on linked documents uses this version. Here it checks our own parsing of the pages
(`mtc/webkb4`). The clustering paper uses four of its five classes. The class staff, which has one
page of Texas, is left out, and 838 pages remain. The links are not used. Words are numbers.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.archive import members
from transferbench.data.declared import declared
from transferbench.data.problems import Counts, builder
from transferbench.datasets.webkb import CLASSES, UNIVERSITIES

FILES, TASKS = declared(__file__)


def _read(task: str, files: dict[str, Path]) -> tuple[tuple[str, ...], dict[str, Counts]]:
    contents = dict(members(*files.values()))
    parts = {}
    for name in UNIVERSITIES:
        # One page a line: its address, 0 or 1 for each word, its class.
        lines = contents[f"webkb/{name}.content"].decode().splitlines()
        pages = [line.split("\t") for line in lines if line.endswith(CLASSES)]
        marks = sp.csr_array(np.array([marks for _, *marks, _ in pages], float))
        parts[name] = marks, np.array([CLASSES.index(page[-1]) for page in pages])
    return CLASSES, parts


build = builder(_read, "clustering")
