"""Build problems from matrices and labels: by domain, subsampled, or divided into tasks."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from annotated_types import Gt, Lt

from transferbench.data.text import (
    Weighting,
    character_view,
    count,
    document_frequency,
    weight,
)
from transferbench.errors import Unavailable
from transferbench.parameters import Count, CountOrZero, Positive
from transferbench.problem import Domain, Family, Matrix, Names, Problem, Truth
from transferbench.settings import Settings
from transferbench.settings import load as load_settings

#: Views of a multi-label text dataset: weighted terms, topics, or both.
Views = Literal["both", "tf-idf", "topics"]
#: What assigns the documents of a multi-label dataset to tasks; see `rcv1`.
TasksFrom = Literal["labels", "train-labels", "random"]
#: Fraction of the documents whose labels a model sees.
TrainFraction = Annotated[float, Gt(0), Lt(1)]
#: Domains whose classes the option `class_sizes` cuts; see `subsample`.
UnequalIn = Literal["target", "source", "both"]
P = TypeVar("P")
Builder = Callable[..., tuple[Problem, Truth]]
#: Counts (n, d), or texts, of a domain, and its class indices (n,), −1 for an unknown class.
Counts = tuple[sp.csr_array, np.ndarray]
Texts = tuple[list[str], np.ndarray]


class Content(NamedTuple, Generic[P]):
    """Content of a task's files.

    Parameters
    ----------
    classes
        Names of the classes.
    parts
        Documents and their classes by domain, `Counts` or `Texts`.
    vocabulary
        Names of the features of counts; empty if they have none.
    """

    classes: Sequence[str]
    parts: Mapping[str, P]
    vocabulary: Names = ()


#: Reads a task from its files; returns a `Content`, or classes and parts alone. Its keyword-only
#: arguments are options of the dataset.
Reader = Callable[..., Content[P] | tuple[Sequence[str], Mapping[str, P]]]


def builder(
    read: Reader[Counts],
    family: Family | Callable[[str], Family] = "transfer",
    *,
    min_df: int = 1,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
) -> Builder:
    """Return the function `build` of a dataset of counts.

    Parameters
    ----------
    read
        Reads a task from its files.
    family
        Family of all tasks, or a function from a task's name to its family.
    min_df, weighting, unit_length
        Defaults of these options of `build`.

    Returns
    -------
    Builder
        Its options are those of `read`, then min_df, weighting and unit_length.
    """

    @also_options_of(read)
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

        Parameters
        ----------
        min_df
            Drop features in fewer documents, counted over all domains.
        weighting, unit_length
            See `text.weight`; fitted on all domains together.
        """
        content = Content(*read(task, files, **options))
        return problem_from_counts(
            task,
            family if isinstance(family, str) else family(task),
            content.classes,
            content.parts,
            min_df=min_df,
            weighting=weighting,
            unit_length=unit_length,
            vocabulary=content.vocabulary,
        )

    return build


def also_options_of(read: Callable[..., Any]) -> Callable[[Builder], Builder]:
    """Return a decorator that replaces **options in a signature by the options of `read`.

    They come before the options of the builder itself.

    Parameters
    ----------
    read
        A function of (task, files), whose other arguments are options.
    """

    def decorator(build: Builder) -> Builder:
        task, files, *options, _ = inspect.signature(build).parameters.values()
        _, _, *read_options = inspect.signature(read).parameters.values()
        signature = inspect.Signature([task, files, *read_options, *options])
        build.__signature__ = signature  # type: ignore[attr-defined]
        return build

    return decorator


def text_builder(read: Reader[Texts]) -> Builder:
    """Return the function `build` of a transfer dataset of texts.

    Parameters
    ----------
    read
        Reads a task from its files.
    """

    def read_counts(task: str, files: dict[str, Path]) -> Content[Counts]:
        classes, parts, _ = Content(*read(task, files))
        texts = (text for texts, _ in parts.values() for text in texts)
        counts, vocabulary = count(texts, r"[^\W_]{2,}")
        ends = np.cumsum([len(y) for _, y in parts.values()])
        counted = {
            name: (counts[end - len(y) : end], y)
            for (name, (_, y)), end in zip(parts.items(), ends, strict=True)
        }
        return Content(classes, counted, vocabulary)

    words = builder(read_counts, min_df=2)

    def build(
        task: str,
        files: dict[str, Path],
        settings: Settings | None = None,
        *,
        min_df: Count = 2,
        weighting: Weighting = "tf-idf",
        unit_length: bool = True,
        characters: CountOrZero = 0,
        embeddings: bool = False,
    ) -> tuple[Problem, Truth]:
        """Build one task.

        Parameters
        ----------
        settings
            Where the model of embeddings is and where they are stored; by default, as the
            environment says.
        min_df
            Drop features in fewer documents, counted over all domains.
        weighting, unit_length
            See `text.weight`; fitted on all domains together.
        characters
            Largest number of n-grams of characters in a further view; 0 for none.
        embeddings
            Add a view of sentence embeddings, which need the extra `modern`.
        """
        problem, truth = words(
            task, files, min_df=min_df, weighting=weighting, unit_length=unit_length
        )
        if characters or embeddings:
            parts = Content(*read(task, files)).parts
            texts = [text for texts, _ in parts.values() for text in texts]
            problem = add_text_views(
                problem, texts, characters=characters, embeddings=embeddings,
                weighting=weighting, unit_length=unit_length, settings=settings,
            )  # fmt: skip
        return problem, truth

    return build


