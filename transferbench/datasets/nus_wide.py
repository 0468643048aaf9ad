"""NUS-WIDE-LITE: 55,615 Flickr images, low-level features, tags, 81 concepts (Chua et al. 2009).

Data of the multi-label paper's Tables 1 and 11. They are not fetched: no digests of the 162 label
files are known. A copy is in a git repository, whose commit git verifies:

    git clone https://github.com/Umauro/Taller2-Machine-Learning FOLDER
    git -C FOLDER checkout 8bf9e9bcdf4934ccf0cd81d5e968ac84f587e5b3

FOLDER is `own/nus-wide` of the data folder, or another one: `nus-wide:path=FOLDER`. The
laboratory's own copy serves as well; it is given away under an agreement, see
https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html. FOLDER, or
`NUS-WIDE-Lite` in it, has

    NUS-WIDE-Lite_features/Normalized_KIND_Lite_{Train,Test}.dat      one line of numbers an image
    NUS-WIDE-Lite_tags/Lite_Tags1k_{Train,Test}.txt                   one line of 0 and 1 an image
    NUS-WIDE-Lite_groundtruth/Lite_Labels_CONCEPT_{Train,Test}.txt    one 0 or 1 an image

KIND is CH (colour histogram, 64 numbers), CORR (colour correlogram, 144), EDH (edges, 73), WT
(wavelet texture, 128) or CM55 (colour moments, 225). The files of features and tags that are used
must have the digests of that commit, and the labels its numbers of images, labels and label sets.
`verify=false` takes files as they are: with other line ends, or other data in this layout.

The paper has 708 features: those of CH and CORR, which are the views here, and 500 of a bag of
visual words, which the copy lacks. Add them as Normalized_BoW_Lite_{Train,Test}.dat, which are not
verified, and use `views=CH+CORR+BoW`.

All concepts are labels: 4.211 an image (density .0520, 15,114 label sets); 2,989 images have none.
The paper's Table 1 prints 55,615 images with cardinality 1.869, density .023 and 18,430 label sets;
those three are of the full NUS-WIDE (269,648 images: 1.8685, .0231 and 18,430). Its Hamming losses
are near 2 · density · (1 − F1), which implies a density of .29: it must have used a few broad
concepts, which it does not name.

Tasks: the concepts are assigned in turn; an image belongs to its largest concept. By default this
uses the true labels of test images, too; `tasks_from=train-labels` (by the first view),
`tasks_from=random` and `tasks=1` avoid that, see `rcv1/subset1`. The laboratory's Train and Test
parts are joined and split again at random.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.data.archive import digest
from transferbench.data.fetch import File
from transferbench.data.problems import (
    TasksFrom,
    TrainFraction,
    assign_tasks_from,
    problem_from_views,
    train_mask,
)
from transferbench.datasets._user_files import check_nonnegative, own_folder, read_numbers
from transferbench.parameters import Count, CountOrZero
from transferbench.problem import Matrix, Problem, Truth
from transferbench.userdata.documents import check_size

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"nus-wide": "NUS-WIDE-LITE, from your copy: 81 concepts, 4 tasks"}
FACTS: dict[str, dict[str, Any]] = {"nus-wide": {}}
PARTS = ("Train", "Test")
# Paths of the files by name (concept or kind) and part.
LABELS = "NUS-WIDE-Lite_groundtruth/Lite_Labels_{}_{}.txt"
FEATURES = "NUS-WIDE-Lite_features/Normalized_{}_Lite_{}.dat"
TAGS = "NUS-WIDE-Lite_tags/Lite_Tags1k_{1}.txt"
#: Git blobs of the Train and the Test file of a kind.
BLOBS = {
    "CH": (
        "4370c7a3f2bc607c27e469c8e44970df78db1574",
        "913d81384ddc9aa73004a0a7b0dad47b27f980d1",
    ),
    "CORR": (
        "ecb09b0c13085ea7509b274b6aa789efca9659c7",
        "d3d797662ff665e0b28af478d5b1fd200f806278",
    ),
    "EDH": (
        "25f1db816ecc6980641902f85a5b71b4f778e0f8",
        "97b6b5502ce83bfc5a6179b3a073534380f62413",
    ),
    "WT": (
        "18a274e8af9d06a751059f047b886c7bbb7c0668",
        "0cb160691f9ed8ef730ba9dafef7808b75540368",
    ),
    "CM55": (
        "e6783de331873758022e89b261800c4af235315c",
        "a111c3fcd9655d352cf5f6d5836fd354a0e299b3",
    ),
    "tags": (
        "d37b79f7bbc54f8f0750c45347a06c8393f09bac",
        "99e1aa7689ea7cb8b1676057d6b6f99425535b29",
    ),
}
#: What must be true of the labels.
LABEL_FACTS = {
    "Train images": 27_807,
    "Test images": 27_808,
    "concepts": 81,
    "labels per image": 4.211,
    "label sets": 15_114,
    "images without a label": 2_989,
}
REMEDY = (
    "run `git clone https://github.com/Umauro/Taller2-Machine-Learning FOLDER` and "
    "`git -C FOLDER checkout 8bf9e9bcdf4934ccf0cd81d5e968ac84f587e5b3`, or unpack NUS-WIDE-LITE"
)


def own_files(folder: Path) -> list[Path]:
    """Return the files that a task may be built from."""
    patterns = [pattern.format("*", "*") for pattern in (LABELS, FEATURES, TAGS)]
    found = (file for pattern in patterns for file in _unpacked(folder).glob(pattern))
    return sorted(file for file in found if file.is_file())


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    verify: bool = True,
    views: str = "CH+CORR",
    tasks: Count = 4,
    tasks_from: TasksFrom = "labels",
    train: TrainFraction = 0.5,
    split: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Build the task.

    path: the folder, if it is not own/nus-wide. verify: compare the files with the known ones.
    views: kinds of features, or "tags", joined by +. tasks, tasks_from, train, split: see
    `rcv1/subset1`. Raises Unavailable without a path, ValueError for files that are missing, in
    another format or, with verify, other ones.
    """
    folder = _unpacked(own_folder(path, task, "NUS-WIDE: its files are not fetched", REMEDY))
    kinds = views.split("+")
    for kind in kinds:
        _check_kind(folder, kind, kinds)
    for kind in kinds if verify else ():
        _verify_features(folder, kind)
    concepts, parts = _labels(folder)
    if verify:
        _verify_labels(parts)
    matrices = [_features(folder, kind, [len(part) for part in parts]) for kind in kinds]
    Y, tops = np.vstack(parts), [""] * len(concepts)
    seen = train_mask(len(Y), train, split)
    assigned = assign_tasks_from(tasks_from, Y, tops, tasks, seen=seen, X=matrices[0], split=split)
    return problem_from_views(task, concepts, matrices, Y, assigned, seen)


