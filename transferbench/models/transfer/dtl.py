"""DTL: dual transfer learning (Long et al., SDM 2012).

    min  Σ_τ ‖X_τ − [U, U_τ] H V_τᵀ‖²
    s.t. U, U_τ, H, V_τ ≥ 0,  columns of [U, U_τ] and rows of V_τ sum to one,  V_τ = Y_τ in sources

X_τ (m, n_τ) features × documents of domain τ, divided by the sum of its entries; U (m, κ) feature
clusters common to all domains; U_τ (m, k − κ) those of one domain; H (k, c) association with the
classes, shared; V_τ (n_τ, c) document classes, read off by argmax. Eqs. 4.7–4.13, Algorithm 1.
With several targets, all of them share U and H, or (together = false) each is fitted alone with the
sources: DTL₁ and DTL₀ of the MRTL paper.

Departures from the paper: V_t starts at logistic regression's probabilities, not its decisions,
which multiplicative updates could not leave.

Loses much where the target's classes are of unequal size: a class down to a fifth cost 40 to 60
points in trials.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from transferbench.core.domains import Start, each_target, label_factors
from transferbench.core.nmtf import NMTF, Factor, Term
from transferbench.core.scale import sum_one
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 20,
    kappa: Annotated[int, Ge(0)] = 10,
    max_iter: Count = 50,
    C: Positive = 1.0,
    start: Start = "probabilities",
    together: bool = True,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Scores V_τ (n_τ, c) of every domain, and the objective after each iteration.

    k feature clusters, kappa (κ) of them common; max_iter iterations; C inverse regularisation of
    the logistic regression whose probabilities (or decisions) start V; together: all targets at
    once. Raises ValueError where kappa > k.
    """
    if kappa > k:
        raise ValueError(f"kappa must be at most k, got kappa = {kappa} and k = {k}")
    if not together:
        alone = partial(
            fit, k=k, kappa=kappa, max_iter=max_iter, C=C, start=start, dtype=dtype, seed=seed
        )
        return each_target(problem, alone, watch)
    rng = np.random.default_rng(seed)
    m, c = problem.domains[0].X.shape[1], len(problem.classes)
    new = partial(Factor, normalize="columns")
    factors = {
        "U": new(rng.random((m, kappa))),
        "H U": Factor(rng.random((kappa, c))),
        "H own": Factor(rng.random((k - kappa, c))),
        **label_factors(problem, C, "rows", start),
    }
    terms = []
    for domain in problem.domains:
        u = f"U {domain.name}"
        factors[u] = new(rng.random((m, k - kappa)))
        terms.append(Term(sum_one(domain.X), (("U", "H U"), (u, "H own")), f"V {domain.name}"))
    model = NMTF(factors, terms, dtype)

    def sweep() -> None:
        for term in terms:
            for name in (term.parts[1][0], "U", term.v):
                model.update(name)
                model.normalize(name)
            model.update_jointly("H U", "H own")

    return model.solve(sweep, max_iter, [term.v for term in terms], watch)
