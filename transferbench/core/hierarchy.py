"""Stacked tri-factorisations in which the labels are one more view.

    min  Σ_i [ Σ_{j≤V} L(X_ij; R_i M_ij C_jᵀ) + α L(Y_i; R_i M_iY C_Yᵀ) + β Σ_{j≤V} L(M_ij; M_iY) ]
         R_i = R_i¹ R_i² ⋯ R_iᴸ,  C_j = C_j¹ C_j² ⋯ C_jᴸ,  all factors ≥ 0

X_ij (n_i, d_j) view j of task i; Y_i (s_i, m) labels of its first s_i rows, the seen ones; R_iˡ
(p_{l−1}, p_l), C_jˡ (q_{l−1}, q_l), M (p_L, q_L), where p_0 and q_0 are the rows and columns of the
data. The views and the labels share R_i (the labels its first s_i rows); the tasks share C_j. L is
least squares or the divergence, see `core.losses`.

The tasks of a view are stacked, one below the other, so they need one product with X only. Every
update is that of H in X ≈ A H Bᵀ. The factors of a product are multiplied in the order that takes
the fewest operations, see `core.losses`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from transferbench.core.device import namespace
from transferbench.core.losses import (
    Loss,
    Side,
    around,
    chain_product,
    numerator_denominator_M,
)
from transferbench.problem import Matrix

#: Rows of C and M that are updated at a time, so that intermediate results stay in the cache.
ROWS = 1024


@dataclass(frozen=True)
class Data:
    """The matrices that a layer factorises."""

    #: One matrix for each view, then the labels; the tasks one below the other.
    X: tuple[Matrix, ...]
    #: For each matrix, the rows of each task.
    rows: tuple[tuple[slice, ...], ...]
    alpha: float


@dataclass(frozen=True)
class Layer:
    """Factors of one layer, updated in place."""

    #: For each task (n_i, p); in higher layers, the rows are the clusters of the layer below.
    R: list[np.ndarray]
    #: For each view, then for the labels (d_j, q).
    C: list[np.ndarray]
    #: For each task, a list of (p, q) for each view, then for the labels.
    M: list[list[np.ndarray]]


class Stack:
    """Layers on top of data, and the updates of their factors."""

    # Levels count from 0. The M of the highest layer is part of the objective.
    # `beta`: Weight of the coupling of each view's M to that of the labels.

    def __init__(self, data: Data, layers: list[Layer], loss: Loss, beta: float) -> None:
        self.data, self.layers, self.loss, self.beta = data, layers, loss, beta
        self.M = layers[-1].M
        self.weights = [*[1.0] * (len(data.X) - 1), data.alpha]
        self.terms = [loss.term(X, rows) for X, rows in zip(data.X, data.rows, strict=True)]
        self._set_R()
        for j, term in enumerate(self.terms):
            term.M = [M[j] for M in self.M]
            term.set_C([layer.C[j] for layer in layers])

    def _set_R(self) -> None:
        """Set R of every task in all terms; in that of the labels, only its labelled rows."""
        R = [Side(chain_product([layer.R[i] for layer in self.layers])) for i in range(len(self.M))]
        for term in self.terms:
            sizes = [rows.stop - rows.start for rows in term.rows]
            pairs = zip(R, sizes, strict=True)
            term.R = [S if len(S.F) == size else Side(S.F[:size]) for S, size in pairs]

    def update_R(self, level: int) -> None:
        """Update R of every task at one level."""
        # Eqs. 10, 11, 16, 17 or 34, 35, 40, 41.
        for i, M in enumerate(self.M):
            R = [layer.R[i] for layer in self.layers]
            before, _ = around(R, level)
            common = self.terms[0].R[i].F
            tall = len(common) > common.shape[1]
            zeros_like = namespace(common).zeros_like
            num, den = zeros_like(R[level]), zeros_like(R[level])
            rights: list[Any] = []
            for term, weight, M_ij in zip(self.terms, self.weights, M, strict=True):
                if not weight:
                    continue
                B = weight * chain_product([*R[level + 1 :], M_ij]).T
                size = len(term.R[i].F)
                A, rows = [F[:, :size] for F in before], slice(None if level else size)
                numerator, denominator = term.numerator_denominator_P(i)
                num[rows] += chain_product([*A, *numerator, B])
                if tall and denominator[0] is common:  # the sum over views comes first
                    rights.append(chain_product([*denominator[1:], B]))
                else:
                    den[rows] += chain_product([*A, *denominator, B])
            if rights:
                den += chain_product([*before, common, sum(rights)])
            self.loss.step(R[level], num, den)
        self._set_R()

    def update_C(self, level: int) -> None:
        """Update C of every view and of the labels at one level."""
        # Eqs. 12, 13, 18, 19 or 36, 37, 42, 43.
        for j, term in enumerate(self.terms):
            C = [layer.C[j] for layer in self.layers]
            num, (left, *right) = term.numerator_denominator_C(level)
            for rows in blocks(len(num)):
                self.loss.step(C[level][rows], num[rows], chain_product([left[rows], *right]))
            term.set_C(C, level)

    def update_M(self) -> None:
        """Update M of every task in the highest layer, first of the views, then of the labels."""
        for j in range(len(self.terms)):
            self.update_M_of(j)

    def update_M_of(self, j: int) -> None:
        """Update M of every task for one view, or for the labels."""
        # Eqs. 14, 20, 32, 38, or 15, 21, 33, 39.
        term, weight = self.terms[j], self.weights[j]
        for i, M in enumerate(self.M):
            num, den = numerator_denominator_M(term, i)
            for rows in blocks(len(num)):
                parts = weight * num[rows], weight * den[rows]
                self.loss.step_M([M_ij[rows] for M_ij in M], j, *parts, self.beta)
        term.M = [M[j] for M in self.M]

    def objective(self) -> float:
        """Return the objective at the current factors."""
        terms = zip(self.weights, self.terms, strict=True)
        coupling = sum(self.loss.coupling_loss(M) for M in self.M) if self.beta else 0.0
        return sum(w * term.value() for w, term in terms if w) + self.beta * coupling


def blocks(n: int) -> Iterator[slice]:
    """Yield slices of at most `ROWS` of n rows."""
    return (slice(start, start + ROWS) for start in range(0, n, ROWS))


def next_layer_data(layer: Layer, alpha: float) -> Data:
    """Return the data of the layer above: M of this layer; every row has labels."""
    X = tuple(namespace(parts[0]).vstack(parts) for parts in zip(*layer.M, strict=True))
    p = len(layer.M[0][0])
    rows = tuple(slice(i * p, (i + 1) * p) for i in range(len(layer.M)))
    return Data(X, (rows,) * len(X), alpha)


def pretrain_sweep(stack: Stack) -> None:
    """Update all factors of a single layer once: steps 5–7 of Algorithm 1."""
    stack.update_R(0)
    stack.update_C(0)
    stack.update_M()


def finetune_sweep(stack: Stack) -> None:
    """Update all factors of all layers once, from the highest layer: steps 11–16 of Algorithm 1."""
    # M of a lower layer is not part of the objective, but `predict` uses it; see `update_lower_M`.
    stack.update_M()
    highest = len(stack.layers) - 1
    for level in reversed(range(highest + 1)):
        stack.update_R(level)
        stack.update_C(level)
        if level < highest:
            update_lower_M(stack, level)


def update_lower_M(stack: Stack, level: int) -> None:
    """Update M of a layer below the highest, as if it were the only layer on its data."""
    below = stack.layers[level - 1] if level else None
    data = next_layer_data(below, stack.data.alpha) if below else stack.data
    single = Stack(data, [stack.layers[level]], stack.loss, stack.beta)
    if level == 0:  # the same X and C as in the whole stack
        for term, whole in zip(single.terms, stack.terms, strict=True):
            term.first = whole.first
    single.update_M()


def predict(layers: list[Layer]) -> list[np.ndarray]:
    """Return F_i (n_i, m) of each task: the mean over layers of R_i¹⋯R_iˡ M_iYˡ (C_Y¹⋯C_Yˡ)ᵀ."""
    # Eq. 3 of the paper.
    predictions = []
    for i, R in enumerate(layers[0].R):
        total: np.ndarray | float = 0.0
        for level in reversed(range(len(layers))):
            C = chain_product([layer.C[-1] for layer in layers[: level + 1]])
            total = total + layers[level].M[i][-1] @ C.T
            total = layers[level].R[i] @ total if level else total
        predictions.append(R @ total / len(layers))
    return predictions
