"""MTFL: multi-task feature learning (Argyriou, Evgeniou and Pontil, Machine Learning 2008).

    min over (W, D)  Σ_t ‖y_t − X_t w_t‖² + γ Σ_t w_tᵀ D⁺ w_t   s.t.  D ⪰ 0,  tr D ≤ 1

A task t is one class in one labelled domain. X_t (n_t, m) holds the labelled documents of the
domain. y_t (n_t,) is +1 for documents in the class and −1 for the others, and w_t (m,) is a column
of W. All tasks share D (m, m). A domain with labels is scored by its own w_t. A domain without
labels is scored by the mean over the domains.

The best D is (W Wᵀ)^½ / tr(W Wᵀ)^½. The regulariser then is γ ‖W‖²_tr, the squared trace norm,
which also equals γ tr(W Ω⁻¹ Wᵀ) with Ω = (WᵀW)^½ / tr(WᵀW)^½. The updates of Ω and W alternate.
Given Ω, W = V Ω with v_t = X_tᵀ a_t, where conjugate gradients solve for the a_t (n_t,):

    γ a_t + X_t Σ_s Ω_ts v_s = y_t   for all t

With one labelled domain and two classes, MTFL is ridge regression with weight γ. There is no other
task, so nothing is transferred. The MRTL paper uses MTFL in this way, with one source.

Several ε are used in turn, from the largest to the least. The W with the least objective without ε
is kept, as in the authors' code. That code divides ε by ten until it is at machine precision.

The paper was not available. The model is reconstructed from the problem as it is known, without
intercept. The MRTL paper does not give its γ.

An extension of the paper: a target with labels is a labelled domain with tasks of its own, and
scores of labelled documents are their labels. The weight of a label multiplies its squared error.
For this, its row of X_t and y_t is multiplied by the root of the weight.

Departures from the paper:
- Each ε continues from the W of the ε before, so that the objective never rises.
- Ω (tasks × tasks) replaces D (features × features). The minimiser is the same, and no array is
  larger than W.
- The perturbation ε keeps Ω invertible. It is added to WᵀW, so the reported objective
  Σ_t ‖y_t − X_t w_t‖² + γ (tr(WᵀW + εI)^½)² never rises. The paper adds it to W Wᵀ. There a small ε
  would keep W in its first directions, and a large ε, summed over features, would outweigh W.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from transferbench.core.documents import seen_rows, with_labels
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Matrix, Problem, Watch, canonical


def fit(
    problem: Problem,
    *,
    gamma: Positive = 1.0,
    epsilon: tuple[Positive, ...] = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10),
    max_iter: Count = 50,
    watch: Watch | None = None,
) -> Fit:
    """Fit MTFL.

    Parameters
    ----------
    gamma
        γ: weight of the regulariser. It is not tuned; 1 is a common choice for ridge regression on
        documents of length one.
    epsilon
        ε: falling values. The least must be small compared with the squared lengths of the w_t,
        which are 100 to 300 on 20 Newsgroups.
    max_iter
        Number of iterations for each ε. One domain of two classes needs two. Three domains are
        within 0.02 per cent of the minimum after 50.

    Returns
    -------
    Fit
        Predictions (n, c) of every domain, and the objective after each iteration.

    Raises
    ------
    ValueError
        If the values of epsilon do not fall.
    """
    if list(epsilon) != sorted(set(epsilon), reverse=True) or not epsilon:
        raise ValueError(f"epsilon: expected one or more falling values, got {epsilon}")
    seen_rows(problem)  # raises ValueError if fewer than two classes are labelled
    c = len(problem.classes)
    labelled = [i for i, domain in enumerate(problem.domains) if domain.seen.any()]
    views = [domain.X.astype(np.float64, copy=False) for domain in problem.domains]
    X = [views[i][np.flatnonzero(problem.domains[i].seen)] for i in labelled]
    Y = [np.where(d.Y[d.seen] > 0, 1.0, -1.0) for d in problem.domains if d.seen.any()]
    for j, domain in enumerate(problem.domains[i] for i in labelled):
        if domain.label_weights is not None:
            root = np.sqrt(domain.label_weights[domain.seen])[:, None]
            X[j], Y[j] = canonical(sp.csr_array(X[j]).multiply(root)), Y[j] * root
    Omega = np.eye(c * len(labelled)) / (c * len(labelled))
    A = np.zeros((sum(map(len, Y)), c))
    trace: list[float] = []
    cheapest = np.inf
    for step, eps in enumerate(np.repeat(epsilon, max_iter), start=1):
        W, A = solve_weights(X, Y, Omega, gamma, A)
        parts = _by_domain(W, c)
        loss = sum(np.sum((y - x @ w) ** 2) for x, y, w in zip(X, Y, parts, strict=True))
        Omega, trace_norm = best_omega(W, eps)
        trace.append(float(loss + gamma * trace_norm**2))
        if watch or step % max_iter == 0:
            weights, mean = dict(zip(labelled, parts, strict=True)), sum(parts) / len(parts)
            scores = tuple(
                with_labels(domain, view @ weights.get(i, mean))
                for i, (domain, view) in enumerate(zip(problem.domains, views, strict=True))
            )
        if watch:
            watch(step, max_iter * len(epsilon), scores)
        if step % max_iter == 0:
            cost = loss + gamma * best_omega(W, 0.0)[1] ** 2
            if step == max_iter or cost < cheapest:
                cheapest, best = cost, scores
    return Fit(scores=best, trace=tuple(trace))


def best_omega(W: np.ndarray, epsilon: float) -> tuple[np.ndarray, float]:
    """Return the best Ω (tasks, tasks) for W (m, tasks), and the trace of (WᵀW + εI)^½."""
    squares, Q = np.linalg.eigh(W.T @ W)
    roots = np.sqrt(np.maximum(squares, 0) + epsilon)
    return (Q * (roots / roots.sum())) @ Q.T, float(roots.sum())


def solve_weights(
    X: list[Matrix], Y: list[np.ndarray], Omega: np.ndarray, gamma: float, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best weights for Ω."""
    # `X`: (n_i, m) of each labelled domain.
    # `Y`: (n_i, c) of each labelled domain.
    # `A`: (Σ n_i, c) with W = [X_iᵀ A_i]_i Ω, the start of the next call.
    # Shapes: Omega (tasks, tasks), W (m, tasks).
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
    """Split W (m, domains · c) into (m, c) for each domain."""
    return np.hsplit(W, W.shape[1] // c)
