"""DKT: dual knowledge transfer by joint tri-factorisation (Wang et al., SIGIR 2011).

    min  ‖X_s − F_s S Y_sᵀ‖² + ‖X_t − F_t S G_tᵀ‖² + α ‖F_s − F_t‖²
    s.t. F, S, G ≥ 0,  rows of F_s, F_t and G_t sum to one

X_π (m, n_π) holds features × documents, divided by the sum of its entries. F_π (m, k) holds feature
clusters. S (k, c) associates them with the classes. G_t (n_t, c) holds the classes of documents;
the argmax of a row is the decision. Two paths transfer knowledge: S is shared, and α makes the
feature clusters of the domains similar. If there are several targets, each one is fitted alone with
the sources.

The paper was not available, so the model is reconstructed. The DTL paper describes DKT as two
paths, a factorisation and a separate regularisation, with one trade-off parameter more than MTrick.
This is the simplest such objective. Order of updates and normalisation are those of MTrick. F
starts at random, because MTrick's start at topics is not known to be DKT's. α is scaled with the
data terms, which are small because the entries of X sum to one: α = `alpha` · ‖X_s‖² / m. So
`alpha` = 1 gives both the same weight.

An extension of the paper: if a document of a target has a label, its row of G_t is fixed at this
label. Weights of labels enter only the regression that gives the start.

If prior is not "equal", columns of G_t are scaled to the shares of the classes before its rows are
scaled to one, as in a step of Sinkhorn. This is not in the paper, and the objective may rise.
"""

from transferbench.core.scale import NormalizeAt
from transferbench.models.transfer._shared import StartFeatures, shared_association
from transferbench.parameters import Count, Positive, Precision, Prior, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 50,
    alpha: Weight = 1.0,
    max_iter: Count = 100,
    C: Positive = 1.0,
    start_features: StartFeatures = "random",
    normalize_at: NormalizeAt = "update",
    prior: Prior = "equal",
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit DKT.

    Parameters
    ----------
    k
        Number of feature clusters.
    alpha
        Weight of the similarity of the feature clusters.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression whose probabilities are the start of G_t.
    start_features
        Start of F: topics of PLSA, or random values.
    normalize_at
        F and G are normalised right after their own updates, or after both updates.
    prior
        Shares of the classes in the targets; see `class_priors`.
    dtype
        Precision of the matrices and factors during the fit.

    Returns
    -------
    Fit
        Scores G_t (n_t, c) of every target, and the objective after each iteration.
    """
    return shared_association(
        problem, k=k, closeness=alpha, max_iter=max_iter, C=C, start_features=start_features,
        normalize_at=normalize_at, prior=prior, dtype=dtype, seed=seed, watch=watch,
    )  # fmt: skip
