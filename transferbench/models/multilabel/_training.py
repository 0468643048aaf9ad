"""Training of HiMLS and HiMLSD: documents of all tasks, Algorithm 1, choice of α and β."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from transferbench.artefacts import artefact
from transferbench.core import hierarchy
from transferbench.core.documents import stack as stack_matrices
from transferbench.core.hierarchy import Data, Layer, Stack
from transferbench.core.losses import Loss
from transferbench.core.scale import drop_empty_columns
from transferbench.models.multilabel._shared import best_setting, scores_by_domain
from transferbench.models.multilabel._start import Plan, make_layer
from transferbench.problem import Fit, Matrix, Problem, Watch

#: Called after a sweep with the iteration (from 1), the stack and the scores (n, m).
OnSweep: TypeAlias = Callable[[int, Stack, np.ndarray], None]


@dataclass(frozen=True)
class Documents:
    """Documents of all domains, one below the other.

    X     : a matrix (n, d_j) for each view, without features that occur in no document.
    Y     : labels (n, m).
    seen  : (n,) bool, the rows whose labels may be used.
    tasks : the rows of each task.
    """

    X: tuple[Matrix, ...]
    Y: np.ndarray
    seen: np.ndarray
    tasks: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, problem: Problem, pool_tasks: bool, pool_views: bool, dtype: str) -> Documents:
        """Collect the documents of a problem; pool all tasks, or views, to one.

        Raise ValueError if no label is seen.
        """
        domains = problem.domains
        seen = np.concatenate([domain.seen for domain in domains])
        if not seen.any():
            raise ValueError(f"{problem.name}: at least one labelled document is needed")
        by_view = zip(*(domain.views for domain in domains), strict=True)
        X = [drop_empty_columns(stack_matrices(parts)) for parts in by_view]
        if pool_views:
            X = [stack_matrices(X, axis=1)]
        rows = np.arange(len(seen))
        cuts = np.cumsum([len(domain.seen) for domain in domains])[:-1]
        return cls(
            tuple(x.astype(dtype) for x in X),
            np.vstack([domain.Y for domain in domains]).astype(dtype),
            seen,
            (rows,) if pool_tasks else tuple(np.split(rows, cuts)),
        )


def first_layer_data(
    documents: Documents, seen: np.ndarray, alpha: float
) -> tuple[Data, np.ndarray]:
    """Return the data of the first layer, and the order of its rows: in each task seen rows first.

    X of all rows, and the labels of the rows that are seen (n,).
    """
    X, tasks = documents.X, documents.tasks
    order = np.concatenate([rows[np.argsort(~seen[rows], kind="stable")] for rows in tasks])
    Y = documents.Y[order][seen[order]]
    everyone = _slices([len(rows) for rows in tasks])
    labelled = _slices([int(seen[rows].sum()) for rows in tasks])
    return Data((*[x[order] for x in X], Y), (everyone,) * len(X) + (labelled,), alpha), order


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(end - size, end) for end, size in zip(ends, sizes, strict=True))


def train(
    documents: Documents,
    seen: np.ndarray,
    loss: Loss,
    plan: Plan,
    weights: tuple[float, float],
    start: tuple[np.ndarray, list[np.ndarray]],
    on_sweep: OnSweep | None = None,
) -> np.ndarray:
    """Run Algorithm 1 with the labels of the rows that are seen (n,); return scores (n, m).

    weights: (α, β). start: R (n, p) and C of each view, for the first layer. on_sweep is called
    after each sweep of the last phase: fine-tuning, or pre-training if there is only one layer.
    """
    alpha, beta = weights
    data, order = first_layer_data(documents, seen, alpha)
    layers: list[Layer] = []

    def scores() -> np.ndarray:
        F = np.empty_like(documents.Y)
        F[order] = np.vstack(hierarchy.predict(layers))
        return F

    def repeat(sweep: Callable[[Stack], None], stack: Stack, times: int, last: bool) -> None:
        for iteration in range(1, times + 1):
            sweep(stack)
            if on_sweep and last:
                on_sweep(iteration, stack, scores())

    R, C = start[0][order], [c.copy() for c in start[1]]
    C.append(plan.start_C(data.X[-1], plan.q[0], len(C)))
    layers.append(make_layer(data, R, C))
    single = len(plan.p) == 1
    stack = Stack(data, layers, loss, beta)
    repeat(hierarchy.pretrain_sweep, stack, plan.pretrain, last=single)
    for level in range(1, len(plan.p)):
        layer_data = hierarchy.next_layer_data(layers[-1], alpha)
        layers.append(plan.start_layer(layer_data, level))
        stack = Stack(layer_data, layers[-1:], loss, beta)
        repeat(hierarchy.pretrain_sweep, stack, plan.pretrain, last=False)
    if not single:
        stack = Stack(data, layers, loss, beta)
        repeat(hierarchy.finetune_sweep, stack, plan.finetune, last=True)
    return scores()


@artefact
def _trained_scores(
    documents: Documents,
    seen: np.ndarray,
    loss: Loss,
    plan: Plan,
    weights: tuple[float, float],
    start: tuple[np.ndarray, list[np.ndarray]],
) -> np.ndarray:
    """Return the scores of `train`; runs that differ in their decisions only share them."""
    return train(documents, seen, loss, plan, weights, start)


def fit_stack(
    problem: Problem,
    documents: Documents,
    loss: Loss,
    plan: Plan,
    weights: list[tuple[float, float]],
    validation_fraction: float,
    ensure_one_label: bool,
    watch: Watch | None,
) -> Fit:
    """Return the scores of every domain, and the objective after each sweep of the last phase.

    documents: those of the problem. weights: pairs (α, β); the one with the best example-based F₁
    on a validation_fraction of the seen rows is used. Raise FloatingPointError if the objective is
    not finite.
    """
    C = [plan.start_C(x, plan.q[0], j) for j, x in enumerate(documents.X)]
    start = plan.start_R(list(documents.X), plan.p[0]), C
    trace: list[float] = []

    def on_sweep(iteration: int, stack: Stack, F: np.ndarray) -> None:
        trace.append(stack.objective())
        if not np.isfinite(trace[-1]):
            raise FloatingPointError(
                f"objective is {trace[-1]} at iteration {iteration}; try dtype=float64"
            )
        if watch:
            watch(iteration, plan.last_phase_sweeps, scores_by_domain(problem, F, ensure_one_label))

    def validation_scores(pair: tuple[float, float], train_mask: np.ndarray) -> np.ndarray:
        F = _trained_scores(documents, train_mask, loss, plan, pair, start)
        return np.concatenate(scores_by_domain(problem, F, ensure_one_label))

    seen = documents.seen
    best = best_setting(
        weights, validation_scores, documents.Y, seen, validation_fraction, plan.seed
    )
    F = train(documents, seen, loss, plan, best, start, on_sweep)
    return Fit(scores_by_domain(problem, F, ensure_one_label), tuple(trace))
