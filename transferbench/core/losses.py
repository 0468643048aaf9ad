"""Two losses for X ≈ P Qᵀ, with multiplicative updates that never increase them.

A term holds X (n, d) and the current P (n, q) and Q (d, q). The update of any factor of P or Q
follows from a numerator and a denominator for P or for Q:

                     P: numerator, denominator      Q: numerator, denominator
    least squares    X Q,  P (QᵀQ)                  Xᵀ P,  Q (PᵀP)
    divergence       W Q,  1 (1ᵀQ)                  Wᵀ P,  1 (1ᵀP),             W = X / (P Qᵀ)

The denominator is returned as two factors, so that callers can multiply in the cheapest order.
Least squares multiplies a factor by the square root of numerator / denominator, the divergence by
the quotient itself. For a sparse X, W is computed at the nonzeros of X only.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import wrightomega

from transferbench.core.scale import entries, inner, norm2
from transferbench.problem import Matrix

#: Numerator, and the two factors of the denominator.
NumeratorDenominator: TypeAlias = tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]

CHUNK = 2**16  # entries of rows of P at a time: with those of Q they fit a second-level cache
TINY = float(np.finfo(np.float64).tiny)


class SquaresTerm:
    """The loss ‖X − P Qᵀ‖². X Q is cached until Q changes."""

    def __init__(self, X: Matrix, P: np.ndarray, Q: np.ndarray) -> None:
        self.X, self.norm2 = X, norm2(X)
        self.set_factors(P, Q)

    def set_factors(self, P: np.ndarray | None = None, Q: np.ndarray | None = None) -> None:
        """Replace P, Q or both."""
        if P is not None:
            self.P = P
        if Q is not None:
            self.Q = Q
            self._XQ: np.ndarray | None = None

    def numerator_denominator_P(self) -> NumeratorDenominator:
        """Return both for P: a matrix (n, q) and factors whose product is (n, q)."""
        if self._XQ is None:
            self._XQ = np.asarray(self.X @ self.Q)
        return self._XQ, (self.P, self.Q.T @ self.Q)

    def numerator_denominator_Q(self) -> NumeratorDenominator:
        """Return both for Q: a matrix (d, q) and factors whose product is (d, q)."""
        return self.X.T @ self.P, (self.Q, self.P.T @ self.P)

    def value(self) -> float:
        """Return the loss."""
        XQ, (P, G) = self.numerator_denominator_P()
        return self.norm2 - 2 * inner(XQ, P) + inner(P.T @ P, G)


class DivergenceTerm:
    """The loss Σ X log(X / P Qᵀ) − X + P Qᵀ. W is cached until P or Q changes."""

    def __init__(self, X: Matrix, P: np.ndarray, Q: np.ndarray) -> None:
        self.X, self._rows = X, entry_rows(X)
        self.set_factors(P, Q)

    def set_factors(self, P: np.ndarray | None = None, Q: np.ndarray | None = None) -> None:
        """Replace P, Q or both."""
        if P is not None:
            self.P = P
        if Q is not None:
            self.Q = Q
        self._W: Matrix | None = None

    def W(self) -> Matrix:
        """Return X / (P Qᵀ), sparse if X is."""
        if self._W is None:
            self._W, _ = divide_by_product(self.X, self.P, self.Q, self._rows)
        return self._W

    def numerator_denominator_P(self) -> NumeratorDenominator:
        """Return both for P: a matrix (n, q) and factors whose product is (n, q)."""
        ones = np.ones((len(self.P), 1), self.P.dtype)
        return self.W() @ self.Q, (ones, self.Q.sum(axis=0, keepdims=True))

    def numerator_denominator_Q(self) -> NumeratorDenominator:
        """Return both for Q: a matrix (d, q) and factors whose product is (d, q)."""
        ones = np.ones((len(self.Q), 1), self.Q.dtype)
        return self.W().T @ self.P, (ones, self.P.sum(axis=0, keepdims=True))

    def value(self) -> float:
        """Return the loss."""
        W = self.W()
        x, w = (np.ravel(entries(A)) for A in (self.X, W))
        log = np.log(w, where=w > 0, out=np.zeros_like(w))
        P, Q = (F.sum(axis=0, dtype=np.float64) for F in (self.P, self.Q))
        return inner(x, log) - float(x.sum(dtype=np.float64)) + float(P @ Q)


def entry_rows(X: Matrix) -> np.ndarray | None:
    """Return the row of each stored entry of a sparse X, None for a dense X."""
    if isinstance(X, np.ndarray):
        return None
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def divide_by_product(
    X: Matrix, P: np.ndarray, Q: np.ndarray, rows: np.ndarray | None
) -> tuple[Matrix, np.ndarray]:
    """Return X / (P Qᵀ), sparse if X is, and P Qᵀ at the entries of X.

    X (n, d); P (n, q); Q (d, q); rows: `entry_rows(X)`.
    """
    if rows is None or isinstance(X, np.ndarray):
        product = P @ Q.T
        return safe_divide(X, product), product
    product = sampled_product(P, Q, rows, X.indices)
    values = safe_divide(X.data, product)
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape), product


def sampled_product(
    P: np.ndarray, Q: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return P Qᵀ at the positions (rows, columns) only; P (n, q), Q (d, q)."""
    (P, up_P), (Q, up_Q) = _scale_up(P), _scale_up(Q)
    values = np.empty(len(rows), P.dtype)
    step = max(1, CHUNK // P.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        # mode="clip" skips a bounds check of every index, which costs as much as the product.
        left = P.take(rows[part], axis=0, mode="clip")
        right = Q.take(columns[part], axis=0, mode="clip")
        np.einsum("ij,ij->i", left, right, out=values[part])
    values *= 2.0 ** -(up_P + up_Q)
    return values


def _scale_up(factor: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a factor ≥ 0 times a power of two, and the exponent.

    Then products of small entries are not subnormal (see `flush`), and no bit of others changes.
    """
    _, exponent = np.frexp(factor.max(initial=0))
    up = int(np.clip(50 - exponent, 0, 60))
    return factor * factor.dtype.type(2.0**up), up


@dataclass(frozen=True)
class Squares:
    """Least squares: ‖X − P Qᵀ‖² and ‖M_j − M_Y‖² (HiMLS, lemma 1)."""

    term = SquaresTerm

    def step(self, F: np.ndarray, num: np.ndarray, den: np.ndarray) -> None:
        """Update the factor F in place."""
        F *= np.sqrt(safe_divide(num, den))
        flush(F)

    def step_M(
        self, M: list[np.ndarray], j: int, num: np.ndarray, den: np.ndarray, beta: float
    ) -> None:
        """Update M[j] in place; β couples the M of each view to that of the labels, the last."""
        others = coupled_to(M, j)
        self.step(M[j], num + beta * sum(others), den + beta * len(others) * M[j])

    def coupling_loss(self, M: list[np.ndarray]) -> float:
        """Return Σ_j ‖M_j − M_Y‖², where M_Y is the last of M."""
        return sum(norm2(view - M[-1]) for view in M[:-1])


@dataclass(frozen=True)
class Divergence:
    """Generalised Kullback–Leibler: D(X‖P Qᵀ) and D(M_j‖M_Y) (HiMLS, lemmas 6 and 7).

    coupling: the update of M_j. "exact" minimises the auxiliary function of lemma 6. "paper" is
    eq. 26, which replaces log x by 1 − 1/x; the objective may then rise.
    """

    coupling: Literal["exact", "paper"] = "exact"

    term = DivergenceTerm

    def step(self, F: np.ndarray, num: np.ndarray, den: np.ndarray) -> None:
        """Update the factor F in place."""
        F *= safe_divide(num, den)
        flush(F)

    def step_M(
        self, M: list[np.ndarray], j: int, num: np.ndarray, den: np.ndarray, beta: float
    ) -> None:
        """Update M[j] in place; β couples the M of each view to that of the labels, the last."""
        if self.coupling == "exact" and beta and j < len(M) - 1:
            M[j][:] = _exact_coupling(M[j] * num, den, M[-1], beta)
        else:
            others = coupled_to(M, j)
            M[j][:] = safe_divide(M[j] * num + beta * sum(others), den + beta * len(others))
        flush(M[j])

    def coupling_loss(self, M: list[np.ndarray]) -> float:
        """Return Σ_j D(M_j‖M_Y), where M_Y is the last of M."""
        *views, Y = (np.maximum(m, TINY, dtype=np.float64) for m in M)
        log = np.log(Y)
        return sum(float(np.sum(view * (np.log(view) - log) - view + Y)) for view in views)


Loss: TypeAlias = Squares | Divergence


def coupled_to(M: list[np.ndarray], j: int) -> list[np.ndarray]:
    """Return the factors coupled to M[j]: M of the labels, the last; for the labels, all views'."""
    return M[-1:] if j < len(M) - 1 else M[:-1]


def _exact_coupling(a: np.ndarray, w: np.ndarray, P: np.ndarray, beta: float) -> np.ndarray:
    """Return H (p, q) that minimises Σ w H − a log H + β D(H‖P), for a, w ≥ 0 and P > 0.

    With u = a / βH, the derivative is zero where u + log u = log(a / βP) + w / β. The solution u is
    Wright's omega function of the right-hand side. For a = 0, H = P exp(−w/β).
    """
    a, w, P = (np.maximum(F, TINY, dtype=np.float64) for F in (a, w, P))
    u = wrightomega(np.log(a) - np.log(P) - np.log(beta) + w / beta)
    H = np.where(u > TINY, a / (beta * np.maximum(u, TINY)), P * np.exp(-w / beta))
    return np.asarray(H)


def flush(factor: np.ndarray) -> np.ndarray:
    """Set subnormal entries of a factor ≥ 0 to zero, in place, and return it.

    Entries shrink towards them, and many processors multiply them some hundred times as slowly.
    """
    factor *= factor >= np.finfo(factor.dtype).tiny
    return factor


def safe_divide(num: np.ndarray, den: np.ndarray) -> np.ndarray:
    """Return num / den: finite where den is 0, and 0 where both are 0."""
    return np.asarray(num / np.maximum(den, np.sqrt(np.finfo(den.dtype).tiny)))
