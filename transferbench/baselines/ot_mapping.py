"""OT mapping: move the sources' documents to the target by optimal transport, then classify.

    min over T ≥ 0  Σ_ij T_ij ‖z_i − z_j‖²,  rows of T sum to 1/n_s, columns to 1/n_t

z (r,) coordinates of a truncated SVD or sentence embeddings of the n_s labelled documents and the
n_t of a target. Document i moves to n_s Σ_j T_ij z_j; logistic regression is trained on the moved
documents. Courty et al., IEEE TPAMI 2017, without regularisation; implementation of skada and POT,
exact.

The plan is a dense n_s × n_t array; its costs alone take 8 n_s n_t bytes. Uniform marginals assume
that the classes have the same frequencies in the target and the sources.

An extension of the paper: a labelled document of a target is one of the n_s and of the n_t. The
weight of its label multiplies its share 1/n_s of the transport and its loss in the regression.
"""

from functools import partial

from transferbench.baselines import need
from transferbench.core.dense import Features, adapt, dense
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    features: Features = "svd",
    components: Count = 100,
    max_iter: Count = 1_000_000,
    C: Positive = 1.0,
) -> Fit:
    """Fit OT mapping.

    Parameters
    ----------
    features
        Truncated SVD of the first view, or embeddings in the second view.
    components
        Coordinates of the SVD.
    max_iter
        Steps of the network simplex; the default is enough for thousands of documents.
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
    mapping = partial(need("skada").OTMapping, max_iter=max_iter)
    return adapt(dense(problem, features, components), C, mapping)
