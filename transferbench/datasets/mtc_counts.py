"""The word counts of `mtc_newsgroups` as transfer tasks: one clustering task to the other.

`mtc-counts/<pair>` has the first clustering task as source and the second as target, and
`mtc-counts/<pair>-reversed` the second as source.
"""

from pathlib import Path

from transferbench.data.formats import read_counts
from transferbench.data.problems import Counts, builder
from transferbench.datasets import mtc_newsgroups
from transferbench.datasets._published import facts

FILES = mtc_newsgroups.FILES
TASKS = {
    f"{task.replace('mtc/', 'mtc-counts/')}{suffix}": (
        f"{line.partition(':')[0]}: 2 domains, the {'second' if suffix else 'first'} task labelled"
    )
    for task, line in mtc_newsgroups.TASKS.items()
    for suffix in ("", "-reversed")
}
FACTS = facts(TASKS)


def needed(task: str) -> list[str]:
    """Return the files of the source and of the target."""
    names = mtc_newsgroups.needed(task.replace("mtc-counts/", "mtc/").removesuffix("-reversed"))
    return names[::-1] if task.endswith("-reversed") else names


def _read(task: str, files: dict[str, Path]) -> tuple[list[str], dict[str, Counts]]:
    classes = task.removeprefix("mtc-counts/").removesuffix("-reversed").split("-vs-")
    names = zip(("source", "target"), needed(task), strict=True)
    return classes, {domain: read_counts(files[name], "fea", "gnd") for domain, name in names}


build = builder(_read)
