"""Documents drawn at random, of any number, to time methods on: nothing is learned from their text.

A model of words, K tasks and c classes. Word f (from 0) has probability in proportion to
    1/(f + 1) · exp(g_tf / 2) · (2 if f mod c = class else 1),
Zipf's law, shifted a little for each task t by a normal g_tf, with a block of words for each class.
A document has a Poisson number of words, but at least 1, each drawn on its own. Tasks are equally
large, and so are the classes of a task, up to one document.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from transferbench.data.fetch import File
from transferbench.data.text import Weighting
from transferbench.parameters import Count

if TYPE_CHECKING:
    from transferbench.problem import Problem, Truth

FILES: dict[str, File] = {}  # nothing to fetch
DOCUMENTS = {"generated/small": 1_000, "generated/clusters": 10_000}
TASKS = {
    task: f"{documents:,} documents drawn at random, or as many as you like: 2 clustering tasks"
    for task, documents in DOCUMENTS.items()
}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def build(
    task: str,
    files: dict[str, Path],
    *,
    documents: Annotated[int, Ge(0)] = 0,
    tasks: Count = 2,
    classes: Count = 2,
    features: Count = 2000,
    words: Count = 60,
    random_state: Annotated[int, Ge(0)] = 0,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
) -> tuple[Problem, Truth]:
    """The task as a Problem and its Truth.

    documents: of all tasks together; 0 stands for the number that the task's line tells. words: the
    mean of a document. features: those that no document has are dropped. weighting and
    unit_length: see `text.weight`. Raises ValueError where a class would have no document.
    """
    import numpy as np
    import scipy.sparse as sp

    from transferbench.data.datasets._counted import assemble

    documents = documents or DOCUMENTS[task]
    if documents < tasks * classes:
        raise ValueError(f"{documents} documents for {classes} classes in each of {tasks} tasks")
    rng = np.random.default_rng(random_state)
    block = np.arange(features) % classes
    parts = {}
    for t in range(tasks):
        common = np.exp(rng.standard_normal(features) / 2) / np.arange(1, features + 1)
        y = rng.permutation(np.arange(t, documents, tasks) // tasks % classes)
        lengths = np.maximum(rng.poisson(words, len(y)), 1)
        classes_of_words = np.repeat(y, lengths)
        drawn = np.empty(len(classes_of_words), np.int64)
        for c in range(classes):
            chances = np.where(block == c, 2, 1) * common
            of_class = classes_of_words == c
            drawn[of_class] = rng.choice(features, of_class.sum(), p=chances / chances.sum())
        starts = np.concatenate([[0], np.cumsum(lengths)])
        counts = sp.csr_array((np.ones(len(drawn)), drawn, starts), shape=(len(y), features))
        counts.sum_duplicates()
        parts[f"task-{t + 1}"] = counts, y
    return assemble(
        task,
        "clustering",
        [f"class-{c + 1}" for c in range(classes)],
        parts,
        weighting=weighting,
        unit_length=unit_length,
    )
