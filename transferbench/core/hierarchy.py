"""Tri-factorisations stacked upon each other, labels being one more view.

    min  Σ_i [ Σ_{j≤V} L(X_ij; R_i M_ij C_jᵀ) + α L(Y_i; R_i M_iY C_Yᵀ) + β Σ_{j≤V} L(M_ij; M_iY) ]
         R_i = R_i¹ R_i² ⋯ R_iᴸ,  C_j = C_j¹ C_j² ⋯ C_jᴸ,  all factors ≥ 0

X_ij (n_i, d_j) view j of task i; Y_i (s_i, m) labels of its seen rows, which are its first; R_iˡ
(p_{l−1}, p_l), C_jˡ (q_{l−1}, q_l), M (p_L, q_L), where p_0 and q_0 are rows and columns of the
data. R_i is shared by the views and, with its first s_i rows, the labels; C_j by the tasks. L is
least squares or the divergence, see `core.losses`.

The tasks of a view lie one below the other, so that a product with X is made once for all of them.
Every update is one of H in X ≈ A H Bᵀ, and its products are made in the order that keeps them
smallest: first X with P = R_i M_ij or with Q = C_j, whose columns are few, then the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from transferbench.core.losses import Loss
from transferbench.problem import Matrix


@dataclass(frozen=True)
class Data:
    """What a layer factorises.

    X     : a matrix for each view and last the labels, the tasks one below the other.
    rows  : for each of these, where the rows of each task are.
    alpha : weight of the labels.
    """

    X: tuple[Matrix, ...]
    rows: tuple[tuple[slice, ...], ...]
    alpha: float


@dataclass(frozen=True)
class Layer:
    """Factors of one layer, changed in place: R[i], C[j], M[i][j]; task i, view j, labels last."""

    R: list[np.ndarray]
    C: list[np.ndarray]
    M: list[list[np.ndarray]]


class Stack:
    """Layers upon data and the updates of their factors; of M, those of the highest layer.

    Layers count from 0. Raises ValueError where shapes do not fit.
    """

    def __init__(self, data: Data, layers: list[Layer], loss: Loss, beta: float) -> None:
        self.data, self.layers, self.loss, self.beta = data, layers, loss, beta
        self.M = layers[-1].M
        self.weights = [*[1.0] * (len(data.X) - 1), data.alpha]
        self._R = [chain([layer.R[i] for layer in layers]) for i in range(len(self.M))]
        Q = [chain([layer.C[j] for layer in layers]) for j in range(len(data.X))]
        for j, X in enumerate(data.X):
            if (len(self._P(j)), len(Q[j])) != X.shape:
                raise ValueError(f"view {j}: factors of another shape than the data, {X.shape}")
        self.terms = [loss.term(X, self._P(j), Q[j]) for j, X in enumerate(data.X)]

    def _P(self, j: int) -> np.ndarray:
        """R_i M_ij of every task, one below the other."""
        rows = self.data.rows[j]
        return np.vstack(
            [R[: r.stop - r.start] @ M[j] for R, M, r in zip(self._R, self.M, rows, strict=True)]
        )

    def update_R(self, level: int) -> None:
        """Every task's R in one layer: eqs. 10, 11, 16, 17 or 34, 35, 40, 41."""
        pulls = [t.on_P() if w else None for t, w in zip(self.terms, self.weights, strict=True)]
        for i, M in enumerate(self.M):
            R = [layer.R[i] for layer in self.layers]
            A = chain(R[:level]) if level else None
            num, den = np.zeros_like(R[level]), np.zeros_like(R[level])
            for j, pull in enumerate(pulls):
                if pull is None:
                    continue
                top, (left, right) = pull
                B = self.weights[j] * chain([*R[level + 1 :], M[j]]).T
                rows = self.data.rows[j][i]
                for total, tall, small in ((num, top[rows], B), (den, left[rows], right @ B)):
                    if A is None:
                        total[: len(tall)] += tall @ small
                    else:
                        total += (A[: len(tall)].T @ tall) @ small
            self.loss.step(R[level], num, den)
            self._R[i] = chain(R)
        for j, term in enumerate(self.terms):
            term.place(P=self._P(j))

    def update_C(self, level: int) -> None:
        """Every view's C in one layer, and the labels': eqs. 12, 13, 18, 19 or 36, 37, 42, 43."""
        for j, term in enumerate(self.terms):
            C = [layer.C[j] for layer in self.layers]
            num, (left, right) = term.on_Q()
            if level + 1 < len(C):
                B = chain(C[level + 1 :]).T
                num, right = num @ B, right @ B
            if level:
                A = chain(C[:level]).T
                num, left = A @ num, A @ left
            self.loss.step(C[level], num, left @ right)
            term.place(Q=chain(C))

    def update_M(self) -> None:
        """Every task's M in the highest layer, the labels' after the views'."""
        for j in range(len(self.terms)):
            self.update_M_of(j)

    def update_M_of(self, j: int) -> None:
        """Every task's M of one view or the labels: eqs. 14, 20, 32, 38 or 15, 21, 33, 39."""
        w = self.weights[j]
        top, (left, right) = self.terms[j].on_P()
        for i, M in enumerate(self.M):
            rows = self.data.rows[j][i]
            A = w * self._R[i][: rows.stop - rows.start].T
            num, den = A @ top[rows], (A @ left[rows]) @ right
            if j + 1 < len(M):
                self.loss.couple(M[j], num, den, M[-1], self.beta)
            else:
                self.loss.couple_labels(M[-1], num, den, M[:-1], self.beta)
        self.terms[j].place(P=self._P(j))

    def objective(self) -> float:
        """Value of the objective at the present factors."""
        terms = zip(self.weights, self.terms, strict=True)
        apart = sum(self.loss.apart(M) for M in self.M) if self.beta else 0.0
        return sum(w * term.value() for w, term in terms if w) + self.beta * apart


