"""L2F: agreement of views and of similar labels (Yang, He, Yang and Fu, ICDM 2014).

    min over W_1 … W_V  Σ_v { (1/n)‖F_v^s − Y‖² + γ‖W_v‖² + λ ½ Σ_kl A_kl ‖w_vk − w_vl‖² }
                        + (μ/N) Σ_{v<w} ‖F_v − F_w‖²,   F_v = X_v W_v

X_v (N, d_v) holds the documents of all domains in view v, minus the mean of the labelled ones.
W_v (d_v, m) holds a linear classifier for each label; w_vk are its columns. F_v^s (n, m) holds the
rows of the labelled documents. Y (n, m) holds their labels, minus the means of the labels. A_kl is
the cosine of labels k and l over the labelled documents. The third term makes the classifiers of
similar labels similar within a view. The last term makes the predictions of the views similar for
every document, labelled or not. Scores are the mean of the F_v plus the means of the labels, so the
threshold is ½.

The paper was not available, so the model is reconstructed, and departures from the paper are
unknown. It is known that the paper has two kinds of agreement from a graph framework, and that its
iterations reach the global optimum. The squared losses, the linear classifiers and the scale of the
terms are assumptions. With them the problem is convex and quadratic, and conjugate gradients solve
its normal equations.
"""

from itertools import product

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from transferbench.artefacts import artefact
from transferbench.core.documents import View, unit_views
from transferbench.models.multilabel._shared import tuned_fit
from transferbench.parameters import Positive, Weight
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    gamma: tuple[Positive, ...] = (3e-4,),
    lam: tuple[Weight, ...] = (1e-5,),
    mu: tuple[Weight, ...] = (0.1,),
    view: View = "all",
    ensure_one_label: bool = False,
) -> Fit:
    """Fit L2F.

    Parameters
    ----------
    gamma
        γ: weight of the regulariser.
    lam
        λ: weight of the agreement of similar labels.
    mu
        μ: weight of the agreement of views. If there are several values, 5-fold cross-validation on
        the labelled documents chooses a triple by example-based F₁.
    view
        "first" uses the first view and "all" uses all views, both with documents of length one.
        "raw" uses all views as they are.
    ensure_one_label
        Give each document without a label its best label.

    Returns
    -------
    Fit
        Mean predictions (n, m) of every domain.
    """
    views = unit_views(problem, view)

    def predict(setting: tuple[float, float, float], Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
        return mean_predictions(views, Y, seen, *setting)

    return tuned_fit(problem, list(product(gamma, lam, mu)), predict, ensure_one_label)


@artefact
def mean_predictions(
    views: list[sp.csr_array], Y: np.ndarray, seen: np.ndarray, gamma: float, lam: float, mu: float
) -> np.ndarray:
    """Return the mean predictions (N, m) over the views, trained on the rows that are seen (N,)."""
    # Runs that differ only in `ensure_one_label` share them. Y (N, m) holds labels, and zero on
    # unseen rows. gamma, lam and mu are the weights of the objective.
    base = Y[seen].mean(axis=0)
    length = np.linalg.norm(Y[seen], axis=0)
    unit = Y[seen] / np.where(length > 0, length, 1)  # a label without documents is like no other
    A = unit.T @ unit
    penalty = gamma * np.eye(len(A)) + lam * (np.diag(A.sum(axis=1)) - A)
    Y = np.where(seen[:, None], Y - base, 0)
    rows, m = np.flatnonzero(seen), Y.shape[1]
    weight = seen[:, None] / rows.size
    means = [X[rows].mean(axis=0) for X in views]
    cuts = np.cumsum([X.shape[1] for X in views])[:-1]

    def predict(W: np.ndarray) -> list[np.ndarray]:
        parts = zip(views, means, np.split(W, cuts), strict=True)
        return [X @ w - mean @ w for X, mean, w in parts]

    def transposed(R: list[np.ndarray]) -> np.ndarray:
        """Apply the transpose of `predict`."""
        parts = zip(views, means, R, strict=True)
        return np.vstack([X.T @ r - np.outer(mean, r.sum(axis=0)) for X, mean, r in parts])

    def half_gradient(flat: np.ndarray) -> np.ndarray:
        W = flat.reshape(-1, m)
        F = predict(W)
        total = sum(F)
        residual = [weight * f + mu / len(Y) * (len(F) * f - total) for f in F]
        return np.ravel(transposed(residual) + W @ penalty)

    b = transposed([weight * Y] * len(views)).ravel()
    normal = LinearOperator((b.size, b.size), matvec=half_gradient, dtype=np.float64)
    flat, failed = cg(normal, b, rtol=1e-8)
    if failed:
        raise FloatingPointError(f"conjugate gradients stopped after {failed}; try a larger gamma")
    F = predict(flat.reshape(-1, m))
    return np.asarray(sum(F) / len(F) + base)
