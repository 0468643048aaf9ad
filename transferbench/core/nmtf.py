"""The tri-factorisation engine: one objective for all NMTF models.

    min  Σ_t w_t ‖X_t − V_t (Σ_b U_b H_b)ᵀ‖² + Σ_F λ_F tr(Fᵀ (D_F − W_F) F) + Σ_i α_i ‖F_i − T_i‖²

over nonnegative factors F ∈ {U, H, V}. X_t (n, m) documents × features; U_b (m, k_b) feature
clusters; H_b (k_b, c) association of clusters and classes; V_t (n, c) document classes. Two terms
that contain the same Factor object share it; this is the transfer. A factor may be fixed, smoothed
over a graph W_F (weight λ_F), tied to given values or to another factor T_i (weight α_i), or
normalised so that columns or rows sum to one.

Every update is multiplicative,  F ← F ∘ √(num / den)  with  den − num = ½ ∂objective/∂F. It does
not increase the objective in F (Ding, Li, Peng and Park, KDD 2006; Gu and Zhou, KDD 2009).

No documents × features array is formed: products start with U H, which is m × c. Time goes to
reading tall arrays, so each is read as rarely as possible:

- A product is cached until one of its factors changes, and then written over its last value.
- A term keeps Xᵀ V and A Vᵀ V side by side, so that the update of H reads U once for both.
- A factor is updated in blocks of rows whose numerator and denominator stay in the processor's
  cache; neither is ever held as a whole.
- λ W F is fastest if neighbours in the graph have nearby rows: see `Graph.order`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from transferbench.core.counts import redistribute
from transferbench.core.graph import Graph
from transferbench.core.products import Products
from transferbench.core.scale import (
    Normalize,
    NormalizeAt,
    inner,
    norm2,
    scale_columns,
    scale_to_one,
    tall_product,
)
from transferbench.problem import Fit, Matrix, Watch

#: Entries of a block of rows; a few such blocks in float32 fit into a second-level cache.
BLOCK = 1 << 15


@dataclass(eq=False)
class Factor:
    """One nonnegative factor. Two factors are equal only if they are the same object.

    value        : (rows, columns), updated in place.
    fixed        : True if the factor is never updated.
    normalize    : "columns" or "rows": what is scaled to sum one after updates, if anything.
    column_shares: shares of the columns (columns,) that this scaling aims at, if any.
                   Before rows are scaled to one, columns get these shares of the sum of all
                   entries, as in a step of Sinkhorn. Before columns are, the argmax of the rows
                   gets them (`core.counts`), because the scale of columns is then lost.
    fill         : True if this scaling makes columns or rows of zeros uniform.
    graph        : graph over the rows, with weight `graph_weight` (λ).
    version      : number of changes so far, by which cached products are invalidated.
    """

    value: np.ndarray
    fixed: bool = False
    normalize: Normalize | None = None
    column_shares: np.ndarray | None = None
    fill: bool = False
    graph: Graph | None = None
    graph_weight: float = 0.0
    version: int = field(default=0, init=False)


@dataclass(frozen=True, eq=False)
class Term:
    """w ‖X − V (Σ_b U_b H_b)ᵀ‖² with X (n, m) and `parts` the pairs (U_b, H_b)."""

    X: Matrix
    V: Factor
    parts: tuple[tuple[Factor, Factor], ...]
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Tie:
    """α ‖F − T‖² with T an array or another factor of the same shape."""

    F: Factor
    to: np.ndarray | Factor
    weight: float


#: (P, Q, R): what a term adds to num and den are P R and Q R.
Share = tuple[np.ndarray, np.ndarray, np.ndarray]


class NMTF:
    """The objective made of terms and ties, and the updates of its factors.

    normalize_at: "update" normalises a factor right after its update, so that the next update sees
    it normalised; "domain" after all updates of a domain, where a model calls `end_domain`. Copies
    the values of all factors to arrays of type `dtype`. Ties of weight zero are dropped. Raises
    ValueError if shapes do not fit or a factor has a negative value.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        ties: Sequence[Tie] = (),
        *,
        normalize_at: NormalizeAt,
        dtype: str = "float32",
    ) -> None:
        self.terms = tuple(terms)
        self.normalize_at = normalize_at
        self.ties = tuple(tie for tie in ties if tie.weight)
        pairs = [pair for term in self.terms for pair in term.parts]
        #: Every factor once: all V, then U and H in the order of the terms.
        self.factors = tuple(
            dict.fromkeys([*(term.V for term in self.terms), *(F for pair in pairs for F in pair)])
        )
        self.dtype = np.dtype(dtype)
        self.tiny = float(np.finfo(self.dtype).tiny)
        for factor in self.factors:
            factor.value = np.array(factor.value, dtype=self.dtype, order="C")
        self._check()
        # Terms with the same X share it, and each product Xᵀ V.
        matrices = {id(term.X): term.X for term in self.terms}
        self._X = {i: Products(X, self.dtype) for i, X in matrices.items()}
        # λ W, and λ times the degrees (rows, 1).
        self._graphs = {
            factor: (
                Products(factor.graph.W * factor.graph_weight, self.dtype),
                (factor.graph.degree * factor.graph_weight).astype(self.dtype)[:, None],
            )
            for factor in self.factors
            if factor.graph is not None and factor.graph_weight
        }
        # For each term [Xᵀ V | A Vᵀ V] (m, 2c), filled by `_pair`.
        self._pairs = {
            term: np.empty((term.X.shape[1], 2 * term.V.value.shape[1]), self.dtype)
            for term in self.terms
        }
        self._cache: dict[Hashable, tuple[tuple[int, ...], np.ndarray]] = {}

    def _cached(
        self,
        key: Hashable,
        factors: Iterable[Factor],
        compute: Callable[[np.ndarray | None], np.ndarray],
    ) -> np.ndarray:
        """Return the cached product of these factors; recompute it if one of them has changed.

        `compute` may write the product over the last one, which is its argument.
        """
        versions = tuple(factor.version for factor in factors)
        last, product = self._cache.get(key, (None, None))
        if product is None or last != versions:
            product = compute(product)
            self._cache[key] = versions, product
        return product

    def _UH(self, U: Factor, H: Factor) -> np.ndarray:
        """Return U H (m, c)."""
        return self._cached(("UH", U, H), [U, H], lambda out: np.matmul(U.value, H.value, out=out))

    def _A(self, term: Term) -> np.ndarray:
        """Return Σ_b U_b H_b (m, c)."""
        if len(term.parts) == 1:
            return self._UH(*term.parts[0])

        def compute(out: np.ndarray | None) -> np.ndarray:
            first, second, *others = (self._UH(*part) for part in term.parts)
            A: np.ndarray = np.add(first, second, out=out)
            for other in others:
                A += other
            return A

        return self._cached(("A", term), _factors(term), compute)

    def _XV(self, term: Term) -> np.ndarray:
        """Return Xᵀ V (m, c)."""
        X, V = id(term.X), term.V
        return self._cached(
            ("XV", X, V), [V], lambda out: self._X[X].transposed_times(V.value, out)
        )

    def _pair(self, term: Term) -> np.ndarray:
        """Return [Xᵀ V | A Vᵀ V] (m, 2c), side by side for a single pass in the update of H."""
        pair = self._pairs[term]
        c = pair.shape[1] // 2
        left, right = pair[:, :c], pair[:, c:]
        self._cached(("left", term), [term.V], lambda _: _copy(self._XV(term), left))
        self._cached(
            ("right", term),
            [term.V, *_factors(term)],
            lambda _: np.matmul(self._A(term), self._gram(term.V), out=right),
        )
        return pair

    def _gram(self, F: Factor) -> np.ndarray:
        """Return Fᵀ F (columns, columns)."""
        return self._cached(("gram", F), [F], lambda _: F.value.T @ F.value)

    def _WF(self, F: Factor) -> np.ndarray:
        """Return λ W F, with the shape of F."""
        W, _ = self._graphs[F]
        return self._cached(("WF", F), [F], lambda out: W.times(F.value, out))

    def objective(self) -> float:
        """Return the objective at the current factors, summed in float64 in trace form."""
        total = 0.0
        for term in self.terms:
            A, G = self._A(term), self._gram(term.V)
            cross = inner(self._XV(term), A)
            total += term.weight * (self._X[id(term.X)].norm2 - 2 * cross + inner(A.T @ A, G))
        for F, (_, degree) in self._graphs.items():
            squares = np.einsum("ij,ij->i", F.value, F.value)
            total += inner(degree[:, 0], squares) - inner(F.value, self._WF(F))
        for tie in self.ties:
            total += tie.weight * norm2(tie.F.value - _values(tie.to))
        return total

    def shares(self, F: Factor) -> list[Share]:
        """Return what each term adds to num and den, as P R and Q R."""
        shares = []
        for term in self.terms:
            w = self.dtype.type(term.weight)
            c = term.V.value.shape[1]
            unit = w * np.eye(c, dtype=self.dtype)
            if term.V is F:
                A = self._A(term)
                shares.append((self._X[id(term.X)].times(A), F.value @ (A.T @ A), unit))
            for U, H in term.parts:
                if U is F:
                    pair = self._pair(term)
                    shares.append((pair[:, :c], pair[:, c:], w * H.value.T))
                if H is F:
                    pair = tall_product(U.value, self._pair(term))
                    shares.append((pair[:, :c], pair[:, c:], unit))
        return shares

    def tie_targets(self, F: Factor) -> list[tuple[float, np.ndarray]]:
        """Return (weight, values) for each tie of F, whichever side of the tie F is on."""
        targets = [(tie.weight, _values(tie.to)) for tie in self.ties if tie.F is F]
        return targets + [(tie.weight, tie.F.value) for tie in self.ties if tie.to is F]

    def update(self, *factors: Factor) -> None:
        """Update once each factor that is not fixed, one after the other; see `normalize_at`."""
        for factor in factors:
            self.update_jointly(factor)

    def update_jointly(self, *factors: Factor) -> None:
        """Update once the factors that are not fixed, all from the same values.

        For blocks that are one factor in a paper, such as the rows of H = [H₀; H₁]. A tie between
        two of them sees the new value of the first.
        """
        free = [factor for factor in factors if not factor.fixed]
        for factor, shares in [(F, self.shares(F)) for F in free]:
            self._multiply(factor, shares)
        if self.normalize_at == "update":
            self._normalize(free)

    def end_domain(self, *factors: Factor) -> None:
        """Normalise the factors of a domain after its updates, if `normalize_at` says so."""
        if self.normalize_at == "domain":
            self._normalize(factors)

    def _multiply(self, F: Factor, shares: list[Share]) -> None:
        """Update F ← F ∘ √(num / den), block by block."""
        WF, degree = (self._WF(F), self._graphs[F][1]) if F in self._graphs else (None, None)
        targets = self.tie_targets(F)
        (P, Q, R), *others = shares
        blocks = _blocks(F)
        buffer = np.empty((3, *F.value[blocks[0]].shape), self.dtype)
        for rows in blocks:
            f = F.value[rows]
            num, den, pull = buffer[:, : len(f)]
            np.matmul(P[rows], R, out=num)
            np.matmul(Q[rows], R, out=den)
            for P2, Q2, R2 in others:
                num += np.matmul(P2[rows], R2, out=pull)
                den += np.matmul(Q2[rows], R2, out=pull)
            if WF is not None and degree is not None:
                num += WF[rows]
                den += np.multiply(degree[rows], f, out=pull)
            for weight, target in targets:
                num += np.multiply(weight, target[rows], out=pull)
                den += np.multiply(weight, f, out=pull)
            den += self.tiny  # so that 0/0 becomes 0
            num /= den
            np.sqrt(num, out=num)
            f *= num
        F.version += 1

    def _normalize(self, factors: Iterable[Factor]) -> None:
        """Scale columns or rows to sum one, as each factor declares; fixed factors stay.

        A column or row of zeros stays zero, or becomes uniform if the factor declares `fill`.
        """
        for factor in factors:
            if factor.normalize is not None and not factor.fixed:
                if factor.column_shares is not None:
                    aim = scale_columns if factor.normalize == "rows" else redistribute
                    aim(factor.value, factor.column_shares)
                scale_to_one(factor.value, factor.normalize, fill=factor.fill)
                factor.version += 1

    def solve(
        self,
        sweep: Callable[[], None],
        max_iter: int,
        labels: Sequence[Factor],
        watch: Watch | None = None,
    ) -> Fit:
        """Call `sweep` max_iter times; return the label factors as scores, and the objectives.

        `labels` holds the label factor V of each domain. Raises FloatingPointError if the
        objective becomes infinite or NaN.
        """
        trace = []
        for iteration in range(1, max_iter + 1):
            sweep()
            trace.append(self.objective())
            if not np.isfinite(trace[-1]):
                raise FloatingPointError(
                    f"objective is {trace[-1]} at iteration {iteration}; try dtype=float64"
                )
            if watch:
                watch(iteration, max_iter, tuple(V.value for V in labels))
        return Fit(scores=tuple(V.value for V in labels), trace=tuple(trace))

    def _check(self) -> None:
        """Raise ValueError if a shape does not fit or a value is negative or NaN."""
        for F in self.factors:
            shape = F.value.shape
            if len(shape) != 2 or not (F.value >= 0).all():
                raise ValueError(f"factor of shape {shape}: expected a nonnegative matrix")
            if F.graph is not None and len(F.graph.degree) != shape[0]:
                nodes = len(F.graph.degree)
                raise ValueError(f"factor has {shape[0]} rows, expected {nodes} as in its graph")
        for t, term in enumerate(self.terms):
            (n, m), V = term.X.shape, term.V.value
            if len(V) != n:
                raise ValueError(f"term {t}: V has {len(V)} rows, expected {n} as in X")
            for U, H in term.parts:
                expected = (m, U.value.shape[1], V.shape[1])
                if (len(U.value), *H.value.shape) != expected:
                    raise ValueError(
                        f"term {t}: U {U.value.shape} times H {H.value.shape} is not "
                        f"a product of shape {(m, V.shape[1])}"
                    )
        for tie in self.ties:
            shapes = tie.F.value.shape, _values(tie.to).shape
            if shapes[0] != shapes[1]:
                raise ValueError(f"factor of shape {shapes[0]} is tied to shape {shapes[1]}")


def _values(target: np.ndarray | Factor) -> np.ndarray:
    return target.value if isinstance(target, Factor) else target


def _blocks(F: Factor) -> list[slice]:
    """Return slices of all rows of F, with about `BLOCK` entries each."""
    n, columns = F.value.shape
    step = max(1, BLOCK // max(1, columns))
    return [slice(start, start + step) for start in range(0, max(1, n), step)]


def _factors(term: Term) -> list[Factor]:
    return [factor for part in term.parts for factor in part]


def _copy(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    out[:] = values
    return out
