"""DTL: dual transfer learning (Long et al., SDM 2012).

    min  Σ_τ ‖X_τ − [U, U_τ] [H₁; H₂] V_τᵀ‖²
    s.t. U, U_τ, H, V_τ ≥ 0,  columns of [U, U_τ] and rows of V_τ sum to one,  V_τ = Y_τ in sources

X_τ (m, n_τ) holds the features × documents of domain τ, divided by the sum of its entries.
U (m, κ) holds the feature clusters common to all domains, and U_τ (m, k − κ) those of one domain.
H = [H₁; H₂] (k, c) associates them with the classes, and all domains share it. V_τ (n_τ, c) holds
the classes of documents; the argmax of a row is the decision. See eqs. 4.7–4.13. Algorithm 1 takes
the domains in turn. For each one it updates U_τ, U, V_τ and H, and normalises each of the first
three right after its update (normalize_at = "update"). "domain" is another reading: it normalises
them after all four updates. If there are several targets, all of them share U and H (DTL₁ of the
MRTL paper). With pool_tasks = false, each target is fitted alone with the sources (DTL₀).

An extension of the paper: if a document of a target has a label, its row of V_τ is fixed at this
label. Weights of labels enter only the regression that gives the start.

Departures from the paper: V_t starts at the probabilities of logistic regression. The decisions of
that regression contain zeros, which multiplicative updates cannot change.

U, U_τ and H start at random positive values, as the paper says. start_features = "plsa" is another
start, taken from the published code of related methods. Then [U, U_τ] starts at P(topic | word) of
PLSA on the documents of all domains, as in MTrick's code. PLSA takes 20 steps of EM, as in TriTL's
code. H starts at 1/c, as in both. The first κ topics are U. This start is a reading of the MRTL
paper, which compares with DTL and states no start. The experiment `mrtl-table2` has both starts.

normalize_U = "rows" is another reading: rows of U and of U_τ sum to one, in place of their columns.
It contradicts eq. 4.8 and line 6 of Algorithm 1. The objective may then rise, and it rises more
with normalize_at = "domain".

If prior is not "equal", columns of V_t are scaled to the shares of the classes before its rows are
scaled to one, as in a step of Sinkhorn. This is not in the paper, and the objective may rise.
"""

from transferbench.core.nmtf import NMTF, Term
from transferbench.core.priors import class_priors
from transferbench.core.scale import Normalize, NormalizeAt, sum_one
from transferbench.models.transfer._shared import (
    FactorStart,
    Start,
    StartFeatures,
    fit_each_target,
    label_factors,
    topics_of_words,
)
from transferbench.parameters import Count, CountOrZero, Positive, Precision, Prior
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 20,
    kappa: CountOrZero = 10,
    max_iter: Count = 50,
    C: Positive = 1.0,
    start: Start = "probabilities",
    start_features: StartFeatures = "random",
    normalize_U: Normalize = "columns",
    normalize_at: NormalizeAt = "update",
    pool_tasks: bool = True,
    prior: Prior = "equal",
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit DTL.

    Parameters
    ----------
    k
        Number of feature clusters.
    kappa
        κ: how many of the k feature clusters are common to all domains.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression that gives the start.
    start
        V starts at the probabilities or at the decisions of that regression.
    start_features
        Start of U and U_τ: topics of PLSA, or random values; see above.
    normalize_U
        The columns or the rows of U and U_τ sum to one.
    normalize_at
        When U and V are normalised; see above.
    pool_tasks
        Fit all targets at once; otherwise fit each target alone with the sources.
    prior
        Shares of the classes in the targets; see `class_priors`.
    dtype
        Precision of the matrices and factors during the fit.

    Returns
    -------
    Fit
        Scores V_τ (n_τ, c) of every domain, and the objective after each iteration.

    Raises
    ------
    ValueError
        If kappa > k.
    """
    if kappa > k:
        raise ValueError(f"kappa must be at most k, got kappa = {kappa} and k = {k}")

    def fit_together(problem: Problem, watch: Watch | None, prior: Prior = "equal") -> Fit:
        priors = class_priors(problem, prior, C)
        Vs = label_factors(problem, C, "rows", start, priors=priors)
        topics = topics_of_words(problem, k, seed=seed) if start_features == "plsa" else None
        begin = FactorStart(problem, topics, seed, normalize_U)
        U = begin.clusters(0, kappa, "common")
        H1, H2 = begin.association(kappa), begin.association(k - kappa)
        own_Us = [begin.clusters(kappa, k, "own") for _ in Vs]
        terms = [
            Term(sum_one(domain.X), V, ((U, H1), (own_U, H2)))
            for domain, own_U, V in zip(problem.domains, own_Us, Vs, strict=True)
        ]
        model = NMTF(terms, normalize_at=normalize_at, dtype=dtype)

        def sweep() -> None:
            for own_U, V in zip(own_Us, Vs, strict=True):
                model.update(own_U, U, V)
                model.update_jointly(H1, H2)
                model.end_domain(own_U, U, V)

        return model.solve(sweep, max_iter, Vs, watch, diagnostics=priors.diagnostics)

    if pool_tasks:
        return fit_together(problem, watch, prior)
    return fit_each_target(problem, fit_together, watch, prior=prior, C=C)
