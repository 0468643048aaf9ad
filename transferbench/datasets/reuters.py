"""Reuters-21578, cross-domain: news on organisations, people and places, two classes at a time.

These are the preprocessed sets of Gao et al. (KDD 2008), which the GTL and DTL papers use: raw
counts over a vocabulary of each task, whose words are not published. Subcategories of a class are
split between source and target. Labels are 1 and 2, without names. The names follow from the files:
each class is in two of the three tasks with the same documents (people 649 + 621, orgs 588 + 587,
places 428 + 456).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from transferbench.data.fetch import files_of
from transferbench.data.formats.mat import read_counts
from transferbench.data.options import UnequalIn, Weighting
from transferbench.datasets._class_sizes import cut
from transferbench.datasets._problems import problem_from_counts
from transferbench.parameters import Count
from transferbench.problem import Problem, Truth

ORIGIN = (
    "https://raw.githubusercontent.com/cswhjiang/Transfer-Spectral-Clustering/"
    "a89c9fbb400cbed5a9387e06cfc59b9ff5bc47d4"
)
LICENCE = (
    "Reuters-21578 is distributed for research use, copyright Reuters; no licence is stated for "
    "this preprocessed form."
)
ORIGINALS = {
    "OrgsPeople_src.mat": (170_007,
        "c8b9f746e1c264495e99ed4146860552a8ae34a09908b701136a41790f426f1f"),
    "OrgsPeople_tar.mat": (187_009,
        "eaed1ba8c112bb52cfa1406c4566e72e85b65be932f7264014c9410753abc4ac"),
    "OrgsPlaces_src.mat": (152_368,
        "5afabffd3849a4df96b8cdb5b5cce95d6d5a56a7afb59cc72bc1084ec8da918a"),
    "OrgsPlaces_tar.mat": (182_389,
        "fe081f5c1541c135f898b543e603966c4d201cbd315d57179cfc146dd10a8a85"),
    "PeoplePlaces_src.mat": (147_511,
        "d05eb255118bd11817916d5f321ecf2f3a7c50fccda6610868e72b6d1a8c864a"),
    "PeoplePlaces_tar.mat": (180_298,
        "464696da75344a6813200f1b7d746f76376ab1a928f8e11ace2dacde056fee18"),
}  # fmt: skip
FILES = files_of("reuters-cross-domain", ORIGIN, ORIGINALS, LICENCE)

#: Task → prefix of its files, and the classes of the labels 1 and 2.
LABELS = {
    "reuters/orgs-vs-people": ("OrgsPeople", ("people", "orgs")),
    "reuters/orgs-vs-places": ("OrgsPlaces", ("orgs", "places")),
    "reuters/people-vs-places": ("PeoplePlaces", ("people", "places")),
}
TASKS = {
    task: f"Reuters-21578, {' against '.join(sorted(names))}: 2 domains, the first labelled"
    for task, (_, names) in LABELS.items()
}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def needed(task: str) -> list[str]:
    """Return the files of the source and of the target."""
    return [f"reuters-cross-domain/{LABELS[task][0]}_{part}.mat" for part in ("src", "tar")]


def build(
    task: str,
    files: dict[str, Path],
    *,
    min_df: Count = 1,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
    class_sizes: str = "",
    unequal_in: UnequalIn = "target",
) -> tuple[Problem, Truth]:
    """Build one task.

    min_df: drop features in fewer documents, counted over both domains; 1 keeps all that occur.
    weighting, unit_length: see `text.weight`; fitted on both domains together.
    class_sizes, unequal_in: cut the classes, see `_class_sizes.cut`; weights and document
    frequencies are those of the documents that remain. Raises ValueError
    for a file with other content than expected.
    """
    names = LABELS[task][1]
    classes = sorted(names)  # in the order of the task's name
    class_of_label = np.array([classes.index(name) for name in names])
    parts = {}
    for domain, name in zip(("source", "target"), needed(task), strict=True):
        stem = Path(name).stem
        counts, y = read_counts(files[name], f"{stem}_data", f"{stem}_label")
        parts[domain] = counts, class_of_label[y]
    return problem_from_counts(
        task,
        "transfer",
        classes,
        cut(parts, classes, class_sizes, unequal_in),
        min_df=min_df,
        weighting=weighting,
        unit_length=unit_length,
    )