def chain(factors: list[np.ndarray]) -> np.ndarray:
    """Product of the factors, from the last, which are the smaller ones."""
    return reduce(lambda right, left: left @ right, reversed(factors))


def next_data(layer: Layer, alpha: float) -> Data:
    """What the layer above this one factorises: its M, all rows of which have labels."""
    X = tuple(np.vstack(parts) for parts in zip(*layer.M, strict=True))
    p = len(layer.M[0][0])
    rows = tuple(slice(i * p, (i + 1) * p) for i in range(len(layer.M)))
    return Data(X, (rows,) * len(X), alpha)


def pretrain(stack: Stack) -> None:
    """One sweep over a single layer: steps 5–7 of Algorithm 1."""
    stack.update_R(0)
    stack.update_C(0)
    stack.update_M()


def finetune(stack: Stack) -> None:
    """One sweep over all layers from the highest down: steps 11–16 of Algorithm 1.

    The M of a lower layer, which only the prediction has, follows that of the layer below it.
    """
    stack.update_M()
    layers, data = stack.layers, stack.data
    for level in reversed(range(len(layers))):
        stack.update_R(level)
        stack.update_C(level)
        if level < len(layers) - 1:
            own = data if level == 0 else next_data(layers[level - 1], data.alpha)
            Stack(own, [layers[level]], stack.loss, stack.beta).update_M()


def predict(layers: list[Layer]) -> list[np.ndarray]:
    """F_i (n_i, m) of each task: the mean over layers of R_i¹⋯R_iˡ M_iYˡ (C_Y¹⋯C_Yˡ)ᵀ (eq. 3)."""
    found = []
    for i, R in enumerate(layers[0].R):
        total: np.ndarray | float = 0.0
        for level in reversed(range(len(layers))):
            C = chain([layer.C[-1] for layer in layers[: level + 1]])
            total = total + layers[level].M[i][-1] @ C.T
            total = layers[level].R[i] @ total if level else total
        found.append(R @ total / len(layers))
    return found
