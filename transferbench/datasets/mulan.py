"""Mulan's multi-label data sets: emotions, yeast, medical, enron, bibtex.

Five sets of the library Mulan (Tsoumakas et al., JMLR 2011) that papers on multi-label learning
often use, in ARFF, with the names of the labels in XML:

    emotions   593 songs, 72 features of rhythm and timbre, 6 emotions
    yeast      2,417 genes, 103 numbers (expression, phylogeny), 14 groups of functions
    medical    978 radiology reports, 1,449 words, 45 codes of diseases
    enron      1,702 e-mails, 1,001 words, 53 topics
    bibtex     7,395 entries of BibSonomy, 1,836 words, 159 tags

There is one domain, "all", and one view. The words are published as 0 and 1. The numbers of
emotions and yeast, which may be negative, are scaled: each feature to [0, 1] by its least and
largest value over all documents, test documents included; no label is used. Features that never
occur are dropped.

The publishers' files for training and test are not in the repository at this commit: each split is
a random half by the number `split`, so scores differ from those that papers print for the
publishers' parts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import numpy as np
import scipy.sparse as sp

from transferbench.data.fetch import files_of
from transferbench.data.formats.arff import read
from transferbench.data.options import Natural, TrainFraction, Weighting
from transferbench.data.text import weight
from transferbench.datasets._multilabel import problem_from_views, train_mask
from transferbench.problem import Matrix, Problem, Truth

ORIGIN = (
    "https://raw.githubusercontent.com/tsoumakas/mulan/"
    "43f6389095ad71984264db4387a8074b22bc7d4a/data/multi-label"
)
LICENCE = (
    "Mulan's data sets have different owners, and no licence is stated for all; see the README of "
    "each set."
)
#: Size and SHA-256 of each file.
ORIGINALS = {
    "emotions/emotions.arff": (
        380_476, "6f2f790047073d1293ac0872c0d55f2dc98b6177802fc96c6b66b309dfee1e4b",
    ),
    "emotions/emotions.xml": (
        323, "dbce8e6ccbbb2fcbfd9e9edbb230d7ed12692c6e13f59fdbc0161fa9b6cf2dc0",
    ),
    "yeast/yeast.arff": (
        2_416_688, "55c07a3b6ff885ae338fb6987a1d57f55572b29809922c2822c4885c61230dd7",
    ),
    "yeast/yeast.xml": (
        526, "c3056cc26444b5158b1588d1b73bec9c45429e10f0957ad085903423cb81f247",
    ),
    "medical/medical.arff": (
        129_626, "ad0630a9a409ed0023c3bb56a0be7610b635c1ca185c6035e3b198b01167aac4",
    ),
    "medical/medical.xml": (
        1_818, "51fa9d5c09e48caff3f0a0c75db1c9aa85944f8e35451f3ad8bd56fc422286ce",
    ),
    "enron/enron.arff": (
        906_705, "d0889ef0576d4e7b5ec0df3b3e4760e476ac11a6e7d7ddeee4c4a34470dedf97",
    ),
    "enron/enron.xml": (
        1_604, "ed40c92d7f613eed51714912cab10dddc4ce456262137d8fef230d44c7f4457b",
    ),
    "bibtex/bibtex.arff": (
        3_457_832, "a282a6d1fb3cdaf39bde3f81cd4e6079850a7a538a6bc44f8b4ed95dfe1e5014",
    ),
    "bibtex/bibtex.xml": (
        5_880, "08fe20013c1e75dcf1888c185f5187c95e76495b8518ce289b4d3afce38d1232",
    ),
}  # fmt: skip
FILES = files_of("mulan", ORIGIN, ORIGINALS, LICENCE)
TASKS = {
    "mulan/emotions": "Mulan, emotions: 593 songs, 72 features, 6 labels",
    "mulan/yeast": "Mulan, yeast: 2,417 genes, 103 features, 14 labels",
    "mulan/medical": "Mulan, medical: 978 reports, 1,449 words, 45 labels",
    "mulan/enron": "Mulan, enron: 1,702 e-mails, 1,001 words, 53 labels",
    "mulan/bibtex": "Mulan, bibtex: 7,395 entries, 1,836 words, 159 labels",
}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
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
    weighting: Weighting = "tf",
    unit_length: bool = False,
    train: TrainFraction = 0.5,
    split: Natural = 0,
) -> tuple[Problem, Truth]:
    """Build one task.

    weighting, unit_length: see `text.weight`, fitted on all documents; the defaults leave the words
    0 and 1. train: fraction of the documents whose labels are seen, drawn at random; split: number
    of the draw. Raises ValueError for a file in another format, or weights for a set of numbers.
    """
    data, labels = (files[name] for name in needed(task))
    table = read(data, label_names(labels))
    X: Matrix
    if task in NUMERIC:
        if weighting != "tf" or unit_length:
            raise ValueError("its features are no words; weighting and unit_length are for words")
        X = scale(np.asarray(table.X))
    else:
        X = weight(sp.csr_array(table.X), weighting, unit_length)
    everything, seen = np.zeros(len(table.Y), np.intp), train_mask(len(table.Y), train, split)
    return problem_from_views(task, table.labels, [X], table.Y, everything, seen)


def scale(X: np.ndarray) -> np.ndarray:
    """Return X (n, d), float32, with each feature from 0 to 1; a constant one is 0."""
    low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    return np.asarray((X - low) / np.where(high > low, high - low, 1), np.float32)


def label_names(path: Path) -> list[str]:
    """Return the names of the labels of an XML file, flat or nested: <label name="…">.

    Raises ValueError for a file that is no such XML, and for a DTD, which could define entities.
    """
    names: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(" ")[2] == "label":
            if "name" not in attributes:
                raise ValueError("a label has no name")
            names.append(attributes["name"])

    def refuse(*_: object) -> NoReturn:
        raise ValueError("has a DTD, which is not read")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise ValueError(f"{path.name}: {error}") from error
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{path.name}: expected labels, each with a name of its own")
    return names
