"""NMF: nonnegative matrix factorisation of each target alone; no labels, no transfer.

    min  ‖X_t − W_t F_tᵀ‖²,  W, F ≥ 0

X_t (n, m) holds documents × features. W_t (n, c) has one component for each class, and the largest
component of a document is its cluster. F_t (m, c) holds the features of the components.
scikit-learn's implementation of Lee and Seung's multiplicative updates solves the problem.

The columns of W_t are clusters. Scoring uses the target's labels to find the best matching of
clusters and classes. The papers do not say how they obtain classes from NMF. The fit does not use
labels of a target.
"""

import numpy as np
import scipy.sparse as sp

from transferbench.parameters import Count
from transferbench.problem import Domain, FeatureClusters, Fit, Problem


def fit(problem: Problem, *, max_iter: Count = 200, seed: int) -> Fit:
    """Fit NMF.

    Parameters
    ----------
    max_iter
        Number of iterations.

    Returns
    -------
    Fit
        W (n, c) of every target, and the labels of every source.
    """
    from sklearn.decomposition import non_negative_factorization

    rng = np.random.RandomState(seed)

    def factor(domain: Domain) -> tuple[np.ndarray, FeatureClusters]:
        """Return W (n, c), and F (m, c) as clusters, each a class of its own."""
        # In float32 scikit-learn's updates overflow from some starts: they divide by tiny numbers.
        X = sp.csc_matrix(domain.X, dtype=np.float64)
        # With words that no document has, they overflow from some starts all the same.
        for words in (np.arange(X.shape[1]), np.flatnonzero(np.diff(X.indptr))):
            W, components, _ = non_negative_factorization(
                X[:, words].tocsr(), n_components=len(problem.classes), init="random", solver="mu",
                max_iter=max_iter, tol=0, random_state=rng,
            )  # fmt: skip
            if np.isfinite(W).all():
                break
        F = np.zeros((X.shape[1], len(components)))
        F[words] = components.T
        return np.asarray(W), FeatureClusters("", F, np.eye(len(components)))

    scores: list[np.ndarray] = []
    factors: list[tuple[FeatureClusters, ...]] = []
    for domain in problem.domains:
        W, *clusters = (domain.Y,) if domain.seen.all() else factor(domain)
        scores.append(W)
        factors.append(tuple(clusters))
    return Fit(tuple(scores), columns="clusters", factors=tuple(factors))
