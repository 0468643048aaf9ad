"""NUS-WIDE-LITE: 55,615 Flickr images, low-level features, tags, 81 concepts (Chua et al. 2009).

The multi-label paper's Tables 1 and 11. The laboratory gives its files away under an agreement, so
they are not fetched, and no digest of them is known here. Unpack NUS-WIDE-LITE of
https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html in the folder
`own/nus-wide` of the data folder, or in another and name it, `nus-wide:path=FOLDER`. It then has

    NUS-WIDE-Lite_features/Normalized_KIND_Lite_{Train,Test}.dat      one line of numbers an image
    NUS-WIDE-Lite_tags/Lite_Tags1k_{Train,Test}.txt                   one line of 0 and 1 an image
    NUS-WIDE-Lite_groundtruth/Lite_Labels_CONCEPT_{Train,Test}.txt    one 0 or 1 an image

KINDs are CH (colour histogram, 64 numbers), CORR (colour correlogram, 144), EDH (edges, 73), WT
(wavelet texture, 128) and CM55 (colour moments, 225). The reader is tested on small made-up files.

The paper has 708 features: those of CH, CORR and 500 of a bag of visual words, which is not among
these files; beside them as Normalized_BoW_Lite_{Train,Test}.dat it can be named, too:
`views=CH+CORR+BoW`. The paper's Hamming losses are near 2 · density · (1 − F1), which asks for a
density of .29, and 81 concepts have .023: it must have used a few broad ones, which it does not
name. Here all are labels. Tasks: the concepts, dealt in turn by the largest an image has, from true
labels, of test images, too: `tasks=1` is without. The laboratory's Train and Test are put together
and drawn anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt, Lt

from transferbench.data.fetch import File
from transferbench.parameters import Count

if TYPE_CHECKING:
    import numpy as np

    from transferbench.problem import Matrix, Problem, Truth

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"nus-wide": "NUS-WIDE-LITE, from your copy: 81 concepts, 4 tasks"}
FACTS: dict[str, dict[str, Any]] = {"nus-wide": {}}
PARTS = ("Train", "Test")
LABEL = "NUS-WIDE-Lite_groundtruth/Lite_Labels_{}_{}.txt"
VIEWS = {"tags": "NUS-WIDE-Lite_tags/Lite_Tags1k_{1}.txt"}  # the others:
VIEW = "NUS-WIDE-Lite_features/Normalized_{}_Lite_{}.dat"
REMEDY = (
    "unpack NUS-WIDE-LITE of "
    "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html"
)


def own(folder: Path) -> list[Path]:
    """The files that a task may be built from."""
    found = (folder.glob(p.format("*", "*")) for p in (LABEL, VIEW, *VIEWS.values()))
    return sorted(file for files in found for file in files)


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    views: str = "CH+CORR+EDH",
    tasks: Count = 4,
    train: Annotated[float, Gt(0), Lt(1)] = 0.5,
    split: Annotated[int, Ge(0)] = 0,
) -> tuple[Problem, Truth]:
    """The task as a Problem and its Truth.

    path: the folder, where it is not own/nus-wide. views: kinds of features, or "tags", joined by
    +. tasks, train, split: as of `rcv1/subset1`. Raises Unavailable without a path, ValueError for
    files that are not there or not of the format.
    """
    import numpy as np
    import scipy.sparse as sp

    from transferbench.data.datasets._multilabel import deal, problem, share
    from transferbench.data.datasets._user_files import folder, nonnegative

    place = folder(path, task, "NUS-WIDE: its files are not fetched", REMEDY)
    start, end = LABEL.format("*", PARTS[0]).split("*")
    concepts = sorted(f"{f.relative_to(place).as_posix()}"[len(start) : -len(end)]
                      for f in place.glob(start + "*" + end))  # fmt: skip
    if not concepts:
        raise ValueError(f"no {LABEL.format('CONCEPT', PARTS[0])}")
    Y = np.hstack([_both(place, LABEL, concept) for concept in concepts])
    if not np.isin(Y, (0, 1)).all() or Y.shape[1] != len(concepts):
        raise ValueError(f"{LABEL.format('CONCEPT', 'Train')}: expected one 0 or 1 in each line")
    chosen: list[Matrix] = []
    for kind in views.split("+"):
        X = nonnegative(_both(place, VIEWS.get(kind, VIEW), kind), f"features {kind}")
        if len(X) != len(Y):
            raise ValueError(f"features {kind} are of {len(X)} images, labels of {len(Y)}")
        chosen.append(sp.csr_array(X) if kind in VIEWS else X)
    dealt = deal(Y, [""] * len(concepts), tasks)
    return problem(task, concepts, chosen, Y, dealt, share(len(Y), train, split))


def _both(place: Path, pattern: str, name: str) -> np.ndarray:
    """The numbers of the Train and the Test file, one below the other."""
    import numpy as np

    from transferbench.data.datasets._user_files import numbers

    parts = [numbers(place / pattern.format(name, part)) for part in PARTS]
    if parts[0].shape[1] != parts[1].shape[1]:
        raise ValueError(f"{pattern.format(name, '…')}: Train and Test differ in columns")
    return np.vstack(parts)
