"""Linear support vector machines of which each is trained from the one before.

    min over w  ½‖w‖² + Σ_i c_i max(0, 1 − y_i w·x_i)

x_i (d,) documents, y_i ±1 their signs, c_i ≥ 0 their weights. Of the dual, with K_ij = x_i·x_j,

    min over 0 ≤ α ≤ c  ½ Σ_ij α_i y_i K_ij y_j α_j + ½ρ‖α‖² − Σ_i α_i,   w = Σ_i α_i y_i x_i,

each α_i is 0, c_i or, for a free document, between them. If it is known which, the free α solve a
linear system. All documents whose α or margin then contradicts their place change it, until none
does (block principal pivoting: Júdice and Pires, Computers & Operations Research, 1994). The result
is exact but for ρ, which changes margins by at most a hundredth of the tolerance.

When few signs and weights have changed, few documents change their place, and the system is solved
by its last Cholesky factor, bordered. Else LIBLINEAR trains a machine that shows the places.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from transferbench.problem import Matrix

#: Free documents that may differ from those of the factor.
MOST_CHANGED = 200
#: Free documents that are tried; their inner products take 128 MB.
MOST_FREE = 4000
#: Steps of pivoting that are tried.
STEPS = 20


class HingeTrainer:
    """Trains machines on the same documents X (n, d).

    tol: tolerance of margins, of LIBLINEAR where it decides. largest: the largest weight of a
    document. pivoting: if false, LIBLINEAR trains every machine.
    """

    def __init__(self, X: Matrix, tol: float, largest: float, *, pivoting: bool = True) -> None:
        self.X, self.tol, self.pivoting = X, tol, pivoting
        self.slack = tol / 100
        self.ridge = self.slack / largest
        self.free = self.upper = np.zeros(X.shape[0], bool)  # upper: α is the weight
        self.sign = self.margin = np.zeros(X.shape[0])
        self.system: _System | None = None

    def train(self, sign: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return w (d,) for these signs and weights (n,), and the values w·x_i (n,)."""
        found = None
        if self.system:
            turned = sign != self.sign
            self.free = self.free & ~turned
            self.upper = np.where(turned, -self.margin < 1, self.upper)
            found = self._pivot(sign, weight, MOST_CHANGED)
        if found is None and self.pivoting:
            margin = sign * (self.X @ train_svm(self.X, sign, weight, 10 * self.tol))
            self.free = np.abs(margin - 1) <= 30 * self.tol
            self.upper = ~self.free & (margin < 1)
            found = self._pivot(sign, weight, len(sign))
        if found is None:
            w = train_svm(self.X, sign, weight, self.tol)
            found = w, self.X @ w
        self.sign, self.margin = sign, sign * found[1]
        return found

    def _pivot(
        self, sign: np.ndarray, weight: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return w and values; None if more documents than `most` change, or it does not end."""
        for _ in range(STEPS):
            if self.free.sum() > MOST_FREE:
                return None
            bound = np.where(self.upper, sign * weight, 0.0)
            try:
                beta, w = self._solve(sign, self.X.T @ bound)
            except np.linalg.LinAlgError:  # the weights are so large that the ridge is rounded off
                self.system = None
                return None
            beta += bound
            f = self.X @ w
            alpha, margin = sign * beta, sign * f
            low = self.free & (alpha < -self.slack * weight)
            high = self.free & (alpha > (1 + self.slack) * weight)
            inside = np.where(self.upper, margin > 1 + self.slack, margin < 1 - self.slack)
            freed = ~self.free & inside & (weight > 0)
            wrong = low | high | freed
            if not wrong.any():
                return w, f
            self.free = self.free ^ wrong
            self.upper = self.upper & ~freed | high
            if wrong.sum() > most:
                return None
        return None

    def _solve(self, sign: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `_System.solve`; make a new system if too many documents have changed."""
        if self.system is None or not self.system.borders(self.free):
            self.system = _System(self.X, self.free, self.ridge, self.system)
        return self.system.solve(self.free, sign, w)


class _System:
    """Solves (K + ρ) β = b for free documents that are about `rows`, those of the factor L.

    The others, and those of `rows` that are no longer free, border the system. `T` is L⁻¹ times
    their columns of K, or of the identity, and S the Schur complement. last: the system before.
    """

    def __init__(self, X: Matrix, free: np.ndarray, ridge: float, last: "_System | None") -> None:
        self.X, self.known, self.ridge = X, free, ridge
        both = free & last.known if last else np.zeros_like(free)
        k = both.sum()
        self.rows = np.append(np.flatnonzero(both), np.flatnonzero(free & ~both))
        self.part = X[self.rows]
        self.K = np.empty((len(self.rows), len(self.rows)))
        if last:  # most of the products are known
            at = np.argsort(last.rows)[both[np.sort(last.rows)]]
            self.K[:k, :k] = last.K[np.ix_(at, at)]
        self.K[k:] = _products(self.part[k:], self.part)
        self.K[k:, k:] += ridge * np.eye(len(self.K) - k)
        self.K[:k, k:] = self.K[k:, :k].T
        self.L = cholesky(self.K.T, lower=True, check_finite=False)
        self.place = np.full(X.shape[0], -1)  # in the border
        self.border, self.side = np.empty(0, np.intp), X[:0]
        self.T, self.S = np.empty((len(self.rows), 0)), np.empty((0, 0))

    def borders(self, free: np.ndarray) -> bool:
        """Border the system for these free documents (n,); return False if they are too many."""
        new = np.flatnonzero((free != self.known) & (self.place < 0))
        k = len(self.border)
        if k + len(new) > MOST_CHANGED:
            return False
        if not len(new):
            return True
        self.place[new] = np.arange(k, k + len(new))
        self.border = np.append(self.border, new)
        self.side = self.X[self.border]
        rows, known = self.side[k:], self.known[new]
        V = np.where(known, self.rows[:, None] == new, _products(self.part, rows))
        T = self._lower(V)
        self.T = np.hstack([self.T, T])
        corner = _products(self.side, rows)
        corner += self.ridge * (self.border[:, None] == new)
        corner[self.known[self.border]] = 0
        corner[:, known] = 0
        corner -= self.T.T @ T
        self.S = np.block([[self.S, corner[:k]], [corner.T]])
        return True

    def solve(
        self, free: np.ndarray, sign: np.ndarray, w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return β (n,) = α_i y_i of the free documents if the others yield w (d,), and w."""
        changed = np.flatnonzero(free != self.known)
        at = self.place[changed]
        known = self.known[self.border]
        inner = self._lower(sign[self.rows] - self.part @ w)
        outer = np.where(known, 0.0, sign[self.border] - self.side @ w) - inner @ self.T
        x = np.zeros(len(self.border))
        x[at] = np.linalg.solve(self.S[np.ix_(at, at)], outer[at])
        inner = self._lower(inner - self.T @ x, trans=1)
        x[known] = 0
        beta = np.zeros(len(sign))
        beta[self.border] = x
        beta[self.rows] += inner
        return beta, w + self.part.T @ inner + self.side.T @ x

    def _lower(self, b: np.ndarray, trans: int = 0) -> np.ndarray:
        """Return L⁻¹ b or, with trans=1, its transpose L⁻ᵀ b."""
        return np.asarray(solve_triangular(self.L, b, trans, lower=True, check_finite=False))


def _products(X: Matrix, other: Matrix) -> np.ndarray:
    """Return the inner products (n, m) of rows."""
    products = X @ other.T
    return products if isinstance(products, np.ndarray) else products.toarray()


def train_svm(X: Matrix, sign: np.ndarray, weight: np.ndarray, tol: float) -> np.ndarray:
    """Return w (d,) by LIBLINEAR."""
    from sklearn.svm import LinearSVC

    svm = LinearSVC(loss="hinge", fit_intercept=False, tol=tol, max_iter=100_000, random_state=0)
    return np.asarray(svm.fit(X, sign, sample_weight=weight).coef_[0])
