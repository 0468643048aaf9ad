"""PLSA: probabilistic latent semantic analysis (Hofmann, UAI 1999), by expectation–maximisation.

    max  Σ_dw n(d,w) log P(w|d)      P(w|d) = Σ_z P(w|z) P(z|d)

n (documents, words) are counts. One step sets P(z|d,w) ∝ P(w|z) P(z|d), and from it
P(w|z) ∝ Σ_d n(d,w) P(z|d,w) and P(z|d) ∝ Σ_w n(d,w) P(z|d,w). With r(d,w) = n(d,w) / P(w|d) these
are P(w|z) ∝ P(w|z) Σ_d r(d,w) P(z|d) and P(z|d) ∝ P(z|d) Σ_w r(d,w) P(w|z), made at once: the
multiplicative updates of NMF under the generalised Kullback–Leibler divergence. r is as sparse as
n, and nothing larger is formed.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from transferbench.core.scale import scale_to_one

CHUNK = 4096  # nonzeros at a time, so that what belongs to them stays in the processor's cache


def plsa(
    counts: sp.csr_array, topics: int, *, max_iter: int, tol: float, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """P(z|d) (n, k) with rows of sum one, P(w|z) (d, k) with columns of sum one, and the trace.

    The trace is the log-likelihood after each step, which never falls; steps end after max_iter, or
    when one adds less than tol times the log-likelihood. P(z|d) starts uniform and P(w|z) random,
    so that permuting documents permutes the result. Documents without words stay uniform. Counts of
    type float64 are computed in float64, all others in float32.
    """
    kind = np.float64 if counts.dtype == np.float64 else np.float32
    N = sp.csr_array(counts, dtype=kind)
    n, d = N.shape
    words = np.diff(N.indptr)
    rows, R = np.repeat(np.arange(n), words), N.copy()
    T = np.full((n, topics), 1 / topics, kind)
    W = scale_to_one(np.random.default_rng(seed).random((d, topics)).astype(kind), "columns")
    P = _mixed(rows, N.indices, T, W)
    trace: list[float] = []
    while len(trace) < max_iter:
        np.divide(N.data, P, out=R.data)
        T, W = scale_to_one(T * (R @ W), "rows"), scale_to_one(W * (R.T @ T), "columns")
        T[words == 0] = 1 / topics
        P = _mixed(rows, N.indices, T, W)
        trace.append(float(N.data @ np.log(P, dtype=np.float64)))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * abs(trace[-1]):
            break
    return T, W, tuple(trace)


def _mixed(rows: np.ndarray, columns: np.ndarray, T: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The entries of T Wᵀ at the given places."""
    P = np.empty(len(rows), T.dtype)
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        P[part] = np.einsum("ij,ij->i", T[rows[part]], W[columns[part]])
    return P
