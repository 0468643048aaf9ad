"""Two distances of X from P Qᵀ, and the multiplicative updates that never increase them.

A term holds X (n, d) and the present P (n, q) and Q (d, q). Whatever factor H of X ≈ A H Bᵀ is
updated, its numerator and denominator follow from the pulls on P and on Q, each a matrix and, as
it is cheaper so, a product not yet made:

    least squares    X Q  and  P (QᵀQ),           Xᵀ P  and  Q (PᵀP)
    divergence       W Q  and  1 (1ᵀQ),           Wᵀ P  and  1 (1ᵀP),      W = X / (P Qᵀ)

Least squares steps by the root of their quotient, the divergence by the quotient. A sparse X stays
so: W is made only where X is not zero.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import wrightomega

from transferbench.core.scale import entries, inner, norm2
from transferbench.problem import Matrix

#: Numerator, and the two factors of the denominator.
Pull: TypeAlias = tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]

CHUNK = 4096  # nonzeros at a time: what they need of P and Q fits a second-level cache
TINY = float(np.finfo(np.float64).tiny)


class SquaresTerm:
    """‖X − P Qᵀ‖²; X Q is kept while Q stays."""

    def __init__(self, X: Matrix, P: np.ndarray, Q: np.ndarray) -> None:
        self.X, self.norm2 = X, norm2(X)
        self.place(P, Q)

    def place(self, P: np.ndarray | None = None, Q: np.ndarray | None = None) -> None:
        """Take a new P, a new Q or both."""
        if P is not None:
            self.P = P
        if Q is not None:
            self.Q = Q
            self._XQ: np.ndarray | None = None

    def on_P(self) -> Pull:
        """Pull on P (n, q)."""
        if self._XQ is None:
            self._XQ = np.asarray(self.X @ self.Q)
        return self._XQ, (self.P, self.Q.T @ self.Q)

    def on_Q(self) -> Pull:
        """Pull on Q (d, q)."""
        return self.X.T @ self.P, (self.Q, self.P.T @ self.P)

    def value(self) -> float:
        """The distance."""
        XQ, (P, G) = self.on_P()
        return self.norm2 - 2 * inner(XQ, P) + inner(P.T @ P, G)


class DivergenceTerm:
    """Σ X log(X / P Qᵀ) − X + P Qᵀ; W is kept while P and Q stay."""

    def __init__(self, X: Matrix, P: np.ndarray, Q: np.ndarray) -> None:
        self.X = X
        if not isinstance(X, np.ndarray):
            self.rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        self.place(P, Q)

    def place(self, P: np.ndarray | None = None, Q: np.ndarray | None = None) -> None:
        """Take a new P, a new Q or both."""
        if P is not None:
            self.P = P
        if Q is not None:
            self.Q = Q
        self._W: Matrix | None = None

    def W(self) -> Matrix:
        """X / (P Qᵀ), of X's kind."""
        if self._W is None:
            X = self.X
            if isinstance(X, np.ndarray):
                self._W = quotient(X, self.P @ self.Q.T)
            else:
                fitted = sampled(self.P, self.Q, self.rows, X.indices)
                values = quotient(X.data, fitted)
                self._W = sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
        return self._W

    def on_P(self) -> Pull:
        """Pull on P (n, q)."""
        ones = np.ones((len(self.P), 1), self.P.dtype)
        return self.W() @ self.Q, (ones, self.Q.sum(axis=0, keepdims=True))

    def on_Q(self) -> Pull:
        """Pull on Q (d, q)."""
        ones = np.ones((len(self.Q), 1), self.Q.dtype)
        return self.W().T @ self.P, (ones, self.P.sum(axis=0, keepdims=True))

    def value(self) -> float:
        """The distance."""
        W = self.W()
        x, w = (np.ravel(entries(A)) for A in (self.X, W))
        log = np.log(w, where=w > 0, out=np.zeros_like(w))
        P, Q = (F.sum(axis=0, dtype=np.float64) for F in (self.P, self.Q))
        return inner(x, log) - float(x.sum(dtype=np.float64)) + float(P @ Q)


