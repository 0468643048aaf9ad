"""20 Newsgroups as the multi-task clustering paper used it: its own matrices of word counts.

A co-author of the paper published them with the MALSAR package: counts of 2,000 words for each
task, with as many documents as the paper's Table 2 states. The words have no names. Labels are 1
and 2; their order in the paper's Table 1, which the class sizes support, gives the names. Words
that occur in neither task are dropped.

Weights are the counts as published. The level of plain k-means shows that the paper used counts,
too. `mtc/rec-vs-talk-rebuilt` and `mtc/comp-vs-sci-rebuilt` have the same sub-categories, built
from the texts. The experiment mtc-variants compares both corpora under four weightings.
"""

from __future__ import annotations

import json
from pathlib import Path

from transferbench.data.fetch import files_of
from transferbench.data.formats.mat import read_counts
from transferbench.data.options import Weighting
from transferbench.datasets._problems import problem_from_counts
from transferbench.problem import Problem, Truth

ORIGIN = (
    "https://raw.githubusercontent.com/jiayuzhou/MALSAR/"
    "fb9751594983df020ddc4f7e4a40520ee7c37989/data/Newsgroup"
)
LICENCE = (
    "20 Newsgroups is distributed for research; no licence is stated for these matrices, the "
    "MALSAR package that contains them is GPL."
)
ORIGINALS = {
    "rec.vs.talk/Task1.mat": (251_693,
        "2ccc2c933adb5e9a88524e0d0a90022ee925e3395fead485c2d7d31a14149997"),
    "rec.vs.talk/Task2.mat": (184_593,
        "162fe06ddbad645577a2c538645f72115416811f8ee6dffc2fe2944a1c632e08"),
    "comp.vs.sci/task1.mat": (233_347,
        "136e73185215cdc5fe7af4c2e0d86dae9da864e119fef95253ef6614d139d7ab"),
    "comp.vs.sci/task2.mat": (209_328,
        "efafdffe36f05668f9cd638cbfad45a96b6e69e385a65fb7a24dda6082adec52"),
}  # fmt: skip
FILES = files_of("mtc-newsgroups", ORIGIN, ORIGINALS, LICENCE)
TASKS = {
    f"mtc/{P}-vs-{Q}": f"20 Newsgroups, {P} against {Q}, the paper's counts: 2 clustering tasks"
    for P, Q in (("rec", "talk"), ("comp", "sci"))
}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def needed(task: str) -> list[str]:
    """Return the files of the two clustering tasks."""
    folder = task.removeprefix("mtc/").replace("-", ".")
    return [name for name in FILES if name.startswith(f"mtc-newsgroups/{folder}/")]


def build(
    task: str, files: dict[str, Path], *, weighting: Weighting = "tf", unit_length: bool = False
) -> tuple[Problem, Truth]:
    """Build one task.

    weighting, unit_length: see `text.weight`; fitted on both clustering tasks together. Raises
    ValueError for a file with other content than expected.
    """
    classes = task.removeprefix("mtc/").split("-vs-")
    parts = {
        f"task-{i}": read_counts(files[name], "fea", "gnd")
        for i, name in enumerate(needed(task), 1)
    }
    return problem_from_counts(
        task, "clustering", classes, parts, weighting=weighting, unit_length=unit_length
    )
