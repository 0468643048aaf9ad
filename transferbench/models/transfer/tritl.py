"""TriTL: triplex transfer learning (Zhuang et al., 2012): three kinds of concepts.

    min  Σ_τ ‖X_τ − [F¹, F²_τ, F³_τ] [S¹; S²; S³_τ] G_τᵀ‖²
    s.t. F, S, G ≥ 0,  columns of F and rows of G_τ sum to one,  G_τ = Y_τ in sources

X_τ (m, n_τ) features × documents of domain τ, divided by the sum of its entries. Concepts (feature
clusters) are of three kinds. Identical: F¹ (m, k₁) and its association S¹ (k₁, c) are shared by all
domains. Alike: F²_τ (m, k₂) is of one domain, its association S² (k₂, c) is shared. Distinct: F³_τ
(m, k₃) and S³_τ (k₃, c) are of one domain. G_τ (n_τ, c) document classes, whose argmax is the
decision. With several targets, all targets share F¹, S¹ and S² (TriTL₁ of the MRTL paper), or with
pool_tasks = false each is fitted alone with the sources (TriTL₀).

Reconstructed without access to the paper: k₁ = k₂ = 20, k₃ = 10 and 100 iterations are its commonly
quoted settings. F starts at random positive values.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from transferbench.core.nmtf import NMTF, Factor, Term
from transferbench.core.scale import sum_one
from transferbench.models.transfer._shared import fit_each_target, label_factors
from transferbench.parameters import Count, CountOrZero, Positive, Precision
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k1: CountOrZero = 20,
    k2: CountOrZero = 20,
    k3: CountOrZero = 10,
    max_iter: Count = 100,
    C: Positive = 1.0,
    pool_tasks: bool = True,
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Return scores G_τ (n_τ, c) of every domain, and the objective after each iteration.

    k1, k2, k3: identical, alike and distinct concepts. max_iter: iterations. C: inverse
    regularisation of the logistic regression. pool_tasks: fit all targets at once.
    """
    if not pool_tasks:
        fit_one = partial(fit, k1=k1, k2=k2, k3=k3, max_iter=max_iter, C=C, dtype=dtype, seed=seed)
        return fit_each_target(problem, fit_one, watch)
    rng = np.random.default_rng(seed)
    m, c = problem.domains[0].X.shape[1], len(problem.classes)

    def concepts(k: int) -> Factor:
        return Factor(rng.random((m, k)), normalize="columns")

    def association(k: int) -> Factor:
        return Factor(rng.random((k, c)))

    F1, S1, S2 = concepts(k1), association(k1), association(k2)
    Gs = label_factors(problem, C, "rows")
    by_domain = [(concepts(k2), concepts(k3), association(k3)) for _ in Gs]
    terms = [
        Term(sum_one(domain.X), G, ((F1, S1), (F2, S2), (F3, S3)))
        for domain, G, (F2, F3, S3) in zip(problem.domains, Gs, by_domain, strict=True)
    ]
    model = NMTF(terms, dtype=dtype)

    def sweep() -> None:
        for G, (F2, F3, S3) in zip(Gs, by_domain, strict=True):
            model.update(F1, F2, F3, G)
            model.normalize(F1, F2, F3, G)
            model.update(S1, S2, S3)

    return model.solve(sweep, max_iter, Gs, watch)
