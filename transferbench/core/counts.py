"""Decide with given numbers of documents in each class.

    max over classes a(i)  Σ_i L_i,a(i)   s.t.  n_c documents i have a(i) = c

L (n, c) are scores, n_c counts of sum n. This is a transport problem; its dual variables are one
offset b_c for each class: a(i) = argmax_c (L_ic + b_c). Two classes need one sort. With more, each
offset in turn is set so that its class has its count, which comes near to the solution; then single
documents move along shortest paths between classes, which is exact.
"""

from __future__ import annotations

import numpy as np

from transferbench.core.scale import scale_to_one

#: Times that each class's offset is set before single documents move, and most such moves.
SWEEPS, MAX_MOVES = 20, 1000


def whole_counts(shares: np.ndarray, n: int) -> np.ndarray:
    """Return integers (c,) of sum n that are nearest to n · shares, by largest remainders."""
    exact = shares * n
    counts = np.floor(exact).astype(int)
    first = np.argsort(counts - exact, kind="stable")[: n - counts.sum()]
    counts[first] += 1
    return np.asarray(counts)


def count_offsets(L: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return b (c,), of mean 0, so that argmax(L + b) gives each class its share of the documents.

    L (n, c) finite scores, shares (c,) of sum one. The counts are exact except for documents with
    equal differences of scores, which no offset separates. Between the offsets that give them b is
    in the middle.
    """
    n, c = L.shape
    counts = whole_counts(shares, n)
    b = np.zeros(c)
    if c == 1:
        return b
    if c == 2:
        b[0] = _threshold(L[:, 1] - L[:, 0], counts[0])
        return np.asarray(b - b.mean())
    for label in (*range(c),) * SWEEPS:
        others = np.delete(L + b, label, axis=1).max(axis=1, initial=-np.inf)
        b[label] = _threshold(others - L[:, label], counts[label])
    decided = (L + b).argmax(axis=1)
    for _ in range(MAX_MOVES):
        surplus = np.bincount(decided, minlength=c) - counts
        if not surplus.any():
            break
        _move_one(L, decided, surplus)
    return _middle(L, decided)


def match_counts(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return scores (n, c) ≥ 0 with columns scaled so that the argmax has the shares (c,)."""
    S = np.asarray(scores, np.float64)
    b = count_offsets(np.log(np.maximum(S, np.finfo(np.float32).tiny)), shares)
    return np.asarray(S * np.exp(b))


def redistribute(F: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Change F (n, c) ≥ 0 in place so that its argmax has the shares (c,); rows keep their sums."""
    total = F.sum(axis=1, keepdims=True)
    matched = scale_to_one(match_counts(F, shares), "rows")
    F[:] = matched * total
    return F


def _threshold(needed: np.ndarray, count: int) -> float:
    """Return what the `count` smallest of `needed` (n,) are below, in the middle of the gap."""
    needed = np.sort(needed)
    if not 0 < count < len(needed):
        return float(needed[-1] + 1 if count else needed[0] - 1)
    return float(needed[count - 1] / 2 + needed[count] / 2)


def _losses(L: np.ndarray, decided: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what is lost at least if a document moves from class a to b (c, c), and which moves.

    The loss is infinite if no document is in class a.
    """
    c = L.shape[1]
    loss, which = np.full((c, c), np.inf), np.zeros((c, c), int)
    for a in range(c):
        rows = np.flatnonzero(decided == a)
        if rows.size:
            lost = L[rows, a][:, None] - L[rows]
            best = lost.argmin(axis=0)
            loss[a], which[a] = lost[best, range(c)], rows[best]
    return loss, which


def _paths(loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least loss of moves from class a to b by any path, and the first step (c, c)."""
    c = len(loss)
    least, step = loss.copy(), np.tile(np.arange(c), (c, 1))
    np.fill_diagonal(least, 0.0)
    for through in range(c):
        detour = least[:, [through]] + least[[through]]
        shorter = detour < least - 1e-12
        least = np.where(shorter, detour, least)
        step = np.where(shorter, step[:, [through]], step)
    return least, step


def _move_one(L: np.ndarray, decided: np.ndarray, surplus: np.ndarray) -> None:
    """Move one document along the shortest path from a class with too many to one with too few."""
    loss, which = _losses(L, decided)
    least, step = _paths(loss)
    wanted = np.where((surplus[:, None] > 0) & (surplus < 0), least, np.inf)
    a, end = np.unravel_index(wanted.argmin(), wanted.shape)
    moves = []
    while a != end:
        moves.append((which[a, step[a, end]], step[a, end]))
        a = step[a, end]
    for document, label in moves:
        decided[document] = label


def _middle(L: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Return offsets (c,) of mean 0 whose argmax is `decided`, in the middle of those that are.

    b_b − b_a is at most the least loss of a path from a to b. A class without documents gets an
    offset that no document prefers.
    """
    loss, _ = _losses(L, decided)
    least, _ = _paths(loss)
    used = np.unique(decided)
    between = least[np.ix_(used, used)]
    b = np.zeros(L.shape[1])
    # The mean over roots of the highest and lowest offsets with that of the root at 0.
    b[used] = (between - between.T).mean(axis=0) / 2
    for empty in np.setdiff1d(np.arange(len(b)), used):
        b[empty] = (b[used] + loss[used, empty]).min() - 1
    return np.asarray(b - b.mean())
