"""Reuters-21578, cross-domain: news on organisations, people and places, two classes at a time.

These are the preprocessed sets of Gao et al. (KDD 2008), which the GTL and DTL papers use. They are
raw counts. Each task has its own vocabulary, whose words are not published. Subcategories of a
class are split between source and target. Labels are 1 and 2, without names. The names follow from
the files: each class is in two of the three tasks with the same documents (people 649 + 621, orgs
588 + 587, places 428 + 456).
"""

from pathlib import Path

import numpy as np

from transferbench.data.declared import declared
from transferbench.data.formats import read_counts
from transferbench.data.problems import Counts, builder

FILES, TASKS = declared(__file__)

#: Task → prefix of its files, and the classes of the labels 1 and 2.
LABELS = {
    "reuters/orgs-vs-people": ("OrgsPeople", ("people", "orgs")),
    "reuters/orgs-vs-places": ("OrgsPlaces", ("orgs", "places")),
    "reuters/people-vs-places": ("PeoplePlaces", ("people", "places")),
}


def needed(task: str) -> list[str]:
    """Return the files of the source and of the target."""
    return [f"reuters-cross-domain/{LABELS[task][0]}_{part}.mat" for part in ("src", "tar")]


def _read(task: str, files: dict[str, Path]) -> tuple[list[str], dict[str, Counts]]:
    names = LABELS[task][1]
    classes = sorted(names)  # in the order of the task's name
    class_of_label = np.array([classes.index(name) for name in names])
    parts = {}
    for domain, path in zip(("source", "target"), files.values(), strict=True):
        counts, y = read_counts(path, f"{path.stem}_data", f"{path.stem}_label")
        parts[domain] = counts, class_of_label[y]
    return classes, parts


build = builder(_read)