def sampled(P: np.ndarray, Q: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """P Qᵀ at the places (rows, columns) alone; P (n, q), Q (d, q)."""
    values = np.empty(len(rows), P.dtype)
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        # mode="clip" spares a check of every index, which costs as much as the product.
        left = P.take(rows[part], axis=0, mode="clip")
        right = Q.take(columns[part], axis=0, mode="clip")
        np.einsum("ij,ij->i", left, right, out=values[part])
    return values


class Squares:
    """Least squares: terms ‖X − P Qᵀ‖² and ‖M_j − M_Y‖² (HiMLS, lemma 1)."""

    term = SquaresTerm

    def step(self, F: np.ndarray, num: np.ndarray, den: np.ndarray) -> None:
        """Update F in place."""
        F *= np.sqrt(quotient(num, den))

    def couple(
        self, M: np.ndarray, num: np.ndarray, den: np.ndarray, Y: np.ndarray, beta: float
    ) -> None:
        """Update the M of a view in place, which β holds to Y, the M of the labels."""
        self.step(M, num + beta * Y, den + beta * M)

    def couple_labels(
        self, Y: np.ndarray, num: np.ndarray, den: np.ndarray, views: list[np.ndarray], beta: float
    ) -> None:
        """Update the M of the labels in place, which β holds to those of all views."""
        self.step(Y, num + beta * sum(views), den + beta * len(views) * Y)

    def apart(self, M: list[np.ndarray]) -> float:
        """Σ_j ‖M_j − M_Y‖²."""
        return sum(norm2(view - M[-1]) for view in M[:-1])


class Divergence:
    """Generalised Kullback–Leibler: D(X‖P Qᵀ) and D(M_j‖M_Y) (HiMLS, lemmas 6 and 7).

    coupling: how an M_j is updated. "exact": by the minimiser of the auxiliary function of lemma 6.
    "paper": by eq. 26, where log x ≈ 1 − 1/x, so that the objective may rise.
    """

    term = DivergenceTerm

    def __init__(self, coupling: Literal["exact", "paper"] = "exact") -> None:
        self.coupling = coupling

    def step(self, F: np.ndarray, num: np.ndarray, den: np.ndarray) -> None:
        """Update F in place."""
        F *= quotient(num, den)

    def couple(
        self, M: np.ndarray, num: np.ndarray, den: np.ndarray, Y: np.ndarray, beta: float
    ) -> None:
        """Update the M of a view in place, which β holds to Y, the M of the labels."""
        if self.coupling == "exact" and beta:
            M[:] = _nearest(M * num, den, Y, beta)
        else:
            M[:] = quotient(M * num + beta * Y, den + beta)

    def couple_labels(
        self, Y: np.ndarray, num: np.ndarray, den: np.ndarray, views: list[np.ndarray], beta: float
    ) -> None:
        """Update the M of the labels in place, which β holds to those of all views."""
        Y[:] = quotient(Y * num + beta * sum(views), den + beta * len(views))

    def apart(self, M: list[np.ndarray]) -> float:
        """Σ_j D(M_j‖M_Y)."""
        *views, Y = (np.maximum(m, TINY, dtype=np.float64) for m in M)
        log = np.log(Y)
        return sum(float(np.sum(view * (np.log(view) - log) - view + Y)) for view in views)


Loss: TypeAlias = Squares | Divergence


def _nearest(a: np.ndarray, w: np.ndarray, P: np.ndarray, beta: float) -> np.ndarray:
    """The H (p, q) that minimises Σ w H − a log H + β D(H‖P), for a, w ≥ 0 and P > 0.

    With u = a / βH its derivative is zero where u + log u = log(a / βP) + w / β, and the u that
    solves this is Wright's omega function of the right-hand side. For a = 0, H = P exp(−w/β).
    """
    a, w, P = (np.maximum(F, TINY, dtype=np.float64) for F in (a, w, P))
    u = wrightomega(np.log(a) - np.log(P) - np.log(beta) + w / beta)
    H = np.where(u > TINY, a / (beta * np.maximum(u, TINY)), P * np.exp(-w / beta))
    return np.asarray(H)


def quotient(num: np.ndarray, den: np.ndarray) -> np.ndarray:
    """num / den, but finite where den vanishes, and 0 where both do."""
    return np.asarray(num / np.maximum(den, np.sqrt(np.finfo(den.dtype).tiny)))
