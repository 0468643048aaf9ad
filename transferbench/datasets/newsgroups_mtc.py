"""20 Newsgroups as the multi-task clustering paper used it: its own matrices of word counts.

A co-author of the paper published the matrices with the MALSAR package. They hold counts of 2,000
words for each task, and have as many documents as the paper's Table 2 states. The words have no
names. Labels are 1 and 2. Their names follow from the order in the paper's Table 1, which the class
sizes support. Words that occur in neither task are dropped.

Weights are the counts as published. The level of plain k-means shows that the paper used counts,
too. `mtc/rec-vs-talk-rebuilt` and `mtc/comp-vs-sci-rebuilt` have the same sub-categories, built
from the texts.
"""

from pathlib import Path

from transferbench.data.declared import declared
from transferbench.data.formats import read_counts
from transferbench.data.problems import Counts, builder

FILES, TASKS = declared(__file__)


def needed(task: str) -> list[str]:
    """Return the files of the two clustering tasks."""
    folder = task.removeprefix("mtc/").replace("-", ".")
    return [name for name in FILES if name.startswith(f"mtc-newsgroups/{folder}/")]


def read(task: str, files: dict[str, Path]) -> tuple[list[str], dict[str, Counts]]:
    """Return the classes, and the counts and classes of each task, in the order of the files."""
    parts = {f"task-{i}": read_counts(p, "fea", "gnd") for i, p in enumerate(files.values(), 1)}
    return task.removeprefix("mtc/").split("-vs-"), parts


build = builder(read, "clustering", weighting="tf", unit_length=False)
