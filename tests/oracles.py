"""Slow dense versions of equations, used by tests of several folders."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def dense_laplacian(W: sp.csr_array, sizes, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Return L + C·S and S, entry by entry from eqs. 6 and 8 of Gu, Li, Han, AAAI 2011."""
    A = W.toarray()
    d = A.sum(axis=1)
    n = len(d)
    L = np.eye(n)
    for i in range(n):
        for j in range(n):
            if A[i, j]:
                L[i, j] -= A[i, j] / np.sqrt(d[i] * d[j])
    task = np.repeat(np.arange(len(sizes)), sizes)
    m = len(sizes)
    S = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            k, o = task[i], task[j]
            S[i, j] = (m - 1) / sizes[k] ** 2 if k == o else -1 / (sizes[k] * sizes[o])
    return L + C * S, S
