"""Random documents, in any number, to measure the run time of methods.

There are K tasks and c classes. In task t, the probability of word f (from 0) is proportional to

    1/(f + 1) · exp(g_tf / 2) · (2 if f mod c = class else 1),

This is Zipf's law, changed a little for each task by a normal g_tf, with a block of words for each
class. The number of words of a document is Poisson distributed, and at least 1. Words are
independent. The sizes of tasks, and of the classes of a task, differ by at most one document.
`generated/transfer` has domains in place of tasks, and the first domain is labelled.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared
from transferbench.data.problems import Counts, builder
from transferbench.parameters import Count, CountOrZero

FILES, TASKS = declared(__file__)
DOCUMENTS = {
    "generated/small": 1_000,
    "generated/clusters": 10_000,
    "generated/transfer": 10_000,
}


def _read(
    task: str,
    files: dict[str, Path],
    *,
    documents: CountOrZero = 0,
    tasks: Count = 2,
    classes: Count = 2,
    features: CountOrZero = 0,
    words: CountOrZero = 0,
    random_state: CountOrZero = 0,
) -> tuple[list[str], dict[str, Counts]]:
    """Make the documents of a task."""
    # `documents`: Number of documents of all tasks together; 0 means the number in the task's
    # description.
    # `tasks`: Number of tasks, or of domains.
    # `features`: Number of words; 0 means 2,000, or 50,000 for generated/transfer. Words that no
    # document contains are dropped.
    # `words`: Mean number of words of a document; 0 means 60, or 100 for generated/transfer.
    transfer = task.endswith("transfer")
    documents = documents or DOCUMENTS[task]
    features = features or (50_000 if transfer else 2_000)
    words = words or (100 if transfer else 60)
    if documents < tasks * classes:
        raise ValueError(f"{documents} documents for {classes} classes in each of {tasks} tasks")
    rng = np.random.default_rng(random_state)
    parts = {}
    for t in range(tasks):
        frequency = np.exp(rng.standard_normal(features) / 2) / np.arange(1, features + 1)
        y = rng.permutation(np.arange(t, documents, tasks) // tasks % classes)
        name = ("target" if t else "source") + (f"-{t}" if t and tasks > 2 else "")
        counts = _draw_counts(rng, frequency, y, classes, words)
        parts[name if transfer else f"task-{t + 1}"] = counts, y
    return [f"class-{c + 1}" for c in range(classes)], parts


build = builder(_read, lambda task: "transfer" if task.endswith("transfer") else "clustering")


def _draw_counts(
    rng: np.random.Generator, frequency: np.ndarray, y: np.ndarray, classes: int, words: int
) -> sp.csr_array:
    """Return counts (n, d) of documents of the classes y (n,)."""
    # frequency (d,) need not sum to 1.
    features = len(frequency)
    class_of_feature = np.arange(features) % classes
    lengths = np.maximum(rng.poisson(words, len(y)), 1)
    class_of_word = np.repeat(y, lengths)
    drawn = np.empty(len(class_of_word), np.int32)
    for c in range(classes):
        weights = np.where(class_of_feature == c, 2, 1) * frequency
        of_class = class_of_word == c
        drawn[of_class] = rng.choice(features, of_class.sum(), p=weights / weights.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)])
    counts = sp.csr_array((np.ones(len(drawn), np.int32), drawn, starts), shape=(len(y), features))
    counts.sum_duplicates()
    return counts
