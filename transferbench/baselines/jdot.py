"""JDOT: a target's classifier and the transport of labelled documents to it, learned in turn.

    min over f, T ≥ 0  Σ_ij T_ij ((1 − α) ‖z_i − z_j‖² / m + α log-loss(y_i, f(z_j)))

z (r,) coordinates of a truncated SVD or sentence embeddings; i over the n_s labelled documents with
classes y, j over the n_t of a target; rows of T sum to 1/n_s, columns to 1/n_t; m the mean of all
squared distances; f logistic regression. Courty et al., NIPS 2017; skada's implementation, each
transport exact.

Each iteration solves a dense n_s × n_t transport, some seconds at 4,000 documents, and the
objective falls slowly after the first ten: 20 iterations in place of skada's 100. Marginals of
equal weight suppose classes as frequent in the target as in the sources.
"""

from __future__ import annotations

import warnings
from typing import Annotated

from annotated_types import Ge, Lt
from sklearn.linear_model import LogisticRegression

from transferbench.baselines._dense import Features, adapt, dense
from transferbench.baselines._extra import need
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    features: Features = "svd",
    components: Count = 100,
    alpha: Annotated[float, Ge(0), Lt(1)] = 0.5,
    max_iter: Count = 20,
    C: Positive = 1.0,
    watch: Watch | None = None,
) -> Fit:
    """Class probabilities (n, c) of every target; a source keeps its labels.

    features: SVD of the words, of so many components, or the task's embeddings. alpha (α): weight
    of the labels against the distances. C: inverse regularisation.
    """
    skada = need("skada")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Maximum number of iterations reached")  # as asked
        return adapt(
            dense(problem, features, components),
            lambda: skada.JDOTClassifier(
                LogisticRegression(C=C, max_iter=1000), alpha=alpha, n_iter_max=max_iter
            ),
        )
