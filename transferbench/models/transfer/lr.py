"""LR: logistic regression trained on the sources, applied to the targets; no transfer.

    min over (w, b)  C Σ_i log-loss(y_i, w·x_i + b) + ½‖w‖²,  i over the labelled documents

The tables' "LG". L-BFGS of scikit-learn on the same document matrix the other models see.
"""

from __future__ import annotations

from transferbench.core.init import label_start
from transferbench.parameters import Positive
from transferbench.problem import Fit, Problem, Watch


def fit(problem: Problem, *, C: Positive = 1.0, watch: Watch | None = None) -> Fit:
    """Class probabilities (n, c) of every domain, and the labels themselves where they are seen."""
    return Fit(scores=label_start(problem, C))
