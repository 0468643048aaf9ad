"""DKT: dual knowledge transfer by joint tri-factorisation (Wang et al., SIGIR 2011).

    min  ‖X_s − F_s S Y_sᵀ‖² + ‖X_t − F_t S G_tᵀ‖² + α ‖F_s − F_t‖²
    s.t. F, S, G ≥ 0,  rows of F_s, F_t and G_t sum to one

X_π (m, n_π) features × documents, divided by the sum of its entries; F_π (m, k) feature clusters;
S (k, c) association with the classes: the first path of knowledge, shared; the second path draws
the feature clusters of the domains together (α). G_t (n_t, c) document classes, read off by argmax.
With several targets each is fitted alone with the sources.

Reconstructed: the paper was not at hand. The DTL paper describes it as two paths, a factorisation
and a separate regularisation, with a trade-off parameter more than MTrick; this is the plainest
objective of that description. α is on the scale of the data terms, ‖X_s‖² (which are small, X being
a joint distribution): α = `alpha` · ‖X_s‖² / m, so that 1 weighs both alike.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from transferbench.core.domains import each_target, shared_association
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 50,
    alpha: Weight = 1.0,
    max_iter: Count = 100,
    C: Positive = 1.0,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Scores G_t (n_t, c) of every target, and the objective after each iteration.

    k feature clusters; alpha weight of their closeness; max_iter iterations; C inverse
    regularisation of the logistic regression that starts G_t.
    """
    alone = partial(
        shared_association, k=k, closeness=alpha, max_iter=max_iter, C=C, dtype=dtype, seed=seed
    )
    return each_target(problem, alone, watch)
