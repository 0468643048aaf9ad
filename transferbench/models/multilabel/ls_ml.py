"""LS-ML: least squares with a subspace shared by all labels (Ji, Tang, Yu and Ye, KDD 2008).

    min over (U, V, Θ)  (1/n)‖X U − Y‖² + α‖U − Θᵀ V‖² + β‖U‖²   s.t.  Θ Θᵀ = I

X (n, d) holds the labelled documents of all domains, and Y (n, m) holds their labels. Both are
centred. U (d, m) holds weights, Θ (r, d) a subspace of the features, and V (r, m) the weights
inside it. Scores are x·U plus the means of the labels. They regress on 0/1, so the threshold is ½.

At the optimum V = Θ U, and Θ spans the r leading solutions of a generalised eigenvalue problem of
size d. This reduces to a problem of size m. It uses the ridge solutions

    W_α = (XᵀX + n(α + β) I)⁻¹ XᵀY,   W_0 = (XᵀX + nβ I)⁻¹ XᵀY

Θ is the span of W_0 Q, where Q (m, r) holds the leading eigenvectors of the symmetric W_0ᵀ W_α
(m, m). Then U = W_α (I − Q Qᵀ) + W_0 Q Qᵀ. The shared subspace is therefore also one of labels. The
r combinations of labels that are easiest to predict have penalty β, and the others have α + β.
r = m is ridge regression with β. r = 0 or α = 0 is ridge regression with one penalty for all
labels. Conjugate gradients on the sparse documents solve both ridge regressions. No array is larger
than U.

The paper was not available. The model is reconstructed from the problem as it is known, and
departures from the paper are unknown.
"""

from functools import lru_cache
from itertools import product

import numpy as np

from transferbench.core.documents import View, hstack_views
from transferbench.models.multilabel._shared import tuned_fit
from transferbench.parameters import CountOrZero, Positive, Weight
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    alpha: tuple[Weight, ...] = (3e-4,),
    beta: tuple[Positive, ...] = (3e-4,),
    r: CountOrZero | None = None,
    view: View = "all",
    ensure_one_label: bool = False,
) -> Fit:
    """Fit LS-ML.

    Parameters
    ----------
    alpha
        α: weight of the part outside the shared subspace.
    beta
        β: weight of all parts. If there are several values, 5-fold cross-validation on the labelled
        documents chooses a pair by example-based F₁.
    r
        Dimension of the subspace. The default is half the number of labels.
    view
        "first" uses the first view and "all" puts all views side by side, both with documents of
        length one. "raw" puts all views side by side as they are.
    ensure_one_label
        Give each document without a label its best label.

    Returns
    -------
    Fit
        Regressions on 0/1 (n, m) of every domain.
    """
    from sklearn.linear_model import Ridge

    X = hstack_views(problem, view)
    m = len(problem.classes)
    size = m // 2 if r is None else min(r, m)

    @lru_cache(maxsize=1)
    def trained(seen: bytes) -> dict[float, Ridge]:
        """Return a dictionary for the regressions on these documents; only the last is kept."""
        return {}

    def ridge(penalty: float, Y: np.ndarray, seen: np.ndarray) -> Ridge:
        """Return ridge regression on the seen documents; settings of a fold share it."""
        by_penalty = trained(seen.tobytes())
        if penalty not in by_penalty:
            X_seen, n = X[np.flatnonzero(seen)], int(seen.sum())
            fresh = Ridge(n * penalty, solver="sparse_cg", tol=1e-8)
            by_penalty[penalty] = fresh.fit(X_seen, Y[seen])
        return by_penalty[penalty]

    def predict(setting: tuple[float, float], Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
        alpha, beta = setting
        outside, inside = ridge(alpha + beta, Y, seen), ridge(beta, Y, seen)
        # With one label scikit-learn returns a vector.
        shared = np.atleast_2d(inside.coef_) @ np.atleast_2d(outside.coef_).T
        Q = np.linalg.eigh((shared + shared.T) / 2)[1][:, m - size :]
        F, G = (fitted.predict(X).reshape(-1, m) for fitted in (outside, inside))
        return np.asarray(F + (G - F) @ Q @ Q.T)

    return tuned_fit(problem, list(product(alpha, beta)), predict, ensure_one_label)
