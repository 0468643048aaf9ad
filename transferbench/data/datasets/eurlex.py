"""EUR-Lex: 19,348 documents of European Union law and their classes (Loza Mencía, Fürnkranz 2010).

The multi-label paper's Tables 1 and 10. Its authors publish the stemmed words of each document, in
order, so that terms can be counted; the sets made of them for other programs have weights alone.
Download `eurlex_tokenstring.arff.gz` (36 MB) and `eurlex_id2class.zip` (2 MB), as they are, from
https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/2937 into the folder `own/eurlex` of the data
folder, or into another and name it: `eurlex/directory-codes:path=FOLDER`. They are not fetched,
because no digest of them is known here and nothing is used that is not verified or your own. The
reader is tested on small made-up files.

Labels: the 20 directory codes of the first level (`eurlex/directory-codes`), the deepest ones
(…-all, 410) or the 201 subject matters. The paper's Table 1 counts the deepest (412 labels,
cardinality 1.292, diversity 1,615), but its Hamming losses are near 2 · density · (1 − F1), which
asks for a density of about .06: that of the first level is .059, that of the deepest .003. Views:
tf-idf of the 5,000 terms in most documents, and topics by PLSA on their counts. Tasks: codes of the
second level, dealt in turn within each of the first by the largest a document has. How the paper
deals them, and what part it trains on, it does not say. A task's name thus comes from true labels,
of test documents, too: `tasks=1` is without.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt

from transferbench.data.archive import members
from transferbench.data.fetch import File
from transferbench.parameters import Count

if TYPE_CHECKING:
    import numpy as np

    from transferbench.problem import Matrix, Problem, Truth

FILES: dict[str, File] = {}  # nothing to fetch
TEXTS, CLASSES = "eurlex_tokenstring.arff.gz", "eurlex_id2class.zip"
#: Task → the file of its labels in the archive.
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
    f"keep {TEXTS} and {CLASSES} of "
    "https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/2937, as they are"
)


def own(folder: Path) -> list[Path]:
    """The files that a task is built from."""
    from transferbench.data.datasets._user_files import present

    return present(folder / name for name in (TEXTS, CLASSES))


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    features: Count = 5000,
    views: Literal["both", "tf-idf", "topics"] = "both",
    topics: Count = 100,
    tasks: Count = 4,
    train: Annotated[float, Gt(0), Lt(1)] = 0.5,
    split: Annotated[int, Ge(0)] = 0,
) -> tuple[Problem, Truth]:
    """One task as a Problem and its Truth.

    path: the folder with the two files, where it is not own/eurlex. features: how many terms, of
    highest document frequency. views, topics, tasks, train, split: as of `rcv1/subset1`. Raises
    Unavailable without a path, ValueError for files that are not of the format.
    """
    from transferbench.data.datasets._multilabel import deal, problem, share, topic_view
    from transferbench.data.datasets._user_files import folder
    from transferbench.data.text import count, select, weight

    place = folder(path, task, "EUR-Lex: its files are not fetched", REMEDY)
    numbers, texts = _texts(place / TEXTS)
    classes, Y = _labels(place / CLASSES, LABELS[task], numbers)
    codes, sub = _labels(place / CLASSES, "DC_leaves_l2", numbers)
    counts, vocabulary = count(texts, r"\S+")
    kept = select(counts, vocabulary, stop_words="none", min_df=1, max_features=features)
    counts = counts[:, kept]
    chosen: list[Matrix] = [] if views == "topics" else [weight(counts, "tf-idf", True)]
    if views != "tf-idf":
        chosen.append(topic_view(counts, topics))
    dealt = deal(sub, [code.partition(".")[0] for code in codes], tasks)
    return problem(task, classes, chosen, Y, dealt, share(len(Y), train, split))


def _texts(file: Path) -> tuple[list[str], list[str]]:
    """Numbers and stemmed words of the documents: lines 13286,'oliv oil price …' after @data."""
    numbers, texts, data = [], [], False
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                number, comma, text = line.strip().partition(",")
                if data and comma:
                    numbers.append(number)
                    texts.append(text.strip("'\""))
                data = data or line.strip().lower() == "@data"
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name} cannot be read ({error})") from error
    if not texts:
        raise ValueError(f"{file.name}: expected lines of a number and words after @data")
    return numbers, texts


def _labels(file: Path, kind: str, numbers: list[str]) -> tuple[list[str], np.ndarray]:
    """Labels by name and (n, m) 0/1: lines "oils_and_fats 13286 1" of a file in the archive."""
    import numpy as np

    wanted = f"id2class_eurlex_{kind}.qrels"
    text = next((data for name, data in members(file) if name.endswith(f"/{wanted}")
                 or name == wanted), None)  # fmt: skip
    if text is None:
        raise ValueError(f"{file.name} has no {wanted}")
    pairs = [line.split() for line in text.decode().splitlines() if line.strip()]
    if not all(len(pair) == 3 for pair in pairs):
        raise ValueError(f"{wanted}: expected lines of a class, a document's number and 1")
    row = {number: place for place, number in enumerate(numbers)}
    known = [(label, row[number]) for label, number, _ in pairs if number in row]
    names = sorted({label for label, _ in known})
    if not names:
        raise ValueError(f"{wanted}: no document of {TEXTS} has a class")
    column = {label: place for place, label in enumerate(names)}
    Y = np.zeros((len(numbers), len(names)), np.int8)
    for label, place in known:
        Y[place, column[label]] = 1
    return names, Y
