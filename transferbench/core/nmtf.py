"""The tri-factorisation engine: one objective, written, tested and made fast once.

    min  Σ_t w_t ‖X_t − V_t (Σ_b U_b H_b)ᵀ‖² + Σ_f λ_f tr(Fᵀ (D_f − W_f) F) + Σ_i α_i ‖F_i − T_i‖²

over nonnegative factors F ∈ {U, H, V}.  X_t (n, m) documents × features; U_b (m, k_b) feature
clusters; H_b (k_b, c) association; V_t (n, c) document classes.  A factor named in two terms is
shared by them, which is the transfer; a factor may be fixed, smoothed over a graph W_f (λ_f), tied
to given values or to another factor T_i (α_i), or normalised to columns or rows of sum one.

Every update is multiplicative,  F ← F ∘ √(num / den)  with  den − num = ½ ∂objective/∂F,  which
does not increase the objective in F (Ding, Li, Peng and Park, KDD 2006; Gu and Zhou, KDD 2009).

No array of size documents × features is formed: the association goes first (U H is m × c), products
that did not change since they were made are kept, and tall updates go by blocks of rows that stay
in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from transferbench.core.graph import Graph
from transferbench.core.scale import Normalize, inner, norm2, scale_to_one
from transferbench.problem import Fit, Matrix, Watch

BLOCK = 2048  # rows at a time: three float32 blocks of 64 columns fit a second-level cache


@dataclass
class Factor:
    """One nonnegative factor and all that is said of it.

    value     : (rows, columns), changed in place.
    fixed     : never updated.
    normalize : "columns" or "rows": scaled to sum one by `normalize`.
    graph     : a graph over the rows, with its weight λ.
    """

    value: np.ndarray
    fixed: bool = False
    normalize: Normalize | None = None
    graph: Graph | None = None
    graph_weight: float = 0.0
    version: int = field(default=0, init=False)


@dataclass(frozen=True)
class Term:
    """w ‖X − V (Σ_b U_b H_b)ᵀ‖², X (n, m); `parts` names the pairs (U_b, H_b), `v` names V."""

    X: Matrix
    parts: tuple[tuple[str, str], ...]
    v: str
    weight: float = 1.0


@dataclass(frozen=True)
class Tie:
    """α ‖F − T‖²: a factor by name, and what it is drawn to, an array or another factor's name."""

    factor: str
    to: np.ndarray | str
    weight: float


