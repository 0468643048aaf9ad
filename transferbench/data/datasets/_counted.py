"""From counts of words to a problem: the last step of every dataset of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.data.text import Weighting, document_frequency, weight
from transferbench.problem import Domain, Family, Problem, Truth


def assemble(
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
    """A problem with a domain for each part; the first of a transfer problem is all seen.

    parts: for each domain counts (n, d) over the same d features, and (n,) indices of classes, −1
    where the class is not known. sources: how many of a transfer problem's domains are all seen.
    Of the features `columns` (None: of all) those in min_df documents of all domains together, or
    more, are kept; weights are fitted on these documents together. Raises ValueError where the
    domains' features differ in number.
    """
    together = sp.vstack([counts for counts, _ in parts.values()], format="csr")
    if columns is not None:
        together = together[:, columns]
    kept = np.flatnonzero(document_frequency(together) >= min_df)
    X = weight(together[:, kept], weighting, unit_length)
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
