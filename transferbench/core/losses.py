"""Two losses for X_i ≈ R_i M_i Qᵀ of several tasks i, with updates that never increase them.

A term holds X (n, d), the tasks one below the other; R_i (n_i, p), M_i (p, q) and Q (d, q). With
P_i = R_i M_i the update of any factor follows from a numerator and a denominator for P or for Q:

                     P: numerator, denominator      Q: numerator, denominator
    least squares    X Q,  P (QᵀQ)                  Xᵀ P,  Q (PᵀP)
    divergence       W Q,  1 (1ᵀQ)                  Wᵀ P,  1 (1ᵀP),             W = X / (P Qᵀ)

Most are returned as lists of factors, so that callers can multiply in the cheapest order. Least
squares multiplies a factor by the square root of numerator / denominator, the divergence by the
quotient itself. For a sparse X, W is computed at the nonzeros of X only. Most X have more columns
than rows, so their products are faster if X is stored by columns (CSC): the factor with a row for
each column of X is then read in order, and only the smaller one out of order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import is_not
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import wrightomega

from transferbench.core.device import is_dense, namespace, on_host, to_host
from transferbench.core.scale import entries, inner, norm2
from transferbench.core.subnormal import flush, share_work
from transferbench.problem import Matrix

#: Matrices to multiply, in this order.
Factors: TypeAlias = list[np.ndarray]
#: How to multiply them: the number of a factor, or the orders of a left and a right part.
Order: TypeAlias = "int | tuple[Order, Order]"
#: Row and column of each stored entry of a sparse matrix; None for a dense one.
Positions: TypeAlias = tuple[np.ndarray, np.ndarray] | None

CHUNK = 2**16  # entries of rows of P at a time: with those of Q they fit a second-level cache
GPU_CHUNK = 2**28  # likewise on a GPU, which needs large blocks
TINY = float(np.finfo(np.float64).tiny)


def chain_product(factors: Factors) -> np.ndarray:
    """Return the product of one or more factors, multiplied in the cheapest order."""

    def product(order: Order) -> np.ndarray:
        if isinstance(order, int):
            return factors[order]
        left, right = map(product, order)
        joined: np.ndarray = left.dot(right)
        return joined

    return product(cheapest_order(len(factors[0]), *(F.shape[1] for F in factors)))


@cache
def cheapest_order(*sizes: int) -> Order:
    """Return the order of the fewest operations for factors i of size (sizes[i], sizes[i + 1])."""

    @cache
    def best(i: int, j: int) -> tuple[int, Order]:
        """Return the operations and the order of the product of factors i to j − 1."""
        if j == i + 1:
            return 0, i
        costs = {
            k: best(i, k)[0] + best(k, j)[0] + sizes[i] * sizes[k] * sizes[j]
            for k in range(i + 1, j)
        }
        cut = min(costs, key=costs.__getitem__)
        return costs[cut], (best(i, cut)[1], best(cut, j)[1])

    return best(0, len(sizes) - 1)[1]


def around(factors: Factors, level: int) -> tuple[Factors, Factors]:
    """Return the products before and after a factor, transposed, each as a list of one or none."""
    before, after = factors[:level], factors[level + 1 :]
    return [chain_product(before).T] if before else [], [chain_product(after).T] if after else []


@dataclass(frozen=True)
class Side:
    """A factor F (n, k) with FᵀF and X F, which are computed once; a changed F is a new Side."""

    F: np.ndarray
    X: Any = None

    @cached_property
    def gram(self) -> np.ndarray:
        """FᵀF (k, k)."""
        square: np.ndarray = self.F.T @ self.F
        return square

    @cached_property
    def XF(self) -> np.ndarray:
        """X F (rows of X, k)."""
        product: np.ndarray = self.X @ self.F
        return product


def cached(*factors: str) -> Callable[[Callable[[Any], Any]], Any]:
    """Return a decorator: a property that is computed again after a factor was replaced."""

    def decorate(compute: Callable[[Any], Any]) -> property:
        def get(term: "ViewTerm") -> Any:
            now = [getattr(term, factor) for factor in factors]
            if compute not in term.cache or any(map(is_not, term.cache[compute][0], now)):
                term.cache.pop(compute, None)  # the new product takes the memory of the old one
                term.cache[compute] = now, compute(term)
            return term.cache[compute][1]

        return property(get, doc=compute.__doc__)

    return decorate


class ViewTerm:
    """The loss of one X (n, d), with cached products, see `cached`."""

    # `X`: (n, d), the tasks one below the other.
    # `C`: The factors of Q (d, q), see `set_C`.
    # `first`: The first of them as a side, with its product with X.

    #: `R`, `M`: A side (n_i, p) and a matrix (p, q) for each task; after a change, a new list.
    R: list[Side]
    M: list[np.ndarray]

    def __init__(self, X: Matrix, rows: Sequence[slice]) -> None:
        self.X, self.rows = X, rows
        self.cache: dict[Any, tuple[Any, Any]] = {}

    def set_C(self, C: list[np.ndarray], changed: int = 0) -> None:
        """Replace the factors of Q, of which the one at level `changed` is new."""
        self.C = C
        if changed == 0:
            self.first = Side(C[0], self.X)

    @cached("R", "M")
    def P(self) -> np.ndarray:
        """R_i M_i of every task, one below the other (n, q)."""
        xp = namespace(self.M[0])
        P: np.ndarray = xp.empty((self.X.shape[0], self.M[0].shape[1]), self.M[0].dtype)
        for rows, R, M in zip(self.rows, self.R, self.M, strict=True):
            xp.matmul(R.F, M, out=P[rows])
        return P

    @cached("C")
    def Q(self) -> np.ndarray:
        """The product of C (d, q)."""
        return chain_product(self.C)

    def R_gram(self, i: int) -> Factors:
        """Return factors of R_iᵀR_i: itself, which all views share, or two if that costs less."""
        R = self.R[i]
        cheaper = len(R.F) > R.F.shape[1] < 4 * self.X.shape[1]
        return [R.gram] if cheaper else [R.F.T, R.F]


class SquaresTerm(ViewTerm):
    """The loss ‖X − P Qᵀ‖²."""

    # X is narrow if it is dense and has no more columns than the first C. Products with a narrow X
    # or with Q are computed first. Otherwise only the update of the first C reads X and this C; all
    # other updates use their product XC and the square of this C.

    @property
    def narrow(self) -> bool:
        """True if X is narrow."""
        return is_dense(self.X) and self.X.shape[1] <= self.C[0].shape[1]

    @cached("C")
    def XQ(self) -> np.ndarray:
        """X Q (n, q)."""
        return chain_product([self.first.XF, *self.C[1:]])

    @cached("C")
    def Q_gram(self) -> Factors:
        """QᵀQ; of a narrow X as two factors."""
        if self.narrow:
            return [self.Q.T, self.Q]
        return [chain_product([*(C.T for C in self.C[:0:-1]), self.first.gram, *self.C[1:]])]

    def numerator_denominator_P(self, i: int) -> tuple[Factors, Factors]:
        """Return factors of numerator and denominator (n_i, q) for P of task i."""
        R, rows = self.R[i].F, self.rows[i]
        P = [R, self.M[i]] if self.narrow or len(R) > R.shape[1] else [self.P[rows]]
        return [self.X[rows], self.Q] if self.narrow else [self.XQ[rows]], [*P, *self.Q_gram]

    def numerator_denominator_C(self, level: int) -> tuple[np.ndarray, Factors]:
        """Return the numerator for C of a level, and factors of its denominator."""
        X, Q, first = self.X, self.Q, 0
        if level and not self.narrow:
            X, Q, first = self.first.XF, chain_product([self.first.gram, *self.C[1:]]), 1
        before, after = around(self.C[first:], level - first)
        if self.narrow:
            tasks = zip(self.rows, self.R, self.M, strict=True)
            nums = [chain_product([X[rows].T, R.F, M]) for rows, R, M in tasks]
            dens = [chain_product([Q, M.T, *self.R_gram(i), M]) for i, M in enumerate(self.M)]
            num, den = (namespace(Q).asarray(sum(parts)) for parts in (nums, dens))
            return chain_product([*before, num, *after]), [chain_product([*before, den, *after])]
        num = chain_product([*before, X.T @ self.P, *after])
        return num, [chain_product([*before, Q]), chain_product([self.P.T @ self.P, *after])]

    def value(self) -> float:
        """Return the loss."""
        total = norm2(self.X)
        for i, M in enumerate(self.M):
            num, den = numerator_denominator_M(self, i)
            total += inner(den, M) - 2 * inner(num, M)
        return total


class DivergenceTerm(ViewTerm):
    """The loss Σ X log(X / P Qᵀ) − X + P Qᵀ."""

    @cached_property
    def positions(self) -> Positions:
        """Row and column of each entry of X."""
        return entry_positions(self.X)

    @cached("C")
    def Q_sums(self) -> np.ndarray:
        """1ᵀQ (1, q)."""
        sums: np.ndarray = self.Q.sum(axis=0, keepdims=True)
        return sums

    @cached("R", "M", "C")
    def W(self) -> Matrix:
        """X / (P Qᵀ), sparse if X is."""
        return divide_by_product(self.X, self.P, self.Q, self.positions)[0]

    @cached("R", "M", "C")
    def WQ(self) -> np.ndarray:
        """W Q (n, q)."""
        product: np.ndarray = self.W @ self.Q
        return product

    def numerator_denominator_P(self, i: int) -> tuple[Factors, Factors]:
        """Return factors of numerator and denominator (n_i, q) for P of task i."""
        ones = namespace(self.Q).ones((len(self.R[i].F), 1), self.Q.dtype)
        return [self.WQ[self.rows[i]]], [ones, self.Q_sums]

    def numerator_denominator_C(self, level: int) -> tuple[np.ndarray, Factors]:
        """Return the numerator for C of a level, and factors of its denominator."""
        before, after = around(self.C, level)
        ones = namespace(self.Q).ones((len(self.Q), 1), self.Q.dtype)
        left = chain_product([*before, ones])
        right = chain_product([self.P.sum(axis=0, keepdims=True), *after])
        return chain_product([*before, self.W.T @ self.P, *after]), [left, right]

    def value(self) -> float:
        """Return the loss."""
        x, w = (entries(A).ravel() for A in (self.X, self.W))
        xp = namespace(w)
        log = xp.log(xp.where(w > 0, w, 1))
        P, Q = (F.sum(axis=0, dtype=np.float64) for F in (self.P, self.Q))
        return inner(x, log) - float(x.sum(dtype=np.float64)) + float(P @ Q)


def numerator_denominator_M(
    term: SquaresTerm | DivergenceTerm, i: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return numerator and denominator (p, q) for M of task i."""
    R = term.R[i].F
    num, den = term.numerator_denominator_P(i)
    left = [*term.R_gram(i), *den[1:]] if den[0] is R else [R.T, *den]
    return chain_product([R.T, *num]), chain_product(left)


