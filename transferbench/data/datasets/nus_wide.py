"""NUS-WIDE-LITE: 55,615 Flickr images, low-level features, tags, 81 concepts (Chua et al. 2009).

Data of the multi-label paper's Tables 1 and 11. The laboratory gives its files away under an
agreement, so they are not fetched, and their digests are not known here. Unpack NUS-WIDE-LITE of
https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html in the folder
`own/nus-wide` of the data folder, or in another one and name it: `nus-wide:path=FOLDER`. It has

    NUS-WIDE-Lite_features/Normalized_KIND_Lite_{Train,Test}.dat      one line of numbers an image
    NUS-WIDE-Lite_tags/Lite_Tags1k_{Train,Test}.txt                   one line of 0 and 1 an image
    NUS-WIDE-Lite_groundtruth/Lite_Labels_CONCEPT_{Train,Test}.txt    one 0 or 1 an image

KIND is CH (colour histogram, 64 numbers), CORR (colour correlogram, 144), EDH (edges, 73), WT
(wavelet texture, 128) or CM55 (colour moments, 225). The reader is tested on small made-up files.

The paper has 708 features: those of CH, CORR and 500 of a bag of visual words, which is not among
these files; add it as Normalized_BoW_Lite_{Train,Test}.dat to use it: `views=CH+CORR+BoW`. The
paper's Hamming losses are near 2 · density · (1 − F1), which implies a density of .29, but that of
81 concepts is .023: it must have used a few broad ones, which it does not name. Here all concepts
are labels. Tasks: the concepts are assigned in turn; an image belongs to its largest concept. By
default this uses the true labels of test images, too; `tasks_from=train-labels` (by the first
view), `tasks_from=random` and `tasks=1` avoid that, see `rcv1/subset1`.
The laboratory's Train and Test parts are joined and split again at random.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.data.datasets._multilabel import (
    assign_tasks_from,
    problem_from_views,
    train_mask,
)
from transferbench.data.datasets._user_files import check_nonnegative, own_folder, read_numbers
from transferbench.data.fetch import File
from transferbench.data.options import Natural, TasksFrom, TrainFraction
from transferbench.parameters import Count
from transferbench.problem import Matrix, Problem, Truth

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"nus-wide": "NUS-WIDE-LITE, from your copy: 81 concepts, 4 tasks"}
FACTS: dict[str, dict[str, Any]] = {"nus-wide": {}}
PARTS = ("Train", "Test")
# Paths of the files by name (concept or kind) and part.
LABELS = "NUS-WIDE-Lite_groundtruth/Lite_Labels_{}_{}.txt"
FEATURES = "NUS-WIDE-Lite_features/Normalized_{}_Lite_{}.dat"
TAGS = "NUS-WIDE-Lite_tags/Lite_Tags1k_{1}.txt"
REMEDY = (
    "unpack NUS-WIDE-LITE of "
    "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html"
)


def own_files(folder: Path) -> list[Path]:
    """Return the files that a task may be built from."""
    patterns = [pattern.format("*", "*") for pattern in (LABELS, FEATURES, TAGS)]
    return sorted(file for pattern in patterns for file in folder.glob(pattern))


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    views: str = "CH+CORR+EDH",
    tasks: Count = 4,
    tasks_from: TasksFrom = "labels",
    train: TrainFraction = 0.5,
    split: Natural = 0,
) -> tuple[Problem, Truth]:
    """Build the task.

    path: the folder, if it is not own/nus-wide. views: kinds of features, or "tags", joined by +.
    tasks, tasks_from, train, split: see `rcv1/subset1`. Raises Unavailable without a path,
    ValueError for files that are missing or in another format.
    """
    folder = own_folder(path, task, "NUS-WIDE: its files are not fetched", REMEDY)
    concepts, Y = _labels(folder)
    matrices: list[Matrix] = []
    for kind in views.split("+"):
        pattern = TAGS if kind == "tags" else FEATURES
        X = check_nonnegative(_train_and_test(folder, pattern, kind), f"features {kind}")
        if len(X) != len(Y):
            raise ValueError(f"features {kind} are of {len(X)} images, labels of {len(Y)}")
        matrices.append(sp.csr_array(X) if kind == "tags" else X)
    seen = train_mask(len(Y), train, split)
    tops = [""] * len(concepts)
    assigned = assign_tasks_from(tasks_from, Y, tops, tasks, seen=seen, X=matrices[0], split=split)
    return problem_from_views(task, concepts, matrices, Y, assigned, seen)


def _labels(folder: Path) -> tuple[list[str], np.ndarray]:
    """Return the concepts and Y (n, m) 0/1."""
    prefix, suffix = LABELS.format("*", PARTS[0]).split("*")
    files = (f.relative_to(folder).as_posix() for f in folder.glob(f"{prefix}*{suffix}"))
    concepts = sorted(file.removeprefix(prefix).removesuffix(suffix) for file in files)
    if not concepts:
        raise ValueError(f"no {LABELS.format('CONCEPT', PARTS[0])}")
    Y = np.hstack([_train_and_test(folder, LABELS, concept) for concept in concepts])
    if not np.isin(Y, (0, 1)).all() or Y.shape[1] != len(concepts):
        raise ValueError(f"{LABELS.format('CONCEPT', 'Train')}: expected one 0 or 1 in each line")
    return concepts, Y


def _train_and_test(folder: Path, pattern: str, name: str) -> np.ndarray:
    """Return the rows of the Train file and of the Test file, stacked."""
    parts = [read_numbers(folder / pattern.format(name, part)) for part in PARTS]
    if parts[0].shape[1] != parts[1].shape[1]:
        raise ValueError(f"{pattern.format(name, '…')}: Train and Test differ in columns")
    return np.vstack(parts)
