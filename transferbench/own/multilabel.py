"""Documents with several labels: label sets of a column, tasks, and predicted labels.

A multi-label model learns tasks, each with labelled documents. The tasks of a user's data are the
sources. A task without any label would be learned poorly. So the documents of a target are added to
the task of a source: the source whose mean document has the largest cosine with that of the target.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from transferbench.core.documents import stack_matrices
from transferbench.errors import UserError, brief
from transferbench.own.documents import ReadOptions
from transferbench.problem import Domain, Fit, Problem, Truth

#: The default separator of the labels of a document, and other usual ones.
SEPARATOR, OTHERS = "|", (",", ";")


def split_labels(label: str, separator: str | None) -> list[str]:
    """Return the labels of a document; a text that has only separators has no label."""
    if not separator:
        return [label] if label else []
    return list(dict.fromkeys(filter(None, map(str.strip, label.split(separator)))))


def check_single(
    labels: Iterable[str],
    path: object,
    separator: str = "",
    options: ReadOptions = ReadOptions(),
) -> None:
    """Check that no label looks like several labels with a separator that was not named."""
    # A label looks so if it contains a usual separator and one of its parts is also another label,
    # or part of one.
    # `separator`: The separator by which the labels were divided; "" if they were not.
    distinct = sorted(set(labels))
    for sign in (SEPARATOR, *OTHERS):
        parts = Counter(part for label in distinct for part in split_labels(label, sign))
        for label in distinct:
            if sign in label and any(parts[part] > 1 for part in split_labels(label, sign)):
                several = f"{options.setting('separator', sign)} and a multi-label model"
                one = f"{options.setting('separator', separator)} if it is one label"
                remedy = f"name {several}, or {one}"
                raise UserError(f"{path}: {brief(label)} looks like several labels; {remedy}.")


def members_of_tasks(problem: Problem) -> list[list[int]]:
    """Return the domains of each task by index: one with seen rows, then those joined to it."""
    # `problem`: A domain without seen rows joins the task whose mean document, in the first view,
    # has the largest cosine with its mean. On a tie it joins the first.
    means = np.array([np.asarray(d.X.sum(axis=0)).ravel() for d in problem.domains], np.float64)
    length = np.linalg.norm(means, axis=1, keepdims=True)
    means /= np.where(length > 0, length, 1)
    members = [[i] for i, domain in enumerate(problem.domains) if domain.seen.any()]
    if not members:
        raise ValueError(f"{problem.name}: at least one labelled document is needed")
    cosine = means @ means[[i for i, *_ in members]].T
    for i, domain in enumerate(problem.domains):
        if not domain.seen.any():
            members[cosine[i].argmax()].append(i)
    return members


def pool(problem: Problem, truth: Truth) -> tuple[Problem, Truth]:
    """Return the problem with a domain for each task, and its truth."""
    # A task is a source, then the targets that belong to it, and has the name of the source.
    # `problem`: Problems of other families are returned as they are.
    if problem.family != "multilabel":
        return problem, truth
    members = members_of_tasks(problem)
    Y, scored = (
        tuple(np.concatenate([parts[i] for i in indices]) for indices in members)
        for parts in (truth.Y, truth.scored)
    )
    names = tuple(truth.names[indices[0]] for indices in members)
    return _pooled(problem, members), replace(truth, names=names, Y=Y, scored=scored)


def fit_in_tasks(problem: Problem, fit: Callable[[Problem], Fit]) -> Fit:
    """Fit the pooled problem; return the scores of the domains of the problem itself."""
    if problem.family != "multilabel":
        return fit(problem)
    members = members_of_tasks(problem)
    pooled = fit(_pooled(problem, members))
    scores: dict[int, np.ndarray] = {}
    for indices, task_scores in zip(members, pooled.scores, strict=True):
        ends = np.cumsum([len(problem.domains[i].seen) for i in indices])[:-1]
        scores.update(zip(indices, np.split(task_scores, ends), strict=True))
    return replace(pooled, scores=tuple(scores[i] for i in range(len(problem.domains))))


def _pooled(problem: Problem, members: Sequence[Sequence[int]]) -> Problem:
    """Return the problem with one domain for the documents of each task."""
    domains = []
    for indices in members:
        parts = [problem.domains[i] for i in indices]
        views = tuple(
            stack_matrices(blocks) for blocks in zip(*(d.views for d in parts), strict=True)
        )
        Y, seen = (np.concatenate([getattr(d, name) for d in parts]) for name in ("Y", "seen"))
        domains.append(Domain(parts[0].name, views, Y, seen))
    return replace(problem, domains=tuple(domains))
