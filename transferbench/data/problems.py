"""Build problems from matrices and labels: by domain, cut to fewer documents, or with tasks."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from annotated_types import Gt, Lt

from transferbench.data.text import Weighting, count, document_frequency, weight
from transferbench.errors import Unavailable
from transferbench.parameters import Count, CountOrZero
from transferbench.problem import Domain, Family, Matrix, Problem, Truth

#: Views of a multi-label text dataset: weighted terms, topics, or both.
Views = Literal["both", "tf-idf", "topics"]
#: What assigns the documents of a multi-label dataset to tasks; see `rcv1`.
TasksFrom = Literal["labels", "train-labels", "random"]
#: Fraction of the documents whose labels a model sees.
TrainFraction = Annotated[float, Gt(0), Lt(1)]
#: Domains whose classes the option `class_sizes` cuts; see `subsample`.
UnequalIn = Literal["target", "source", "both"]
P = TypeVar("P")
#: Reads a task from its files: returns the names of the classes, and a part by domain name. Its
#: keyword-only arguments are options of the dataset.
Reader = Callable[..., tuple[Sequence[str], Mapping[str, P]]]
Builder = Callable[..., tuple[Problem, Truth]]
#: Counts (n, d), or texts, of a domain, and its class indices (n,), −1 for an unknown class.
Counts = tuple[sp.csr_array, np.ndarray]
Texts = tuple[list[str], np.ndarray]


def builder(
    read: Reader[Counts],
    family: Family | Callable[[str], Family] = "transfer",
    *,
    min_df: int = 1,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
) -> Builder:
    """Return the function `build` of a dataset of counts, with these defaults of its options.

    Parameters
    ----------
    family
        That of all tasks, or a function of a task's name.
    """

    def build(
        task: str,
        files: dict[str, Path],
        *,
        min_df: Count = min_df,
        weighting: Weighting = weighting,
        unit_length: bool = unit_length,
        **options: Any,
    ) -> tuple[Problem, Truth]:
        """Build one task.

        Other options are those of `read`.

        Parameters
        ----------
        min_df
            Drop features in fewer documents, counted over all domains.
        weighting, unit_length
            See `text.weight`; fitted on all domains together.
        """
        classes, parts = read(task, files, **options)
        return problem_from_counts(
            task,
            family if isinstance(family, str) else family(task),
            classes,
            parts,
            min_df=min_df,
            weighting=weighting,
            unit_length=unit_length,
        )

    return _with_options_of(read, build)


def _with_options_of(read: Callable[..., Any], build: Builder) -> Builder:
    """Return `build` with the signature that states the options of `read`, then its own."""
    _, _, *options = inspect.signature(read).parameters.values()
    *common, _ = inspect.signature(build).parameters.values()
    arguments = [*common[:2], *options, *common[2:]]
    build.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return build


def text_builder(read: Reader[Texts]) -> Builder:
    """Return the function `build` of a transfer dataset of texts."""

    def read_counts(
        task: str, files: dict[str, Path]
    ) -> tuple[Sequence[str], Mapping[str, Counts]]:
        classes, parts = read(task, files)
        counts, _ = count((text for texts, _ in parts.values() for text in texts), r"[^\W_]{2,}")
        ends = np.cumsum([len(y) for _, y in parts.values()])
        return classes, {
            name: (counts[end - len(y) : end], y)
            for (name, (_, y)), end in zip(parts.items(), ends, strict=True)
        }

    return builder(read_counts, min_df=2)


class Labelled(NamedTuple):
    """Content of a multi-label dataset, to be divided into tasks; see `assign_tasks_from`.

    Parameters
    ----------
    classes
        (c,) names of the labels.
    views
        (n, d) each.
    Y
        (n, c) 0/1.
    Y_sub
        (n, m) 0/1, the sub-categories that decide on the tasks.
    tops
        (m,) the top category of each sub-category.
    X
        (n, d) the matrix by which documents without known labels are compared.
    """

    classes: Sequence[str]
    views: Sequence[Matrix]
    Y: np.ndarray
    Y_sub: np.ndarray
    tops: Sequence[str]
    X: Matrix


def multilabel_builder(read: Callable[..., Labelled]) -> Builder:
    """Return the function `build` of a multi-label dataset; it divides the documents into tasks."""

    def build(
        task: str,
        files: dict[str, Path],
        *,
        tasks: Count = 4,
        tasks_from: TasksFrom = "labels",
        train: TrainFraction = 0.5,
        split: CountOrZero = 0,
        **options: Any,
    ) -> tuple[Problem, Truth]:
        """Build one task.

        tasks: number of tasks that the documents are assigned to; tasks_from: by the labels of all
        documents, by those of the training documents alone, or at random. train: fraction of the
        documents whose labels are seen, drawn at random; split: number of the draw. The other
        options are those of `read`.
        """
        classes, views, Y, Y_sub, tops, X = read(task, files, **options)
        seen = train_mask(len(Y), train, split)
        assigned = assign_tasks_from(tasks_from, Y_sub, tops, tasks, seen=seen, X=X, split=split)
        return problem_from_views(task, classes, views, Y, assigned, seen)

    return _with_options_of(read, build)


def problem_from_counts(
    task: str,
    family: Family,
    classes: Sequence[str],
    parts: Mapping[str, Counts],
    *,
    min_df: int = 1,
    weighting: Weighting,
    unit_length: bool,
) -> tuple[Problem, Truth]:
    """Return a problem with one domain for each part, and its truth.

    Weights (see `text.weight`) are fitted on all documents together.

    Parameters
    ----------
    parts
        By domain name, counts over the same d features; in a transfer problem, the labels of the
        domain "source" are seen.
    min_df
        Features in at least so many documents of all domains together are kept.

    Raises
    ------
    ValueError
        If the domains differ in their number of features or none is left.
    """
    counts = sp.vstack([counts for counts, _ in parts.values()], format="csr")
    X = weight(counts[:, _frequent(counts, min_df)], weighting, unit_length)
    y = np.concatenate([y for _, y in parts.values()])
    names = list(parts)
    domain = np.repeat(np.arange(len(parts)), [len(y) for _, y in parts.values()])
    Y = (y[:, None] == np.arange(len(classes))).astype(float)
    seen = (np.array(names) == "source")[domain] & (family == "transfer")
    scored = ~seen & (y >= 0)
    return split_by_domain(task, family, classes, names, domain, [X], Y, seen, scored)


def split_by_domain(
    task: str,
    family: Family,
    classes: Sequence[str],
    names: Sequence[str],
    domain: np.ndarray,
    views: Sequence[Matrix],
    Y: np.ndarray,
    seen: np.ndarray,
    scored: np.ndarray,
) -> tuple[Problem, Truth]:
    """Return the problem with one domain for each of the names, and its truth.

    domain (n,) indices of the names, views (n, d) each, Y (n, c) 0/1, seen and scored (n,) bool.
    """
    rows = [np.flatnonzero(domain == i) for i in range(len(names))]
    Y_seen = np.where(seen[:, None], Y, 0)
    domains = tuple(
        Domain(name, tuple(view[r] for view in views), Y_seen[r], seen[r])
        for name, r in zip(names, rows, strict=True)
    )
    true, scored_rows = tuple(Y[r] for r in rows), tuple(scored[r] for r in rows)
    return (
        Problem(task, family, tuple(classes), domains),
        Truth(family, tuple(classes), tuple(names), true, scored_rows),
    )


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
    draw: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Return a transfer problem with fewer documents or labels, in their order, and its truth.

    Documents are drawn by NumPy's default generator with seed 0, anew for each domain, so a task is
    the same every time, and fewer documents are some of more.

    Parameters
    ----------
    min_df, weighting, unit_length
        Drop features in fewer remaining documents, then weight the sparse views; see `text.weight`.
        The defaults keep the weights.
    documents
        At most so many of each domain, drawn at random; 0 for all.
    class_sizes
        Ratio of the classes, in their order, such as "1:10"; the last number is that of all further
        classes. As many documents as it allows remain: of "1:10", one class as a rule is complete.
        Documents without a label are dropped.
    unequal_in
        Domains that class_sizes cuts: targets, sources or both.
    halves
        Random halves of the first labelled domain become source and target.
    unlabelled
        Hide the labels of all domains, for a problem of multi-task clustering.
    labelled
        So many documents of each target, drawn at random, whose labels are seen. They are scored
        as all others, so only models that decide a document without its own label can be judged.
    draw
        Number of the draw of these documents.

    Raises
    ------
    ValueError
        For another family, a wrong option, or if a class would be empty.
    Unavailable
        If more than half of the documents of a target would be labelled.
    """
    if problem.family != "transfer":
        options = "documents, class_sizes, unequal_in, halves, unlabelled, labelled and draw"
        raise ValueError(f"{options} are for transfer tasks, and this is one of {problem.family}")
    if unequal_in != "target" and not class_sizes:
        raise ValueError(f"unequal_in = {unequal_in} without class_sizes; expected both")
    if labelled and unlabelled:
        raise ValueError("labelled and unlabelled were both given; expected one")
    if draw and not labelled:
        raise ValueError(f"draw = {draw} without labelled; expected both")
    Y, seen = np.vstack(truth.Y), np.concatenate([domain.seen for domain in problem.domains])
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])
    # Rows of all documents by domain.
    parts = dict(zip(truth.names, np.split(np.arange(len(Y)), ends[:-1]), strict=True))
    if halves:
        source = next((rows for rows in parts.values() if seen[rows].all()), None)
        if source is None:
            raise ValueError("halves = true for a task without a labelled domain")
        order = np.random.default_rng(0).permutation(source)
        half = len(order) // 2
        parts = {"source": np.sort(order[:half]), "target": np.sort(order[half:])}
        seen[parts["target"]] = False
    ratio = _ratio(class_sizes, problem.classes) if class_sizes else None
    for name, rows in parts.items():
        is_cut = unequal_in in ("both", "source" if seen[rows].all() else "target")
        parts[name] = rows[_draw(Y[rows], ratio if is_cut else None, documents)]
        if (Y[rows].any(axis=0) & ~Y[parts[name]].any(axis=0)).any():
            asked = f"class_sizes {class_sizes}" if ratio is not None else f"documents {documents}"
            raise ValueError(f"{asked} leaves a class of {name} empty")
    rows = np.concatenate(list(parts.values()))
    views: list[Matrix] = []
    for stacked in zip(*(domain.views for domain in problem.domains), strict=True):
        if sp.issparse(stacked[0]):
            X = sp.csr_array(sp.vstack(stacked, format="csr"))[rows]
            views.append(weight(X[:, _frequent(X, min_df)], weighting, unit_length))
        else:
            views.append(np.vstack(stacked)[rows])
    domain = np.repeat(np.arange(len(parts)), list(map(len, parts.values())))
    Y, seen, names = Y[rows], seen[rows] & (not unlabelled), list(parts)
    family: Family = "clustering" if unlabelled else "transfer"
    scored = ~seen & Y.any(axis=1)
    for number, name in enumerate(names) if labelled else ():
        whole = np.flatnonzero((domain == number) & scored)
        if len(whole) and 2 * labelled > len(whole):
            raise Unavailable(f"{name} has {len(whole)} documents, too few to label {labelled}")
        seen[whole[draw_labelled(len(whole), labelled, draw)] if len(whole) else whole] = True
    return split_by_domain(
        problem.name, family, problem.classes, names, domain, views, Y, seen, scored
    )


