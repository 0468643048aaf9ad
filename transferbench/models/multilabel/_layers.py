"""Functions of HiMLS and HiMLSD: start of the layers, Algorithm 1, choice of α and β."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from transferbench import measures
from transferbench.artefacts import artefact
from transferbench.core import hierarchy
from transferbench.core.device import is_dense, namespace, to_device, to_host
from transferbench.core.documents import split_rows, stack_labels, stack_matrices, stack_views
from transferbench.core.hierarchy import Data, Layer, Stack
from transferbench.core.losses import Loss
from transferbench.core.plsa import plsa
from transferbench.core.scale import entries
from transferbench.core.subnormal import flush_to_zero
from transferbench.models.multilabel._shared import best_setting
from transferbench.problem import Fit, Matrix, Problem, Watch

#: Called after a sweep with the iteration (from 1), the stack and the scores (n, m).
OnSweep: TypeAlias = Callable[[int, Stack, np.ndarray], None]
#: Initial factors: topics of PLSA, or random numbers between 0 and 1.
Start = Literal["plsa", "random"]
#: Initial scale of the columns of every C: Euclidean length one or sum one.
Columns = Literal["length", "sum"]

#: Relative to the mean: the ridge of an inverse, and the smallest initial entry of M.
SMALL = 1e-3


@dataclass(frozen=True)
class LayerPlan:
    """Sizes and start of the layers, and numbers of sweeps; see `himls.fit`."""

    # p and q hold one number for each layer.

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

    def start_factors(
        self, views: Sequence[Matrix], level: int
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return R (n, p) and C (d_j, q) of each view X (n, d_j); level counts from 0."""
        n, dtype, p = views[0].shape[0], views[0].dtype, self.p[level]
        if self.start == "random":
            R = namespace(views[0]).asarray(self._random(n, p, dtype, stream=0))
        else:
            R = self._topics(views, p)[0].astype(dtype)
        return R, [self.start_C(X, self.q[level], j) for j, X in enumerate(views)]

    def start_C(self, X: Matrix, q: int, view: int) -> np.ndarray:
        """Return C (d, q) for X (n, d), with scaled columns; each view has its own random start."""
        xp = namespace(X)
        if self.start == "random":
            C = xp.asarray(self._random(X.shape[1], q, X.dtype, stream=1 + view))
        else:
            C = self._topics([X], q)[1].astype(X.dtype)
        size = C.sum(axis=0) if self.columns == "sum" else xp.sqrt(xp.sum(C * C, axis=0))
        scaled: np.ndarray = C / xp.where(size > 0, size, 1)
        return scaled

    def _random(self, rows: int, columns: int, dtype: np.dtype, stream: int) -> np.ndarray:
        rng = np.random.default_rng([self.seed, stream])
        return rng.random((rows, columns), dtype=dtype)

    def _topics(self, views: Sequence[Matrix], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return P(topic | row) (n, k) and P(column | topic) (d, k) of PLSA."""
        # Entries such as topic probabilities can be tiny; PLSA would divide by a fit of almost 0.
        counts = [view.copy() for view in views]
        largest = [values.max() for values in map(entries, views) if values.size]
        smallest = SMALL**2 * max([0, *largest])
        for view in counts:
            entries(view)[entries(view) < smallest] = 0
        T, W, _ = plsa(counts, k, max_iter=self.start_iter, seed=self.seed)
        return T, W


@dataclass(frozen=True)
class Documents:
    """Documents of all domains, one below the other; on the host."""

    #: A matrix (n, d_j) for each view, without features that occur in no document.
    X: tuple[Matrix, ...]
    #: Labels (n, m).
    Y: np.ndarray
    #: (n,) bool, the rows whose labels may be used.
    seen: np.ndarray
    #: The rows of each task.
    tasks: tuple[np.ndarray, ...]

    @classmethod
    def from_problem(cls, problem: Problem, pool_tasks: bool, pool_views: bool, dtype: str) -> Self:
        """Return the documents of a problem."""
        # `pool_views`: Put all views side by side as one view.
        Y, seen = stack_labels(problem)
        if not seen.any():
            raise ValueError(f"{problem.name}: at least one labelled document is needed")
        X = stack_views(problem)
        if pool_views:
            X = [stack_matrices(X, axis=1)]
        rows = np.arange(len(seen))
        tasks = (rows,) if pool_tasks else split_rows(problem, rows)
        return cls(tuple(x.astype(dtype) for x in X), Y.astype(dtype), seen, tasks)


def first_layer_data(
    documents: Documents, seen: np.ndarray, alpha: float
) -> tuple[Data, np.ndarray]:
    """Return the data of the first layer, and the order of its rows."""
    # In each task the seen rows come first.
    # `seen`: (n,) bool, the rows whose labels are used.
    X, tasks = documents.X, documents.tasks
    order = np.concatenate([rows[np.argsort(~seen[rows], kind="stable")] for rows in tasks])
    Y = documents.Y[order][seen[order]]
    all_rows = _slices([len(rows) for rows in tasks])
    labelled = _slices([int(seen[rows].sum()) for rows in tasks])
    ordered = [x[order] if is_dense(x) else x[order].tocsc() for x in X]
    matrices = tuple(map(to_device, (*ordered, Y)))
    return Data(matrices, (all_rows,) * len(X) + (labelled,), alpha), order


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(end - size, end) for end, size in zip(ends, sizes, strict=True))


def start_M(R: np.ndarray, X: Matrix, C: np.ndarray) -> np.ndarray:
    """Return a positive M (p, q) near the least squares solution of X ≈ R M Cᵀ."""
    # This is step 3 of Algorithm 1 with a ridge. If there are more clusters than labels, CᵀC has no
    # inverse.
    xp = namespace(R)

    def inverse(F: np.ndarray) -> Any:
        G = xp.asarray(F.T @ F, np.float64)
        return xp.linalg.inv(G + (SMALL * xp.trace(G) / len(G) or 1.0) * xp.eye(len(G)))

    M = inverse(R) @ (R.T @ (X @ C)) @ inverse(C)
    M = xp.asarray(xp.maximum(M, SMALL * xp.abs(M).mean() or SMALL), R.dtype)
    return M  # type: ignore[no-any-return]


def make_layer(data: Data, R: np.ndarray, C: list[np.ndarray]) -> Layer:
    """Return a layer for data."""
    # `R`: (n, p) rows of all tasks, one below the other.
    # `C`: (d_j, q) for each view and the labels.
    Rs = [R[rows] for rows in data.rows[0]]
    M = [
        [
            start_M(Rs[i][: r[i].stop - r[i].start], X[r[i]], c)
            for X, r, c in zip(data.X, data.rows, C, strict=True)
        ]
        for i in range(len(Rs))
    ]
    return Layer(Rs, list(C), M)


def train(
    documents: Documents,
    seen: np.ndarray,
    loss: Loss,
    plan: LayerPlan,
    weights: tuple[float, float],
    start: tuple[np.ndarray, list[np.ndarray]],
    on_sweep: OnSweep | None = None,
) -> np.ndarray:
    """Run Algorithm 1 with the labels of the seen rows; return scores (n, m)."""
    # `seen`: (n,) bool, the rows whose labels are used.
    # `start`: R (n, p) and C of each view, for the first layer.
    # `on_sweep`: Called after each sweep of the last phase. This is fine-tuning, or the
    # pre-training of a single layer.
    alpha, beta = weights
    data, order = first_layer_data(documents, seen, alpha)
    layers: list[Layer] = []

    def scores() -> np.ndarray:
        F, parts = np.empty_like(documents.Y), hierarchy.predict(layers)
        F[order] = to_host(namespace(parts[0]).vstack(parts))
        return F

    def repeat(sweep: Callable[[Stack], None], stack: Stack, times: int, last: bool) -> None:
        for iteration in range(1, times + 1):
            with flush_to_zero():
                sweep(stack)
            if on_sweep and last:
                on_sweep(iteration, stack, scores())

    single = len(plan.p) == 1
    R = start[0][namespace(start[0]).asarray(order)]
    layer_data, C = data, [c.copy() for c in start[1]]
    for level in range(len(plan.p)):
        if level:
            layer_data = hierarchy.next_layer_data(layers[-1], alpha)
            R, C = plan.start_factors(layer_data.X[:-1], level)
        C.append(plan.start_C(layer_data.X[-1], plan.q[level], len(C)))
        layers.append(make_layer(layer_data, R, C))
        layer_stack = Stack(layer_data, layers[-1:], loss, beta)
        repeat(hierarchy.pretrain_sweep, layer_stack, plan.pretrain, last=single)
    if not single:
        repeat(hierarchy.finetune_sweep, Stack(data, layers, loss, beta), plan.finetune, last=True)
    return scores()


def fit_stack(
    problem: Problem,
    documents: Documents,
    loss: Loss,
    plan: LayerPlan,
    weights: tuple[tuple[float, ...], tuple[float, ...]],
    validation_fraction: float,
    ensure_one_label: bool,
    watch: Watch | None,
) -> Fit:
    """Return the scores of every domain, and the objective after each sweep of the last phase."""
    # `weights`: Pairs (α, β); the pair with the best example-based F₁ on the validation rows is
    # used.
    # `validation_fraction`: Fraction of the seen rows that are held out to choose the pair.
    # `ensure_one_label`: Give each document without a label its best label.
    # `watch`: Called after each sweep of the last phase; None for no call.
    start = plan.start_factors([*map(to_device, documents.X)], 0)
    sweeps = plan.pretrain if len(plan.p) == 1 else plan.finetune

    def decided(F: np.ndarray) -> np.ndarray:
        return measures.ensure_one_label(F) if ensure_one_label else F

    # Runs that differ only in ensure_one_label share all trainings. Those with one pair also share
    # theirs with runs that choose it.
    def validation_scores(pair: tuple[float, float], train_mask: np.ndarray) -> np.ndarray:
        return decided(artefact(train)(documents, train_mask, loss, plan, pair, start))

    @artefact
    def final_training(
        documents: Documents,
        loss: Loss,
        plan: LayerPlan,
        pair: tuple[float, float],
        start: tuple[np.ndarray, list[np.ndarray]],
    ) -> tuple[np.ndarray, tuple[float, ...]]:
        """Return the scores of training with all labels, and the objective after each sweep."""
        trace: list[float] = []

        def on_sweep(iteration: int, stack: Stack, F: np.ndarray) -> None:
            trace.append(stack.objective())
            if not np.isfinite(trace[-1]):
                raise FloatingPointError(
                    f"objective is {trace[-1]} at iteration {iteration}; try dtype=float64"
                )
            if watch:
                watch(iteration, sweeps, split_rows(problem, decided(F)))

        return train(documents, documents.seen, loss, plan, pair, start, on_sweep), tuple(trace)

    Y, seen = documents.Y, documents.seen
    rows = np.random.default_rng(plan.seed).permutation(np.flatnonzero(seen))
    validation = rows[: max(1, round(validation_fraction * len(rows)))]
    best = best_setting(list(product(*weights)), validation_scores, Y, seen, [validation])
    F, trace = final_training(documents, loss, plan, best, start)
    return Fit(split_rows(problem, decided(F)), trace)
