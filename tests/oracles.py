"""Slow versions of equations that tests of several rooms compare with."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def dense(W: sp.csr_array, sizes, C: float) -> tuple[np.ndarray, np.ndarray]:
    """L + C·S and S, entry by entry as eqs. 6 and 8 have them."""
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
