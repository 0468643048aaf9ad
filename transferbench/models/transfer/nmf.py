"""NMF: nonnegative matrix factorisation of each target alone; no labels, no transfer.

    min  ‖X_t − W_t F_tᵀ‖²,  W, F ≥ 0

X_t (n, m) documents × features; W_t (n, c) one component for each class, a document's cluster being
its largest; F_t (m, c). Lee and Seung's multiplicative updates, scikit-learn's implementation.

Its columns are clusters: scoring matches them with the classes in the way that is best for it,
which uses target labels. The papers do not say how they read classes off NMF.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import non_negative_factorization

from transferbench.parameters import Count
from transferbench.problem import Fit, Problem, Watch


def fit(problem: Problem, *, max_iter: Count = 200, seed: int, watch: Watch | None = None) -> Fit:
    """W (n, c) of every target; a source keeps its labels."""
    rng = np.random.RandomState(seed)
    scores = []
    for domain in problem.domains:
        if domain.seen.all():
            scores.append(domain.Y)
            continue
        # In float32 the library's updates divide by nearly nothing for some starts, and overflow.
        X = sp.csr_matrix(domain.X, dtype=np.float64)
        W, _, _ = non_negative_factorization(
            X, n_components=len(problem.classes), init="random", solver="mu",
            max_iter=max_iter, tol=0, random_state=rng,
        )  # fmt: skip
        scores.append(np.asarray(W))
    return Fit(scores=tuple(scores), columns="clusters")
