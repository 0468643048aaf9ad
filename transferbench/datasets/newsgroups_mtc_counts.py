"""The word counts of `newsgroups_mtc` as transfer tasks: one clustering task to the other.

`mtc-counts/<pair>` has the first clustering task as source and the second as target.
`mtc-counts/<pair>-reversed` has the second as source and the first as target.
"""

from pathlib import Path

from transferbench.data.declared import declared
from transferbench.data.problems import Counts, builder
from transferbench.datasets import newsgroups_mtc

FILES, (_, TASKS) = newsgroups_mtc.FILES, declared(__file__)
#: Task → the clustering task, and True if its second task is the source.
PAIRS = {
    f"{task.replace('mtc/', 'mtc-counts/')}{suffix}": (task, bool(suffix))
    for task in newsgroups_mtc.TASKS
    for suffix in ("", "-reversed")
}


def needed(task: str) -> list[str]:
    """Return the files of the source and of the target."""
    clustering, is_reversed = PAIRS[task]
    return newsgroups_mtc.needed(clustering)[:: -1 if is_reversed else 1]


def _read(task: str, files: dict[str, Path]) -> tuple[list[str], dict[str, Counts]]:
    classes, parts = newsgroups_mtc.read(PAIRS[task][0], files)
    return classes, dict(zip(("source", "target"), parts.values(), strict=True))


build = builder(_read)
