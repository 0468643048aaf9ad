"""Mulan's multi-label data sets: emotions, yeast, medical, enron, bibtex.

These are five sets of the library Mulan (Tsoumakas et al., JMLR 2011) that papers on multi-label
learning often use. They are in ARFF, and the names of the labels are in XML:

    emotions   593 songs, 72 features of rhythm and timbre, 6 emotions
    yeast      2,417 genes, 103 numbers (expression, phylogeny), 14 groups of functions
    medical    978 radiology reports, 1,449 words, 45 codes of diseases
    enron      1,702 e-mails, 1,001 words, 53 topics
    bibtex     7,395 entries of BibSonomy, 1,836 words, 159 tags

There is one domain, "all", and one view. The words are published as 0 and 1. The numbers of
emotions and yeast may be negative. So each feature is scaled to [0, 1] by its least and largest
value over all documents, including test documents. No label is used for this. Features that never
occur are dropped.

The publishers' files for training and test are not in the repository at this commit. So each split
is a random half, chosen by the number `split`. Scores therefore differ from those that papers print
for the publishers' parts.
"""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared
from transferbench.data.formats import read_arff
from transferbench.data.problems import TrainFraction, problem_from_views, train_mask
from transferbench.parameters import CountOrZero
from transferbench.problem import Matrix, Problem, Truth

FILES, TASKS = declared(__file__)
#: Sets whose features are numbers, not words.
NUMERIC = ("mulan/emotions", "mulan/yeast")


def needed(task: str) -> list[str]:
    """Return the data and the names of the labels."""
    name = task.removeprefix("mulan/")
    return [f"mulan/{name}/{name}.arff", f"mulan/{name}/{name}.xml"]


def build(
    task: str,
    files: dict[str, Path],
    *,
    train: TrainFraction = 0.5,
    split: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Build one task.

    Parameters
    ----------
    train
        Fraction of the documents whose labels are seen, drawn at random.
    split
        Number of the draw.
    """
    data, labels = files.values()
    table, Y, classes = read_arff(data, label_names(labels))
    X: Matrix = scale(np.asarray(table)) if task in NUMERIC else sp.csr_array(table)
    one_task, seen = np.zeros(len(Y), np.intp), train_mask(len(Y), train, split)
    return problem_from_views(task, classes, [X], Y, one_task, seen)


def scale(X: np.ndarray) -> np.ndarray:
    """Return X (n, d), float32, with each feature scaled to [0, 1]; a constant feature is 0."""
    low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    return np.asarray((X - low) / np.where(high > low, high - low, 1), np.float32)


def label_names(path: Path) -> list[str]:
    """Return the names of the labels of an XML file, flat or nested: <label name="…">."""
    elements = ElementTree.fromstring(path.read_bytes()).iter()
    return [element.attrib["name"] for element in elements if element.tag.endswith("label")]
