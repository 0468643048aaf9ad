"""L2F: agreement over views and over similar labels (Yang, He, Yang and Fu, ICDM 2014).

    min over W_1 … W_V  Σ_v { (1/n)‖F_v^s − Y‖² + γ‖W_v‖² + λ ½ Σ_kl A_kl ‖w_vk − w_vl‖² }
                        + (μ/N) Σ_{v<w} ‖F_v − F_w‖²,   F_v = X_v W_v

X_v (N, d_v) all documents of all domains in view v, less the mean of the labelled; W_v (d_v, m) a
linear classifier for each label, w_vk its columns; F_v^s (n, m) the labelled rows, Y their labels
less the labels' means; A_kl the cosine of two labels over the labelled documents. The third term
asks similar labels for similar classifiers within a view, the last one the views for the same
predictions on the same document, labelled or not. Scores are the mean of the F_v, and the labels'
means added back, so that ½ is the decision.

Reconstructed: the paper is not at hand. Known of it is that a graph framework asks for these two
agreements and that its iterations reach the global optimum; squared losses, linear classifiers and
the scale of the terms are guesses. So read, the problem is convex and quadratic, and conjugate
gradients solve its normal equations.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from transferbench.core.views import View, join, split_by_domain
from transferbench.metrics import ensure_one_label
from transferbench.parameters import Positive, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    gamma: Positive = 3e-4,
    lam: Weight = 1e-5,
    mu: Weight = 0.1,
    view: View = "all",
    top1: bool = False,
    watch: Watch | None = None,
) -> Fit:
    """Mean predictions (n, m) of every domain.

    gamma (γ) weight of the regulariser, lam (λ) of the agreement of similar labels, mu (μ) of the
    agreement of views; view: the first, or all; top1: a document without a label takes its best.
    """
    views, Y, seen = join(problem, view)
    base = Y[seen].mean(axis=0)
    A = similarity(Y[seen])
    penalty = gamma * np.eye(len(A)) + lam * (np.diag(A.sum(axis=1)) - A)
    F = solve(views, np.where(seen[:, None], Y - base, 0), seen, penalty, mu)
    scores = sum(F) / len(F) + base
    return Fit(scores=split_by_domain(problem, ensure_one_label(scores) if top1 else scores))


def similarity(Y: np.ndarray) -> np.ndarray:
    """A (m, m): cosines of the columns of Y (n, m), 0 for a label that nobody has."""
    length = np.linalg.norm(Y, axis=0)
    unit = Y / np.where(length > 0, length, 1)
    return np.asarray(unit.T @ unit)


def solve(
    views: list[sp.csr_array], Y: np.ndarray, seen: np.ndarray, penalty: np.ndarray, mu: float
) -> list[np.ndarray]:
    """F_v (N, m) of every view at the minimum.

    views V × (N, d_v); Y (N, m) labels less their means, zero where not seen; penalty (m, m)
    between the columns of W_v. Raises FloatingPointError where it is not found.
    """
    rows, m = np.flatnonzero(seen), Y.shape[1]
    weight = seen[:, None] / rows.size
    means = [X[rows].mean(axis=0) for X in views]
    cuts = np.cumsum([X.shape[1] for X in views])[:-1]

    def predict(W: np.ndarray) -> list[np.ndarray]:
        parts = zip(views, means, np.split(W, cuts), strict=True)
        return [X @ w - mean @ w for X, mean, w in parts]

    def back(R: list[np.ndarray]) -> np.ndarray:
        """The transpose of `predict`."""
        parts = zip(views, means, R, strict=True)
        return np.vstack([X.T @ r - np.outer(mean, r.sum(axis=0)) for X, mean, r in parts])

    def half_gradient(flat: np.ndarray) -> np.ndarray:
        W = flat.reshape(-1, m)
        F = predict(W)
        total = sum(F)
        pull = [weight * f + mu / len(Y) * (len(F) * f - total) for f in F]
        return np.ravel(back(pull) + W @ penalty)

    b = back([weight * Y] * len(views)).ravel()
    A = LinearOperator((b.size, b.size), matvec=half_gradient, dtype=np.float64)
    flat, failed = cg(A, b, rtol=1e-8)
    if failed:
        raise FloatingPointError(f"conjugate gradients stopped after {failed}; try a larger gamma")
    return predict(flat.reshape(-1, m))