class NMTF:
    """Factors by name, the terms and ties that join them, and the updates of each.

    Raises ValueError where shapes do not fit, a name is unknown or a value is negative.
    """

    def __init__(
        self,
        factors: dict[str, Factor],
        terms: Sequence[Term],
        dtype: str = "float32",
        ties: Sequence[Tie] = (),
    ) -> None:
        self.factors = factors
        self.terms = tuple(terms)
        self.ties = tuple(tie for tie in ties if tie.weight)
        self.dtype = np.dtype(dtype)
        self.tiny = float(np.finfo(self.dtype).tiny)
        for factor in factors.values():
            factor.value = np.array(factor.value, dtype=self.dtype, order="C")
        self._check()
        # Both X and Xᵀ in row order, so that neither product walks the matrix the slow way. Terms
        # of one X share them, and each Xᵀ V.
        matrices = {id(term.X): term.X for term in self.terms}
        self._X = {i: _rows(X, self.dtype) for i, X in matrices.items()}
        self._Xt = {i: _rows(X.T, self.dtype) for i, X in matrices.items()}
        self._norm2 = {i: norm2(X) for i, X in self._X.items()}
        self._pull = {
            name: (
                _rows(factor.graph.W * factor.graph_weight, self.dtype),
                (factor.graph.degree * factor.graph_weight).astype(self.dtype)[:, None],
            )
            for name, factor in factors.items()
            if factor.graph is not None and factor.graph_weight
        }
        self._memo: dict[tuple[str, object], tuple[tuple[int, ...], np.ndarray]] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        return self.factors[name].value

    # -- products, kept until a factor they were made of changes -----------------------------

    def _kept(
        self, what: str, of: object, names: Sequence[str], make: Callable[[], np.ndarray]
    ) -> np.ndarray:
        versions = tuple(self.factors[name].version for name in names)
        old = self._memo.get((what, of))
        if old is None or old[0] != versions:
            self._memo[(what, of)] = old = (versions, make())
        return old[1]

    def _A(self, t: int) -> np.ndarray:
        """Σ_b U_b H_b  (m, c)."""
        parts = self.terms[t].parts
        names = [name for part in parts for name in part]
        return self._kept("A", t, names, lambda: sum(self[u] @ self[h] for u, h in parts))

    def _XV(self, term: Term) -> np.ndarray:
        """Xᵀ V  (m, c)."""
        X, v = id(term.X), term.v
        return self._kept("XV", (X, v), [v], lambda: self._Xt[X] @ self[v])

    def _gram(self, name: str) -> np.ndarray:
        """Vᵀ V  (c, c)."""
        return self._kept("gram", name, [name], lambda: self[name].T @ self[name])

    def _WF(self, name: str) -> np.ndarray:
        """λ W F, of the shape of F."""
        return self._kept("WF", name, [name], lambda: self._pull[name][0] @ self[name])

    # -- the objective, in trace form -------------------------------------------------------

    def objective(self) -> float:
        """Value of the objective at the present factors, summed in float64."""
        total = 0.0
        for t, term in enumerate(self.terms):
            A, G = self._A(t), self._gram(term.v)
            cross = inner(self._XV(term), A)
            own = self._norm2[id(term.X)]
            total += term.weight * (own - 2 * cross + inner(A.T @ A, G))
        for name, factor in self.factors.items():
            if name in self._pull:
                degree = self._pull[name][1][:, 0]
                squares = np.einsum("ij,ij->i", factor.value, factor.value)
                total += inner(degree, squares) - inner(factor.value, self._WF(name))
        for tie in self.ties:
            to = self[tie.to] if isinstance(tie.to, str) else tie.to
            total += tie.weight * norm2(self[tie.factor] - to)
        return total

    # -- updates ----------------------------------------------------------------------------

    def pulls(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The terms' share of (num, den) as P R and Q R with P, Q (rows, c) and R (c, columns).

        R is None where P and Q are the share themselves (for V and H).
        """
        P: list[np.ndarray] = []
        Q: list[np.ndarray] = []
        R: list[np.ndarray] = []
        for t, term in enumerate(self.terms):
            w = self.dtype.type(term.weight)
            if term.v == name:
                A = self._A(t)
                P.append(w * (self._X[id(term.X)] @ A))
                Q.append(w * (self[name] @ (A.T @ A)))
            for u, h in term.parts:
                if name == u:
                    P.append(w * self._XV(term))
                    Q.append(w * (self._A(t) @ self._gram(term.v)))
                    R.append(self[h].T)
                if name == h:
                    # Both products in one pass over U, the tallest array of all.
                    pair = np.hstack([self._XV(term), self._A(t) @ self._gram(term.v)])
                    num, den = np.hsplit(w * (self[u].T @ pair), 2)
                    P.append(num)
                    Q.append(den)
        if R:
            return np.hstack(P), np.hstack(Q), np.vstack(R)
        return np.asarray(sum(P)), np.asarray(sum(Q)), None

    def gradient(self, name: str) -> np.ndarray:
        """∂objective/∂F = 2 (den − num), of the shape of F; for tests and diagnostics."""
        P, Q, R = self.pulls(name)
        half = Q - P if R is None else (Q - P) @ R
        factor = self.factors[name]
        if name in self._pull:
            half = half + self._pull[name][1] * factor.value - self._WF(name)
        for weight, to in self._drawn(name):
            half = half + weight * (factor.value - to)
        return np.asarray(2 * half)

    def _drawn(self, name: str) -> list[tuple[float, np.ndarray]]:
        """Weights and values that a factor's ties draw it to, from either end."""
        found = []
        for tie in self.ties:
            if tie.factor == name:
                found.append((tie.weight, self[tie.to] if isinstance(tie.to, str) else tie.to))
            elif isinstance(tie.to, str) and tie.to == name:
                found.append((tie.weight, self[tie.factor]))
        return found

    def update(self, *names: str) -> None:
        """One multiplicative update of each named factor that is not fixed, in that order."""
        for name in names:
            self.update_jointly(name)

    def update_jointly(self, *names: str) -> None:
        """One multiplicative update of the named factors as one, all from the present values.

        For blocks of one factor of the papers, such as the rows of H = [H₀; H₁]. Fixed ones stay.
        """
        free = [name for name in names if not self.factors[name].fixed]
        for name, pulls in [(name, self.pulls(name)) for name in free]:
            self._update(name, *pulls)

    def _update(self, name: str, P: np.ndarray, Q: np.ndarray, R: np.ndarray | None) -> None:
        factor = self.factors[name]
        F = factor.value
        WF, degree = (self._WF(name), self._pull[name][1]) if name in self._pull else (None, None)
        drawn = self._drawn(name)
        for start in range(0, len(F), BLOCK):
            rows = slice(start, start + BLOCK)
            f = F[rows]
            num = P[rows] @ R if R is not None else P[rows].copy()
            den = Q[rows] @ R if R is not None else Q[rows].copy()
            if WF is not None and degree is not None:
                num += WF[rows]
                den += degree[rows] * f
            for weight, to in drawn:
                num += weight * to[rows]
                den += weight * f
            # Where nothing pushes back there is nothing to divide by: tiny keeps 0/0 at 0.
            np.maximum(den, self.tiny, out=den)
            num /= den
            np.sqrt(num, out=num)
            f *= num
        factor.version += 1

    def normalize(self, *names: str) -> None:
        """Scale each named factor's columns or rows to sum one, as it was declared.

        An all-zero column or row is left as it is.
        """
        for name in names:
            factor = self.factors[name]
            if factor.normalize is None or factor.fixed:
                continue
            scale_to_one(factor.value, factor.normalize)
            factor.version += 1

    def solve(
        self,
        sweep: Callable[[], None],
        max_iter: int,
        labels: Sequence[str],
        watch: Watch | None = None,
    ) -> Fit:
        """Sweep max_iter times: the label factors as scores, the objective after each sweep.

        `labels` names a factor for each domain of the problem. Raises FloatingPointError where the
        objective is no number any more.
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
                watch(iteration, max_iter, tuple(self[name] for name in labels))
        return Fit(scores=tuple(self[name] for name in labels), trace=tuple(trace))

    def _check(self) -> None:
        for name, factor in self.factors.items():
            rows = len(factor.value)
            if factor.value.ndim != 2 or not (factor.value >= 0).all():
                raise ValueError(f"factor {name}: expected a nonnegative (rows, columns) array")
            if factor.graph is not None and len(factor.graph.degree) != rows:
                raise ValueError(f"factor {name} has {rows} rows, its graph is of another size")
        for t, term in enumerate(self.terms):
            n, m = term.X.shape
            V = self[term.v]
            if len(V) != n:
                raise ValueError(f"term {t}: {term.v} has {len(V)} rows, X has {n}")
            for u, h in term.parts:
                if (len(self[u]), *self[h].shape) != (m, self[u].shape[1], V.shape[1]):
                    raise ValueError(f"term {t}: {u} {h} is not a product of shape (m, c)")
        for tie in self.ties:
            to = self[tie.to] if isinstance(tie.to, str) else tie.to
            if to.shape != self[tie.factor].shape:
                raise ValueError(f"factor {tie.factor} is tied to an array of another shape")


def _rows(X: Matrix, dtype: np.dtype) -> Matrix:
    return sp.csr_array(X, dtype=dtype) if sp.issparse(X) else np.ascontiguousarray(X, dtype=dtype)
