"""Term counts from RCV1-v2's published weights, which were made of them (Lewis et al., JMLR 2004).

    w(d,t) = (1 + ln c(d,t)) · ln(D / n(t)) / length(d)      each document of Euclidean length one

c(d,t) how often term t is in document d, n(t) in how many of D other documents it is. c and n are
whole numbers; ln w(d,t) = ln(1 + ln c(d,t)) + a(t) − b(d) with a(t) = ln ln(D / n(t)) and b(d) the
logarithm of the length. a and b are fitted in turns by medians, each entry taking the count that is
nearest. This leaves a number open that can be added to both: it is found, and a bound, by what a
whole n(t) allows, for rare terms first. Terms whose weights do not fit (all counts of one taken for
two, say) get the n(t) that fits most of their entries.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

COUNTED = np.log1p(np.log(np.arange(1, 401)))  # ln(1 + ln c) for c = 1, 2, …
BETWEEN = (COUNTED[1:] + COUNTED[:-1]) / 2
COMMON = 30  # terms of at least so many documents are fitted first
# Terms with n(t) up to the first are bound, once shifts by the second have been tried.
STEPS = ((20, 1e-3), (200, 2e-5), (2000, 1e-6), (10**9, 1e-7))
CLOSE = 4e-5  # what rounding to six decimals may change in ln w


def counts(weights: sp.csr_array, documents: int) -> tuple[sp.csr_array, np.ndarray]:
    """c (n, d), whole numbers in float32, and n(t) (d,) of the weights (n, d); documents is D.

    No weight tells n(t) of a term in no document.
    """
    n, d = weights.shape
    rows = np.repeat(np.arange(n), np.diff(weights.indptr))
    columns, w = weights.indices, np.log(weights.data)
    df = np.bincount(columns, minlength=d)

    a = _log_idf(np.clip(df * documents / n, 1, documents - 1), documents)
    common = df[columns] >= COMMON
    r, t, v = rows[common], columns[common], w[common]
    b = _quantiles(a[t] - v, r, n, 0.7)  # most counts are 1
    for _ in range(8):
        b = _quantiles(a[t] - v + COUNTED[_nearest(v + b[r] - a[t])], r, n)
        fitted = _quantiles(v + b[r] - COUNTED[_nearest(v + b[r] - a[t])], t, d)
        a = np.where(df >= COMMON, fitted, a)

    for bound, step in STEPS:
        s = w + b[rows]
        a = _quantiles(s - COUNTED[_nearest(s - a[columns])], columns, d)
        shifts = step * np.arange(-200, 201)
        shift = max(shifts, key=lambda x: _wholeness(a[df > 1] + x, bound, documents))
        a, b, s = a + shift, b + shift, s + shift
        whole = np.clip(np.rint(documents * np.exp(-np.exp(a))), 1, documents - 1)
        a = np.where(whole <= bound, _log_idf(whole, documents), a)
        b = _quantiles(a[columns] - w + COUNTED[_nearest(s - a[columns])], rows, n)

    s = w + b[rows]
    off = np.abs(s - a[columns] - COUNTED[_nearest(s - a[columns])]) > CLOSE
    ends = np.cumsum(df)
    entries = np.split(s[np.argsort(columns, kind="stable")], ends[:-1])
    for term in np.flatnonzero(2 * np.bincount(columns, off, minlength=d) > df):
        whole[term] = _elected(entries[term], whole[term], documents)
    a = _log_idf(whole, documents)
    b = _quantiles(a[columns] - w + COUNTED[_nearest(s - a[columns])], rows, n)
    c = _nearest(w + b[rows] - a[columns]) + 1
    return sp.csr_array((c.astype(np.float32), columns, weights.indptr), shape=(n, d)), whole


def _wholeness(a: np.ndarray, bound: int, documents: int) -> float:
    """How near to whole numbers n(t) are, summed over rare terms."""
    containing = documents * np.exp(-np.exp(a))
    rare = containing[(containing > 0.5) & (containing < bound)]  # 0 is whole, but no n(t)
    return float(np.cos(2 * np.pi * rare).sum())


def _log_idf(containing: np.ndarray, documents: int) -> np.ndarray:
    return np.asarray(np.log(np.log(documents / containing)))


def _nearest(x: np.ndarray) -> np.ndarray:
    """Places in COUNTED of the nearest values."""
    return np.searchsorted(BETWEEN, x)


def _quantiles(values: np.ndarray, groups: np.ndarray, size: int, q: float = 0.5) -> np.ndarray:
    """(size,) a quantile of the values of each group 0, 1, …; 0 for a group without values."""
    apart = 64.0  # values are between −32 and 32, so that one sort sorts within groups
    ordered = np.sort(groups * apart + values)
    inside = np.bincount(groups, minlength=size)
    at = np.cumsum(inside) - inside + (np.maximum(inside - 1, 0) * q).astype(np.intp)
    taken = ordered[np.minimum(at, len(ordered) - 1)] - apart * np.arange(size)
    return np.where(inside > 0, taken, 0)


def _elected(s: np.ndarray, before: float, documents: int) -> float:
    """The n(t) for which most of a term's entries s have a whole count, small ones preferred."""
    possible = np.rint(documents * np.exp(-np.exp(s[:40, None] - COUNTED[:6])))
    possible = np.unique(possible[(possible >= 1) & (possible < documents)])
    if not possible.size:
        return before
    rest = s[:, None] - _log_idf(possible, documents)
    place = _nearest(rest)
    fits = np.abs(rest - COUNTED[place]) < CLOSE
    return float(possible[(fits - 1e-3 * fits * place).sum(axis=0).argmax()])
