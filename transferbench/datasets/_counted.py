"""Transfer problems from counts that others made: for corpora published without their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Domain, Problem, Truth
from transferbench.text import Weighting, document_frequency, weight


def transfer(
    task: str,
    classes: Sequence[str],
    parts: Mapping[str, tuple[sp.csr_array, np.ndarray]],
    *,
    min_df: int,
    weighting: Weighting,
    unit_length: bool,
) -> tuple[Problem, Truth]:
    """A problem whose first domain is the labelled source and whose others are targets.

    parts: for each domain counts (n, d) over the same d features, and (n,) indices of classes.
    Features in fewer than min_df documents of all domains together are dropped; weights are fitted
    on these documents together. Raises ValueError where the domains' features differ in number.
    """
    together = sp.vstack([counts for counts, _ in parts.values()], format="csr")
    kept = np.flatnonzero(document_frequency(together) >= min_df)
    X = weight(together[:, kept], weighting, unit_length)
    domains: list[Domain] = []
    truth, start = [], 0
    for name, (_, y) in parts.items():
        Y = np.eye(len(classes))[y]
        seen = np.full(len(y), not domains)
        view = X[start : start + len(y)]
        domains.append(Domain(name, (view,), np.where(seen[:, None], Y, 0), seen))
        truth.append(Y)
        start += len(y)
    return (
        Problem(task, "transfer", tuple(classes), tuple(domains)),
        Truth(
            "transfer", tuple(classes), tuple(parts), tuple(truth), tuple(~d.seen for d in domains)
        ),
    )
