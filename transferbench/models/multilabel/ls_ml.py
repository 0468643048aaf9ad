"""LS-ML: a subspace shared by all labels, with least squares (Ji, Tang, Yu and Ye, KDD 2008).

    min over (U, V, Θ)  (1/n)‖X U − Y‖² + α‖U − Θᵀ V‖² + β‖U‖²   s.t.  Θ Θᵀ = I

X (n, d) the labelled documents of all domains and Y (n, m) their labels, both less their means;
U (d, m) weights, Θ (r, d) a subspace of the features, V (r, m) the weights within it. Scores are
x·U and the means added back, regression on 0/1, so that ½ is the decision.

How it is solved: V = Θ U at the best, and the best Θ spans the r leading solutions of a generalised
eigenvalue problem of size d. Carried through, that comes to far less. With the ridge solutions

    W_α = (XᵀX + n(α + β) I)⁻¹ XᵀY,   W_0 = (XᵀX + nβ I)⁻¹ XᵀY

Θ is the span of W_0 Q, where Q (m, r) are the leading eigenvectors of W_0ᵀ W_α (m, m), symmetric,
and then U = W_α (I − Q Qᵀ) + W_0 Q Qᵀ. So the shared subspace is one of labels as well: the r
combinations of labels that are easiest to predict pay β, the others α + β; r = m leaves ridge
regression with β, r = 0 or α = 0 one with the same penalty for all. The two ridge regressions are
found by conjugate gradients, on sparse documents, which hold nothing larger than U.

Reconstructed from the problem as known; the paper is not at hand.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge
from sklearn.linear_model import Ridge

from transferbench.core.views import View, hstack_views, join, split_by_domain
from transferbench.metrics import ensure_one_label
from transferbench.parameters import Positive, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    alpha: Weight = 3e-4,
    beta: Positive = 3e-4,
    r: Annotated[int, Ge(0)] | None = None,
    view: View = "all",
    top1: bool = False,
    watch: Watch | None = None,
) -> Fit:
    """Regressions on 0/1 (n, m) of every domain.

    alpha (α) weight of what lies outside the shared subspace, beta (β) of all; r its dimension,
    half the number of labels where none is given; view: the first or all, side by side; top1: a
    document without a label takes its best.
    """
    views, Y, seen = join(problem, view)
    X = hstack_views(views)
    T, n = X[np.flatnonzero(seen)], int(seen.sum())
    m = len(problem.classes)
    outside, inside = (
        Ridge(n * penalty, solver="sparse_cg", tol=1e-8).fit(T, Y[seen])
        for penalty in (alpha + beta, beta)
    )
    r = m // 2 if r is None else min(r, m)
    shared = inside.coef_ @ outside.coef_.T
    Q = np.linalg.eigh((shared + shared.T) / 2)[1][:, m - r :]
    mixed = outside.predict(X)
    scores = mixed + (inside.predict(X) - mixed) @ Q @ Q.T
    return Fit(scores=split_by_domain(problem, ensure_one_label(scores) if top1 else scores))
