"""Documents of several domains as one matrix, of one view or of all side by side."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core.graph import unit_rows
from transferbench.core.scale import present
from transferbench.problem import Problem

View = Literal["first", "all"]


def join(problem: Problem, view: View) -> tuple[list[sp.csr_array], np.ndarray, np.ndarray]:
    """Views V × (n, d), labels Y (n, m) and seen (n,) of the documents of all domains.

    Rows have length one in each view, whose scales differ otherwise; features of no document are
    left out. Raises ValueError where fewer than two documents are labelled.
    """
    domains = problem.domains
    seen = np.concatenate([domain.seen for domain in domains])
    if seen.sum() < 2:
        raise ValueError(f"{problem.name}: at least two labelled documents are needed")
    views = [
        unit_rows(present(sp.csr_array(sp.vstack([sp.csr_array(d.views[j]) for d in domains]))))
        for j in range(1 if view == "first" else len(domains[0].views))
    ]
    return views, np.vstack([domain.Y for domain in domains]), seen


def beside(views: list[sp.csr_array]) -> sp.csr_array:
    """Views side by side (n, Σ d), of equal weight: a product is the mean of the views'."""
    return sp.csr_array(sp.hstack(views) / np.sqrt(len(views)))


def apart(problem: Problem, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """Scores of all documents (n, m), cut into those of each domain."""
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])
    return tuple(np.split(scores, ends[:-1]))
