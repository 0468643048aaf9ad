"""Transfer problems with fewer documents or labels than a task has."""

import inspect
from collections.abc import Sequence
from typing import Literal
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from transferbench.data.problems import frequent, split_by_domain, weighted
from transferbench.data.text import Weighting, weight
from transferbench.errors import Unavailable
from transferbench.parameters import CountOrZero, Positive
from transferbench.problem import Matrix, Names, Problem, Truth

#: Domains whose classes the option `class_sizes` cuts; see `subsample`.
UnequalIn = Literal["target", "source", "both"]
#: Rows of the documents of each domain.
Rows = dict[str, np.ndarray]


def subsample(
    problem: Problem,
    truth: Truth,
    min_df: int = 1,
    weighting: Weighting = "tf",
    unit_length: bool = False,
    *,
    documents: CountOrZero = 0,
    class_sizes: str = "",
    unequal_in: UnequalIn = "target",
    halves: bool = False,
    unlabelled: bool = False,
    labelled: CountOrZero = 0,
    label_weight: Positive = 1.0,
    draw: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Return a transfer problem with fewer documents or labels, and its truth."""
    # Documents keep their order. For each domain they are drawn by NumPy's default generator with
    # seed 0, so a task is the same every time, and a smaller draw is part of a larger one.
    # `min_df`, `weighting`, `unit_length`: Drop features in fewer remaining documents, then weight
    # the sparse views; see `text.weight`. The defaults keep the weights.
    # `documents`: Largest number of documents of a domain, drawn at random; 0 for all.
    # `class_sizes`: Ratio of the classes, in their order, such as "1:10"; the last number is that
    # of all further classes. The largest possible number of documents is kept, so one class usually
    # stays complete. Documents without a label are dropped.
    # `halves`: Random halves of the first labelled domain become source and target.
    # `unlabelled`: Hide the labels of all domains, for a problem of multi-task clustering.
    # `labelled`: Number of documents of each target, drawn at random, whose labels are seen and
    # train the models. They are not scored.
    # `label_weight`: Weight of each of these labels in training; a label of a source weighs 1.
    if problem.family != "transfer":
        options = ", ".join(inspect.getfullargspec(subsample).kwonlyargs)
        raise ValueError(f"{options} are for transfer tasks, and this is one of {problem.family}")
    if labelled and unlabelled:
        raise ValueError("labelled and unlabelled were both given; expected one")
    for name, is_given, needed, has_needed in (
        ("unequal_in", unequal_in != "target", "class_sizes", class_sizes),
        ("draw", draw, "labelled", labelled),
        ("label_weight", label_weight != 1, "labelled", labelled),
    ):
        if is_given and not has_needed:
            raise ValueError(f"{name} without {needed}; expected both")
    Y = np.vstack(truth.Y)
    seen = np.concatenate([domain.seen for domain in problem.domains])
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])
    parts: Rows = dict(zip(truth.names, np.split(np.arange(len(Y)), ends[:-1]), strict=True))
    if halves:
        parts = _halves(parts, seen)
        seen[parts["target"]] = False
    ratio = _ratio(class_sizes, problem.classes) if class_sizes else None
    for name, rows in parts.items():
        is_cut = unequal_in in ("both", "source" if seen[rows].all() else "target")
        parts[name] = rows[_draw(Y[rows], ratio if is_cut else None, documents)]
        if (Y[rows].any(axis=0) & ~Y[parts[name]].any(axis=0)).any():
            option = f"class_sizes {class_sizes}" if class_sizes else f"documents {documents}"
            raise ValueError(f"{option} leaves a class of {name} empty")
    rows = np.concatenate(list(parts.values()))
    domain = np.repeat(np.arange(len(parts)), list(map(len, parts.values())))
    views, features = _views(problem, rows, min_df, weighting, unit_length)
    Y, seen = Y[rows], seen[rows] & (not unlabelled)
    scored = ~seen & Y.any(axis=1)
    if labelled:
        base = problem.name.partition(":")[0]  # tasks with other features have the same sample
        for number, name in enumerate(parts):
            target = np.flatnonzero((domain == number) & scored)
            if 2 * labelled > len(target) > 0:
                few = f"{len(target)} documents, too few to label {labelled}"
                raise Unavailable(f"{name} has {few}")
            if len(target):
                seen[target[draw_labelled(len(target), labelled, draw, base)]] = True
    drawn, truth = split_by_domain(
        problem.name, "clustering" if unlabelled else "transfer", problem.classes, list(parts),
        domain, views, Y, seen, scored & ~seen, features=features,
    )  # fmt: skip
    return (weighted(drawn, label_weight) if label_weight != 1 else drawn), truth


def _halves(parts: Rows, seen: np.ndarray) -> Rows:
    """Return random halves of the first labelled domain."""
    source = next((rows for rows in parts.values() if seen[rows].all()), None)
    if source is None:
        raise ValueError("halves = true for a task without a labelled domain")
    order = np.random.default_rng(0).permutation(source)
    half = len(order) // 2
    return {"source": np.sort(order[:half]), "target": np.sort(order[half:])}


def _views(
    problem: Problem, rows: np.ndarray, min_df: int, weighting: Weighting, unit_length: bool
) -> tuple[list[Matrix], Names]:
    """Return the views of some documents, sparse ones weighted, and the names of the features."""
    views: list[Matrix] = []
    features: Names = problem.features
    for stacked in zip(*(domain.views for domain in problem.domains), strict=True):
        if sp.issparse(stacked[0]):
            X = sp.csr_array(sp.vstack(stacked, format="csr"))[rows]
            X, names = frequent(X, min_df, () if views else features)
            features = features if views else names
            views.append(weight(X, weighting, unit_length))
        else:
            views.append(np.vstack(stacked)[rows])
    return views, features


def draw_labelled(n: int, labelled: int, draw: int, task: str) -> np.ndarray:
    """Return the positions of the labelled documents among the n scored ones of a task's target."""
    seed = [draw, labelled, crc32(task.encode())]
    return np.random.default_rng(seed).choice(n, labelled, replace=False)


def _draw(Y: np.ndarray, ratio: np.ndarray | None, documents: int) -> np.ndarray:
    """Return ascending rows of Y (n, c), with classes in a ratio; at most `documents` unless 0."""
    rng = np.random.default_rng(0)
    if ratio is not None and not Y.any(axis=0).all():
        raise ValueError("class_sizes needs documents of each class in each domain that it cuts")
    if ratio is None:
        return np.sort(rng.permutation(len(Y))[: documents or None])
    scale = np.min(Y.sum(axis=0) / ratio)
    if documents:
        scale = min(scale, documents / ratio.sum())
    sizes = np.rint(ratio * scale).astype(int)
    if documents and sizes.sum() > documents:
        sizes = np.floor(ratio * scale).astype(int)
    orders = [rng.permutation(np.flatnonzero(members)) for members in Y.T]
    return np.sort(np.concatenate([o[:size] for o, size in zip(orders, sizes, strict=True)]))


def _ratio(class_sizes: str, classes: Sequence[str]) -> np.ndarray:
    """Return the numbers (c,) of a text such as "1:10"."""
    try:
        numbers = [float(part) for part in class_sizes.split(":")]
    except ValueError:
        numbers = []
    ratio = np.array(numbers + numbers[-1:] * (len(classes) - len(numbers)))
    valid = 2 <= len(numbers) <= len(classes) and np.isfinite(ratio).all() and (ratio > 0).all()
    if not valid:
        most = f"2 to {len(classes)}" if len(classes) > 2 else "2"
        expected = f"{most} positive numbers joined by colons, such as 1:10"
        order = f"in the order {', '.join(classes)}"
        raise ValueError(f"class_sizes {class_sizes!r}: expected {expected}, {order}")
    return ratio
