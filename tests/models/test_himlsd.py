"""HiMLSD compared with its equations, computed with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm1 import C_of, R_of, algorithm1
from conftest import make_multilabel
from scipy.optimize import brentq
from scipy.special import kl_div

import transferbench


class Equations:
    """Eqs. 32–43 with corrected misprints; E has all entries one."""

    def __init__(self, coupling):
        self.coupling = coupling

    def M(self, a, w, P, beta):
        """Return M with −a/M + w + β log(M/P) = 0, or with 1 − P/M instead of the logarithm."""
        if self.coupling == "paper":
            return (a + beta * P) / (w + beta)
        roots = [
            brentq(lambda t, x=x: -x[0] * np.exp(-t) + x[1] + beta * (t - np.log(x[2])), -50, 50,
                   xtol=1e-13)
            for x in zip(a.flat, w.flat, P.flat, strict=True)
        ]  # fmt: skip
        return np.exp(np.reshape(roots, a.shape))

    def pretrain_R(self, a, alpha):
        for i, s in enumerate(a.s):
            # Eqs. 34 and 35
            num = den = 0
            for X, C, M in zip(a.X[i], a.C, a.M[i], strict=True):
                num = num + X / (a.R[i] @ M @ C.T) @ C @ M.T
                den = den + np.ones_like(X) @ C @ M.T
            Y = a.Y[i]
            num[s] += alpha * Y / (a.R[i][s] @ a.MY[i] @ a.CY.T) @ a.CY @ a.MY[i].T
            den[s] += alpha * np.ones_like(Y) @ a.CY @ a.MY[i].T
            a.R[i] = a.R[i] * num / den

    def pretrain_C(self, a):
        self.finetune_C([a], 1)

    def pretrain_M(self, a, alpha, beta):
        self.finetune_M([a], alpha, beta)

    def finetune_R(self, levels, l, alpha):  # noqa: E741
        first, top, L = levels[0], levels[-1], len(levels)
        for i, s in enumerate(first.s):
            below, above = R_of(levels, i, 1, l - 1), R_of(levels, i, l + 1, L)
            R = R_of(levels, i, 1, L)
            # Eqs. 40 and 41
            num = den = 0
            for j, M in enumerate(top.M[i]):
                X, Omega = first.X[i][j], above @ M @ C_of(levels, j, 1, L).T
                num = num + X / (R @ M @ C_of(levels, j, 1, L).T) @ Omega.T
                den = den + np.ones_like(X) @ Omega.T
            Y, Omega = first.Y[i], above @ top.MY[i] @ C_of(levels, "Y", 1, L).T
            num[s] += alpha * Y / (R[s] @ top.MY[i] @ C_of(levels, "Y", 1, L).T) @ Omega.T
            den[s] += alpha * np.ones_like(Y) @ Omega.T
            own = levels[l - 1].R
            own[i] = own[i] * (below.T @ num) / (below.T @ den)

    def finetune_C(self, levels, l):  # noqa: E741
        first, top, L = levels[0], levels[-1], len(levels)
        for j in [*range(len(first.C)), "Y"]:
            # Eqs. 36 and 37, 42 and 43
            num = den = 0
            for i, s in enumerate(first.s):
                X, M = (first.Y, top.MY) if j == "Y" else ([x[j] for x in first.X], None)
                M = top.M[i][j] if M is None else M[i]
                R = R_of(levels, i, 1, L)[s if j == "Y" else slice(None)]
                Theta = R @ M @ C_of(levels, j, l + 1, L).T
                below = C_of(levels, j, 1, l - 1)
                num = num + Theta.T @ (X[i] / (R @ M @ C_of(levels, j, 1, L).T)) @ below
                den = den + Theta.T @ np.ones_like(X[i]) @ below
            if j == "Y":
                levels[l - 1].CY = levels[l - 1].CY * (num / den).T
            else:
                levels[l - 1].C[j] = levels[l - 1].C[j] * (num / den).T

    def finetune_M(self, levels, alpha, beta):
        first, top, L = levels[0], levels[-1], len(levels)
        for i, s in enumerate(first.s):
            R = R_of(levels, i, 1, L)
            for j, M in enumerate(top.M[i]):
                # Eqs. 32 and 38
                X, C = first.X[i][j], C_of(levels, j, 1, L)
                a, w = M * (R.T @ (X / (R @ M @ C.T)) @ C), R.T @ np.ones_like(X) @ C
                top.M[i][j] = self.M(a, w, top.MY[i], beta)
            # Eqs. 33 and 39
            Y, C, M = first.Y[i], C_of(levels, "Y", 1, L), top.MY[i]
            num = M * (alpha * R[s].T @ (Y / (R[s] @ M @ C.T)) @ C + beta * sum(top.M[i]) / M)
            den = alpha * R[s].T @ np.ones_like(Y) @ C + beta * len(top.M[i])
            top.MY[i] = num / den

    def objective(self, levels, alpha, beta):
        """Eq. 23."""
        first, top, L = levels[0], levels[-1], len(levels)
        total = 0.0
        for i, s in enumerate(first.s):
            R = R_of(levels, i, 1, L)
            for j, M in enumerate(top.M[i]):
                total += kl_div(first.X[i][j], R @ M @ C_of(levels, j, 1, L).T).sum()
                total += beta * kl_div(M, top.MY[i]).sum()
            fitted = R[s] @ top.MY[i] @ C_of(levels, "Y", 1, L).T
            total += alpha * kl_div(first.Y[i], fitted).sum()
        return total


@pytest.mark.parametrize("coupling", ["exact", "paper"])
@pytest.mark.parametrize(
    ("tasks", "views", "p", "q"),
    [(1, 1, (5,), (4,)), (2, 2, (5, 3), (4, 3)), (3, 1, (6, 4, 2), (5, 3, 2))],
)
def test_fit_equals_algorithm_1(tasks, views, p, q, coupling):
    problem, _ = make_multilabel(tasks=tasks, views=views, documents=20, features=15)
    settings = {"p": p, "q": q, "pretrain": 3, "finetune": 3}
    equations = Equations(coupling)
    scores, trace = algorithm1(problem, equations, alpha=0.7, beta=0.3, seed=2, **settings)
    given = settings | {"alpha": [0.7], "beta": [0.3], "coupling": coupling}
    fit = transferbench.fit("himlsd", problem, seed=2, start="random", dtype="float64", **given)
    np.testing.assert_allclose(fit.trace, trace, rtol=1e-9)
    for actual, expected in zip(fit.scores, scores, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-8)
