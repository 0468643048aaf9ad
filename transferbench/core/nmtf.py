"""The tri-factorisation engine: one objective for all NMTF models.

    min  Σ_t w_t ‖X_t − V_t (Σ_b U_b H_b)ᵀ‖² + Σ_F λ_F tr(Fᵀ (D_F − W_F) F) + Σ_i α_i ‖F_i − T_i‖²

over nonnegative factors F ∈ {U, H, V}. X_t (n, m) documents × features; U_b (m, k_b) feature
clusters; H_b (k_b, c) association of clusters and classes; V_t (n, c) document classes. Two terms
that contain the same Factor object share it; this is the transfer. A factor may be fixed, smoothed
over a graph W_F (weight λ_F), tied to another factor T_i (weight α_i), or normalised so that
columns or rows sum to one.

Every update is multiplicative,  F ← F ∘ √(num / den)  with  den − num = ½ ∂objective/∂F. It does
not increase the objective in F (Ding, Li, Peng and Park, KDD 2006; Gu and Zhou, KDD 2009). Scaling
to sums of one after it may; the models say by how much, where this was seen.

No documents × features array is formed: products start with U H, which is m × c. Time goes to
reading tall arrays, so each is read as rarely as possible:

- A product is cached until one of its factors changes, and then written over its last value.
- Factors are stored by columns (Fortran order), except wide ones with a graph: W F reads rows.
- A term keeps Xᵀ V and A Vᵀ V side by side, so that the update of H reads U once for both.
- A factor is updated in blocks of rows whose numerator and denominator stay in the processor's
  cache; neither is ever held as a whole.
- λ W F is fastest if neighbours in the graph have nearby rows: see `Graph.order`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core.graph import Graph
from transferbench.core.priors import redistribute
from transferbench.core.scale import (
    FEW_COLUMNS,
    Normalize,
    NormalizeAt,
    inner,
    norm2,
    product,
    scale_columns,
    scale_to_one,
)
from transferbench.core.subnormal import by_us, flush_to_zero, share_work
from transferbench.problem import FeatureClusters, Fit, Matrix, Watch

#: Entries of a block of rows; three such blocks in float32 fit into a second-level cache.
BLOCK = 1 << 16
#: Blocks of an update for which a thread is worth its start.
LEAST_BLOCKS = 5
#: Rows of a graph's block.
GRAPH_ROWS = 4096
#: Iterations after which tiny entries are set to zero by code; see `NMTF._sink`.
SINK_EVERY = 8


@dataclass(eq=False)
class Factor:
    """One nonnegative factor."""

    # Two factors are equal only if they are the same object.

    #: (rows, columns), updated in place.
    value: np.ndarray
    #: True if the factor is never updated.
    fixed: bool = False
    #: (rows,) True for rows that never change, by updates or by scaling; None if there are none.
    #: Columns sum to one with them.
    fixed_rows: np.ndarray | None = None
    #: "columns" or "rows": what is scaled to sum one after updates, if anything.
    normalize: Normalize | None = None
    #: Shares of the columns (columns,) that this scaling aims at, if any, in rows that are not
    #: fixed. Before rows are scaled to one, columns get these shares of the sum of all entries, as
    #: in a step of Sinkhorn. Before columns are, the argmax of the rows gets them (`core.priors`),
    #: because the scale of columns is then lost.
    column_shares: np.ndarray | None = None
    #: True if this scaling makes columns or rows of zeros uniform.
    fill: bool = False
    graph: Graph | None = None
    #: Weight λ of the graph's term.
    graph_weight: float = 0.0
    #: How domains share these feature clusters, see `problem.FeatureClusters`.
    kind: str = ""
    #: Number of changes so far, by which cached products are invalidated.
    version: int = field(default=0, init=False)

    def scale(
        self, aim: Callable[[np.ndarray, np.ndarray], np.ndarray], *, fill: bool = False
    ) -> None:
        """Scale columns or rows to sum one, in place, as declared; fixed rows stay."""
        # `aim`: Changes rows, in place, towards the column shares, if there are any.
        # `fill`: Make columns or rows of zeros uniform; else they stay zero.
        if self.normalize is None:
            return
        fixed = self.fixed_rows
        free = self.value if fixed is None else self.value[~fixed]
        if self.column_shares is not None:
            aim(free, self.column_shares)
        scale_to_one(free, self.normalize, fill=fill)
        if fixed is not None:
            if self.normalize == "columns":
                free *= (1 - self.value[fixed].sum(axis=0)).clip(0)
            self.value[~fixed] = free
        self.version += 1


@dataclass(frozen=True, eq=False)
class Term:
    """One term of the objective: w ‖X − V (Σ_b U_b H_b)ᵀ‖²."""

    #: (n, m) documents × features.
    X: Matrix
    #: (n, c) document classes.
    V: Factor
    #: Pairs (U_b, H_b): feature clusters (m, k_b) and their association with classes (k_b, c).
    parts: tuple[tuple[Factor, Factor], ...]
    weight: float = 1.0

    @property
    def part_factors(self) -> list[Factor]:
        """U and H of every part."""
        return [factor for part in self.parts for factor in part]


@dataclass(frozen=True, eq=False)
class Tie:
    """One term of the objective that ties two factors: α ‖F − T‖²."""

    F: Factor
    #: T, another factor of the same shape.
    to: Factor
    weight: float


#: Which scores a fit returns: those of the last iteration, or those of the least objective.
Stop = Literal["fixed", "objective"]

#: (P, Q, R): a term adds P R to num and Q R to den.
Contribution = tuple[np.ndarray, np.ndarray, np.ndarray]


class NMTF:
    """The objective made of terms and ties, and the updates of its factors."""

    # `terms`: Terms with the same Factor object share it.
    # `ties`: Those of weight zero are dropped.
    # `normalize_at`: "update" normalises a factor right after its update, so that the next update
    # sees it normalised; "domain" after all updates of a domain, where a model calls `end_domain`.
    # `dtype`: Type of the arrays to which the values of all factors are copied.

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
        #: Every factor once: all V, then U and H in the order of the terms.
        factors = [term.V for term in terms] + [F for term in terms for F in term.part_factors]
        self.factors = tuple(dict.fromkeys(factors))
        self.dtype = np.dtype(dtype)
        self.tiny = float(np.finfo(self.dtype).tiny)
        for factor in self.factors:
            wide_graph = factor.graph is not None and factor.value.shape[1] > FEW_COLUMNS
            order: Literal["C", "F"] = "C" if wide_graph else "F"
            factor.value = np.array(factor.value, dtype=self.dtype, order=order)
        # Terms with the same X share it, and each product Xᵀ V.
        self._X = {id(term.X): by_rows(term.X, self.dtype) for term in self.terms}
        self._norm2 = {i: norm2(X) for i, X in self._X.items()}
        # Blocks of rows of λ W, by columns, which is faster, and λ times the degrees (rows, 1).
        self._graphs: dict[Factor, tuple[list[Matrix], np.ndarray]] = {}
        for factor in self.factors:
            if factor.graph is not None and factor.graph_weight:
                W = by_rows(factor.graph.W * factor.graph_weight, self.dtype)
                few = factor.value.shape[1] <= FEW_COLUMNS
                starts = range(0, 0 if few else len(factor.value), GRAPH_ROWS)
                blocks = [sp.csc_array(W[start : start + GRAPH_ROWS]) for start in starts]
                degree = (factor.graph.degree * factor.graph_weight).astype(self.dtype)
                self._graphs[factor] = blocks or [W.T], degree[:, None]
        self._cache: dict[Hashable, tuple[tuple[int, ...], np.ndarray]] = {}

    def _cached(
        self,
        key: Hashable,
        factors: Iterable[Factor],
        compute: Callable[[np.ndarray | None], np.ndarray],
    ) -> np.ndarray:
        """Return the cached product of these factors; recompute it if one of them has changed."""
        # `compute`: Returns the product; it may write it over the last one, which is its argument.
        versions = tuple(factor.version for factor in factors)
        last, product = self._cache.get(key, (None, None))
        if product is None or last != versions:
            product = compute(product)
            self._cache[key] = versions, product
        return product

    def _UH(self, U: Factor, H: Factor) -> np.ndarray:
        """Return U H (m, c)."""
        return self._cached(("UH", U, H), [U, H], lambda out: product(U.value, H.value, out))

    def _A(self, term: Term) -> np.ndarray:
        """Return Σ_b U_b H_b (m, c)."""
        if len(term.parts) == 1:
            return self._UH(*term.parts[0])
        return self._cached(
            ("A", term),
            term.part_factors,
            lambda _: reduce(np.add, [self._UH(*part) for part in term.parts]),
        )

    def _XtV(self, term: Term) -> np.ndarray:
        """Return Xᵀ V (m, c)."""
        i, V = id(term.X), term.V
        return self._cached(("XtV", i, V), [V], lambda out: product(self._X[i].T, V.value, out))

    def _XtV_and_AVtV(self, term: Term) -> np.ndarray:
        """Return [Xᵀ V | A Vᵀ V] (m, 2c), side by side for a single pass in the update of H."""

        def compute(out: np.ndarray | None) -> np.ndarray:
            sides = self._XtV(term), product(self._A(term), self._gram(term.V))
            return np.concatenate(sides, axis=1, out=out)

        return self._cached(("XtV_and_AVtV", term), [term.V, *term.part_factors], compute)

    def _gram(self, F: Factor) -> np.ndarray:
        """Return Fᵀ F (columns, columns)."""
        return self._cached(("gram", F), [F], lambda _: F.value.T @ F.value)

    def _WF(self, F: Factor) -> np.ndarray:
        """Return λ W F, with the shape of F."""
        blocks, _ = self._graphs[F]

        def compute(out: np.ndarray | None) -> np.ndarray:
            if len(blocks) == 1:
                return product(blocks[0], F.value, out)
            WF = np.empty_like(F.value) if out is None else out

            def work(numbers: Iterator[int]) -> None:
                for i in numbers:
                    WF[i * GRAPH_ROWS : (i + 1) * GRAPH_ROWS] = blocks[i] @ F.value

            share_work(work, range(len(blocks)))
            return WF

        return self._cached(("WF", F), [F], compute)

    def objective(self) -> float:
        """Return the objective at the current factors, summed in float64 in trace form."""
        total = 0.0
        for term in self.terms:
            A, G = self._A(term), self._gram(term.V)
            cross = inner(self._XtV(term), A)
            total += term.weight * (self._norm2[id(term.X)] - 2 * cross + inner(A.T @ A, G))
        for F, (_, degree) in self._graphs.items():
            squares = np.einsum("ij,ij->i", F.value, F.value)
            total += inner(degree[:, 0], squares) - inner(F.value, self._WF(F))
        for tie in self.ties:
            total += tie.weight * norm2(tie.F.value - tie.to.value)
        return total

    def contributions(self, F: Factor) -> list[Contribution]:
        """Return what each term adds to the numerator and the denominator of F's update."""
        contributions = []
        for term in self.terms:
            w = self.dtype.type(term.weight)
            c = term.V.value.shape[1]
            unit = w * np.eye(c, dtype=self.dtype)
            if term.V is F:
                A = self._A(term)
                contributions.append(
                    (product(self._X[id(term.X)], A), product(F.value, A.T @ A), unit)
                )
            for U, H in term.parts:
                if U is F:
                    PQ = self._XtV_and_AVtV(term)
                    contributions.append((PQ[:, :c], PQ[:, c:], w * H.value.T))
                if H is F:
                    PQ = (self._XtV_and_AVtV(term).T @ U.value).T
                    contributions.append((PQ[:, :c], PQ[:, c:], unit))
        return contributions

    def tie_targets(self, F: Factor) -> list[tuple[float, np.ndarray]]:
        """Return (weight, values) for each tie of F, whichever side of the tie F is on."""
        targets = [(tie.weight, tie.to.value) for tie in self.ties if tie.F is F]
        return targets + [(tie.weight, tie.F.value) for tie in self.ties if tie.to is F]

    def update(self, *factors: Factor) -> None:
        """Update once each factor that is not fixed, one after the other; see `normalize_at`."""
        for factor in factors:
            self.update_jointly(factor)

    def update_jointly(self, *factors: Factor) -> None:
        """Update once the factors that are not fixed, all from the same values."""
        # `*factors`: Blocks that are one factor in a paper, such as the rows of H = [H₀; H₁]. A tie
        # between two of them sees the new value of the first.
        free = [factor for factor in factors if not factor.fixed]
        for factor, contributions in [(F, self.contributions(F)) for F in free]:
            self._multiply(factor, contributions)
        if self.normalize_at == "update":
            self._normalize(free)

    def end_domain(self, *factors: Factor) -> None:
        """Normalise the factors of a domain after its updates, if `normalize_at` says so."""
        if self.normalize_at == "domain":
            self._normalize(factors)

    def _multiply(self, F: Factor, contributions: list[Contribution]) -> None:
        """Update F ← F ∘ √(num / den), block by block."""
        WF, degree = (self._WF(F), self._graphs[F][1]) if F in self._graphs else (None, None)
        targets = self.tie_targets(F)
        (P, Q, R), *further = contributions
        step = max(1, BLOCK // max(1, F.value.shape[1]))

        def work(starts: Iterator[int]) -> None:
            buffers = [np.empty_like(F.value[:step]) for _ in range(3)]
            for start in starts:
                rows = slice(start, start + step)
                f = F.value[rows]
                num, den, scratch = (buffer[: len(f)] for buffer in buffers)
                np.matmul(P[rows], R, out=num)
                np.matmul(Q[rows], R, out=den)
                for P2, Q2, R2 in further:
                    num += np.matmul(P2[rows], R2, out=scratch)
                    den += np.matmul(Q2[rows], R2, out=scratch)
                if WF is not None and degree is not None:
                    num += WF[rows]
                    den += np.multiply(degree[rows], f, out=scratch)
                for weight, target in targets:
                    num += np.multiply(weight, target[rows], out=scratch)
                    den += np.multiply(weight, f, out=scratch)
                den += self.tiny  # so that 0/0 becomes 0
                num /= den
                np.sqrt(num, out=num)
                if F.fixed_rows is not None:
                    num[F.fixed_rows[rows]] = 1
                f *= num

        share_work(work, range(0, len(F.value), step), least=LEAST_BLOCKS)
        F.version += 1

    def _normalize(self, factors: Iterable[Factor]) -> None:
        """Scale columns or rows to sum one, as each factor declares; what is fixed stays."""
        # A column or row of zeros stays zero, or becomes uniform if the factor declares `fill`.
        for factor in factors:
            if not factor.fixed:
                aim = scale_columns if factor.normalize == "rows" else redistribute
                factor.scale(aim, fill=factor.fill)

    def _sink(self) -> None:
        """Set tiny entries to zero where the processor does not flush: F ← max(F − c, 0)."""
        # c is 5e-26 in float32 and 2e-205 in float64. An entry below it has subnormal products.
        for factor in self.factors:
            if not factor.fixed:
                f = factor.value
                np.subtract(f, self.dtype.type(self.tiny ** (2 / 3)), out=f)
                np.maximum(f, 0, out=f)
                factor.version += 1

    def solve(
        self,
        sweep: Callable[[], None],
        max_iter: int,
        labels: Sequence[Factor],
        watch: Watch | None = None,
        stop: Stop = "fixed",
        diagnostics: Mapping[str, float] = MappingProxyType({}),
    ) -> Fit:
        """Call `sweep` max_iter times; return the label factors as scores, and the objectives."""
        # `watch`: Called after each sweep, see `problem.Watch`.
        # `stop`: Return the scores of the last iteration, or of the (first) one with the least
        # objective.
        # Returns: Scores V of each domain, the objective after each sweep, and the feature clusters
        # of each domain by the first term that has its V.
        trace: list[float] = []
        least, least_at = np.inf, 0
        scores = tuple(V.value for V in labels)
        for iteration in range(1, max_iter + 1):
            with flush_to_zero():
                sweep()
                if by_us() and iteration % SINK_EVERY == 0:
                    self._sink()
                trace.append(self.objective())
            if not np.isfinite(trace[-1]):
                raise FloatingPointError(
                    f"objective is {trace[-1]} at iteration {iteration}; try dtype=float64"
                )
            if trace[-1] < least:
                least, least_at = trace[-1], iteration
                if stop == "objective":
                    scores = tuple(V.value.copy() for V in labels)
            if watch:  # outside the block: this is code of users
                watch(iteration, max_iter, scores)
        clusters = {
            term.V: tuple(FeatureClusters(U.kind, U.value, H.value) for U, H in term.parts)
            for term in reversed(self.terms)
        }
        return Fit(
            scores,
            tuple(trace),
            diagnostics={"least_objective_iteration": least_at, **diagnostics},
            factors=tuple(clusters[V] for V in labels),
        )


def by_rows(X: Matrix, dtype: np.dtype) -> Matrix:
    """Return X stored by rows: dense in C order, or sparse CSR with 32-bit indices if they fit."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=dtype)
    X = sp.csr_array(X, dtype=dtype)
    index = sp.get_index_dtype(maxval=max(X.nnz, X.shape[1]))
    parts = X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    return sp.csr_array(parts, shape=X.shape)
