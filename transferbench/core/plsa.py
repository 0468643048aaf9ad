"""PLSA: probabilistic latent semantic analysis (Hofmann, UAI 1999), by expectation–maximisation.

    max  Σ_dw n(d,w) log P(w|d)      P(w|d) = Σ_z P(w|z) P(z|d)

n (documents, words) are counts. One step computes P(z|d,w) ∝ P(w|z) P(z|d), then
P(w|z) ∝ Σ_d n(d,w) P(z|d,w) and P(z|d) ∝ Σ_w n(d,w) P(z|d,w). With r(d,w) = n(d,w) / P(w|d) this
equals P(w|z) ∝ P(w|z) Σ_d r(d,w) P(z|d) and P(z|d) ∝ P(z|d) Σ_w r(d,w) P(w|z), updated together:
the multiplicative updates of NMF under the generalised Kullback–Leibler divergence. The counts may
be split into views side by side, sparse or dense. r is as sparse as n; no larger array is created.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from transferbench.artefacts import artefact
from transferbench.core.device import is_dense, namespace
from transferbench.core.losses import divide_by_product, entry_positions
from transferbench.core.scale import entries, scale_to_one
from transferbench.core.subnormal import flush
from transferbench.problem import Matrix


@artefact
def plsa(
    views: Sequence[Matrix], topics: int, *, max_iter: int, seed: int, tol: float | None = None
) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """Fit PLSA to counts."""
    # `views`: Counts (n, d_j) with d = Σ d_j words.
    # `tol`: Stop when a step adds less than tol times the log-likelihood; None makes all steps.
    # `T`: P(z|d) (n, k), rows of sum one.
    # `W`: P(w|z) (d, k), columns of sum one; the words of the views one below the other.
    # `trace`: Log-likelihood after each step, which never falls; empty without tol.
    # P(z|d) starts uniform, so permuting the documents permutes the result. Documents without words
    # stay uniform. The computation is in float64 if all counts are float64, otherwise in float32.
    xp = namespace(views[0])
    dtype = np.float64 if all(view.dtype == np.float64 for view in views) else np.float32
    counts: list[Any] = [view.astype(dtype) for view in views]
    counts = [N if is_dense(N) else N.tocsc() for N in counts]  # see `core.losses`
    positions_of = [entry_positions(N) for N in counts]
    n, d = views[0].shape[0], sum(view.shape[1] for view in views)
    cuts = np.cumsum([view.shape[1] for view in views])[:-1]
    empty = sum(xp.asarray(view.sum(axis=1)).ravel() for view in views) == 0
    T: np.ndarray = xp.full((n, topics), 1 / topics, dtype)
    random = np.random.default_rng(seed).random((d, topics)).astype(dtype)
    W = scale_to_one(xp.asarray(random), "columns")
    trace: list[float] = []
    for step in range(max_iter + (tol is not None)):
        parts = xp.split(W, cuts)
        pairs = [  # n / P(w|d), and P(w|d)
            divide_by_product(N, T, part, positions)
            for N, part, positions in zip(counts, parts, positions_of, strict=True)
        ]
        if tol is not None and step:
            trace.append(sum(_likelihood(N, P) for N, (_, P) in zip(counts, pairs, strict=True)))
            small = len(trace) > 1 and trace[-1] - trace[-2] < tol * abs(trace[-1])
            if small or step == max_iter:
                break
        by_document = xp.zeros_like(T)
        for (ratio, _), part in zip(pairs, parts, strict=True):
            by_document += ratio @ part
            part *= ratio.T @ T
        W = flush(scale_to_one(W, "columns"))
        T = flush(scale_to_one(T * by_document, "rows"))
        T[empty] = 1 / topics
    return T, W, tuple(trace)


def _likelihood(N: Matrix, P: np.ndarray) -> float:
    """Return Σ n(d,w) log P(w|d) from counts N and P(w|d) at the entries of N."""
    n_dw, xp = entries(N), namespace(P)
    return float(xp.vdot(n_dw, xp.log(xp.where(n_dw > 0, P, 1), dtype=np.float64)))
