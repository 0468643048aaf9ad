"""Join the documents of several domains or views, and split scores by domain."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core.graph import unit_rows
from transferbench.core.scale import drop_empty_columns
from transferbench.problem import Problem

View = Literal["first", "all"]


def join(problem: Problem, view: View) -> tuple[list[sp.csr_array], np.ndarray, np.ndarray]:
    """Return views V × (n, d), labels Y (n, m) and seen (n,) of the documents of all domains.

    Rows have length one in each view, because the scales of views differ. Features that occur in no
    document are dropped. Raises ValueError if fewer than two documents are labelled.
    """
    domains = problem.domains
    seen = np.concatenate([domain.seen for domain in domains])
    if seen.sum() < 2:
        raise ValueError(f"{problem.name}: at least two labelled documents are needed")
    views = []
    for j in range(1 if view == "first" else len(domains[0].views)):
        stacked = sp.vstack([sp.csr_array(domain.views[j]) for domain in domains], format="csr")
        views.append(unit_rows(drop_empty_columns(stacked)))
    return views, np.vstack([domain.Y for domain in domains]), seen


def hstack_views(views: list[sp.csr_array]) -> sp.csr_array:
    """Return the views side by side (n, Σ d), so that inner products are means over the views."""
    return sp.csr_array(sp.hstack(views) / np.sqrt(len(views)))


def split_by_domain(problem: Problem, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """Split the rows of an array over all documents (n, …) by domain; returns views."""
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])
    return tuple(np.split(scores, ends[:-1]))
