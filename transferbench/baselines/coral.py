"""CORAL: sources' documents given the target's covariance, then logistic regression.

    min over A  ‖Aᵀ S_s A − S_t‖²_F

S_s, S_t (r, r) shrunk covariances (Ledoit and Wolf) of the labelled documents and of a target's,
as coordinates of a truncated SVD or sentence embeddings, centred in each domain; z becomes Aᵀz with
A = S_s^(-1/2) S_t^(1/2). Sun, Feng and Saenko, AAAI 2016; skada's implementation.
"""

from __future__ import annotations

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
    C: Positive = 1.0,
    watch: Watch | None = None,
) -> Fit:
    """Class probabilities (n, c) of every target; a source keeps its labels.

    features: SVD of the words, of so many components, or the task's embeddings. C: inverse
    regularisation of the logistic regression.
    """
    skada = need("skada")
    return adapt(
        dense(problem, features, components),
        lambda: skada.CORAL(LogisticRegression(C=C, max_iter=1000)),
    )
