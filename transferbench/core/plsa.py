"""PLSA: probabilistic latent semantic analysis (Hofmann, UAI 1999), by expectation–maximisation.

    max  Σ_dw n(d,w) log P(w|d)      P(w|d) = Σ_z P(w|z) P(z|d)

n (documents, words) are counts. One step sets P(z|d,w) ∝ P(w|z) P(z|d), and from it
P(w|z) ∝ Σ_d n(d,w) P(z|d,w) and P(z|d) ∝ Σ_w n(d,w) P(z|d,w). With r(d,w) = n(d,w) / P(w|d) these
are P(w|z) ∝ P(w|z) Σ_d r(d,w) P(z|d) and P(z|d) ∝ P(z|d) Σ_w r(d,w) P(w|z), made at once: the
multiplicative updates of NMF under the generalised Kullback–Leibler divergence. n may come in views
side by side, sparse or dense; r is as sparse as n, and nothing larger is formed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from transferbench.core.losses import quotient, sampled
from transferbench.core.scale import entries, scale_to_one
from transferbench.problem import Matrix


def plsa(
    views: Sequence[Matrix], topics: int, *, max_iter: int, tol: float, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """P(z|d) (n, k) with rows of sum one, P(w|z) (d, k) with columns of sum one, and the trace.

    Counts are views (n, d_j) with d = Σ d_j words, whose P(w|z) lie one below the other. The trace
    is the log-likelihood after each step, which never falls; steps end after max_iter, or when one
    adds less than tol times the log-likelihood. P(z|d) starts uniform and P(w|z) random, so that
    permuting documents permutes the result. Documents without words stay uniform. Counts of type
    float64 are computed in float64, all others in float32.
    """
    kind = np.float64 if all(view.dtype == np.float64 for view in views) else np.float32
    counts = [_Counts(view.astype(kind)) for view in views]
    n, d = views[0].shape[0], sum(view.shape[1] for view in views)
    cuts = np.cumsum([view.shape[1] for view in views])[:-1]
    silent = sum(np.asarray(view.sum(axis=1)).ravel() for view in views) == 0
    T = np.full((n, topics), 1 / topics, kind)
    W = scale_to_one(np.random.default_rng(seed).random((d, topics)).astype(kind), "columns")
    parts = np.split(W, cuts)
    for view, part in zip(counts, parts, strict=True):
        view.compare(T, part)
    trace: list[float] = []
    while len(trace) < max_iter:
        top = sum(view.r @ part for view, part in zip(counts, parts, strict=True))
        W = scale_to_one(W * np.vstack([view.r.T @ T for view in counts]), "columns")
        T = scale_to_one(T * top, "rows")
        T[silent] = 1 / topics
        parts = np.split(W, cuts)
        pairs = zip(counts, parts, strict=True)
        trace.append(sum(view.compare(T, part) for view, part in pairs))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * abs(trace[-1]):
            break
    return T, W, tuple(trace)


class _Counts:
    """Counts N (n, d_j) of one view and, of the same kind, r = N / (T Wᵀ)."""

    def __init__(self, N: Matrix) -> None:
        self.N = N
        if not isinstance(N, np.ndarray):
            self.rows = np.repeat(np.arange(N.shape[0]), np.diff(N.indptr))

    def compare(self, T: np.ndarray, W: np.ndarray) -> float:
        """Make r for T (n, k) and W (d_j, k); the log-likelihood Σ N log T Wᵀ."""
        N = self.N
        if isinstance(N, np.ndarray):
            P = T @ W.T
            self.r: Matrix = quotient(N, P)
        else:
            P = sampled(T, W, self.rows, N.indices)
            self.r = sp.csr_array((quotient(N.data, P), N.indices, N.indptr), shape=N.shape)
        n = entries(N)
        return float(np.vdot(n, np.log(P, dtype=np.float64, where=n > 0, out=np.zeros(P.shape))))