def add_text_views(
    problem: Problem,
    texts: Sequence[str],
    *,
    characters: int,
    embeddings: bool,
    weighting: Weighting,
    unit_length: bool,
    settings: Settings | None,
) -> Problem:
    """Return the problem with further views of its texts.

    Parameters
    ----------
    problem
        A problem of texts.
    texts
        All texts, in the order of the problem.
    characters
        Largest number of n-grams of characters in the first of them, see `text.character_view`; 0
        for none.
    embeddings
        Add a view of sentence embeddings, see `sentences.embed`.
    weighting, unit_length
        Of the n-grams.
    settings
        Where the model of embeddings is and where they are stored; by default, as the environment
        says.
    """
    from transferbench.data import sentences

    views: list[Matrix] = []
    if characters:
        views.append(character_view(texts, characters, weighting, unit_length))
    if embeddings:
        views.append(sentences.embed(texts, settings or load_settings()))
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])
    domains = (
        replace(
            domain,
            views=(*domain.views, *(view[end - len(domain.seen) : end] for view in views)),
        )
        for domain, end in zip(problem.domains, ends, strict=True)
    )
    return replace(problem, domains=tuple(domains))


class MultilabelData(NamedTuple):
    """Content of a multi-label dataset, to be divided into tasks; see `assign_tasks_from`.

    Parameters
    ----------
    classes
        (c,) names of the labels.
    views
        One or more matrices (n, d).
    Y
        (n, c) 0/1.
    Y_subcategories
        (n, m) 0/1, the sub-categories by which documents are assigned to tasks.
    top_categories
        (m,) the top category of each sub-category.
    X
        (n, d) the matrix by which documents without known labels are compared.
    """

    classes: Sequence[str]
    views: Sequence[Matrix]
    Y: np.ndarray
    Y_subcategories: np.ndarray
    top_categories: Sequence[str]
    X: Matrix


