"""Slow dense versions of equations, used by tests of several folders."""

from __future__ import annotations

from dataclasses import dataclass, field

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


def columns(F):
    return F / F.sum(axis=0)


def rows(F):
    """Rows of sum one; rows of zeros become uniform."""
    total = F.sum(axis=1, keepdims=True)
    return np.where(total > 0, F / np.where(total > 0, total, 1), 1 / F.shape[1])


SUM_ONE = {"columns": columns, "rows": rows}


@dataclass
class Objective:
    """Tri-factorisations: the sum of terms, ties and graphs, which name their factors.

    A term (w, X, [(U, H), …], V) is w ‖X − (Σ U H) Vᵀ‖², a tie (α, F, G) is α ‖F − G‖², and a graph
    (λ, F, W) is λ tr Fᵀ(D − W)F with the degrees D of W.
    """

    factors: dict
    terms: list
    ties: list = field(default_factory=list)
    graphs: list = field(default_factory=list)
    trace: list = field(default_factory=list)

    def middle(self, parts):
        return sum(self.factors[U] @ self.factors[H] for U, H in parts)

    def value(self) -> float:
        F = self.factors
        total = sum(w * np.sum((X - self.middle(UH) @ F[V].T) ** 2) for w, X, UH, V in self.terms)
        total += sum(w * np.sum((F[one] - F[two]) ** 2) for w, one, two in self.ties)
        for w, name, W in self.graphs:
            total += w * np.trace(F[name].T @ (np.diag(W.sum(axis=1)) - W) @ F[name])
        return total

    def step(self, name: str) -> np.ndarray:
        """Return F ∘ √(num/den); the gradient of the objective is 2 (den − num)."""
        F, num, den = self.factors, 0, 0
        for w, X, parts, V in self.terms:
            middle = self.middle(parts)
            fitted = middle @ F[V].T
            if name == V:
                num, den = num + w * X.T @ middle, den + w * fitted.T @ middle
            for U, H in parts:
                if name == U:
                    right = F[V] @ F[H].T
                    num, den = num + w * X @ right, den + w * fitted @ right
                if name == H:
                    num = num + w * F[U].T @ X @ F[V]
                    den = den + w * F[U].T @ fitted @ F[V]
        for w, one, two in self.ties:
            if name in (one, two):
                num, den = num + w * F[two if name == one else one], den + w * F[name]
        for w, of, W in self.graphs:
            if name == of:
                num = num + w * W @ F[name]
                den = den + w * W.sum(axis=1)[:, None] * F[name]
        return F[name] * np.sqrt(num / den)

    def update(self, *names: str, scale=None) -> None:
        """Update factors jointly, all from the old values."""
        new = {name: self.step(name) for name in names}
        self.factors |= {name: scale(F) if scale else F for name, F in new.items()}

    def scale(self, scale, *names: str) -> None:
        self.factors |= {name: scale(self.factors[name]) for name in names}
