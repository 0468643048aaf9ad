"""EUR-Lex: 19,348 documents of European Union law and their classes (Loza Mencía, Fürnkranz 2010).

Data of the multi-label paper's Tables 1 and 10. The authors publish the stemmed words of each
document in order, so that terms can be counted; the versions converted for other programs have only
weights. Download `eurlex_tokenstring.arff.gz` (36 MB) and `eurlex_id2class.zip` (2 MB), as they
are, from https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/2937 into the folder `own/eurlex`
of the data folder, or into another one and name it: `eurlex/directory-codes:path=FOLDER`. They are
not fetched, because their digests are not known here and every fetched file is verified. The reader
is tested on small made-up files.

Labels: the 20 directory codes of the first level (`eurlex/directory-codes`), the 410 deepest ones
(…-all) or the 201 subject matters. The paper's Table 1 counts the deepest (412 labels, cardinality
1.292, diversity 1,615), but its Hamming losses are near 2 · density · (1 − F1), which implies a
density of about .06: that of the first level is .059, that of the deepest .003.
Views: tf-idf of the 5,000 terms of highest document frequency, and topics by PLSA on their counts.
Tasks: the codes of the second level are assigned in turn within each code of the first; a document
belongs to its largest code. The paper states neither its assignment nor the fraction it trains on.
The task of a document thus depends on true labels, including those of test documents; `tasks=1`
avoids that.
"""

from __future__ import annotations

import gzip
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from transferbench.data.archive import members
from transferbench.data.datasets._multilabel import (
    assign_tasks,
    problem_from_views,
    topic_view,
    train_mask,
)
from transferbench.data.datasets._user_files import own_folder
from transferbench.data.fetch import File
from transferbench.data.options import Natural, TrainFraction, Views
from transferbench.data.text import count, select, weight
from transferbench.parameters import Count
from transferbench.problem import Matrix, Problem, Truth

FILES: dict[str, File] = {}  # nothing to fetch
TEXTS, CLASSES = "eurlex_tokenstring.arff.gz", "eurlex_id2class.zip"
#: Task → file of its labels in the archive.
LABELS = {
    "eurlex/directory-codes": "DC_l1",
    "eurlex/directory-codes-all": "DC_leaves",
    "eurlex/subject-matters": "subject_matter",
}
TASKS = {
    "eurlex/directory-codes": "EUR-Lex, from your copy: 20 directory codes, 4 tasks",
    "eurlex/directory-codes-all": "EUR-Lex, from your copy: all 410 directory codes, 4 tasks",
    "eurlex/subject-matters": "EUR-Lex, from your copy: 201 subject matters, 4 tasks",
}
FACTS: dict[str, dict[str, Any]] = {task: {} for task in TASKS}
REMEDY = (
    f"put {TEXTS} and {CLASSES} of "
    "https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/2937, as they are"
)


def own_files(folder: Path) -> list[Path]:
    """Return the files that a task is built from."""
    return [file for name in (TEXTS, CLASSES) if (file := folder / name).is_file()]


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    features: Count = 5000,
    views: Views = "both",
    topics: Count = 100,
    tasks: Count = 4,
    train: TrainFraction = 0.5,
    split: Natural = 0,
) -> tuple[Problem, Truth]:
    """Build one task.

    path: folder of the two files, if it is not own/eurlex. features: number of terms, of highest
    document frequency. views, topics, tasks, train, split: see `rcv1/subset1`. Raises Unavailable
    without a path, ValueError for files in another format.
    """
    folder = own_folder(path, task, "EUR-Lex: its files are not fetched", REMEDY)
    numbers, texts = _texts(folder / TEXTS)
    classes, Y = _labels(folder / CLASSES, LABELS[task], numbers)
    codes, Y_codes = _labels(folder / CLASSES, "DC_leaves_l2", numbers)
    counts, vocabulary = count(texts, r"\S+")
    columns = select(counts, vocabulary, stop_words="none", min_df=1, max_features=features)
    counts = counts[:, columns]
    matrices: list[Matrix] = [] if views == "topics" else [weight(counts, "tf-idf", True)]
    if views != "tf-idf":
        matrices.append(topic_view(counts, topics))
    assigned = assign_tasks(Y_codes, [code.partition(".")[0] for code in codes], tasks)
    seen = train_mask(len(Y), train, split)
    return problem_from_views(task, classes, matrices, Y, assigned, seen)


def _texts(file: Path) -> tuple[list[str], list[str]]:
    """Return numbers and words of the documents: lines 13286,'oliv oil price …' after @data."""
    numbers, texts, in_data = [], [], False
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                number, comma, text = line.strip().partition(",")
                if in_data and comma:
                    numbers.append(number)
                    texts.append(text.strip("'\""))
                in_data = in_data or line.strip().lower() == "@data"
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name} cannot be read ({error})") from error
    if not texts:
        raise ValueError(f"{file.name}: expected lines of a number and words after @data")
    return numbers, texts


def _labels(file: Path, kind: str, numbers: list[str]) -> tuple[list[str], np.ndarray]:
    """Return label names and Y (n, m) 0/1, from lines "oils_and_fats 13286 1" in the archive."""
    member = f"id2class_eurlex_{kind}.qrels"
    contents = {PurePosixPath(name).name: content for name, content in members(file)}
    if member not in contents:
        raise ValueError(f"{file.name} has no {member}")
    lines = [line.split() for line in contents[member].decode().splitlines() if line.strip()]
    if not all(len(line) == 3 for line in lines):
        raise ValueError(f"{member}: expected lines of a class, a document's number and 1")
    row_of = {number: row for row, number in enumerate(numbers)}
    labelled = [(label, row_of[number]) for label, number, _ in lines if number in row_of]
    if not labelled:
        raise ValueError(f"{member}: no document of {TEXTS} has a class")
    names, columns = np.unique([label for label, _ in labelled], return_inverse=True)
    Y = np.zeros((len(numbers), len(names)), np.int8)
    Y[[row for _, row in labelled], columns] = 1
    return names.tolist(), Y
