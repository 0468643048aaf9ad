"""Recover term counts from RCV1-v2's published weights (Lewis et al., JMLR 2004).

The weights were computed from counts:

    w(d,t) = (1 + ln c(d,t)) · ln(D / n(t)) / length(d)      each document of Euclidean length one

c(d,t) is the number of times that term t occurs in document d. n(t) is the number of documents that
contain t, among D other documents. Both are integers. So ln w(d,t) = ln(1 + ln c(d,t)) + a(t) −
b(d), where a(t) = ln ln(D / n(t)) and b(d) is the logarithm of the length. a and b are fitted in
turn by medians, and each entry takes the nearest count. A constant added to both a and b changes
nothing. The condition that n(t) is an integer determines this constant, for rare terms first; their
n(t) are then fixed. Most weights of a term may not fit, for example because all counts of one were
taken for two. Then the term gets the n(t) that fits most of its entries.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

LOG_TF = np.log1p(np.log(np.arange(1, 401)))  # ln(1 + ln c) for c = 1, 2, …
MIDPOINTS = (LOG_TF[1:] + LOG_TF[:-1]) / 2
COMMON = 30  # least number of documents of the terms that are fitted first
# For each step: the largest n(t) to fix, and the step size of the constants to try.
STEPS = ((20, 1e-3), (200, 2e-5), (2000, 1e-6), (10**9, 1e-7))
TOLERANCE = 4e-5  # of ln w, for weights rounded to six decimals


def recover_counts(weights: sp.csr_array, documents: int) -> tuple[sp.csr_array, np.ndarray]:
    """Return the counts of terms, and the document frequencies, from published weights."""
    # `weights`: (n, d), rows of length one.
    # `documents`: Number D of the documents from which the weights were computed.
    # `counts`: c (n, d), integers in float32.
    # `containing`: n(t) (d,). It is meaningless for a term that occurs in no document.
    n, d = weights.shape
    rows, columns = np.repeat(np.arange(n), np.diff(weights.indptr)), weights.indices
    df = np.bincount(columns, minlength=d)
    entries = _Entries(rows, columns, np.log(weights.data), n, df, documents)

    a, b = _fit(entries)
    for bound, step in STEPS:
        a, b, containing = _fix_integers(entries, a, b, bound, step)
    s = entries.w + b[rows]
    containing = _correct_misfits(entries, a, s, containing)
    a = _log_idf(containing, documents)
    b = entries.fit_lengths(a, s)
    c = _nearest(entries.w + b[rows] - a[columns]) + 1
    counts = sp.csr_array((c.astype(np.float32), columns, weights.indptr), shape=(n, d))
    return counts, containing


@dataclass(frozen=True)
class _Entries:
    """Nonzero weights of n documents."""

    # In the methods, s is the present estimate of w(d,t) + b(d).

    #: The row of each entry.
    rows: np.ndarray
    #: The column of each entry.
    columns: np.ndarray
    #: The logarithm of each weight.
    w: np.ndarray
    n: int
    #: (d,) the number of these documents that contain each term.
    df: np.ndarray
    documents: int

    def log_tf(self, a: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return ln(1 + ln c) of the nearest count of each entry."""
        return np.asarray(LOG_TF[_nearest(s - a[self.columns])])

    def fit_terms(self, a: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return a (d,) fitted to the nearest counts."""
        return _quantiles(s - self.log_tf(a, s), self.columns, len(self.df))

    def fit_lengths(self, a: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return b (n,) fitted to the nearest counts."""
        return _quantiles(a[self.columns] - self.w + self.log_tf(a, s), self.rows, self.n)


def _fit(entries: _Entries) -> tuple[np.ndarray, np.ndarray]:
    """Return a (d,) and b (n,) fitted on common terms; other terms get a from their frequency."""
    n, df, documents = entries.n, entries.df, entries.documents
    a = _log_idf(np.clip(df * documents / n, 1, documents - 1), documents)
    is_common = df[entries.columns] >= COMMON
    rows, columns, w = (x[is_common] for x in (entries.rows, entries.columns, entries.w))
    common = replace(entries, rows=rows, columns=columns, w=w)
    b = _quantiles(a[columns] - w, rows, n, 0.7)  # most counts are 1
    for _ in range(8):
        b = common.fit_lengths(a, w + b[rows])
        a = np.where(df >= COMMON, common.fit_terms(a, w + b[rows]), a)
    return a, b


def _fix_integers(
    entries: _Entries, a: np.ndarray, b: np.ndarray, bound: int, step: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the constant that makes n(t) of rare terms integers."""
    # `a`: a(t) (d,) with the constant.
    # `b`: b(d) (n,) with the constant.
    # Shapes: a (d,), b (n,), containing (d,).
    df, documents = entries.df, entries.documents
    s = entries.w + b[entries.rows]
    a = entries.fit_terms(a, s)

    def integrality(constant: float) -> float:
        """Return a measure of how near n(t) of rare terms are to integers, summed over terms."""
        containing = _containing(a[df > 1] + constant, documents)
        rare = containing[(containing > 0.5) & (containing < bound)]  # n(t) is not 0
        return float(np.cos(2 * np.pi * rare).sum())

    best = max(step * np.arange(-200, 201), key=integrality)
    a, s = a + best, s + best
    containing = np.clip(np.rint(_containing(a, documents)), 1, documents - 1)
    a = np.where(containing <= bound, _log_idf(containing, documents), a)
    return a, entries.fit_lengths(a, s), containing


def _correct_misfits(
    entries: _Entries, a: np.ndarray, s: np.ndarray, containing: np.ndarray
) -> np.ndarray:
    """Return n(t) (d,); replace it for terms whose weights mostly do not fit."""
    columns, df = entries.columns, entries.df
    misfit = np.abs(s - a[columns] - entries.log_tf(a, s)) > TOLERANCE
    by_term = np.split(s[np.argsort(columns, kind="stable")], np.cumsum(df)[:-1])
    corrected = containing.copy()
    for term in np.flatnonzero(2 * np.bincount(columns, misfit, minlength=len(df)) > df):
        corrected[term] = _best_containing(by_term[term], containing[term], entries.documents)
    return corrected


def _containing(a: np.ndarray, documents: int) -> np.ndarray:
    """Return n(t) for a(t), the inverse of `_log_idf`."""
    return np.asarray(documents * np.exp(-np.exp(a)))


def _log_idf(containing: np.ndarray, documents: int) -> np.ndarray:
    """Return a(t) = ln ln(D / n(t))."""
    return np.asarray(np.log(np.log(documents / containing)))


def _nearest(x: np.ndarray) -> np.ndarray:
    """Return the indices in LOG_TF of the nearest values."""
    return np.searchsorted(MIDPOINTS, x)


def _quantiles(values: np.ndarray, groups: np.ndarray, size: int, q: float = 0.5) -> np.ndarray:
    """Return (size,) a quantile of the values of each group 0, 1, …; 0 for an empty group."""
    distance = 64.0  # values are between −32 and 32, so that one sort sorts within groups
    ordered = np.sort(groups * distance + values)
    group_sizes = np.bincount(groups, minlength=size)
    ends = np.cumsum(group_sizes)
    at = ends - group_sizes + (np.maximum(group_sizes - 1, 0) * q).astype(np.intp)
    quantiles = ordered[np.minimum(at, len(ordered) - 1)] - distance * np.arange(size)
    return np.where(group_sizes > 0, quantiles, 0)


def _best_containing(s: np.ndarray, current: float, documents: int) -> float:
    """Return the n(t), preferably small, that gives most entries of a term an integer count."""
    # `current`: The value to return if no n(t) is possible.
    # Shapes: s (entries,).
    candidates = np.rint(_containing(s[:40, None] - LOG_TF[:6], documents))
    candidates = np.unique(candidates[(candidates >= 1) & (candidates < documents)])
    if not candidates.size:
        return current
    log_tf = s[:, None] - _log_idf(candidates, documents)
    nearest = _nearest(log_tf)
    fits = np.abs(log_tf - LOG_TF[nearest]) < TOLERANCE
    return float(candidates[(fits - 1e-3 * fits * nearest).sum(axis=0).argmax()])
