"""Amazon reviews of books, DVDs, electronics and kitchen appliances, positive or negative.

This is the Multi-Domain Sentiment Dataset (Blitzer, Dredze and Pereira, ACL 2007), the usual
benchmark of text transfer. It has 1,000 positive and 1,000 negative reviews of each domain, as
counts of words and of pairs of adjacent words. A task has the labelled reviews of one domain as
source and those of another as target. Reviews are in the order of the files, and the negative ones
come first.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared
from transferbench.data.problems import Content, builder

CLASSES = ("negative", "positive")
FILES, TASKS = declared(__file__)


def needed(task: str) -> list[str]:
    """Return the two files of the source and of the target."""
    pair = task.removeprefix("amazon/").split("-vs-")
    return [f"amazon-reviews/{domain}/{name}.review" for domain in pair for name in CLASSES]


def _read(task: str, files: dict[str, Path]) -> Content:
    from sklearn.feature_extraction import DictVectorizer

    reviews, labels = [], []
    for path in files.values():
        for line in path.read_text(encoding="utf-8").strip().split("\n"):
            *pairs, label = line.strip().split(" ")
            labels.append(CLASSES.index(label.removeprefix("#label#:")))
            split = (pair.rpartition(":") for pair in pairs)
            reviews.append({term: int(count) for term, _, count in split})
    vectorizer = DictVectorizer(dtype=np.int64)
    counts = sp.csr_array(vectorizer.fit_transform(reviews))
    y = np.array(labels)
    half = len(y) // 2
    parts = {"source": (counts[:half], y[:half]), "target": (counts[half:], y[half:])}
    return Content(CLASSES, parts, [term.replace("_", " ") for term in vectorizer.feature_names_])


build = builder(_read, min_df=5)
