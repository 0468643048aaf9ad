"""HiMLS and HiMLSD compared with their equations, computed with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm1 import C_of, R_of, algorithm1
from conftest import make_multilabel
from scipy.optimize import brentq
from scipy.special import kl_div

import transferbench


def block(first, top, i, j, alpha=1.0):
    """Return X, M, the rows and the weight of view j of task i; j = "Y" for the labels."""
    if j == "Y":
        return first.Y[i], top.MY[i], first.s[i], alpha
    return first.X[i][j], top.M[i][j], slice(None), 1.0


class Equations:
    """Eqs. 5 and 10–21 of HiMLS, and eqs. 23 and 32–43 of HiMLSD with corrected misprints.

    Eqs. 16 and 40 use all rows above the first layer, as the objective requires. Those of
    pre-training are those of fine-tuning a single layer.
    """

    def __init__(self, coupling: str | None = None):
        """Take the coupling of HiMLSD, or None for HiMLS."""
        self.coupling = coupling

    def parts(self, X, fitted):
        """Return what X and the fitted matrix contribute to the numerator and the denominator."""
        return (X / fitted, np.ones_like(X)) if self.coupling else (X, fitted)

    def step(self, F, num, den):
        return F * (num / den if self.coupling else np.sqrt(num / den))

    def R(self, levels, l, alpha):  # noqa: E741
        """Eqs. 10, 11, 16 and 17; 34, 35, 40 and 41."""
        first, top, L = levels[0], levels[-1], len(levels)
        for i in range(len(first.s)):
            R = R_of(levels, i, 1, L)
            num, den = np.zeros((2, len(R), top.R[i].shape[1]))
            for j in [*range(len(first.C)), "Y"]:
                X, M, rows, weight = block(first, top, i, j, alpha)
                B = M @ C_of(levels, j, 1, L).T
                A, D = self.parts(X, R[rows] @ B)
                num[rows] += weight * A @ B.T
                den[rows] += weight * D @ B.T
            below, above = R_of(levels, i, 1, l - 1), R_of(levels, i, l + 1, L)
            own = levels[l - 1].R
            own[i] = self.step(own[i], below.T @ num @ above.T, below.T @ den @ above.T)

    def C(self, levels, l):  # noqa: E741
        """Eqs. 12, 13, 18 and 19; 36, 37, 42 and 43."""
        first, top, L = levels[0], levels[-1], len(levels)
        for j in [*range(len(first.C)), "Y"]:
            below, above = C_of(levels, j, 1, l - 1), C_of(levels, j, l + 1, L)
            num = den = 0
            for i in range(len(first.s)):
                X, M, rows, _ = block(first, top, i, j)
                RM = R_of(levels, i, 1, L)[rows] @ M
                A, D = self.parts(X, RM @ C_of(levels, j, 1, L).T)
                num = num + below.T @ A.T @ RM @ above.T
                den = den + below.T @ D.T @ RM @ above.T
            if j == "Y":
                levels[l - 1].CY = self.step(levels[l - 1].CY, num, den)
            else:
                levels[l - 1].C[j] = self.step(levels[l - 1].C[j], num, den)

    def M(self, levels, alpha, beta):
        """Eqs. 14, 15, 20 and 21; 32, 33, 38 and 39."""
        first, top, L = levels[0], levels[-1], len(levels)
        for i, s in enumerate(first.s):
            R, count = R_of(levels, i, 1, L), len(top.M[i])
            for j, M in enumerate(top.M[i]):
                C = C_of(levels, j, 1, L)
                A, D = self.parts(first.X[i][j], R @ M @ C.T)
                num, den = R.T @ A @ C, R.T @ D @ C
                if self.coupling:
                    top.M[i][j] = self.coupled(M * num, den, top.MY[i], beta)
                else:
                    top.M[i][j] = self.step(M, num + beta * top.MY[i], den + beta * M)
            C, M = C_of(levels, "Y", 1, L), top.MY[i]
            A, D = self.parts(first.Y[i], R[s] @ M @ C.T)
            num, den = alpha * R[s].T @ A @ C, alpha * R[s].T @ D @ C
            if self.coupling:
                top.MY[i] = (M * num + beta * sum(top.M[i])) / (den + beta * count)
            else:
                top.MY[i] = self.step(M, num + beta * sum(top.M[i]), den + beta * count * M)

    def coupled(self, a, w, P, beta):
        """Return M with −a/M + w + β log(M/P) = 0, or with 1 − P/M instead of the logarithm."""
        if self.coupling == "paper":
            return (a + beta * P) / (w + beta)

        def root(a, w, P):
            def slope(t):
                return -a * np.exp(-t) + w + beta * (t - np.log(P))

            return np.exp(brentq(slope, -50, 50, xtol=1e-13))

        return np.vectorize(root)(a, w, P)

    def objective(self, levels, alpha, beta):
        """Eqs. 5 and 23."""
        distance = kl_div if self.coupling else lambda A, B: (A - B) ** 2
        first, top, L = levels[0], levels[-1], len(levels)
        total = 0.0
        for i, s in enumerate(first.s):
            R = R_of(levels, i, 1, L)
            for j, M in enumerate(top.M[i]):
                total += distance(first.X[i][j], R @ M @ C_of(levels, j, 1, L).T).sum()
                total += beta * distance(M, top.MY[i]).sum()
            fitted = R[s] @ top.MY[i] @ C_of(levels, "Y", 1, L).T
            total += alpha * distance(first.Y[i], fitted).sum()
        return total


@pytest.mark.parametrize("coupling", [None, "exact", "paper"])
@pytest.mark.parametrize(
    ("tasks", "views", "p", "q"),
    [(1, 1, (5,), (4,)), (2, 2, (5, 3), (4, 3)), (3, 1, (6, 4, 2), (5, 3, 2))],
)
def test_fit_equals_algorithm_1(tasks, views, p, q, coupling):
    problem, _ = make_multilabel(tasks=tasks, views=views, documents=20, features=15)
    settings = {"p": p, "q": q, "pretrain": 3, "finetune": 3, "seed": 2}
    expected, trace = algorithm1(problem, Equations(coupling), alpha=0.7, beta=0.3, **settings)
    settings |= {"alpha": [0.7], "beta": [0.3], "start": "random", "dtype": "float64"}
    if coupling:
        fit = transferbench.fit("himlsd", problem, coupling=coupling, **settings)
    else:
        fit = transferbench.fit("himls", problem, **settings)
    np.testing.assert_allclose(fit.trace, trace, rtol=1e-9)
    for actual, scores in zip(fit.scores, expected, strict=True):
        np.testing.assert_allclose(actual, scores, rtol=1e-8)
