"""HiMLS compared with its equations, computed with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm1 import C_of, R_of, algorithm1
from conftest import make_multilabel

import transferbench


def step(F, num, den):
    return F * np.sqrt(num / den)


class Equations:
    """Eqs. 10–21; eq. 16 uses all rows above the first layer, as the objective requires."""

    @staticmethod
    def pretrain_R(a, alpha):
        for i, s in enumerate(a.s):
            R, Ru = a.R[i][s], a.R[i][~s]
            views = [(x, C, M) for x, C, M in zip(a.X[i], a.C, a.M[i], strict=True)]
            # Eq. 10
            num = sum(x[s] @ C @ M.T for x, C, M in views) + alpha * a.Y[i] @ a.CY @ a.MY[i].T
            den = sum(R @ M @ C.T @ C @ M.T for _, C, M in views)
            den = den + alpha * R @ a.MY[i] @ a.CY.T @ a.CY @ a.MY[i].T
            a.R[i][s] = step(R, num, den)
            # Eq. 11
            num = sum(x[~s] @ C @ M.T for x, C, M in views)
            a.R[i][~s] = step(Ru, num, sum(Ru @ M @ C.T @ C @ M.T for _, C, M in views))

    @staticmethod
    def pretrain_C(a):
        tasks = range(len(a.X))
        for j, C in enumerate(a.C):
            # Eq. 12
            num = sum(a.X[i][j].T @ a.R[i] @ a.M[i][j] for i in tasks)
            den = sum(C @ a.M[i][j].T @ a.R[i].T @ a.R[i] @ a.M[i][j] for i in tasks)
            a.C[j] = step(C, num, den)
        # Eq. 13
        R = [a.R[i][a.s[i]] for i in tasks]
        num = sum(a.Y[i].T @ R[i] @ a.MY[i] for i in tasks)
        den = sum(a.CY @ a.MY[i].T @ R[i].T @ R[i] @ a.MY[i] for i in tasks)
        a.CY = step(a.CY, num, den)

    @staticmethod
    def pretrain_M(a, alpha, beta):
        for i, s in enumerate(a.s):
            R = a.R[i]
            for j, C in enumerate(a.C):
                # Eq. 14
                M = a.M[i][j]
                num = R.T @ a.X[i][j] @ C + beta * a.MY[i]
                a.M[i][j] = step(M, num, R.T @ R @ M @ C.T @ C + beta * M)
            # Eq. 15
            R, MY = R[s], a.MY[i]
            num = alpha * R.T @ a.Y[i] @ a.CY + beta * sum(a.M[i])
            den = alpha * R.T @ R @ MY @ a.CY.T @ a.CY + beta * len(a.C) * MY
            a.MY[i] = step(MY, num, den)

    @staticmethod
    def finetune_R(levels, l, alpha):  # noqa: E741
        first, top, L = levels[0], levels[-1], len(levels)
        for i, s in enumerate(first.s):
            below, above = R_of(levels, i, 1, l - 1), R_of(levels, i, l + 1, L)
            R = R_of(levels, i, 1, L)
            # Eqs. 16 and 17, which differ in the labels
            num = den = 0
            for j, M in enumerate(top.M[i]):
                B = M @ C_of(levels, j, 1, L).T
                num, den = num + first.X[i][j] @ B.T, den + R @ B @ B.T
            B = top.MY[i] @ C_of(levels, "Y", 1, L).T
            num[s] += alpha * first.Y[i] @ B.T
            den[s] += alpha * R[s] @ B @ B.T
            own = levels[l - 1].R
            own[i] = step(own[i], below.T @ num @ above.T, below.T @ den @ above.T)

    @staticmethod
    def finetune_C(levels, l):  # noqa: E741
        first, top, L = levels[0], levels[-1], len(levels)
        tasks = range(len(first.X))
        for j in [*range(len(first.C)), "Y"]:
            # Eqs. 18 and 19
            below, above = C_of(levels, j, 1, l - 1), C_of(levels, j, l + 1, L)
            num = den = 0
            for i in tasks:
                rows = first.s[i] if j == "Y" else slice(None)
                X = first.Y[i] if j == "Y" else first.X[i][j]
                RM = R_of(levels, i, 1, L)[rows] @ (top.MY[i] if j == "Y" else top.M[i][j])
                Omega = RM @ C_of(levels, j, 1, L).T
                num = num + below.T @ X.T @ RM @ above.T
                den = den + below.T @ Omega.T @ RM @ above.T
            if j == "Y":
                levels[l - 1].CY = step(levels[l - 1].CY, num, den)
            else:
                levels[l - 1].C[j] = step(levels[l - 1].C[j], num, den)

    @staticmethod
    def finetune_M(levels, alpha, beta):
        first, top, L = levels[0], levels[-1], len(levels)
        for i, s in enumerate(first.s):
            R = R_of(levels, i, 1, L)
            for j, M in enumerate(top.M[i]):
                # Eq. 20
                C = C_of(levels, j, 1, L)
                num = R.T @ first.X[i][j] @ C + beta * top.MY[i]
                top.M[i][j] = step(M, num, R.T @ (R @ M @ C.T) @ C + beta * M)
            # Eq. 21
            R, C, M = R[s], C_of(levels, "Y", 1, L), top.MY[i]
            num = alpha * R.T @ first.Y[i] @ C + beta * sum(top.M[i])
            den = alpha * R.T @ (R @ M @ C.T) @ C + beta * len(top.M[i]) * M
            top.MY[i] = step(M, num, den)

    @staticmethod
    def objective(levels, alpha, beta):
        """Eq. 5."""
        first, top, L = levels[0], levels[-1], len(levels)
        total = 0.0
        for i, s in enumerate(first.s):
            R = R_of(levels, i, 1, L)
            for j, M in enumerate(top.M[i]):
                total += np.sum((first.X[i][j] - R @ M @ C_of(levels, j, 1, L).T) ** 2)
                total += beta * np.sum((M - top.MY[i]) ** 2)
            fitted = R[s] @ top.MY[i] @ C_of(levels, "Y", 1, L).T
            total += alpha * np.sum((first.Y[i] - fitted) ** 2)
        return total


@pytest.mark.parametrize(
    ("tasks", "views", "p", "q"),
    [(1, 1, (5,), (4,)), (2, 2, (5, 3), (4, 3)), (3, 1, (6, 4, 2), (5, 3, 2))],
)
def test_fit_equals_algorithm_1(tasks, views, p, q):
    problem, _ = make_multilabel(tasks=tasks, views=views, documents=20, features=15)
    settings = {"p": p, "q": q, "pretrain": 3, "finetune": 3}
    scores, trace = algorithm1(problem, Equations, alpha=0.7, beta=0.3, seed=2, **settings)
    fit = transferbench.fit(
        "himls",
        problem,
        seed=2,
        alpha=[0.7],
        beta=[0.3],
        start="random",
        dtype="float64",
        **settings,
    )
    np.testing.assert_allclose(fit.trace, trace, rtol=1e-9)
    for actual, expected in zip(fit.scores, scores, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-8)
