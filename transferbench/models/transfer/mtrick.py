"""MTrick: matrix tri-factorisation based classification (Zhuang et al., SDM 2010).

    min  ‖X_s − F_s S G_sᵀ‖² + α ‖G_s − Y_s‖² + β ‖X_t − F_t S G_tᵀ‖²
    s.t. F, S, G ≥ 0,  rows of F_s, F_t, G_s, G_t sum to one

X_π (m, n_π) holds features × documents, divided by the sum of its entries. F_π (m, k) holds feature
clusters. S (k, c) associates them with the classes, and the domains share it. G_π (n_π, c) holds
the classes of documents; the argmax of a row is the decision. If there are several targets, each
one is fitted alone with the sources.

The paper was not available, so the model is reconstructed from the authors' published code. The
code has β = 1.5, k = 50 and 100 iterations. F_s and F_t start at P(cluster | word) of PLSA on the
documents of both domains (50 steps), and S starts at 1/c. The order of updates is F_s, G_s, F_t,
G_t, S. Each F and G is normalised right after its update, and its rows of zeros become uniform.

Departures from that code:
- G_s is fixed at Y_s. In the code it starts at Y_s. Multiplicative updates do not change it there,
  because zeros stay zero and rows sum to one. So α has no effect.
- All iterations are done; the code stops when the objective changes by less than 1e-11.
- Logistic regression has an intercept, and PLSA does not stop early.

Scaling after an update may raise the objective. In 500 iterations on rec vs sci (`gtl/rec-vs-sci`)
and on people vs places it rises in 278 and in 317 of 499 steps (one seed, float64). It ends .001
and .018 per cent above its least values, which it has at iterations 298 and 31. Accuracy does not
change.

An extension of the paper: if a document of a target has a label, its row of G_t is fixed at this
label. Weights of labels enter only the regression that gives the start.

If prior is not "equal", columns of G_t are scaled to the shares of the classes before its rows are
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
        Number of feature clusters.
    beta
        β: weight of the target's term.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression that gives the start.
    start
        G_t starts at the probabilities or at the decisions of that regression.
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
        problem, k=k, weight=beta, max_iter=max_iter, C=C, start=start,
        start_features=start_features, normalize_at=normalize_at, prior=prior, dtype=dtype,
        seed=seed, watch=watch,
    )  # fmt: skip
