"""Files of built tasks: a problem and its truth, with their facts as the header."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from transferbench.data.facts import Facts
from transferbench.npz import read_header, read_value, write_arrays
from transferbench.problem import Domain, Problem, Truth

#: Dataclasses that a file may hold.
CLASSES = {cls.__name__: cls for cls in (Domain, Problem, Truth)}


class BuiltTask(NamedTuple):
    """A built task: its file, its facts, and the name that the file is bound to."""

    #: File of the problem and its truth.
    path: Path
    facts: Facts
    #: Path in the folder of built tasks, as "gtl/comp-vs-rec-0123456789ab.task". It has a digest of
    #: all that the task is built from. A file written under another name is not read.
    name: str = ""


def write(
    path: Path, problem: Problem, truth: Truth, facts: Facts | None = None, name: str = ""
) -> None:
    """Write a built task for a name, see `BuiltTask`; without facts, compute them."""
    facts = facts or Facts.from_problem(problem, truth)
    header = {"family": problem.family, "facts": facts.to_json()}
    write_arrays(path, header, (problem, truth), name)


def read(path: Path, order: int = 0, name: str = "") -> tuple[Problem, Truth]:
    """Read a built task."""
    problem, truth = read_value(path, CLASSES, name)
    return permuted(problem, truth, order) if order else (problem, truth)


def read_facts(path: Path, name: str = "") -> Facts:
    """Read the facts of a built task, without its matrices."""
    header = read_header(path, name)
    try:
        return Facts.from_json(header["family"], header["facts"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} has no facts of a task") from error


def permuted(problem: Problem, truth: Truth, seed: int) -> tuple[Problem, Truth]:
    """Return the task with the documents of each domain in a random order."""
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(domain.seen)) for domain in problem.domains]
    domains = [domain.take(order) for domain, order in zip(problem.domains, orders, strict=True)]
    Y, scored = (
        tuple(rows[p] for rows, p in zip(parts, orders, strict=True))
        for parts in (truth.Y, truth.scored)
    )
    return replace(problem, domains=tuple(domains)), replace(truth, Y=Y, scored=scored)
