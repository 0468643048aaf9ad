"""JDOT: learn a classifier of the target and a transport of labelled documents to it, in turn.

    min over f, T ≥ 0  Σ_ij T_ij ((1 − α) ‖z_i − z_j‖² / m + α log-loss(y_i, f(z_j)))

z (r,) coordinates of a truncated SVD or sentence embeddings; i over the n_s labelled documents with
classes y, j over the n_t of a target; rows of T sum to 1/n_s, columns to 1/n_t; m the mean of all
squared distances; f logistic regression. Courty et al., NIPS 2017; implementation of skada, with
exact transports.

Each iteration solves a dense n_s × n_t transport, some seconds for 4,000 documents, and the
objective falls slowly after the first ten. So the default is 20 iterations instead of skada's 100.
Uniform marginals assume that the classes have the same frequencies in the target and the sources.

An extension of the paper: a labelled document of a target is one of the i and of the j. The weight
of its label multiplies its share 1/n_s of the transport.
"""

import warnings
from functools import partial
from typing import Annotated

from annotated_types import Ge, Lt

from transferbench.baselines import need
from transferbench.core.dense import Features, adapt, dense
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    features: Features = "svd",
    components: Count = 100,
    alpha: Annotated[float, Ge(0), Lt(1)] = 0.5,
    max_iter: Count = 20,
    C: Positive = 1.0,
) -> Fit:
    """Fit JDOT.

    Parameters
    ----------
    features
        Truncated SVD of the first view, or embeddings in the second view.
    components
        Coordinates of the SVD.
    alpha
        α: weight of the labels against the distances.
    max_iter
        Iterations.
    C
        Inverse regularisation.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every target, and the labels of sources.

    Raises
    ------
    Unavailable
        Without the extra `modern`, or if there are no embeddings.
    """
    jdot = partial(need("skada").JDOTClassifier, alpha=alpha, n_iter_max=max_iter)
    with warnings.catch_warnings():
        # max_iter is meant to end the iterations.
        warnings.filterwarnings("ignore", "Maximum number of iterations reached")
        return adapt(dense(problem, features, components), C, jdot)
