"""Probabilistic latent semantic analysis by expectation–maximisation (Hofmann, UAI 1999)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from transferbench.core.losses import sampled
from transferbench.problem import Matrix


def plsa(
    counts: Matrix, topics: int, *, max_iter: int = 50, tol: float = 1e-5, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """P(topic | document) (n, k), P(word | topic) (d, k) and the log likelihood of each iteration.

    Stops early where the log likelihood rises by less than tol of itself.
    """
    rng = np.random.default_rng(seed)
    dtype = np.dtype(np.float64 if counts.dtype == np.float64 else np.float32)
    X = sp.csr_array(counts, dtype=dtype)
    n, d = X.shape
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    theta = 1 + rng.random((n, topics)).astype(dtype)
    phi = 1 + rng.random((d, topics)).astype(dtype)
    theta /= theta.sum(axis=1, keepdims=True)
    phi /= phi.sum(axis=0)
    tiny = float(np.finfo(np.float32).tiny)
    trace: list[float] = []
    for _ in range(max_iter):
        fitted = np.maximum(sampled(theta, phi, rows, X.indices), tiny)
        trace.append(float(np.sum(X.data * np.log(fitted), dtype=np.float64)))
        W = sp.csr_array((X.data / fitted, X.indices, X.indptr), X.shape)
        new = theta * (W @ phi)
        phi *= W.T @ theta
        total = new.sum(axis=1, keepdims=True)
        theta = np.asarray(np.where(total > 0, new / np.maximum(total, tiny), 1 / topics), dtype)
        phi /= np.maximum(phi.sum(axis=0), tiny)
        if len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol * abs(trace[-1]):
            break
    return theta, phi, tuple(trace)