def permuted(problem: Problem, truth: Truth, seed: int) -> tuple[Problem, Truth]:
    """Return the task with the documents of each domain in a random order."""
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(domain.seen)) for domain in problem.domains]
    domains = [
        replace(domain, views=tuple(X[p] for X in domain.views), Y=domain.Y[p], seen=domain.seen[p])
        for domain, p in zip(problem.domains, orders, strict=True)
    ]
    Y, scored = (
        tuple(rows[p] for rows, p in zip(parts, orders, strict=True))
        for parts in (truth.Y, truth.scored)
    )
    return replace(problem, domains=tuple(domains)), replace(truth, Y=Y, scored=scored)


def draw_labelled(n: int, labelled: int, draw: int) -> np.ndarray:
    """Return the positions of the labelled documents among the n of a target that are scored."""
    return np.random.default_rng([draw, labelled]).choice(n, labelled, replace=False)


def _draw(Y: np.ndarray, ratio: np.ndarray | None, documents: int) -> np.ndarray:
    """Return ascending rows of Y (n, c), at most `documents` unless 0, with classes in a ratio."""
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
    """Return the numbers (c,) of a text such as "1:10". Raise ValueError for another form."""
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


def _frequent(counts: sp.csr_array, min_df: int) -> np.ndarray:
    """Return the features in at least min_df documents. Raise ValueError if there are none."""
    frequent = np.flatnonzero(document_frequency(counts) >= max(min_df, 1))
    if not frequent.size:
        raise ValueError("no feature is left; expected a lower min_df")
    return frequent


