"""OT mapping: sources' documents moved onto the target's by optimal transport, then classified.

    min over T ≥ 0  Σ_ij T_ij ‖z_i − z_j‖²,  rows of T sum to 1/n_s, columns to 1/n_t

z (r,) coordinates of a truncated SVD or sentence embeddings of the n_s labelled documents and the
n_t of a target. Document i goes to n_s Σ_j T_ij z_j, and logistic regression is trained there.
Courty et al., IEEE TPAMI 2017, without regularisation; skada's and POT's implementation, exact.

The plan is a dense n_s × n_t array: its costs alone take 8 n_s n_t bytes. Marginals of equal weight
suppose classes as frequent in the target as in the sources.
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
    max_iter: Count = 1_000_000,
    C: Positive = 1.0,
    watch: Watch | None = None,
) -> Fit:
    """Class probabilities (n, c) of every target; a source keeps its labels.

    features: SVD of the words, of so many components, or the task's embeddings. max_iter: steps of
    the network simplex, enough for thousands of documents. C: inverse regularisation.
    """
    skada = need("skada")
    return adapt(
        dense(problem, features, components),
        lambda: skada.OTMapping(LogisticRegression(C=C, max_iter=1000), max_iter=max_iter),
    )
