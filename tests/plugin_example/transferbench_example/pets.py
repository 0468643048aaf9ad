"""Pets: twelve sentences on cats and dogs, by owners (labelled) and by vets (unlabelled)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from transferbench.data.declared import declared
from transferbench.data.text import Weighting, count, weight
from transferbench.problem import Domain, Problem, Truth

#: Tasks depend on this package alone, not on other code or files, see docs/how-to/plug-ins.md.
DEPENDS_ON = ()
FILES, TASKS = declared(__file__)  # of pets.json; it has no files to fetch
OWNERS = {
    "cat": ("my cat purrs", "the cat climbs and purrs", "a kitten and its whiskers"),
    "dog": ("my dog barks", "the dog fetches and barks", "a puppy on its leash"),
}
VETS = {
    "cat": ("whiskers and claws of a kitten", "the patient purrs", "claws of the cat"),
    "dog": ("the puppy barks", "muzzle and leash of the patient", "the dog and its muzzle"),
}


def build(
    task: str, files: dict[str, Path], *, weighting: Weighting = "tf-idf"
) -> tuple[Problem, Truth]:
    """Build the task.

    Parameters
    ----------
    weighting
        See `transferbench.data.text.weight`.
    """
    domains = {"owners": OWNERS, "vets": VETS}
    classes = tuple(OWNERS)
    texts = [text for domain in domains.values() for c in classes for text in domain[c]]
    y = [i for domain in domains.values() for i, c in enumerate(classes) for _ in domain[c]]
    X = weight(count(texts, "[a-z]{2,}")[0], weighting, unit_length=True)
    Y = np.eye(len(classes))[y]
    half = len(texts) // 2
    parts = ("owners", slice(half), True), ("vets", slice(half, None), False)
    problem = Problem(
        task,
        "transfer",
        classes,
        tuple(Domain(n, (X[at],), Y[at] * seen, np.full(half, seen)) for n, at, seen in parts),
    )
    scored = np.zeros(half, bool), np.ones(half, bool)
    return problem, Truth("transfer", classes, tuple(domains), (Y[:half], Y[half:]), scored)