def assign_tasks_from(
    how: TasksFrom,
    Y: np.ndarray,
    tops: Sequence[str],
    tasks: int,
    *,
    seen: np.ndarray,
    X: Matrix,
    split: int,
) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document.

    Parameters
    ----------
    how
        "labels" uses the sub-categories Y (n, m) of all documents: each belongs to its largest; see
        `assign_tasks`. "train-labels" uses Y of the documents that are seen (n,) alone. Each other
        document belongs to the sub-category whose mean in X (n, d), over the seen documents that
        belong to it, has the largest cosine with the document. "random" draws tasks of equal size;
        each split another draw.

    Raises
    ------
    ValueError
        For more tasks than documents.
    """
    if tasks > len(Y):
        raise ValueError(f"tasks = {tasks}, expected at most the {len(Y):,} documents")
    if how == "random":  # (split, 1): not the permutation of `train_mask`
        return np.random.default_rng((split, 1)).permutation(len(Y)) % tasks
    if how == "labels":
        return assign_tasks(largest_categories(Y), tops, tasks)
    category = largest_categories(np.where(seen[:, None], Y, 0))
    category[~seen] = _nearest_categories(X[~seen], X[seen], category[seen], len(tops))
    return assign_tasks(category, tops, tasks)


def largest_categories(Y: np.ndarray) -> np.ndarray:
    """Return (n,) the largest sub-category of each document, −1 for a document without one."""
    by_size = np.argsort(-Y.sum(axis=0), kind="stable")
    return np.where(Y.any(axis=1), by_size[Y[:, by_size].argmax(axis=1)], -1)


def _nearest_categories(X: Matrix, known: Matrix, category: np.ndarray, m: int) -> np.ndarray:
    """Return (n,) the sub-category 0 … m−1 whose mean has the largest cosine with each row of X.

    category: those of the rows of `known`; −1 for none. A row of X without a positive cosine has
    −1, too.
    """
    rows = np.flatnonzero(category >= 0)
    members = sp.csr_array((np.ones(len(rows)), (category[rows], rows)), (m, len(category)))
    sums = members @ known
    centroids = sums.toarray() if sp.issparse(sums) else sums
    length = np.linalg.norm(centroids, axis=1, keepdims=True)
    cosine = np.asarray(X @ (centroids / np.where(length > 0, length, 1)).T)
    return np.where(cosine.max(axis=1) > 0, cosine.argmax(axis=1), -1)


def assign_tasks(category: np.ndarray, tops: Sequence[str], tasks: int) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document from its sub-category (n,), −1 for none.

    `tops` (m,) are the top categories of the sub-categories. The sub-categories of each top
    category, largest first, are assigned to the tasks in turn, so that every task has documents of
    all top categories. Documents without a sub-category are assigned in turn, one by one.
    """
    size = np.bincount(category[category >= 0], minlength=len(tops))
    task_of_category = np.zeros(len(tops), np.intp)
    for top in dict.fromkeys(tops):
        categories = [c for c in np.argsort(-size, kind="stable") if tops[c] == top]
        task_of_category[categories] = np.arange(len(categories)) % tasks
    task = np.asarray(task_of_category[category])
    without = np.flatnonzero(category < 0)
    task[without] = np.arange(len(without)) % tasks
    return task


