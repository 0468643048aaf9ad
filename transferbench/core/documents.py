"""The documents of a problem: stacked, split by domain, and those with labels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core.scale import drop_empty_columns, unit_rows
from transferbench.problem import Domain, Matrix, Problem

#: Parts of the labelled documents of a target that are held out in turn.
FOLDS = 5
#: The first view or all, with rows of length one; or all as they are.
View = Literal["first", "all", "raw"]


def stack_matrices(matrices: Sequence[Matrix], axis: Literal[0, 1] = 0) -> Matrix:
    """Return matrices, sparse or dense, as one: their rows (axis 0) or columns (axis 1) joined."""
    if any(sp.issparse(matrix) for matrix in matrices):
        join = sp.hstack if axis else sp.vstack
        return sp.csr_array(join([sp.csr_array(matrix) for matrix in matrices]))
    return np.concatenate(matrices, axis)


def stack_views(problem: Problem) -> list[Matrix]:
    """Return each view of all domains (n, d), without features that occur in no document."""
    by_view = zip(*(domain.views for domain in problem.domains), strict=True)
    return [drop_empty_columns(stack_matrices(parts)) for parts in by_view]


def stack_labels(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return labels Y (n, m) and seen (n,) of the documents of all domains."""
    Y, seen = zip(*((domain.Y, domain.seen) for domain in problem.domains), strict=True)
    return np.vstack(Y), np.concatenate(seen)


def unit_views(problem: Problem, view: View) -> list[sp.csr_array]:
    """Return the views of all domains as by `stack_views`, with rows of length one unless raw."""
    views = stack_views(problem)[: 1 if view == "first" else None]
    return [sp.csr_array(X) if view == "raw" else unit_rows(X) for X in views]


def hstack_views(problem: Problem, view: View) -> sp.csr_array:
    """Return `unit_views` side by side (n, Σ d); inner products are means over the views."""
    views = unit_views(problem, view)
    return sp.csr_array(sp.hstack(views) / np.sqrt(len(views)))


def joined(problem: Problem) -> Problem:
    """Return the problem with one view: all views side by side, each with rows of length one."""
    # The view is a CSR, and signed. Embeddings as the second view make each of its rows longer by
    # their number; words stay as sparse as they are.
    sides = (sp.hstack([unit_rows(X) for X in domain.views]) for domain in problem.domains)
    return with_view(problem, map(sp.csr_array, sides))


def with_view(problem: Problem, views: Iterable[Matrix], signed: bool = True) -> Problem:
    """Return the problem with one view of each domain, signed or as before, without names."""
    domains = (
        replace(domain, views=(view,), signed=signed or domain.signed)
        for domain, view in zip(problem.domains, views, strict=True)
    )
    return replace(problem, domains=tuple(domains), features=())


def score_targets(
    problem: Problem, score: Callable[[int, Domain], np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Return labels of labelled documents, and score(i, domain) (n, c) of others in domain i."""
    # A source, in which every document is labelled, needs no score.
    scores = []
    for i, domain in enumerate(problem.domains):
        of_domain = domain.Y if domain.seen.all() else score(i, domain)
        scores.append(with_labels(domain, of_domain))
    return tuple(scores)


def with_labels(domain: Domain, scores: np.ndarray) -> np.ndarray:
    """Return scores (n, c), those of a target's labelled documents replaced by the labels."""
    if domain.seen.all() or not domain.seen.any():
        return scores
    return np.where(domain.seen[:, None], domain.Y, scores)


def split_rows(problem: Problem, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """Split the rows of an array over all documents (n, …) by domain; returns views."""
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])
    return tuple(np.split(scores, ends[:-1]))


def seen_rows(problem: Problem) -> tuple[Matrix, np.ndarray]:
    """Return the labelled documents X (n, d) of all domains and their classes y (n,)."""
    labelled = [domain for domain in problem.domains if domain.seen.any()]
    y = np.concatenate([np.asarray(d.Y[d.seen]).argmax(axis=1) for d in labelled] or [np.empty(0)])
    if len(np.unique(y)) < 2:
        raise ValueError(f"{problem.name}: labelled documents of at least two classes are needed")
    return stack_matrices([domain.X[np.flatnonzero(domain.seen)] for domain in labelled]), y


def seen_weights(problem: Problem) -> np.ndarray | None:
    """Return the weights (n,) of the labels of `seen_rows`; None if each is 1."""
    # Solvers then get no weights, so that a fit without weights does not depend on them in any
    # digit.
    weights = np.concatenate(
        [
            (np.ones(len(d.seen)) if d.label_weights is None else d.label_weights)[d.seen]
            for d in problem.domains
        ]
    )
    return None if (weights == 1).all() else weights


def label_folds(domain: Domain) -> np.ndarray:
    """Return the fold (m,), from 0 to 4, of each labelled document of a domain."""
    # Lengths are spread over the folds, classes are not: folds with the class shares of the sample
    # would make a model look better than it is. A fold depends on the content of the documents, not
    # on their order. It does not depend on that of the features, either, unless documents have
    # equal lengths.
    X = domain.X[np.flatnonzero(domain.seen)]
    size = np.asarray((abs(X) ** 1.5).sum(axis=1)).ravel()
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    fold = np.empty(len(size), np.intp)
    fold[np.lexsort([X @ direction, size])] = np.arange(len(size)) % FOLDS
    return fold
