"""Algorithm 1 of the HiMLS paper with dense matrices and masks, for both losses.

`equations` is an object with the updates of one loss, R and C at one level and M at the top of a
list of levels, and the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import scipy.sparse as sp


@dataclass
class Level:
    """Data and factors of one layer: X[i][j], Y[i] of rows s[i]; R[i], C[j], CY, M[i][j], MY[i]."""

    X: list
    Y: list
    s: list
    R: list
    C: list
    CY: np.ndarray
    M: list = field(default_factory=list)
    MY: list = field(default_factory=list)


def product(*factors):
    return reduce(np.matmul, factors)


def R_of(levels, i, start, stop):
    """Return R_i^(start:stop); layers count from 1, stop is included; the identity if empty."""
    rows = levels[start - 2].R[i].shape[1] if start > 1 else len(levels[0].R[i])
    return product(np.eye(rows), *[level.R[i] for level in levels[start - 1 : stop]])


def C_of(levels, j, start, stop):
    """Return C_j^(start:stop) likewise; j = "Y" for the labels."""
    factors = [level.CY if j == "Y" else level.C[j] for level in levels]
    rows = factors[start - 2].shape[1] if start > 1 else len(factors[0])
    return product(np.eye(rows), *factors[start - 1 : stop])


def algorithm1(problem, equations, *, p, q, alpha, beta, pretrain, finetune, seed):
    """Return the scores of every task (eq. 3) and the objective after each last-phase sweep."""
    views = [[sp.csr_array(view).toarray() for view in d.views] for d in problem.domains]
    # Drop features that occur in no document.
    present = [np.any(np.vstack(parts) > 0, axis=0) for parts in zip(*views, strict=True)]
    views = [[view[:, mask] for view, mask in zip(row, present, strict=True)] for row in views]
    levels, trace = [], []
    X, Y, s = views, [d.Y[d.seen] for d in problem.domains], [d.seen for d in problem.domains]
    for size in zip(p, q, strict=True):
        level = start(X, Y, s, *size, seed)
        levels.append(level)
        for _ in range(pretrain):
            equations.R([level], 1, alpha)
            equations.C([level], 1)
            equations.M([level], alpha, beta)
            if len(p) == 1:
                trace.append(equations.objective(levels, alpha, beta))
        X, Y = level.M, level.MY
        s = [np.full(size[0], True) for _ in Y]
    for _ in range(finetune if len(p) > 1 else 0):
        equations.M(levels, alpha, beta)
        for l in range(len(levels), 0, -1):  # noqa: E741
            equations.R(levels, l, alpha)
            equations.C(levels, l)
            if l < len(levels):
                equations.M([levels[l - 1]], alpha, beta)
        trace.append(equations.objective(levels, alpha, beta))
    scores = []
    for i in range(len(views)):
        F = 0
        for l, level in enumerate(levels, 1):  # noqa: E741
            F = F + R_of(levels, i, 1, l) @ level.MY[i] @ C_of(levels, "Y", 1, l).T
        scores.append(F / len(levels))
    return scores, trace


def start(X, Y, s, p, q, seed):
    """Return a level with random R and C, columns of C of length one, and M by step 3."""

    def draw(shape, place):
        return np.random.default_rng([seed, place]).random(shape)

    def unit(C):
        return C / np.sqrt((C**2).sum(axis=0))

    sizes = [len(x[0]) for x in X]
    R = np.split(draw((sum(sizes), p), 0), np.cumsum(sizes)[:-1])
    C = [unit(draw((x.shape[1], q), 1 + j)) for j, x in enumerate(X[0])]
    CY = unit(draw((Y[0].shape[1], q), 1 + len(C)))

    def ridged(F):
        G = F.T @ F
        return G + 1e-3 * np.mean(np.diag(G)) * np.eye(len(G))

    def solve(x, R, C):
        M = np.linalg.solve(ridged(R), R.T @ x @ C)
        M = np.linalg.solve(ridged(C), M.T).T
        return np.maximum(M, 1e-3 * np.abs(M).mean())

    level = Level(X, Y, s, R, C, CY)
    level.M = [[solve(x, R[i], C[j]) for j, x in enumerate(row)] for i, row in enumerate(X)]
    level.MY = [solve(y, R[i][s[i]], CY) for i, y in enumerate(Y)]
    return level