def topic_view(counts: sp.csr_array) -> np.ndarray:
    """Return P(z|d) (n, 100) by PLSA, never zero, so that no zero depends on rounding."""
    from transferbench.core.plsa import plsa  # loads scipy.special, which takes long

    topics_of_documents, _, _ = plsa([counts], 100, max_iter=100, tol=1e-4, seed=0)
    return np.asarray(np.maximum(topics_of_documents, np.float32(1e-6)))


def train_mask(n: int, train: float, split: int) -> np.ndarray:
    """Return (n,) bool: True for a random fraction `train`; each split 0, 1, … draws another."""
    seen = np.zeros(n, bool)
    seen[np.random.default_rng(split).permutation(n)[: round(train * n)]] = True
    return seen


def problem_from_views(
    name: str,
    classes: Sequence[str],
    views: Sequence[Matrix],
    Y: np.ndarray,
    task: np.ndarray,
    seen: np.ndarray,
    names: Sequence[str] = (),
) -> tuple[Problem, Truth]:
    """Return a multi-label problem with one domain for each task that has documents, and its truth.

    views (n, d) each, Y (n, m) 0/1, task (n,) from 0, seen (n,) bool. Domains have the `names`
    given, or task-1, task-2, …, or "all" if there is one task. Features that never occur are
    dropped.
    """
    present, domain = np.unique(task, return_inverse=True)
    names = names or [f"task-{t + 1}" if len(present) > 1 else "all" for t in present]
    views = [view[:, np.flatnonzero(np.asarray(abs(view).sum(axis=0)).ravel())] for view in views]
    return split_by_domain(
        name, "multilabel", classes, names, domain, views, Y.astype(float), seen, scored=~seen
    )
