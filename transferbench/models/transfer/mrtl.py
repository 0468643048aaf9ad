"""MRTL: multi-relevance transfer learning, one source and several targets.

    min  Σ_p  ‖X_p − [Uᵖ, U_tᵖ] [Θ_μᵖ; Θ_tᵖ] V_pᵀ‖² + Σ_s ‖X_s − [Uᵖ, U_sᵖ] [Θ_μᵖ; Θ_sᵖ] Y_sᵀ‖²
              + λ ‖X_p − [Uᵖ, U_tᵖ] [Θ_μ; Θ_σ] V_pᵀ‖²
    s.t. all factors ≥ 0,  columns of every U and rows of V_p sum to one

X (m, n) holds the features × documents of target p or of source s, divided by the sum of its
entries. Uᵖ (m, k₁) holds the feature clusters that target p shares with the sources. U_tᵖ and U_sᵖ
(m, k₂ − k₁) hold those of the target and of a source. Each Θ (k, c) associates clusters with the
classes. A Θ with index p belongs to one target and the sources; all targets share Θ_μ and Θ_σ.
V_p (n_p, c) holds the classes of documents; the argmax of a row is the decision. See eqs. 19–23.
Algorithm 1 takes the targets p in turn. For each one it updates U_tᵖ, U_sᵖ, Uᵖ, Θ_μᵖ, Θ_tᵖ, Θ_sᵖ
and V_p, then it normalises every U and V_p (normalize_at = "domain"). It updates Θ_μ and Θ_σ last.

There are two other readings. With normalize_U = "rows", rows of every U sum to one. Section 2
describes U in this way, but eq. 22 contradicts it. With normalize_at = "update", each factor is
normalised right after its own update. Algorithm 1 contradicts this. With normalize_U = "rows" the
objective may rise, and it rises more if U is scaled later.

Departures from the paper:
- The second part of V's numerator has the factor λ. The objective requires it, and eq. 21 omits it.
- V starts at the probabilities of logistic regression.
- Several sources are allowed.
- X is normalised as in DTL, on which MRTL is based. The paper does not say how.

The paper does not say where U and Θ start. Here they start at random positive values.
start_features = "plsa" is another reading, taken from the published code of related methods. Then
every [U, U_t] and [U, U_s] starts at P(topic | word) of PLSA on the documents of all domains, as in
MTrick's code. PLSA takes 20 steps of EM, as in TriTL's code. Every Θ starts at 1/c, as in both. The
first k₁ topics are common, and the others belong to one domain. The experiment `mrtl-table2` has
both starts.

An extension of the paper: if a document of a target has a label, its row of V_p is fixed at this
label. Weights of labels enter only the regression that gives the start.

If prior is not "equal", columns of V_p are scaled to the shares of the classes before its rows are
scaled to one, as in a step of Sinkhorn. This is not in the paper, and the objective may rise.
"""

from transferbench.core.nmtf import NMTF, Term
from transferbench.core.priors import class_priors
from transferbench.core.scale import Normalize, NormalizeAt, sum_one
from transferbench.models.transfer._shared import (
    FactorStart,
    Start,
    StartFeatures,
    label_factors,
    topics_of_words,
)
from transferbench.parameters import Count, Positive, Precision, Prior, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k1: Count = 10,
    k2: Count = 50,
    lam: Weight = 10.0,
    normalize_U: Normalize = "columns",
    normalize_at: NormalizeAt = "domain",
    max_iter: Count = 100,
    C: Positive = 1.0,
    start: Start = "probabilities",
    start_features: StartFeatures = "random",
    prior: Prior = "equal",
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit MRTL.

    Parameters
    ----------
    k1
        Number of common feature clusters.
    k2
        Number of all feature clusters of a domain.
    lam
        λ: weight of the relatedness of the targets.
    normalize_U
        The columns or the rows of every U sum to one.
    normalize_at
        When U and V are normalised; see above.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression that gives the start.
    start
        V starts at the probabilities or at the decisions of that regression.
    start_features
        Start of every U: topics of PLSA, or random values; see above.
    prior
        Shares of the classes in the targets; see `class_priors`.
    dtype
        Precision of the matrices and factors during the fit.

    Returns
    -------
    Fit
        Scores V (n, c) of every domain, and the objective after each iteration.

    Raises
    ------
    ValueError
        If k1 > k2 or there is no target.
    """
    if k1 > k2:
        raise ValueError(f"k1 must be at most k2, got k1 = {k1} and k2 = {k2}")
    if not problem.targets:
        raise ValueError(f"{problem.name}: every document is labelled; expected a target.")
    priors = class_priors(problem, prior, C)
    Vs = label_factors(problem, C, "rows", start, priors=priors)
    data = [(sum_one(domain.X), V) for domain, V in zip(problem.domains, Vs, strict=True)]
    sources = [(X, Y) for X, Y in data if Y.fixed]
    k_own = k2 - k1  # feature clusters of one domain
    topics = topics_of_words(problem, k2, seed=seed) if start_features == "plsa" else None

    begin = FactorStart(problem, topics, seed, normalize_U)
    targets = []
    for X, V in data:
        if not V.fixed:
            U, Ut = begin.clusters(0, k1, "common"), begin.clusters(k1, k2, "own")
            Θp, Θt = begin.association(k1), begin.association(k_own)
            of_sources = [
                (begin.clusters(k1, k2, "own"), begin.association(k_own)) for _ in sources
            ]
            targets.append((X, V, U, Ut, Θp, Θt, of_sources))
    Θμ, Θσ = begin.association(k1), begin.association(k_own)
    terms = []
    for X, V, U, Ut, Θp, Θt, of_sources in targets:
        terms.append(Term(X, V, ((U, Θp), (Ut, Θt))))
        for (Xs, Y), (Us, Θs) in zip(sources, of_sources, strict=True):
            terms.append(Term(Xs, Y, ((U, Θp), (Us, Θs))))
        if lam:
            terms.append(Term(X, V, ((U, Θμ), (Ut, Θσ)), lam))
    model = NMTF(terms, normalize_at=normalize_at, dtype=dtype)

    def sweep() -> None:
        for _, V, U, Ut, Θp, Θt, of_sources in targets:
            Us, Θs = [U for U, _ in of_sources], [Θ for _, Θ in of_sources]
            model.update(Ut, *Us, U, Θp, Θt, *Θs, V)
            model.end_domain(Ut, *Us, U, V)
        if lam:
            model.update(Θμ, Θσ)

    return model.solve(sweep, max_iter, Vs, watch, diagnostics=priors.diagnostics)
