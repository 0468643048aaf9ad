"""MTrick: matrix tri-factorisation based classification (Zhuang et al., SDM 2010).

    min  ‖X_s − F_s S G_sᵀ‖² + α ‖G_s − Y_s‖² + β ‖X_t − F_t S G_tᵀ‖²
    s.t. F, S, G ≥ 0,  rows of F_s, F_t, G_s, G_t sum to one

X_π (m, n_π) features × documents, divided by the sum of its entries; F_π (m, k) feature clusters;
S (k, c) their association with the classes, shared by the domains; G_π (n_π, c) document classes,
whose argmax is the decision. With several targets each is fitted alone with the sources.

Reconstructed without access to the paper, from the authors' published code: β = 1.5, k = 50 and 100
iterations; F_s = F_t = P(cluster | word) of PLSA on the documents of both domains (50 steps) and
S = 1/c as the start; updates in the order F_s, G_s, F_t, G_t, S, where each F and G is normalised
at once and its rows of zeros become uniform.

Departures from that code:
- G_s is fixed at Y_s. There it starts at Y_s, and multiplicative updates do not change it, because
  zeros stay zero and rows sum to one; α therefore has no effect.
- All iterations are done; the code stops when the objective changes by less than 1e-11.
- Logistic regression has an intercept, and PLSA does not stop early.

Scaling after an update may raise the objective: in 500 iterations on rec vs sci (`gtl/rec-vs-sci`)
and people vs places it rises in 278 and 317 of 499 steps (one seed, float64), to .001 and .018 per
cent above its least, at iterations 298 and 31. Accuracy stays.

An extension of the paper: a labelled document of a target has a fixed row of G_t, its label.
Weights of labels only enter the regression that gives the start.

Unless prior is "equal", columns of G_t are scaled to the shares of the classes before its rows are
scaled to one, as in a step of Sinkhorn. This is neither in the paper nor in the code, and the
objective may rise.
"""

from transferbench.core.scale import NormalizeAt
from transferbench.models.transfer._shared import Start, StartFeatures, shared_association
from transferbench.parameters import Count, Positive, Precision, Prior, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 50,
    beta: Weight = 1.5,
    max_iter: Count = 100,
    C: Positive = 1.0,
    start: Start = "probabilities",
    start_features: StartFeatures = "plsa",
    normalize_at: NormalizeAt = "update",
    prior: Prior = "equal",
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit MTrick.

    Parameters
    ----------
    k
        Feature clusters.
    beta
        β: weight of the target's term.
    max_iter
        Iterations.
    C
        Inverse regularisation of the logistic regression that gives the start.
    start
        G_t starts at the probabilities or the decisions of that regression.
    start_features
        Start of F, topics of PLSA or random.
    normalize_at
        When F and G are normalised, right after their updates or after both.
    prior
        Shares of the classes in the targets, see `class_priors`.
    dtype
        Precision of the matrices and factors during the fit.

    Returns
    -------
    Fit
        Scores G_t (n_t, c) of every target, and the objective after each iteration.
    """
    return shared_association(
        problem, k=k, weight=beta, max_iter=max_iter, C=C, start=start,
        start_features=start_features, normalize_at=normalize_at, prior=prior, dtype=dtype,
        seed=seed, watch=watch,
    )  # fmt: skip
