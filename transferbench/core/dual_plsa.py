"""Shared by models of two latent variables, the concept y of a word and the class z of a document.

    P(d, w) = Σ_yz V_dz H_yz W_wy

W (m, k) is P(w|y); H (k, c) and V (n, c) together state how y, z and d depend on one another.
"""

import numpy as np

from transferbench.core.losses import divide_by_product, entry_positions
from transferbench.core.scale import entries
from transferbench.core.subnormal import flush
from transferbench.problem import Matrix, Problem

TINY = np.finfo(np.float64).tiny


def proportions(problem: Problem) -> list[Matrix]:
    """Return the documents X (n, m) of each domain, divided by the sum of all domains."""
    Xs = [domain.X.astype(np.float64) for domain in problem.domains]
    total = sum(X.sum() for X in Xs) or 1.0
    return [X / total for X in Xs]


def expected_counts(
    X: Matrix, W: np.ndarray, H: np.ndarray, V: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the log-likelihood, and the expected counts of the E-step of EM."""
    # The counts are Σ x_dw P(y, z|d, w) over the other variables. P is formed at the entries of X
    # only, and P(y, z|d, w) not at all.
    # `likelihood`: Σ x_dw log P(d, w).
    # `words`: Counts of (w, y), with the shape of W.
    # `topics`: Counts of (y, z), with the shape of H.
    # `documents`: Counts of (d, z), with the shape of V.
    # Shapes: X (n, m), H (y, z).
    by_class = W @ H  # (m, c)
    ratio, P = divide_by_product(X, V, by_class, entry_positions(X))
    words = ratio.T @ V  # (m, c)
    likelihood = float(np.vdot(entries(X), np.log(np.maximum(P, TINY))))
    of_words, of_documents = flush(W * (words @ H.T)), flush(V * (ratio @ by_class))
    return likelihood, of_words, flush(H * (W.T @ words)), of_documents
