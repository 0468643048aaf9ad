"""NUS-WIDE-LITE: 55,615 Flickr images, low-level features, tags, 81 concepts (Chua et al. 2009).

The multi-label paper uses these data in Tables 1 and 11. They are not fetched, because no digests
of the 162 label files are known. A copy is in a git repository, whose commit git verifies:

    git clone https://github.com/Umauro/Taller2-Machine-Learning FOLDER
    git -C FOLDER checkout 8bf9e9bcdf4934ccf0cd81d5e968ac84f587e5b3

FOLDER is `own/nus-wide` of the data folder. For another folder name it in the task, as in
`nus-wide:path=FOLDER`. The laboratory's own copy serves as well. The laboratory gives it away under
an agreement, see
https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html. FOLDER, or
`NUS-WIDE-Lite` in it, has

    NUS-WIDE-Lite_features/Normalized_KIND_Lite_{Train,Test}.dat      one line of numbers an image
    NUS-WIDE-Lite_tags/Lite_Tags1k_{Train,Test}.txt                   one line of 0 and 1 an image
    NUS-WIDE-Lite_groundtruth/Lite_Labels_CONCEPT_{Train,Test}.txt    one 0 or 1 an image

KIND is CH (colour histogram, 64 numbers), CORR (colour correlogram, 144), EDH (edges, 73), WT
(wavelet texture, 128) or CM55 (colour moments, 225). The files of features and tags that are used
must have the digests of that commit. The labels must have its numbers of images, labels and label
sets. Files with other line ends, as git on Windows may write them, are refused.

The paper has 708 features. CH and CORR are among them, and are the views here. The other 500 are of
a bag of visual words, which the copy lacks. Add them as Normalized_BoW_Lite_{Train,Test}.dat, and
use `views=CH+CORR+BoW`. These files are not verified.

All concepts are labels. An image has 4.211 on average (density .0520, 15,114 label sets), and 2,989
images have none. The paper's Table 1 prints 55,615 images with cardinality 1.869, density .023 and
18,430 label sets. These last three numbers are of the full NUS-WIDE (269,648 images: 1.8685, .0231
and 18,430). The paper's Hamming losses are near 2 · density · (1 − F1), which implies a density of
.29. So it must have used a few broad concepts, which it does not name.

The concepts are assigned to the tasks in turn, and an image belongs to its largest concept. By
default this also uses the true labels of test images. `tasks_from=train-labels` (by the first
view), `tasks_from=random` and `tasks=1` avoid this, see `rcv1/subset1`. The laboratory's Train and
Test parts are joined and split again at random.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.archive import digest
from transferbench.data.declared import declared
from transferbench.data.fetch import File
from transferbench.data.problems import MultilabelData, multilabel_builder
from transferbench.problem import Matrix
from transferbench.user_files import check_files, user_folder

FILES: dict[str, File] = {}  # nothing to fetch
#: Digests of the files of all kinds but BoW.
KNOWN, TASKS = declared(__file__)
PARTS = ("Train", "Test")
# Paths of the files by name (concept or kind) and part.
LABELS = "NUS-WIDE-Lite_groundtruth/Lite_Labels_{}_{}.txt"
FEATURES = "NUS-WIDE-Lite_features/Normalized_{}_Lite_{}.dat"
TAGS = "NUS-WIDE-Lite_tags/Lite_Tags1k_{1}.txt"
#: Images, concepts, labels an image, label sets, images without a label.
LABEL_FACTS = (55_615, 81, 4.211, 15_114, 2_989)
REMEDY = (
    "run `git clone https://github.com/Umauro/Taller2-Machine-Learning FOLDER` and "
    "`git -C FOLDER checkout 8bf9e9bcdf4934ccf0cd81d5e968ac84f587e5b3`, or unpack NUS-WIDE-LITE"
)


def user_files(folder: Path) -> list[Path]:
    """Return the files that a task may be built from."""
    patterns = [pattern.format("*", "*") for pattern in (LABELS, FEATURES, TAGS)]
    candidates = (file for pattern in patterns for file in _unpacked(folder).glob(pattern))
    return sorted(file for file in candidates if file.is_file())


def _read(
    task: str, files: dict[str, Path], *, path: str = "", views: str = "CH+CORR"
) -> MultilabelData:
    """Read the task."""
    # `path`: The folder, if it is not own/nus-wide.
    # `views`: Kinds of features, or "tags", joined by +.
    folder = _unpacked(user_folder(path, task, "NUS-WIDE: its files are not fetched", REMEDY))
    matrices = [_features(folder, kind) for kind in views.split("+")]
    concepts, Y = _labels(folder)
    if any(X.shape[0] != len(Y) for X in matrices):
        raise ValueError(f"views={views}: expected a line for each of the {len(Y)} images")
    return MultilabelData(concepts, matrices, Y, Y, [""] * len(concepts), matrices[0])


build = multilabel_builder(_read)


def _unpacked(folder: Path) -> Path:
    """Return `NUS-WIDE-Lite` in the user's folder if it exists, or else the user's folder."""
    inside = folder / "NUS-WIDE-Lite"
    return inside if inside.is_dir() else folder


def _features(folder: Path, kind: str) -> Matrix:
    """Return the features (n, d) of the Train images, then of the Test images."""
    tables = []
    for part in PARTS:
        file = folder / (TAGS if kind == "tags" else FEATURES).format(kind, part)
        if not file.is_file():
            raise ValueError(
                f"{file.name} is missing (views: CH, CORR, EDH, WT, CM55, tags, BoW); {REMEDY}"
            )
        check_files([file])
        original = KNOWN.get(f"nus-wide/{file.relative_to(folder).as_posix()}")
        if original and (actual := digest(file, "git-blob")) != original.digest:
            raise ValueError(f"{file.name} is {actual}, expected {original.digest}; {REMEDY}")
        tables.append(_numbers(file))
    X = np.vstack(tables)
    return sp.csr_array(X) if kind == "tags" else X


def _labels(folder: Path) -> tuple[list[str], np.ndarray]:
    """Return the concepts and the labels (n, m) 0/1, Train part first."""
    files = [sorted(folder.glob(LABELS.format("*", part))) for part in PARTS]
    concepts = [file.stem.removeprefix("Lite_Labels_").rpartition("_")[0] for file in files[0]]
    Y = np.vstack([np.hstack([_numbers(f) for f in part] or [np.empty((0, 0))]) for part in files])
    sets = len(np.unique(np.packbits(Y > 0, axis=1), axis=0))
    mean = round(float(Y.sum()) / max(len(Y), 1), 3)
    facts = (*Y.shape, mean, sets, int((~Y.any(axis=1)).sum()))
    if facts != LABEL_FACTS:
        labels_folder = LABELS.partition("/")[0]
        raise ValueError(f"{labels_folder}: numbers {facts}, expected {LABEL_FACTS}; {REMEDY}")
    return concepts, Y.astype(np.int8)


def _numbers(file: Path) -> np.ndarray:
    """Return the numbers (images, d) of a text file; raise ValueError for other content."""
    try:
        return np.loadtxt(file, np.float32, ndmin=2, comments=None, encoding="utf-8")
    except ValueError as error:
        raise ValueError(f"{file.name}: not a table of numbers ({error})") from error
