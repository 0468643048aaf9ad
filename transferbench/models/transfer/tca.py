"""TCA: transfer component analysis, then logistic regression (Pan et al., IEEE TNN 2011).

    min over W  tr(Wᵀ K L K W) + µ ‖W‖²  s.t.  Wᵀ K H K W = n I

K = ZZᵀ (n, n) is the linear kernel of the labelled documents of all domains and the documents of
one target. Z (n, r) holds coordinates of a truncated SVD or sentence embeddings, of length one.
W (n, q) holds the components. L = eeᵀ, where fᵀLf is the squared distance between the means of f in
both parts. H = I − 11ᵀ/n centres. Logistic regression is trained on the labelled rows of K W
(n, q). Every target is fitted alone.

With Z = U S Vᵀ the columns of W lie in the span of U, because all other columns only increase ‖W‖.
So W = U Q, where columns of Q (r, q) are the generalised eigenvectors of S²UᵀHUS² and S²UᵀLUS² + µI
with the largest eigenvalues. No (n, n) array is formed. skada 0.6 forms several such arrays. It
also takes the matrix (I + µ K L K)⁻¹ K H K to be symmetric, which it is not. So skada is not used.

The paper was not available, so the model is reconstructed. µ = 1 and q = 20 are common in published
code, which also scales L or the rows of K W in various ways. Here the constraint has n in place of
one. So every component has variance one, which suits the penalty of the regression.

An extension of the paper: a labelled document of a target is in both parts. It counts as a labelled
document and as a document of the target. The weight of its label multiplies its loss in the
regression.
"""

import numpy as np
from scipy.linalg import eigh

from transferbench.core.dense import Features, dense
from transferbench.core.documents import score_targets, seen_rows, seen_weights
from transferbench.core.logistic import class_scores, logistic_regression
from transferbench.parameters import Count, Positive
from transferbench.problem import Domain, Fit, Problem


def fit(
    problem: Problem,
    *,
    features: Features = "svd",
    components: Count = 100,
    q: Count = 20,
    mu: Positive = 1.0,
    C: Positive = 1.0,
) -> Fit:
    """Fit TCA.

    Parameters
    ----------
    features
        Truncated SVD of the first view, or embeddings in the second view.
    components
        Number of coordinates of the SVD.
    q
        Number of transfer components.
    mu
        µ: weight of ‖W‖².
    C
        Inverse regularisation of the logistic regression.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every target, and the labels of every source.

    Raises
    ------
    Unavailable
        If there are no embeddings.
    """
    vectors = dense(problem, features, components)
    X, y = seen_rows(vectors)
    weights = seen_weights(vectors)

    def score(i: int, domain: Domain) -> np.ndarray:
        embedded = transfer_components(np.asarray(X), np.asarray(domain.X), q, mu)
        source, target = np.split(embedded, [len(y)])
        model = logistic_regression(source, C).fit(source, y, weights)
        return class_scores(model, target, np.unique(y), len(problem.classes))

    return Fit(score_targets(vectors, score))


def transfer_components(X: np.ndarray, T: np.ndarray, q: int, mu: float) -> np.ndarray:
    """Return K W (n, q) for n = s + t documents."""
    # `X`: (s, r) documents of the sources.
    # `T`: (t, r) documents of the target.
    # `q`: There are fewer if the coordinates have a smaller rank.
    Z = np.vstack([X, T])
    U, S, _ = np.linalg.svd(Z, full_matrices=False)
    rank = np.linalg.matrix_rank(Z)
    KU = U[:, :rank] * S[:rank] ** 2
    centred = KU - KU.mean(axis=0)
    difference = KU[: len(X)].mean(axis=0) - KU[len(X) :].mean(axis=0)
    A = np.outer(difference, difference) + mu * np.eye(len(difference))
    variance, Q = eigh(centred.T @ centred, A)
    best = np.argsort(-variance)[:q]
    best = best[variance[best] > variance.max() * np.finfo(S.dtype).eps]
    return np.asarray(KU @ (Q[:, best] * np.sqrt(len(Z) / variance[best])))
