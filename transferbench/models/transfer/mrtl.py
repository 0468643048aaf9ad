"""MRTL: multi-relevance transfer learning, one source and several targets.

    min  Σ_p  ‖X_p − [Uᵖ, U_tᵖ] [Θ_μᵖ; Θ_tᵖ] V_pᵀ‖² + Σ_s ‖X_s − [Uᵖ, U_sᵖ] [Θ_μᵖ; Θ_sᵖ] Y_sᵀ‖²
              + λ ‖X_p − [Uᵖ, U_tᵖ] [Θ_μ; Θ_σ] V_pᵀ‖²
    s.t. all ≥ 0,  columns of every U and rows of V_p sum to one

X (m, n) features × documents of target p or source s, divided by the sum of its entries; Uᵖ (m, k₁)
feature clusters that target p shares with the sources, U_tᵖ and U_sᵖ (m, k₂ − k₁) the others; Θ
(k, c) associations with the classes: those with index p for one source–target pair, Θ_μ and Θ_σ
shared by all targets; V_p (n_p, c) document classes, read off by argmax. Eqs. 19–23, Algorithm 1.

Departures from the paper: V's numerator has λ in its second part, which eq. 21 misses and the
objective demands; V starts at logistic regression's probabilities; several sources are allowed.
How the paper normalises X is not said; as in DTL, which it builds on.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from transferbench.core.domains import label_factors
from transferbench.core.nmtf import NMTF, Factor, Term
from transferbench.core.scale import sum_one
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k1: Count = 10,
    k2: Count = 50,
    lam: Weight = 10.0,
    max_iter: Count = 100,
    C: Positive = 1.0,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Scores V (n, c) of every domain, and the objective after each iteration.

    k1 feature clusters in common, k2 in all; lam (λ) weight of the targets' relatedness; max_iter
    iterations; C inverse regularisation of the logistic regression. Raises ValueError where
    k1 > k2.
    """
    if k1 > k2:
        raise ValueError(f"k1 must be at most k2, got k1 = {k1} and k2 = {k2}")
    rng = np.random.default_rng(seed)
    m, c = problem.domains[0].X.shape[1], len(problem.classes)

    def clusters(k: int) -> Factor:
        return Factor(rng.random((m, k)), normalize="columns")

    def association(k: int) -> Factor:
        return Factor(rng.random((k, c)))

    factors = label_factors(problem, C, "rows")
    X = {domain.name: sum_one(domain.X) for domain in problem.domains}
    terms, rounds = [], []
    for target in problem.targets:
        p, v = target.name, f"V {target.name}"
        factors |= {f"U {p}": clusters(k1), f"Ut {p}": clusters(k2 - k1)}
        factors |= {f"Θμ {p}": association(k1), f"Θt {p}": association(k2 - k1)}
        common = (f"U {p}", f"Θμ {p}")
        terms.append(Term(X[p], (common, (f"Ut {p}", f"Θt {p}")), v))
        own = []
        for source in problem.sources:
            u, theta = f"Us {p} {source.name}", f"Θs {p} {source.name}"
            factors |= {u: clusters(k2 - k1), theta: association(k2 - k1)}
            terms.append(Term(X[source.name], (common, (u, theta)), f"V {source.name}"))
            own.append((u, theta))
        if lam:
            terms.append(Term(X[p], ((f"U {p}", "Θμ"), (f"Ut {p}", "Θσ")), v, lam))
        us, thetas = zip(*own, strict=True)
        rounds.append(((f"Ut {p}", *us, f"U {p}"), (f"Θμ {p}", f"Θt {p}", *thetas), v))
    shared = ("Θμ", "Θσ") if lam else ()
    factors |= {name: association(k) for name, k in zip(shared, (k1, k2 - k1), strict=False)}
    model = NMTF(factors, terms, dtype)

    def sweep() -> None:
        for clusters, associations, v in rounds:
            model.update(*clusters, *associations, v)
            model.normalize(*clusters, v)
        model.update(*shared)

    labels = [f"V {domain.name}" for domain in problem.domains]
    return model.solve(sweep, max_iter, labels, watch)
