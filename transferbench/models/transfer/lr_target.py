"""LR target: logistic regression trained on labelled documents of each target alone.

    min over (w, b)  C Σ_i v_i log-loss(y_i, w·x_i + b) + ½‖w‖²

i runs over the labelled documents x_i (d,) of a target. y_i are their classes, v_i are the weights
of their labels, and w and b are weights and intercepts. This model is a control for models that
train on sources and a labelled sample of the target. Whatever they gain over it comes from the
sources. For a target without labels, this model decides as `lr` does.
"""

from dataclasses import replace

import numpy as np

from transferbench.core.documents import score_targets
from transferbench.core.logistic import label_start
from transferbench.parameters import Positive
from transferbench.problem import Domain, Fit, Problem


def fit(problem: Problem, *, C: Positive = 1.0) -> Fit:
    """Fit LR target.

    Parameters
    ----------
    C
        Inverse regularisation.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every target, and the labels of every source and labelled
        document. If all labels of a target are of one class, this class gets probability 1.
    """

    def score(i: int, domain: Domain) -> np.ndarray:
        counts = domain.Y.sum(axis=0)
        if np.count_nonzero(counts) == 1:
            return np.tile((counts > 0).astype(float), (len(domain.seen), 1))
        domains = (domain,) if counts.any() else (*problem.sources, domain)
        return label_start(replace(problem, domains=domains), C)[-1]

    return Fit(score_targets(problem, score))
