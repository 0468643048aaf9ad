"""Build a problem from term counts: the last step of every single-label dataset of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.data.options import Weighting
from transferbench.data.text import document_frequency, weight
from transferbench.problem import Domain, Family, Problem, Truth


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
    domains differ in their number of features.
    """
    counts = sp.vstack([counts for counts, _ in parts.values()], format="csr")
    if columns is not None:
        counts = counts[:, columns]
    frequent = np.flatnonzero(document_frequency(counts) >= min_df)
    X = weight(counts[:, frequent], weighting, unit_length)
    domains: list[Domain] = []
    truth, scored, start = [], [], 0
    for name, (_, y) in parts.items():
        Y = (y[:, None] == np.arange(len(classes))).astype(float)
        seen = np.full(len(y), family == "transfer" and len(domains) < sources)
        view = X[start : start + len(y)]
        domains.append(Domain(name, (view,), np.where(seen[:, None], Y, 0), seen))
        truth.append(Y)
        scored.append(~seen & (y >= 0))
        start += len(y)
    return (
        Problem(task, family, tuple(classes), tuple(domains)),
        Truth(family, tuple(classes), tuple(parts), tuple(truth), tuple(scored)),
    )
