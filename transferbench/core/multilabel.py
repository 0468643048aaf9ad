"""What multi-label models share: documents of all tasks, where factors start, training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core import hierarchy, init
from transferbench.core.hierarchy import Data, Layer, Stack
from transferbench.core.losses import Loss
from transferbench.core.plsa import plsa
from transferbench.core.scale import drop_empty_columns, entries
from transferbench.core.validation import best_setting
from transferbench.metrics import ensure_one_label
from transferbench.problem import Fit, Matrix, Problem, Watch

#: Tasks or views as the problem has them, or all of them made one.
Join = Literal["given", "joined"]
#: Factors from latent topics, or at random between 0 and 1.
Start = Literal["plsa", "random"]
#: What the columns of every C start with: Euclidean length one or sum one.
Columns = Literal["length", "sum"]

SMALL = 1e-3  # of the mean: the ridge of an inverse, and the least entry of an M at the start


@dataclass(frozen=True)
class Documents:
    """Documents of all domains, one below the other.

    X (n, d_j) for each view, without features of no document; Y (n, m) labels; seen (n,); the rows
    of each task; and the first row of every domain but the first.
    """

    X: tuple[Matrix, ...]
    Y: np.ndarray
    seen: np.ndarray
    tasks: tuple[np.ndarray, ...]
    cuts: np.ndarray

    @classmethod
    def of(cls, problem: Problem, tasks: Join, views: Join, dtype: str) -> Documents:
        """A problem's documents. Raises ValueError where no label is seen."""
        domains = problem.domains
        seen = np.concatenate([domain.seen for domain in domains])
        if not seen.any():
            raise ValueError(f"{problem.name}: at least one labelled document is needed")
        by_view = zip(*(domain.views for domain in domains), strict=True)
        X = [drop_empty_columns(init.stack(list(parts))) for parts in by_view]
        if views == "joined":
            X = [side_by_side(X)]
        cuts = np.cumsum([len(domain.seen) for domain in domains])[:-1]
        rows = np.arange(len(seen))
        return cls(
            tuple(x.astype(dtype) for x in X),
            np.vstack([domain.Y for domain in domains]).astype(dtype),
            seen,
            (rows,) if tasks == "joined" else tuple(np.split(rows, cuts)),
            cuts,
        )