def entry_positions(X: Matrix) -> Positions:
    """Return row and column of each stored entry of a CSR or CSC X; None if X is dense."""
    if is_dense(X):
        return None
    # CuPy repeats by numbers on the host only.
    major = np.repeat(np.arange(len(X.indptr) - 1), np.diff(to_host(X.indptr)))
    minor = X.indices.astype(np.intp)  # `take` converts other indices each time
    outer: np.ndarray = namespace(X.indptr).asarray(major)
    return (outer, minor) if X.format == "csr" else (minor, outer)


def divide_by_product(
    X: Matrix, P: np.ndarray, Q: np.ndarray, positions: Positions
) -> tuple[Matrix, np.ndarray]:
    """Return X / (P Qᵀ), sparse if X is, and P Qᵀ at the entries of X."""
    # `X`, `P`, `Q`: Matrices (n, d), (n, q) and (d, q).
    if positions is None or is_dense(X):
        PQ = P @ Q.T
        return safe_divide(X, PQ), PQ
    PQ = sampled_product(P, Q, *positions)
    values = safe_divide(X.data, PQ)
    return type(X)((values, X.indices, X.indptr), shape=X.shape), PQ


def sampled_product(
    P: np.ndarray, Q: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the entries of P Qᵀ at the positions (rows, columns)."""
    # `P`, `Q`: Matrices (n, q) and (d, q).
    # Shapes: rows and columns (entries,).
    if not on_host(P):
        values = namespace(P).empty(len(rows), P.dtype)
        step = max(1, GPU_CHUNK // P.shape[1])
        for part in (slice(start, start + step) for start in range(0, len(rows), step)):
            values[part] = (P[rows[part]] * Q[columns[part]]).sum(axis=1)
        return values  # type: ignore[no-any-return]
    (P, up_P), (Q, up_Q) = _scale_up(P), _scale_up(Q)
    values = np.empty(len(rows), P.dtype)
    step = max(1, CHUNK // P.shape[1])

    def work(starts: Iterator[int]) -> None:
        for start in starts:
            part = slice(start, start + step)
            # mode="clip" skips a bounds check of every index, which costs as much as the product.
            left = P.take(rows[part], axis=0, mode="clip")
            right = Q.take(columns[part], axis=0, mode="clip")
            np.einsum("ij,ij->i", left, right, out=values[part])

    share_work(work, range(0, len(rows), step))
    values *= 2.0 ** -(up_P + up_Q)
    return values


def _scale_up(factor: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a factor ≥ 0 times a power of two, and the exponent."""
    # Products of small entries then are not subnormal; other products keep every bit.
    _, exponent = np.frexp(factor.max(initial=0))
    up = int(np.clip(50 - exponent, 0, 60))
    return factor * factor.dtype.type(2.0**up), up


@dataclass(frozen=True)
class Squares:
    """Least squares: ‖X − P Qᵀ‖² and ‖M_j − M_Y‖² (HiMLS, lemma 1)."""

    term = SquaresTerm

    def step(self, F: np.ndarray, num: np.ndarray, den: np.ndarray) -> None:
        """Update the factor F in place; num and den are overwritten."""
        xp = namespace(den)
        xp.maximum(den, np.sqrt(np.finfo(den.dtype).tiny), out=den)
        xp.divide(num, den, out=num)
        F *= xp.sqrt(num, out=num)
        flush(F)

    def step_M(
        self, M: list[np.ndarray], j: int, num: np.ndarray, den: np.ndarray, beta: float
    ) -> None:
        """Update M[j] in place."""
        # `M`: (p, q) for each view, then for the labels.
        # `num`, `den`: (p, q); they are overwritten.
        # `beta`: β: weight of the coupling of each view's M to that of the labels.
        partners = coupled_to(M, j)
        num += beta * sum(partners)
        den += beta * len(partners) * M[j]
        self.step(M[j], num, den)

    def coupling_loss(self, M: list[np.ndarray]) -> float:
        """Return Σ_j ‖M_j − M_Y‖², where M_Y is the last of M."""
        return sum(norm2(view - M[-1]) for view in M[:-1])


@dataclass(frozen=True)
class Divergence:
    """Generalised Kullback–Leibler: D(X‖P Qᵀ) and D(M_j‖M_Y) (HiMLS, lemmas 6 and 7)."""

    #: The update of M_j. "exact" minimises the auxiliary function of lemma 6. "paper" is eq. 26,
    #: which replaces log x by 1 − 1/x; the objective may then rise.
    coupling: Literal["exact", "paper"] = "exact"

    term = DivergenceTerm

    def step(self, F: np.ndarray, num: np.ndarray, den: np.ndarray) -> None:
        """Update the factor F in place."""
        F *= safe_divide(num, den)
        flush(F)

    def step_M(
        self, M: list[np.ndarray], j: int, num: np.ndarray, den: np.ndarray, beta: float
    ) -> None:
        """Update M[j] in place."""
        # `M`: (p, q) for each view, then for the labels.
        # `beta`: β: weight of the coupling of each view's M to that of the labels.
        # Shapes: num and den (p, q).
        if self.coupling == "exact" and beta and j < len(M) - 1:
            M[j][:] = _exact_coupling(M[j] * num, den, M[-1], beta)
        else:
            partners = coupled_to(M, j)
            M[j][:] = safe_divide(M[j] * num + beta * sum(partners), den + beta * len(partners))
        flush(M[j])

    def coupling_loss(self, M: list[np.ndarray]) -> float:
        """Return Σ_j D(M_j‖M_Y), where M_Y is the last of M."""
        xp = namespace(M[-1])
        *views, Y = (xp.maximum(m, TINY, dtype=np.float64) for m in M)
        log = xp.log(Y)
        return sum(float(xp.sum(view * (xp.log(view) - log) - view + Y)) for view in views)


Loss: TypeAlias = Squares | Divergence


def coupled_to(M: list[np.ndarray], j: int) -> list[np.ndarray]:
    """Return the matrices coupled to M[j]: that of the labels, or for the labels those of views."""
    return M[-1:] if j < len(M) - 1 else M[:-1]


def _exact_coupling(a: np.ndarray, w: np.ndarray, P: np.ndarray, beta: float) -> np.ndarray:
    """Return H (p, q) that minimises Σ w H − a log H + β D(H‖P), for a, w ≥ 0 and P > 0."""
    # With u = a / βH, the derivative is zero where u + log u = log(a / βP) + w / β. The solution u
    # is Wright's omega function of the right-hand side. For a = 0, H = P exp(−w/β).
    xp = namespace(P)
    a, w, P = (xp.maximum(F, TINY, dtype=np.float64) for F in (a, w, P))
    right = xp.log(a) - xp.log(P) - np.log(beta) + w / beta
    u = xp.asarray(wrightomega(to_host(right)))  # CuPy has no wrightomega
    H: np.ndarray = xp.where(u > TINY, a / (beta * xp.maximum(u, TINY)), P * xp.exp(-w / beta))
    return H


def safe_divide(num: np.ndarray, den: np.ndarray) -> np.ndarray:
    """Return num / den: finite where den is 0, and 0 where both are 0."""
    least = np.sqrt(np.finfo(den.dtype).tiny)
    quotient: np.ndarray = num / namespace(den).maximum(den, least)
    return quotient