def multilabel_builder(read: Callable[..., MultilabelData]) -> Builder:
    """Return the function `build` of a multi-label dataset; it divides the documents into tasks.

    Parameters
    ----------
    read
        Reads a dataset from its files.

    Returns
    -------
    Builder
        Its options are those of `read`, then tasks, tasks_from, train and split.
    """

    @also_options_of(read)
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

        Parameters
        ----------
        tasks
            Number of tasks that the documents are assigned to.
        tasks_from
            Assign by the labels of all documents, by those of the training documents alone, or at
            random.
        train
            Fraction of the documents whose labels are seen, drawn at random.
        split
            Number of the draw.
        """
        data = read(task, files, **options)
        seen = train_mask(len(data.Y), train, split)
        assigned = assign_tasks_from(
            tasks_from,
            data.Y_subcategories,
            data.top_categories,
            tasks,
            seen=seen,
            X=data.X,
            split=split,
        )
        return problem_from_views(task, data.classes, data.views, data.Y, assigned, seen)

    return build


def problem_from_counts(
    task: str,
    family: Family,
    classes: Sequence[str],
    parts: Mapping[str, Counts],
    *,
    min_df: int = 1,
    weighting: Weighting,
    unit_length: bool,
    vocabulary: Names = (),
) -> tuple[Problem, Truth]:
    """Return a problem with one domain for each part, and its truth.

    Parameters
    ----------
    task
        Name of the problem.
    family
        Family of the problem.
    classes
        Names of the classes.
    parts
        By domain name, counts over the same d features; in a transfer problem, the labels of the
        domain "source" are seen.
    min_df
        Drop features in fewer documents, counted over all domains.
    weighting, unit_length
        See `text.weight`; fitted on all domains together.
    vocabulary
        (d,) names of the features; empty if they have none.

    Raises
    ------
    ValueError
        If the domains differ in their number of features or none is left.
    """
    counts = sp.vstack([counts for counts, _ in parts.values()], format="csr")
    columns = _frequent(counts, min_df)
    X = weight(counts[:, columns], weighting, unit_length)
    y = np.concatenate([y for _, y in parts.values()])
    names = list(parts)
    domain = np.repeat(np.arange(len(parts)), [len(y) for _, y in parts.values()])
    Y = (y[:, None] == np.arange(len(classes))).astype(float)
    seen = (np.array(names) == "source")[domain] & (family == "transfer")
    scored = ~seen & (y >= 0)
    return split_by_domain(
        task, family, classes, names, domain, [X], Y, seen, scored,
        features=_named(vocabulary, columns),
    )  # fmt: skip


def _named(names: Names, columns: np.ndarray) -> list[str]:
    """Return the names of some of the features; none if they have none."""
    return [names[column] for column in columns] if len(names) else []


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
    signed: bool = False,
    features: Names = (),
) -> tuple[Problem, Truth]:
    """Return the problem with one domain for each of the names, and its truth.

    Parameters
    ----------
    task
        Name of the problem.
    family
        Family of the problem.
    classes
        Names of the classes.
    names
        Names of the domains.
    domain
        (n,) index of each document's domain in `names`.
    views
        One or more matrices (n, d) of all documents.
    Y
        (n, c) 0/1.
    seen, scored
        (n,) bool.
    signed
        True if the first view may have negative entries.
    features
        (d,) names of the features of the first view; empty if they have none.
    """
    rows = [np.flatnonzero(domain == i) for i in range(len(names))]
    Y_seen = np.where(seen[:, None], Y, 0)
    domains = tuple(
        Domain(name, tuple(view[r] for view in views), Y_seen[r], seen[r], signed)
        for name, r in zip(names, rows, strict=True)
    )
    true, scored_rows = tuple(Y[r] for r in rows), tuple(scored[r] for r in rows)
    return (
        Problem(task, family, tuple(classes), domains, tuple(features)),
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
    label_weight: Positive = 1.0,
    draw: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Return a transfer problem with fewer documents or labels, and its truth.

    Documents keep their order. For each domain they are drawn by NumPy's default generator with
    seed 0, so a task is the same every time, and a smaller draw is part of a larger one.

    Parameters
    ----------
    problem, truth
        A transfer problem and its truth.
    min_df, weighting, unit_length
        Drop features in fewer remaining documents, then weight the sparse views; see `text.weight`.
        The defaults keep the weights.
    documents
        Largest number of documents of a domain, drawn at random; 0 for all.
    class_sizes
        Ratio of the classes, in their order, such as "1:10"; the last number is that of all further
        classes. The largest possible number of documents is kept, so one class usually stays
        complete. Documents without a label are dropped.
    unequal_in
        Domains that class_sizes cuts: targets, sources or both.
    halves
        Random halves of the first labelled domain become source and target.
    unlabelled
        Hide the labels of all domains, for a problem of multi-task clustering.
    labelled
        Number of documents of each target, drawn at random, whose labels are seen and train the
        models. They are not scored.
    label_weight
        Weight of each of these labels in training; a label of a source weighs 1.
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
        options = ", ".join(inspect.getfullargspec(subsample).kwonlyargs)
        raise ValueError(f"{options} are for transfer tasks, and this is one of {problem.family}")
    if unequal_in != "target" and not class_sizes:
        raise ValueError(f"unequal_in = {unequal_in} without class_sizes; expected both")
    if labelled and unlabelled:
        raise ValueError("labelled and unlabelled were both given; expected one")
    for name, given in (("draw", draw), ("label_weight", label_weight != 1)):
        if given and not labelled:
            raise ValueError(f"{name} without labelled; expected both")
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
            option = f"class_sizes {class_sizes}" if ratio is not None else f"documents {documents}"
            raise ValueError(f"{option} leaves a class of {name} empty")
    rows = np.concatenate(list(parts.values()))
    views: list[Matrix] = []
    features: Names = problem.features
    for stacked in zip(*(domain.views for domain in problem.domains), strict=True):
        if sp.issparse(stacked[0]):
            X = sp.csr_array(sp.vstack(stacked, format="csr"))[rows]
            columns = _frequent(X, min_df)
            features = features if views else _named(features, columns)
            views.append(weight(X[:, columns], weighting, unit_length))
        else:
            views.append(np.vstack(stacked)[rows])
    domain = np.repeat(np.arange(len(parts)), list(map(len, parts.values())))
    Y, seen, names = Y[rows], seen[rows] & (not unlabelled), list(parts)
    family: Family = "clustering" if unlabelled else "transfer"
    scored = ~seen & Y.any(axis=1)
    for number, name in enumerate(names) if labelled else ():
        target = np.flatnonzero((domain == number) & scored)
        if len(target) and 2 * labelled > len(target):
            raise Unavailable(f"{name} has {len(target)} documents, too few to label {labelled}")
        if len(target):
            base = problem.name.partition(":")[0]  # tasks with other features have the same sample
            seen[target[draw_labelled(len(target), labelled, draw, base)]] = True
    drawn, truth = split_by_domain(
        problem.name, family, problem.classes, names, domain, views, Y, seen, scored & ~seen,
        features=features,
    )  # fmt: skip
    if label_weight != 1:
        drawn = weighted(drawn, label_weight)
    return drawn, truth


def weighted(problem: Problem, label_weight: float) -> Problem:
    """Return the problem with a weight of each label in its targets; others weigh 1."""
    domains = (
        domain if domain.seen.all()
        else replace(domain, label_weights=np.full(len(domain.seen), label_weight))
        for domain in problem.domains
    )  # fmt: skip
    return replace(problem, domains=tuple(domains))


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
    top_categories: Sequence[str],
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
        "labels": by the largest sub-category of each document. "train-labels": the same for seen
        documents; any other document gets the sub-category whose mean, over its seen documents, has
        the largest cosine with it. "random": tasks of equal size.
    Y
        (n, m) 0/1, the sub-categories of all documents.
    top_categories
        (m,) the top category of each sub-category, see `assign_tasks`.
    tasks
        Number of tasks.
    seen
        (n,) bool, documents whose labels "train-labels" may use.
    X
        (n, d), the documents that "train-labels" compares.
    split
        Number of the draw of "random".

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
        return assign_tasks(largest_categories(Y), top_categories, tasks)
    category = largest_categories(np.where(seen[:, None], Y, 0))
    category[~seen] = _nearest_categories(X[~seen], X[seen], category[seen], len(top_categories))
    return assign_tasks(category, top_categories, tasks)


def largest_categories(Y: np.ndarray) -> np.ndarray:
    """Return (n,) the largest sub-category of each document, −1 for a document without one."""
    by_size = np.argsort(-Y.sum(axis=0), kind="stable")
    return np.where(Y.any(axis=1), by_size[Y[:, by_size].argmax(axis=1)], -1)


def _nearest_categories(X: Matrix, known: Matrix, category: np.ndarray, m: int) -> np.ndarray:
    """Return (n,) the sub-category 0 … m−1 whose mean has the largest cosine with each row of X.

    The result is −1 for a row without a positive cosine.

    Parameters
    ----------
    X
        (n, d).
    known
        Rows with known sub-categories.
    category
        The sub-category of each row of `known`, −1 for none.
    m
        Number of sub-categories.
    """
    rows = np.flatnonzero(category >= 0)
    members = sp.csr_array((np.ones(len(rows)), (category[rows], rows)), (m, len(category)))
    sums = members @ known
    centroids = sums.toarray() if sp.issparse(sums) else sums
    length = np.linalg.norm(centroids, axis=1, keepdims=True)
    cosine = np.asarray(X @ (centroids / np.where(length > 0, length, 1)).T)
    return np.where(cosine.max(axis=1) > 0, cosine.argmax(axis=1), -1)


def assign_tasks(category: np.ndarray, top_categories: Sequence[str], tasks: int) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document.

    The sub-categories of each top category, largest first, are assigned to the tasks in turn, so
    that every task has documents of all top categories. Documents without a sub-category are
    assigned in turn, one by one.

    Parameters
    ----------
    category
        (n,) the sub-category of each document, −1 for none.
    top_categories
        (m,) the top category of each sub-category.
    tasks
        Number of tasks.
    """
    size = np.bincount(category[category >= 0], minlength=len(top_categories))
    task_of_category = np.zeros(len(top_categories), np.intp)
    for top in dict.fromkeys(top_categories):
        categories = [c for c in np.argsort(-size, kind="stable") if top_categories[c] == top]
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
    """Return (n,) bool, True for a random fraction of documents.

    Parameters
    ----------
    n
        Number of documents.
    train
        Fraction that is True.
    split
        Number of the draw: 0, 1, ….
    """
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

    Features that never occur are dropped.

    Parameters
    ----------
    name
        Name of the problem.
    classes
        Names of the labels.
    views
        One or more matrices (n, d).
    Y
        (n, m) 0/1.
    task
        (n,) the task of each document, from 0.
    seen
        (n,) bool.
    names
        Names of the domains; by default task-1, task-2, …, or "all" if there is one task.
    """
    present, domain = np.unique(task, return_inverse=True)
    names = names or [f"task-{t + 1}" if len(present) > 1 else "all" for t in present]
    views = [view[:, np.flatnonzero(np.asarray(abs(view).sum(axis=0)).ravel())] for view in views]
    return split_by_domain(
        name, "multilabel", classes, names, domain, views, Y.astype(float), seen, scored=~seen
    )
