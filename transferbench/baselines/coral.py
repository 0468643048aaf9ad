"""CORAL: match the covariance of the sources to that of the target, then logistic regression.

    min over A  ‖Aᵀ S_s A − S_t‖²_F

S_s, S_t (r, r) shrunk covariances (Ledoit and Wolf) of the labelled documents and of a target, as
coordinates of a truncated SVD or sentence embeddings, centred in each domain. A source vector z
becomes Aᵀz with A = S_s^(-1/2) S_t^(1/2). Sun, Feng and Saenko, AAAI 2016; implementation of skada.

An extension of the paper: a labelled document of a target counts in both covariances and trains the
regression. The weight of its label multiplies its loss there.
"""

import numpy as np

from transferbench.baselines import need
from transferbench.core.dense import Features, adapt, dense
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem, *, features: Features = "svd", components: Count = 100, C: Positive = 1.0
) -> Fit:
    """Fit CORAL.

    Parameters
    ----------
    features
        Truncated SVD of the first view, or embeddings in the second view.
    components
        Coordinates of the SVD.
    C
        Inverse regularisation of the logistic regression.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every target, and the labels of sources.

    Raises
    ------
    Unavailable
        Without the extra `modern`, or if there are no embeddings.
    ValueError
        If a covariance is singular.
    """
    skada = need("skada")
    vectors = dense(problem, features, components)
    try:
        # Rounding makes a zero eigenvalue negative on some processors: its root is then NaN.
        with np.errstate(divide="raise", invalid="raise"):
            return adapt(vectors, C, skada.CORAL)
    except FloatingPointError as error:
        message = f"{problem.name}: a covariance is singular; take fewer components"
        raise ValueError(f"{message}, or more documents.") from error
