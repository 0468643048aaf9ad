"""Build problems from matrices and labels: by domain, subsampled, or divided into tasks."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

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
from transferbench.parameters import Count, CountOrZero
from transferbench.problem import Domain, Family, Matrix, Names, Problem, Truth
from transferbench.settings import Settings
from transferbench.settings import load as load_settings

#: Views of a multi-label text dataset: weighted terms, topics, or both.
Views = Literal["both", "tf-idf", "topics"]
#: What assigns the documents of a multi-label dataset to tasks; see `rcv1`.
TasksFrom = Literal["labels", "train-labels", "random"]
#: Fraction of the documents whose labels a model sees.
TrainFraction = Annotated[float, Gt(0), Lt(1)]
Builder = Callable[..., tuple[Problem, Truth]]
#: Counts (n, d), or texts, of a domain, and its class indices (n,), −1 for an unknown class.
Counts = tuple[sp.csr_array, np.ndarray]
Texts = tuple[list[str], np.ndarray]


class Content(NamedTuple):
    """Content of a task's files.

    Parameters
    ----------
    classes
        Names of the classes.
    parts
        Counts (n, d) and class indices (n,) by domain; −1 is an unknown class. In a transfer task,
        a model sees the labels of the domain `source` alone.
    vocabulary
        (d,) names of the features; empty if they have none.
    texts
        The documents of all domains as texts; empty if they are not known.
    frequency
        (d,) numbers of documents by which `min_df` drops features; by default, of these documents.
    """

    classes: Sequence[str]
    parts: Mapping[str, Counts]
    vocabulary: Names = ()
    texts: Sequence[str] = ()
    frequency: np.ndarray | None = None


#: Reads a task from its files; returns a `Content`, or classes and parts alone. Its keyword-only
#: arguments are options of the dataset.
Reader = Callable[..., Content | tuple[Sequence[str], Mapping[str, Counts]]]


def builder(
    read: Reader,
    family: Family | Callable[[str], Family] = "transfer",
    *,
    min_df: int = 1,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
) -> Builder:
    """Return the function `build` of a dataset of counts.

    Its options are those of `read`, then those below, which have the values given here as defaults.

    Parameters
    ----------
    read
        A function of the name of a task and the paths of its files, which returns a `Content`, or
        classes and parts alone. Its keyword-only arguments are options of the dataset.
    family
        Family of all tasks, or a function from a task's name to its family.
    min_df
        Drop features in fewer documents, counted over all domains.
    weighting, unit_length
        See `text.weight`; fitted on all domains together.
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
        of_task = family if isinstance(family, str) else family(task)
        content = Content(*read(task, files, **options))
        return problem_from_counts(task, of_task, content, min_df, weighting, unit_length)

    return build


def also_options_of(read: Callable[..., Any]) -> Callable[[Builder], Builder]:
    """Return a decorator that replaces **options in a signature by the options of `read`."""
    # They come before the options of the builder itself.
    # `read`: A function of (task, files), whose other arguments are options.

    def decorator(build: Builder) -> Builder:
        task, files, *options, _ = inspect.signature(build).parameters.values()
        _, _, *read_options = inspect.signature(read).parameters.values()
        signature = inspect.Signature([task, files, *read_options, *options])
        build.__signature__ = signature  # type: ignore[attr-defined]
        return build

    return decorator


def content_of_texts(classes: Sequence[str], parts: Mapping[str, Texts]) -> Content:
    """Return texts of domains with their counts of words.

    Parameters
    ----------
    classes
        Names of the classes.
    parts
        Texts and class indices (n,) by domain; −1 is an unknown class.
    """
    texts = [text for texts, _ in parts.values() for text in texts]
    counts, vocabulary = count(texts, r"[^\W_]{2,}")
    ends = np.cumsum([len(y) for _, y in parts.values()])
    counted = {
        name: (counts[end - len(y) : end], y)
        for (name, (_, y)), end in zip(parts.items(), ends, strict=True)
    }
    return Content(classes, counted, vocabulary, texts)


