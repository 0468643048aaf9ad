"""Start of HiMLS and HiMLSD: sizes of the layers and initial values of their factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from transferbench.core.hierarchy import Data, Layer
from transferbench.core.plsa import plsa
from transferbench.core.scale import entries
from transferbench.problem import Matrix

#: Initial factors: topics of PLSA, or random numbers between 0 and 1.
Start = Literal["plsa", "random"]
#: Initial scale of the columns of every C: Euclidean length one or sum one.
Columns = Literal["length", "sum"]

#: Relative to the mean: the ridge of an inverse, and the smallest initial entry of M.
SMALL = 1e-3


@dataclass(frozen=True)
class Plan:
    """Sizes and start of the layers, and numbers of sweeps; see `himls.fit`.

    p and q hold one number for each layer. Raise ValueError if they are empty or of different
    length.
    """

    p: tuple[int, ...]
    q: tuple[int, ...]
    pretrain: int
    finetune: int
    start: Start
    start_iter: int
    columns: Columns
    seed: int

    def __post_init__(self) -> None:
        if not self.p or len(self.p) != len(self.q):
            raise ValueError(f"p and q must name the same layers, got p = {self.p}, q = {self.q}")

    @property
    def last_phase_sweeps(self) -> int:
        """Sweeps of the last phase: fine-tuning, or pre-training if there is only one layer."""
        return self.pretrain if len(self.p) == 1 else self.finetune

    def start_R(self, views: list[Matrix], p: int) -> np.ndarray:
        """Return R (n, p) for views X (n, d_j)."""
        n, dtype = views[0].shape[0], views[0].dtype
        if self.start == "random":
            return self._random(n, p, dtype, stream=0)
        return self._topics(views, p)[0].astype(dtype)

    def start_C(self, X: Matrix, q: int, view: int) -> np.ndarray:
        """Return C (d, q) for X (n, d), with scaled columns; each view has its own random start."""
        if self.start == "random":
            C = self._random(X.shape[1], q, X.dtype, stream=1 + view)
        else:
            C = self._topics([X], q)[1].astype(X.dtype)
        size = C.sum(axis=0) if self.columns == "sum" else np.sqrt(np.sum(C * C, axis=0))
        return np.asarray(C / np.where(size > 0, size, 1))

    def start_layer(self, data: Data, level: int) -> Layer:
        """Return a layer for data; level counts from 0."""
        R = self.start_R(list(data.X[:-1]), self.p[level])
        C = [self.start_C(X, self.q[level], j) for j, X in enumerate(data.X)]
        return make_layer(data, R, C)

    def _random(self, rows: int, columns: int, dtype: np.dtype, stream: int) -> np.ndarray:
        rng = np.random.default_rng([self.seed, stream])
        return rng.random((rows, columns), dtype=dtype)

    def _topics(self, views: list[Matrix], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return P(topic | row) (n, k) and P(column | topic) (d, k) of PLSA."""
        # Entries such as topic probabilities can be tiny; PLSA would divide by a fit of almost 0.
        counts = [view.copy() for view in views]
        smallest = SMALL**2 * max(entries(view).max(initial=0) for view in views)
        for view in counts:
            entries(view)[entries(view) < smallest] = 0
        T, W, _ = plsa(counts, k, max_iter=self.start_iter, tol=0.0, seed=self.seed)
        return T, W


def start_M(R: np.ndarray, X: Matrix, C: np.ndarray) -> np.ndarray:
    """Return a positive M (p, q) near the least squares solution of X ≈ R M Cᵀ.

    Algorithm 1, step 3, with a ridge: with more clusters than labels CᵀC has no inverse.
    """

    def inverse(F: np.ndarray) -> np.ndarray:
        G = np.asarray(F.T @ F, np.float64)
        return np.linalg.inv(G + (SMALL * np.trace(G) / len(G) or 1.0) * np.eye(len(G)))

    M = inverse(R) @ (R.T @ (X @ C)) @ inverse(C)
    return np.asarray(np.maximum(M, SMALL * np.abs(M).mean() or SMALL), R.dtype)


def make_layer(data: Data, R: np.ndarray, C: list[np.ndarray]) -> Layer:
    """Return a layer for data.

    R (n, p): rows of all tasks, one below the other; C: (d_j, q) for each view and the labels.
    """
    Rs = [R[rows] for rows in data.rows[0]]
    M = [
        [
            start_M(Rs[i][: r[i].stop - r[i].start], X[r[i]], c)
            for X, r, c in zip(data.X, data.rows, C, strict=True)
        ]
        for i in range(len(Rs))
    ]
    return Layer(Rs, list(C), M)
