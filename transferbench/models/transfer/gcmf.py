"""GCMF: graph co-regularised collective matrix tri-factorisation (Long et al., AAAI 2012).

    min  Σ_π ‖X_π − U_π H V_πᵀ‖² + λ tr(U_πᵀ (D^u_π − W^u_π) U_π) + γ tr(V_πᵀ (D^v_π − W^v_π) V_π)
    s.t. U, H, V ≥ 0,  columns of U_π and V_π sum to one,  V_s ≡ Y_s (so scaled)

X_π (m, n_π) features × documents of domain π, divided by its Frobenius norm; U_π (m, k) feature
clusters; H (k, c) their association with the classes, shared by all domains: the bridge; V_π
(n_π, c) document classes, read off by argmax. W^u, W^v: cosine graphs of the p nearest features and
documents within a domain. Eqs. 3–10, Algorithm 1; any number of sources and targets.

Departures from the paper:
- V_t starts at logistic regression's probabilities, not its decisions, which multiplicative updates
  could not leave.
- Features that do not occur in a domain have no row in its U: with no numerator in eq. 8 that row
  would be zero from the first update on.
- The source's document-graph term, constant as V_s is fixed, is left out of the objective reported.
- H is not rescaled when U_π is normalised, nor in the paper: shared, it cannot follow every domain.

Columns of V that sum to one say that classes are about equally frequent in the target: where one
class is down to a fifth, expect to lose about ten points of accuracy.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from transferbench.core.domains import Start, label_factors
from transferbench.core.graph import cosine_graph
from transferbench.core.nmtf import NMTF, Factor, Term
from transferbench.core.scale import SCALES, Normalize, present
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 64,
    p: Count = 10,
    lam: Weight = 100.0,
    gamma: Weight = 100.0,
    max_iter: Count = 100,
    C: Positive = 1.0,
    start: Start = "probabilities",
    scale: Literal["frobenius", "sum", "none"] = "frobenius",
    normalize: Normalize = "columns",
    dtype: Literal["float32", "float64"] = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Scores V_π (n_π, c) of every domain, and the objective after each iteration.

    k feature clusters; p neighbours in the graphs; lam (λ) and gamma (γ) weights of the feature and
    document graphs; max_iter iterations; C inverse regularisation of the logistic regression.
    Other readings of the paper: start of V_t from its probabilities or decisions; scale of X;
    normalize columns of V (eq. 7) or its rows.
    """
    rng = np.random.default_rng(seed)
    factors = {
        "H": Factor(rng.random((k, len(problem.classes)))),
        **label_factors(problem, C, normalize, start),
    }
    terms = []
    for domain in problem.domains:
        u, v = f"U {domain.name}", f"V {domain.name}"
        X = present(domain.X)
        factors[u] = Factor(
            rng.random((X.shape[1], k)),
            normalize="columns",
            graph=cosine_graph(X.T, p) if lam else None,
            graph_weight=lam,
        )
        if gamma and not factors[v].fixed:
            factors[v].graph, factors[v].graph_weight = cosine_graph(X, p), gamma
        terms.append(Term(SCALES[scale](X), ((u, "H"),), v))
    model = NMTF(factors, terms, dtype)

    def sweep() -> None:
        for term in terms:
            u = term.parts[0][0]
            model.update(u, term.v, "H")
            model.normalize(u, term.v)

    return model.solve(sweep, max_iter, [term.v for term in terms], watch)
