"""Documents that are in a source and in a target, so that results on them are too good."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.core.scale import unit_rows
from transferbench.errors import Doubt
from transferbench.problem import Domain, Problem

#: Documents with fewer features may be equal by chance and are not compared.
MIN_FEATURES = 3
#: Number and share of a target's documents in the source from which the target is doubtful, and
#: the share from which results on it are worthless.
MIN_SHARED, DOUBTFUL_SHARED, WORTHLESS_SHARED = 3, 0.05, 0.9


def check_overlap(problem: Problem, names: Sequence[str] = ()) -> list[Doubt]:
    """Return a doubt for each target that shares documents with a source.

    Documents are the same if their features are, scaled to length one. Of few possible documents
    many are the same by chance: the share that repeats within the sources is expected, and only
    what exceeds it counts. names: how messages call the targets; by default the names of the
    domains.
    """
    if not problem.sources:
        return []
    directions = np.random.default_rng(0).standard_normal((problem.domains[0].X.shape[1], 2))
    sources, repeated = {}, 0
    for domain in problem.sources:
        sources[domain.name], counts = np.unique(_keys(domain, directions), return_counts=True)
        repeated += int(counts[counts > 1].sum())
    chance = repeated / sum(len(domain.seen) for domain in problem.sources)
    doubts = []
    named = zip(names or [domain.name for domain in problem.targets], problem.targets, strict=True)
    for name, target in named:
        keys, n = _keys(target, directions), len(target.seen)
        shared = {source: np.isin(keys, known) for source, known in sources.items()}
        same = int(np.any([*shared.values()], axis=0).sum())
        excess = same / n - chance
        if same >= MIN_SHARED and excess >= DOUBTFUL_SHARED:
            where = ", ".join(source for source, found in shared.items() if found.any())
            doubts.append(
                Doubt(
                    f"{same} of {n} documents are also in the source ({where}), so results are too "
                    "good; remove them from one of both",
                    excess >= WORTHLESS_SHARED * (1 - chance),
                    name,
                )
            )
    return doubts


def _keys(domain: Domain, directions: np.ndarray) -> np.ndarray:
    """Return a number for each document with enough features; equal documents have the same.

    It is the rounded projection of the document, at length one, on two random directions (d, 2).
    """
    X = sp.csr_array(domain.X, dtype=np.float64)  # in float32 lengths change the last digits
    X = unit_rows(X[np.flatnonzero(np.diff(X.indptr) >= MIN_FEATURES)])
    return np.asarray(np.round(X @ directions, 5).view(complex).ravel())
