"""Build problems: from term counts, the last step of single-label datasets, and by domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.data.options import Weighting
from transferbench.data.text import document_frequency, weight
from transferbench.problem import Domain, Family, Matrix, Problem, Truth


def problem_from_counts(
    task: str,
    family: Family,
    classes: Sequence[str],
    parts: Mapping[str, tuple[sp.csr_array, np.ndarray]],
    *,
    columns: np.ndarray | None = None,
    min_df: int = 1,
    weighting: Weighting,
    unit_length: bool,
    sources: int = 1,
) -> tuple[Problem, Truth]:
    """Return a problem with one domain for each part, and its truth.

    parts   : by domain name, counts (n, d) over the same d features and (n,) class indices, −1 for
              an unknown class.
    columns : features to choose from, None for all; those in at least min_df documents of all
              domains together are kept.
    sources : number of domains, from the first, whose labels are seen in a transfer problem.

    Weights (see `text.weight`) are fitted on all documents together. Raises ValueError if the
    domains differ in their number of features or none is left.
    """
    counts = sp.vstack([counts for counts, _ in parts.values()], format="csr")
    if columns is not None:
        counts = counts[:, columns]
    frequent = np.flatnonzero(document_frequency(counts) >= min_df)
    if not frequent.size:
        raise ValueError("no feature is left; expected a lower min_df")
    X = weight(counts[:, frequent], weighting, unit_length)
    labels = {name: y for name, (_, y) in parts.items()}
    return problem_from_weights(task, family, classes, X, labels, sources=sources)


def problem_from_weights(
    task: str,
    family: Family,
    classes: Sequence[str],
    X: sp.csr_array,
    labels: Mapping[str, np.ndarray],
    *,
    sources: int,
) -> tuple[Problem, Truth]:
    """Return a problem with a domain for each item of `labels`, and its truth.

    X      : (n, d) weights of the documents of all domains, one domain after the other.
    labels : by domain name, class indices of its documents, −1 for an unknown class.
    sources : see `problem_from_counts`.
    """
    y = np.concatenate(list(labels.values()))
    domain = np.repeat(np.arange(len(labels)), [len(y) for y in labels.values()])
    Y = (y[:, None] == np.arange(len(classes))).astype(float)
    seen = (domain < sources) & (family == "transfer")
    return split_by_domain(
        task, family, classes, list(labels), domain, [X], Y, seen, scored=~seen & (y >= 0)
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
