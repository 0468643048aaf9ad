"""Nearest mean: give each document the class with the nearest mean over the sources; no transfer.

    min over (means μ)  Σ_i ‖x_i − μ_y(i)‖²,  i over the labelled documents

x_i (d,) document; y(i) its class; μ (d,) of each class. A document gets the class of the nearest μ.
"""

from __future__ import annotations

import numpy as np

from transferbench.parameters import Weight
from transferbench.problem import Fit, Problem

#: Results depend on this package alone, not on other code or files, see docs/how-to/plug-ins.md.
DEPENDS_ON = ()


def fit(problem: Problem, *, shrinkage: Weight = 0.0) -> Fit:
    """Return negative squared distances (n, c), up to a constant for each document.

    Parameters
    ----------
    shrinkage
        Number of documents at the origin that are added to every class.
    """
    sums = sum(np.asarray(domain.X.T @ domain.Y) for domain in problem.sources)
    size = sum(domain.Y.sum(axis=0) for domain in problem.sources) + shrinkage
    means = sums / np.maximum(size, 1)
    scores = (2 * domain.X @ means - (means**2).sum(axis=0) for domain in problem.domains)
    return Fit(tuple(np.asarray(S) for S in scores))
