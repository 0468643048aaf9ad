"""MTFL: multi-task feature learning (Argyriou, Evgeniou and Pontil, Machine Learning 2008).

    min over (W, D)  Σ_t ‖y_t − X_t w_t‖² + γ Σ_t w_tᵀ D⁺ w_t   s.t.  D ⪰ 0,  tr D ≤ 1

A task t is one class in one labelled domain: X_t (n_t, m) that domain's labelled documents, y_t
(n_t,) ±1 for documents in and out of the class, w_t (m,) a column of W. D (m, m) is what the tasks
share. A domain with labels is scored by its own w_t, one without by the mean over the domains.

At its best D = (W Wᵀ)^½ / tr(W Wᵀ)^½, which leaves γ ‖W‖²_tr, a square of the trace norm. That is
the same number seen from the tasks, γ tr(W Ω⁻¹ Wᵀ) with Ω = (WᵀW)^½ / tr(WᵀW)^½. By turns Ω and W
are found, Ω a matrix of tasks × tasks where the paper has D of features × features: the same
minimiser, and nothing larger than W. The paper's perturbation ε, which keeps D (here Ω) invertible,
is added to WᵀW; the objective reported is Σ_t ‖y_t − X_t w_t‖² + γ (tr(WᵀW + εI)^½)², which cannot
rise. (Beside features, as in the paper, a small ε would hold W to the directions in which it began,
and a large one would outweigh it, by as much as there are features.) Given Ω, W = V Ω with
v_t = X_tᵀ a_t, where conjugate gradients find the a_t (n_t,) from

    γ a_t + X_t Σ_s Ω_ts v_s = y_t   for all t

With one labelled domain and two classes this is ridge regression with weight γ: there is no other
task to learn from, and none of it is transfer. So it is in the MRTL paper, which trains MTFL on its
one source.

Reconstructed: the paper is not at hand; this follows its problem, without intercept, as known. What
γ the MRTL paper used it does not say.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from transferbench.core.init import seen_rows
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Matrix, Problem, Watch


def fit(
    problem: Problem,
    *,
    gamma: Positive = 1.0,
    epsilon: Positive = 1e-6,
    max_iter: Count = 50,
    watch: Watch | None = None,
) -> Fit:
    """Predictions (n, c) of every domain, and the objective after each iteration.

    gamma (γ) weight of the regulariser; 1 is the usual start for ridge regression on documents of
    length one, and is not tuned. epsilon (ε) is small beside the squared lengths of the w_t, 100 to
    300 on 20 Newsgroups. max_iter iterations: one domain of two classes needs two, three domains
    are within 0.02 per cent of the minimum after 50.
    """
    seen_rows(problem)  # refuses a problem without labels of two classes
    c = len(problem.classes)
    own = [i for i, domain in enumerate(problem.domains) if domain.seen.any()]
    views = [_float64(domain.X) for domain in problem.domains]
    X = [views[i][np.flatnonzero(problem.domains[i].seen)] for i in own]
    Y = [np.where(d.Y[d.seen] > 0, 1.0, -1.0) for d in problem.domains if d.seen.any()]
    Omega = np.eye(c * len(own)) / (c * len(own))
    A = np.zeros((sum(map(len, Y)), c))
    trace = []
    for iteration in range(1, max_iter + 1):
        W, A = solve(X, Y, Omega, gamma, A)
        loss = sum(np.sum((y - x @ w) ** 2) for x, y, w in zip(X, Y, _by_domain(W, c), strict=True))
        Omega, size = share(W, epsilon)
        trace.append(float(loss + gamma * size**2))
        weights = dict(zip(own, _by_domain(W, c), strict=True))
        mean = sum(weights.values()) / len(own)
        scores = tuple(view @ weights.get(i, mean) for i, view in enumerate(views))
        if watch:
            watch(iteration, max_iter, scores)
    return Fit(scores=scores, trace=tuple(trace))


def share(W: np.ndarray, epsilon: float) -> tuple[np.ndarray, float]:
    """Ω (tasks, tasks) of trace one, best for W (m, tasks), and the trace of (WᵀW + εI)^½."""
    squares, Q = np.linalg.eigh(W.T @ W)
    roots = np.sqrt(np.maximum(squares, 0) + epsilon)
    return (Q * (roots / roots.sum())) @ Q.T, float(roots.sum())


def solve(
    X: list[Matrix], Y: list[np.ndarray], Omega: np.ndarray, gamma: float, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """W (m, tasks) best for Ω, from X (n_i, m) and Y (n_i, c) of each labelled domain.

    Also A (Σ n_i, c) with W = [X_iᵀ A_i]_i Ω, to start the next solution from.
    """
    c = start.shape[1]
    cuts = np.cumsum([len(y) for y in Y])[:-1]

    def weights(A: np.ndarray) -> np.ndarray:
        parts = np.split(A, cuts)
        V = np.hstack([x.T @ a for x, a in zip(X, parts, strict=True)])
        return np.asarray(V @ Omega)

    def product(flat: np.ndarray) -> np.ndarray:
        A = flat.reshape(-1, c)
        W = _by_domain(weights(A), c)
        return np.ravel(gamma * A + np.vstack([x @ w for x, w in zip(X, W, strict=True)]))

    size = start.size
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    flat, failed = cg(operator, np.vstack(Y).ravel(), x0=start.ravel(), rtol=1e-9)
    if failed:
        raise FloatingPointError(f"conjugate gradients did not converge; try gamma over {gamma}")
    A = flat.reshape(-1, c)
    return weights(A), A


def _by_domain(W: np.ndarray, c: int) -> list[np.ndarray]:
    """W (m, domains · c) as one (m, c) for each domain."""
    return np.hsplit(W, W.shape[1] // c)


def _float64(X: Matrix) -> Matrix:
    return sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, np.float64)
