"""LR: logistic regression trained on the sources, applied to the targets; no transfer.

    min over (w, b)  C Σ_i log-loss(y_i, w·x_i + b) + ½‖w‖²,  i over the labelled documents

x_i (d,) are documents, y_i are classes, and w and b are weights and intercepts. The papers' tables
call this model "LG". scikit-learn's L-BFGS solves it on the same document matrix as the other
models get. Without intercept b = 0.

An extension of the papers: a labelled document of a target is one of the i. The weight of its label
multiplies its loss.
"""

from transferbench.core.logistic import label_start
from transferbench.parameters import Positive
from transferbench.problem import Fit, Problem


def fit(problem: Problem, *, C: Positive = 1.0, intercept: bool = True) -> Fit:
    """Fit LR.

    Parameters
    ----------
    C
        Inverse regularisation.
    intercept
        Fit the intercepts b.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every domain; seen rows have their labels.
    """
    return Fit(scores=label_start(problem, C, intercept=intercept))
