"""TriTL: triplex transfer learning (Zhuang et al., 2012): three kinds of concepts.

    min  Σ_τ ‖X_τ − [F¹, F²_τ, F³_τ] [S¹; S²; S³_τ] G_τᵀ‖²
    s.t. F, S, G ≥ 0,  columns of F and rows of G_τ sum to one,  G_τ = Y_τ in sources

X_τ (m, n_τ) features × documents of domain τ, divided by the sum of its entries. Concepts (feature
clusters) are identical: F¹ (m, k₁) and S¹ (k₁, c) shared by all domains; alike: F²_τ (m, k₂) of
one domain, their association S² (k₂, c) shared; or distinct: F³_τ (m, k₃) and S³_τ (k₃, c) of one
domain. G_τ (n_τ, c) document classes, read off by argmax. With several targets, all share F¹, S¹
and S², or (together = false) each is fitted alone with the sources: TriTL₁ and TriTL₀ of the MRTL
paper.

Reconstructed: the paper was not at hand; settings k₁ = k₂ = 20, k₃ = 10 and 100 iterations are its
commonly quoted ones, and F starts at random positives.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from transferbench.core.domains import each_target, label_factors
from transferbench.core.nmtf import NMTF, Factor, Term
from transferbench.core.scale import sum_one
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem, Watch

Number = Annotated[int, Ge(0)]


def fit(
    problem: Problem,
    *,
    k1: Number = 20,
    k2: Number = 20,
    k3: Number = 10,
    max_iter: Count = 100,
    C: Positive = 1.0,
    together: bool = True,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Scores G_τ (n_τ, c) of every domain, and the objective after each iteration.

    k1 identical, k2 alike and k3 distinct concepts; max_iter iterations; C inverse regularisation
    of the logistic regression; together: all targets at once.
    """
    if not together:
        alone = partial(fit, k1=k1, k2=k2, k3=k3, max_iter=max_iter, C=C, dtype=dtype, seed=seed)
        return each_target(problem, alone, watch)
    rng = np.random.default_rng(seed)
    m, c = problem.domains[0].X.shape[1], len(problem.classes)

    def concepts(k: int) -> Factor:
        return Factor(rng.random((m, k)), normalize="columns")

    factors = {
        "F1": concepts(k1),
        "S1": Factor(rng.random((k1, c))),
        "S2": Factor(rng.random((k2, c))),
        **label_factors(problem, C, "rows"),
    }
    terms = []
    for domain in problem.domains:
        name = domain.name
        factors |= {f"F2 {name}": concepts(k2), f"F3 {name}": concepts(k3)}
        factors |= {f"S3 {name}": Factor(rng.random((k3, c)))}
        parts = (("F1", "S1"), (f"F2 {name}", "S2"), (f"F3 {name}", f"S3 {name}"))
        terms.append(Term(sum_one(domain.X), parts, f"V {name}"))
    model = NMTF(factors, terms, dtype)

    def sweep() -> None:
        for term in terms:
            _, (f2, _), (f3, s3) = term.parts
            model.update("F1", f2, f3, term.v)
            model.normalize("F1", f2, f3, term.v)
            model.update("S1", "S2", s3)

    return model.solve(sweep, max_iter, [term.v for term in terms], watch)