def _unpacked(folder: Path) -> Path:
    """Return the folder of the files: `NUS-WIDE-Lite` in the user's folder, or that itself."""
    inside = folder / "NUS-WIDE-Lite"
    return inside if inside.is_dir() else folder


def _paths(folder: Path, kind: str) -> list[Path]:
    """Return the Train and the Test file of a kind of features, or of the tags."""
    pattern = TAGS if kind == "tags" else FEATURES
    return [folder / pattern.format(kind, part) for part in PARTS]


def _check_kind(folder: Path, kind: str, kinds: list[str]) -> None:
    """Raise ValueError for a view that is misspelt, given twice, or without its files."""
    known = ", ".join([*BLOBS, "BoW"])
    if not re.fullmatch(r"\w+", kind) or kinds.count(kind) > 1:
        raise ValueError(
            f"views={'+'.join(kinds)}: expected different ones of {known}, joined by +"
        )
    for file in _paths(folder, kind):
        if not file.is_file():
            raise ValueError(f"{file.name} is missing (views: {known}); {REMEDY}")
        check_size(file)


def _verify_features(folder: Path, kind: str) -> None:
    """Raise ValueError if a file is not the known one; visual words are not known."""
    for file, blob in zip(_paths(folder, kind), BLOBS.get(kind, ()), strict=False):
        found = digest(file, "git-blob")
        if found != f"git-blob:{blob}":
            raise ValueError(
                f"{file.name} is {found}, expected git-blob:{blob} (verify=false takes it as it is)"
            )


def _verify_labels(parts: list[np.ndarray]) -> None:
    """Raise ValueError if a fact of the labels (n, m) of the two parts does not hold."""
    Y = np.vstack(parts)
    found = {
        "Train images": len(parts[0]),
        "Test images": len(parts[1]),
        "concepts": Y.shape[1],
        "labels per image": round(float(Y.sum(axis=1).mean()), 3),
        "label sets": len(np.unique(np.packbits(Y.astype(bool), axis=1), axis=0)),
        "images without a label": int((~Y.any(axis=1)).sum()),
    }
    for fact, expected in LABEL_FACTS.items():
        if found[fact] != expected:
            raise ValueError(
                f"{LABELS.partition('/')[0]}: {found[fact]:,} {fact}, expected {expected:,} "
                "(verify=false takes them as they are)"
            )


def _labels(folder: Path) -> tuple[list[str], list[np.ndarray]]:
    """Return the concepts and, of the Train and the Test part, the labels (n, m) 0/1."""
    concepts = set()
    for part in PARTS:
        prefix, suffix = LABELS.format("*", part).split("*")
        files = (f.relative_to(folder).as_posix() for f in folder.glob(f"{prefix}*{suffix}"))
        concepts |= {file.removeprefix(prefix).removesuffix(suffix) for file in files}
    if not concepts:
        raise ValueError(f"no {LABELS.format('CONCEPT', PARTS[0])}")
    names = sorted(concepts)
    return names, [
        np.hstack(_columns([folder / LABELS.format(name, part) for name in names]))
        for part in PARTS
    ]


def _columns(files: list[Path]) -> list[np.ndarray]:
    """Return a column (n, 1) of 0 and 1 from each file; all have the same number of lines."""
    columns: list[np.ndarray] = []
    for file in files:
        y = read_numbers(file)
        if y.shape[1] != 1 or not np.isin(y, (0, 1)).all():
            raise ValueError(f"{file.name}: expected one 0 or 1 in each line")
        if columns and len(y) != len(columns[0]):
            expected = f"expected {len(columns[0]):,} as in {files[0].name}"
            raise ValueError(f"{file.name}: {len(y):,} lines, {expected}")
        columns.append(y.astype(np.int8))
    return columns


def _features(folder: Path, kind: str, sizes: list[int]) -> Matrix:
    """Return the features (n, d) of the Train images, then of the Test images.

    sizes: numbers of images of the two parts.
    """
    parts = []
    for file, size in zip(_paths(folder, kind), sizes, strict=True):
        X = check_nonnegative(read_numbers(file), file.name)
        if len(X) != size:
            raise ValueError(f"{file.name}: {len(X):,} lines, expected {size:,} as of the labels")
        parts.append(X)
    if parts[0].shape[1] != parts[1].shape[1]:
        raise ValueError(f"features {kind}: Train and Test differ in columns")
    X = np.vstack(parts)
    return sp.csr_array(X) if kind == "tags" else X
