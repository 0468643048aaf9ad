"""Stacking: weigh the scores of several members by the labels of a few documents.

    min over a ≥ 0, b   −Σ_i log softmax(Σ_k a_k z_k(i) + b)_y(i)
                        + ‖a − p‖² / 2τ² + ‖b‖² / 2σ²

i are the m labelled documents, y(i) their classes; z_k(i) (c,) margins of member k = 1 … K on
document i, which its training must not have seen; a (K,) weights of the members, p (K,) their prior
means, b (c,) offsets of the classes. Without labels a = p and b = 0. The penalties are Gaussian
priors: few labels change the prior mean of the members little. Stacking is of Wolpert (Neural
Networks 1992); weights that are not negative are of Breiman (Machine Learning 1996).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

#: τ and σ: standard deviations of the weights and of the offsets.
WEIGHT_DEVIATION, OFFSET_DEVIATION = 0.5, 0.3
#: Least probability whose logarithm is taken, and largest margin in units of the typical one.
LEAST_PROBABILITY, MAX_MARGIN = 1e-6, 3.0
#: Margins beyond this quantile of their size count as it in the typical margin.
COMMON = 0.95


@dataclass(frozen=True)
class Stack:
    """Weights a (K,) of the members and offsets b (c,) of the classes."""

    a: np.ndarray
    b: np.ndarray

    def scores(self, Z: np.ndarray) -> np.ndarray:
        """Return Σ_k a_k z_k + b (n, c) of margins Z (K, n, c)."""
        return np.asarray(np.tensordot(self.a, Z, axes=1) + self.b)


def margins(scores: np.ndarray) -> np.ndarray:
    """Return how far each class exceeds its best rival (n, c), in units of the typical margin."""
    # `scores`: (n, c) of one member; those that are all positive are compared by ratios.
    S = scores
    if (S >= 0).all():
        total = S.sum(axis=1, keepdims=True)
        S = np.log(np.maximum(S / np.where(total > 0, total, 1), LEAST_PROBABILITY))
    rivals = [np.delete(S, c, axis=1).max(axis=1) for c in range(S.shape[1])]
    D = S - np.stack(rivals, axis=1)
    # Few large margins do not count by their size: they would make all others small.
    typical = np.sqrt(np.mean(np.minimum(abs(D), np.quantile(abs(D), COMMON)) ** 2)) or 1.0
    return np.asarray(np.clip(D / typical, -MAX_MARGIN, MAX_MARGIN))


def fit_stack(Z: np.ndarray, y: np.ndarray, prior: np.ndarray) -> Stack:
    """Return the stack that solves the problem of the module."""
    # `Z`: (K, m, c) margins of the members on the labelled documents.
    # `y`: (m,) classes of these documents; m may be 0.
    # Shapes: prior (K,).
    from scipy.optimize import minimize

    K, _, c = Z.shape
    labels = np.eye(c)[y]

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        a, b = parameters[:K], parameters[K:]
        scores = np.tensordot(a, Z, axes=1) + b
        G = softmax(scores, axis=1) - labels
        distance = (a - prior) / WEIGHT_DEVIATION**2
        penalty = (a - prior) @ distance / 2 + b @ b / OFFSET_DEVIATION**2 / 2
        loss = -float(np.vdot(labels, log_softmax(scores, axis=1))) + penalty
        by_member = np.einsum("kmc,mc->k", Z, G) + distance
        return float(loss), np.append(by_member, G.sum(axis=0) + b / OFFSET_DEVIATION**2)

    start, bounds = np.append(prior, np.zeros(c)), [(0, None)] * K + [(None, None)] * c
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Stack(found[:K], found[K:])


def held_out(Z: np.ndarray, y: np.ndarray, prior: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Return the scores (m, c) of each labelled document by a stack without its fold."""
    # `fold`: (m,) the fold of each document.
    scores = np.empty(Z.shape[1:])
    for k in np.unique(fold):
        rest = fold != k
        scores[~rest] = fit_stack(Z[:, rest], y[rest], prior).scores(Z[:, ~rest])
    return scores