def text_builder(
    read: Callable[[str, dict[str, Path]], Content],
    family: Family | Callable[[str], Family] = "transfer",
    *,
    min_df: int = 2,
) -> Builder:
    """Return the function `build` of a dataset of texts, which has further views of them.

    Parameters
    ----------
    read
        A function of the name of a task and the paths of its files, which returns what
        `content_of_texts` does.
    family
        Family of all tasks, or a function from a task's name to its family.
    min_df
        Default of the option: drop features in fewer documents, counted over all domains.
    """

    def build(
        task: str,
        files: dict[str, Path],
        settings: Settings | None = None,
        *,
        min_df: Count = min_df,
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
            Drop features in fewer documents, counted over all domains if the text above names no
            other documents.
        weighting, unit_length
            See `text.weight`; fitted on all domains together.
        characters
            Largest number of n-grams of characters in a further view; 0 for none.
        embeddings
            Add a view of sentence embeddings, which need the extra `modern`.
        """
        of_task = family if isinstance(family, str) else family(task)
        content = read(task, files)
        problem, truth = problem_from_counts(task, of_task, content, min_df, weighting, unit_length)
        views: list[Matrix] = []
        if characters:
            views.append(character_view(content.texts, characters, weighting, unit_length))
        if embeddings:
            from transferbench.data import sentences

            views.append(sentences.embed(content.texts, settings or load_settings()))
        ends = np.cumsum([len(domain.seen) for domain in problem.domains])
        domains = tuple(
            replace(
                domain, views=(*domain.views, *(v[end - len(domain.seen) : end] for v in views))
            )
            for domain, end in zip(problem.domains, ends, strict=True)
        )
        return replace(problem, domains=domains), truth

    return build


class MultilabelData(NamedTuple):
    """Content of a multi-label dataset, to be divided into tasks; see `assign_tasks_from`."""

    #: (c,) names of the labels.
    classes: Sequence[str]
    #: One or more matrices (n, d).
    views: Sequence[Matrix]
    #: (n, c) 0/1.
    Y: np.ndarray
    #: (n, m) 0/1, the sub-categories by which documents are assigned to tasks.
    Y_subcategories: np.ndarray
    #: (m,) the top category of each sub-category.
    top_categories: Sequence[str]
    #: (n, d) the matrix by which documents without known labels are compared.
    X: Matrix


def multilabel_builder(read: Callable[..., MultilabelData]) -> Builder:
    """Return the function `build` of a multi-label dataset; it divides the documents into tasks."""
    # Returns: Its options are those of `read`, then tasks, tasks_from, train and split.

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
        assigned = assign_tasks_from(tasks_from, data, tasks, seen, split)
        return problem_from_views(task, data.classes, data.views, data.Y, assigned, seen)

    return build


def problem_from_counts(
    task: str,
    family: Family,
    content: Content,
    min_df: int = 1,
    weighting: Weighting = "tf",
    unit_length: bool = False,
) -> tuple[Problem, Truth]:
    """Return a problem with one domain for each part, and its truth."""
    # In a transfer problem, the labels of the domain "source" are seen.
    # `min_df`: Drop features in fewer documents, see `Content.frequency`.
    # `weighting`, `unit_length`: See `text.weight`; fitted on all domains together. The defaults
    # keep the weights of weighted features.
    counts = sp.vstack([counts for counts, _ in content.parts.values()], format="csr")
    counts, features = frequent(counts, min_df, content.vocabulary, content.frequency)
    X = weight(counts, weighting, unit_length)
    y = np.concatenate([y for _, y in content.parts.values()])
    names = list(content.parts)
    domain = np.repeat(np.arange(len(names)), [len(y) for _, y in content.parts.values()])
    Y = (y[:, None] == np.arange(len(content.classes))).astype(float)
    seen = (np.array(names) == "source")[domain] & (family == "transfer")
    scored = ~seen & (y >= 0)
    return split_by_domain(
        task, family, content.classes, names, domain, [X], Y, seen, scored, features=features
    )


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
    """Return the problem with one domain for each of the names, and its truth."""
    # `domain`: (n,) index of each document's domain in `names`.
    # `views`: One or more matrices (n, d) of all documents.
    # `features`: (d,) names of the features of the first view; empty if they have none.
    # Shapes: Y (n, c), seen and scored (n,).
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


def weighted(problem: Problem, label_weight: float) -> Problem:
    """Return the problem with a weight of each label in its targets; others weigh 1."""
    domains = (
        domain if domain.seen.all()
        else replace(domain, label_weights=np.full(len(domain.seen), label_weight))
        for domain in problem.domains
    )  # fmt: skip
    return replace(problem, domains=tuple(domains))


def frequent(
    counts: sp.csr_array, min_df: int, names: Names, frequency: np.ndarray | None = None
) -> tuple[sp.csr_array, list[str]]:
    """Return the features in at least min_df documents, and their names."""
    # `names`: (d,) names of the features; empty if they have none.
    # `frequency`: (d,) see `Content`; a feature in none of the counts is dropped, too.
    df = document_frequency(counts)
    enough = (df if frequency is None else frequency) >= min_df
    columns: np.ndarray = np.flatnonzero(enough & (df > 0))
    if not columns.size:
        raise ValueError("no feature is left; expected a lower min_df")
    return counts[:, columns], [names[column] for column in columns] if len(names) else []


def assign_tasks_from(
    how: TasksFrom, data: MultilabelData, tasks: int, seen: np.ndarray, split: int
) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document."""
    # `how`: "labels": by the largest sub-category of each document. "train-labels": the same for
    # seen documents; any other document gets the sub-category whose mean, over its seen documents,
    # has the largest cosine with it. "random": tasks of equal size.
    # `seen`: (n,) bool, documents whose labels "train-labels" may use.
    X, Y, top_categories = data.X, data.Y_subcategories, data.top_categories
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
    """Return (n,) the sub-category 0 … m−1 whose mean has the largest cosine with each row of X."""
    # The result is −1 for a row without a positive cosine.
    # `category`: The sub-category of each row of `known`, −1 for none.
    # Shapes: X (n, d).
    rows = np.flatnonzero(category >= 0)
    members = sp.csr_array((np.ones(len(rows)), (category[rows], rows)), (m, len(category)))
    sums = members @ known
    centroids = sums.toarray() if sp.issparse(sums) else sums
    length = np.linalg.norm(centroids, axis=1, keepdims=True)
    cosine = np.asarray(X @ (centroids / np.where(length > 0, length, 1)).T)
    return np.where(cosine.max(axis=1) > 0, cosine.argmax(axis=1), -1)


def assign_tasks(category: np.ndarray, top_categories: Sequence[str], tasks: int) -> np.ndarray:
    """Return (n,) the task 0, 1, … of each document."""
    # The sub-categories of each top category, largest first, are assigned to the tasks in turn, so
    # that every task has documents of all top categories. Documents without a sub-category are
    # assigned in turn, one by one.
    # `category`: (n,) the sub-category of each document, −1 for none.
    # `top_categories`: (m,) the top category of each sub-category.
    size = np.bincount(category[category >= 0], minlength=len(top_categories))
    task_of_category = np.zeros(len(top_categories), np.intp)
    for top in dict.fromkeys(top_categories):
        categories = [c for c in np.argsort(-size, kind="stable") if top_categories[c] == top]
        task_of_category[categories] = np.arange(len(categories)) % tasks
    task = np.asarray(task_of_category[category])
    without = np.flatnonzero(category < 0)
    task[without] = np.arange(len(without)) % tasks
    return task


def topic_view(counts: sp.csr_array, topics: int = 100) -> np.ndarray:
    """Return P(z|d) (n, topics) by PLSA, never zero, so that no zero depends on rounding."""
    from transferbench.core.plsa import plsa  # loads scipy.special, which takes long

    topics_of_documents, _, _ = plsa([counts], topics, max_iter=100, tol=1e-4, seed=0)
    return np.asarray(np.maximum(topics_of_documents, np.float32(1e-6)))


def train_mask(n: int, train: float, split: int) -> np.ndarray:
    """Return (n,) bool, True for a random fraction of documents."""
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
    """Return a multi-label problem with a domain for each task with documents, and its truth."""
    # Features that never occur are dropped.
    # `views`: One or more matrices (n, d).
    # `task`: (n,) the task of each document, from 0.
    # `names`: Names of the domains; by default task-1, task-2, …, or "all" if there is one task.
    # Shapes: Y (n, m), seen (n,).
    present, domain = np.unique(task, return_inverse=True)
    names = names or [f"task-{t + 1}" if len(present) > 1 else "all" for t in present]
    views = [view[:, np.flatnonzero(np.asarray(abs(view).sum(axis=0)).ravel())] for view in views]
    return split_by_domain(
        name, "multilabel", classes, names, domain, views, Y.astype(float), seen, scored=~seen
    )