@dataclass(frozen=True)
class Plan:
    """How a stack is built: p and q of each layer, sweeps, and where its factors start.

    Raises ValueError where p and q are not of one length, or empty.
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
    def told(self) -> int:
        """Sweeps of the last phase: fine-tuning, or the pre-training of an only layer."""
        return self.pretrain if len(self.p) == 1 else self.finetune

    def instances(self, X: list[Matrix], p: int) -> np.ndarray:
        """R (n, p) from views X (n, d_j)."""
        return self._cluster(X, p, 0)

    def features(self, X: Matrix, q: int, place: int) -> np.ndarray:
        """C (d, q) from X (n, d), its columns scaled; place tells random starts of views apart."""
        C = self._cluster([X], q, 1 + place)
        size = C.sum(axis=0) if self.columns == "sum" else np.sqrt(np.sum(C * C, axis=0))
        return np.asarray(C / np.where(size > 0, size, 1))

    def _cluster(self, views: list[Matrix], k: int, place: int) -> np.ndarray:
        """P(topic | row) (n, k) at place 0, elsewhere P(column | topic) (d, k); or random."""
        kind = views[0].dtype
        if self.start == "random":
            rng = np.random.default_rng([self.seed, place])
            return rng.random((views[0].shape[min(place, 1)], k), dtype=kind)
        # Shares of topics come as small as numbers can be; to divide by what fits them is to
        # divide by zero.
        counts = [view.copy() for view in views]
        least = SMALL**2 * max(entries(view).max(initial=0) for view in views)
        for view in counts:
            entries(view)[entries(view) < least] = 0
        documents, words, _ = plsa(counts, k, max_iter=self.start_iter, tol=0.0, seed=self.seed)
        return (words if place else documents).astype(kind)


def side_by_side(views: list[Matrix]) -> Matrix:
    """(n, Σ d_j): the features of all views."""
    if any(sp.issparse(view) for view in views):
        return sp.csr_array(sp.hstack([sp.csr_array(view) for view in views]))
    return np.hstack(views)


def association(R: np.ndarray, X: Matrix, C: np.ndarray) -> np.ndarray:
    """M (p, q) near the least squares solution of X ≈ R M Cᵀ, but positive (Algorithm 1, step 3).

    The ridge is needed: with more topics than labels CᵀC has no inverse.
    """

    def inverse(F: np.ndarray) -> np.ndarray:
        G = np.asarray(F.T @ F, np.float64)
        return np.linalg.inv(G + (SMALL * np.trace(G) / len(G) or 1.0) * np.eye(len(G)))

    M = inverse(R) @ (R.T @ (X @ C)) @ inverse(C)
    return np.asarray(np.maximum(M, SMALL * np.abs(M).mean() or SMALL), R.dtype)


def starting_layer(data: Data, R: np.ndarray, C: list[np.ndarray]) -> Layer:
    """A layer upon data from R of all tasks one below the other, C of each view and the labels."""
    Rs = [R[rows] for rows in data.rows[0]]
    M = [
        [
            association(Rs[i][: r[i].stop - r[i].start], X[r[i]], c)
            for X, r, c in zip(data.X, data.rows, C, strict=True)
        ]
        for i in range(len(Rs))
    ]
    return Layer(Rs, list(C), M)


def layer_data(documents: Documents, seen: np.ndarray, alpha: float) -> tuple[Data, np.ndarray]:
    """What the first layer factorises, seen rows first in each task, and the order of the rows."""
    X, tasks = documents.X, documents.tasks
    order = np.concatenate([rows[np.argsort(~seen[rows], kind="stable")] for rows in tasks])
    Y = documents.Y[order][seen[order]]
    everyone, labelled = ([mask[rows].sum() for rows in tasks] for mask in (seen | True, seen))
    rows = (*[_slices(everyone) for _ in X], _slices(labelled))
    return Data((*[x[order] for x in X], Y), rows, alpha), order


def train(
    documents: Documents,
    seen: np.ndarray,
    loss: Loss,
    plan: Plan,
    weights: tuple[float, float],
    start: tuple[np.ndarray, list[np.ndarray]],
    told: Callable[[int, Stack, np.ndarray], None] | None = None,
) -> np.ndarray:
    """Scores (n, m) from the labels of the rows that are seen (n,): Algorithm 1.

    weights (α, β); start R (n, p) and the views' C. told(iteration, stack, scores) hears of each
    sweep of fine-tuning or, where there is one layer, of pre-training, which is then the same.
    """
    alpha, beta = weights
    data, order = layer_data(documents, seen, alpha)
    layers: list[Layer] = []

    def scores() -> np.ndarray:
        F = np.empty_like(documents.Y)
        F[order] = np.vstack(hierarchy.predict(layers))
        return F

    for p, q in zip(plan.p, plan.q, strict=True):
        if layers:
            own = hierarchy.next_data(layers[-1], alpha)
            R = plan.instances(list(own.X[:-1]), p)
            C = [plan.features(x, q, j) for j, x in enumerate(own.X)]
        else:
            own, R, Y = data, start[0][order], data.X[-1]
            C = [*(c.copy() for c in start[1]), plan.features(Y, q, len(start[1]))]
        layers.append(starting_layer(own, R, C))
        stack = Stack(own, layers[-1:], loss, beta)
        for iteration in range(1, plan.pretrain + 1):
            hierarchy.pretrain(stack)
            if told and len(plan.p) == 1:
                told(iteration, stack, scores())
    if len(layers) > 1:
        stack = Stack(data, layers, loss, beta)
        for iteration in range(1, plan.finetune + 1):
            hierarchy.finetune(stack)
            if told:
                told(iteration, stack, scores())
    return scores()


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(end - size, end) for end, size in zip(ends, sizes, strict=True))


def fit(
    documents: Documents,
    loss: Loss,
    plan: Plan,
    *,
    alpha: tuple[float, ...],
    beta: tuple[float, ...],
    hidden: float,
    top1: bool,
    watch: Watch | None,
) -> Fit:
    """Scores of every domain, and the objective after each sweep that `train` tells of.

    Of several α and β, the pair that is best on a hidden share of the labels. top1: a row without
    a score of 0.5 has its best raised to that. Raises FloatingPointError where the objective is no
    number any more.
    """
    X = list(documents.X)
    C = [plan.features(x, plan.q[0], j) for j, x in enumerate(X)]
    start = plan.instances(X, plan.p[0]), C
    trace: list[float] = []

    def read(F: np.ndarray) -> np.ndarray:
        return ensure_one_label(F) if top1 else F

    def attempt(weights: tuple[float, float], seen: np.ndarray) -> np.ndarray:
        return read(train(documents, seen, loss, plan, weights, start))

    def told(iteration: int, stack: Stack, F: np.ndarray) -> None:
        trace.append(stack.objective())
        if not np.isfinite(trace[-1]):
            raise FloatingPointError(
                f"objective is {trace[-1]} at iteration {iteration}; try dtype=float64"
            )
        if watch:
            watch(iteration, plan.told, tuple(np.split(read(F), documents.cuts)))

    weights = best_setting(
        list(product(alpha, beta)),
        attempt,
        documents.Y,
        documents.seen,
        share=hidden,
        seed=plan.seed,
    )
    F = read(train(documents, documents.seen, loss, plan, weights, start, told))
    return Fit(tuple(np.split(F, documents.cuts)), tuple(trace))
