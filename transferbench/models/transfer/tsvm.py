"""TSVM: transductive linear support vector machine (Joachims, ICML 1999).

    min over (w, b, y_u)  ½‖w‖² + ½b² + C Σ_i h(y_i f(x_i)) + Σ_j C_j h(y_j f(x_j))
    s.t.  a given share of the y_j is +1

Here f(x) = w·x + b and h(z) = max(0, 1 − z). i runs over the labelled documents of all domains,
with signs y_i. j runs over the unlabelled documents of one target, whose signs y_j ∈ {−1, 1} are to
be found. C_j is C* for y_j = −1. For y_j = +1 it is C* times the number of negative over that of
positive y_j. C* grows by a factor until it is C. At each C*, a pair of signs, one +1 and one −1, is
switched, and the machine is retrained. This repeats while it lowers the objective. If there are
more than two classes, each is trained against the rest. Every target is fitted alone, as in the
papers, which have one target.

The paper was not available. The model is reconstructed from the objective and algorithm as they are
known. Positive signs weigh more, as in the author's SVM-light.

The extra cost of the sign −1 over +1 grows with f alone. So at fixed (w, b) the best signs are +1
for the largest f. Sorting therefore finds the pair whose switch lowers the objective most.

Departures from the paper:
- LIBLINEAR solves for (w, b). Pivoting solves for it where documents are so long that LIBLINEAR
  takes many passes.
- b is penalised as in the SVM.
- By default C* starts at 1e-3 C and grows by 3, and (w, b) is solved to a tolerance of 1e-2. All
  pairs are switched at once, as Sindhwani and Keerthi (SIGIR 2006) do. The experiments on the
  papers' tables have the values of SVM-light instead: start=1e-5, factor=1.5 and pairs=1, with
  tol=1e-6. They take many times longer. With tol=1e-4, which they had earlier, LIBLINEAR stops
  early. On sci vs talk an exact solver then decides 132 of 3,374 documents otherwise. With 1e-6 it
  decides none of them otherwise.

An extension of the paper: a labelled document of a target is one of the i, and its scores are its
label. The weight of the label multiplies its C.

The share is an assumption about the target. `prior` sets it; by default it is the share of the
labelled documents.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import scipy.sparse as sp
from annotated_types import Gt, Le, Lt

from transferbench.artefacts import artefact
from transferbench.core.documents import seen_rows, seen_weights, stack_matrices
from transferbench.core.priors import class_priors
from transferbench.parameters import Count, Positive, Prior
from transferbench.problem import Fit, Matrix, Problem, Watch

#: Passes of LIBLINEAR over the documents before pivoting is tried.
PASSES = 1000
#: Steps of pivoting that are tried.
STEPS = 100
#: Free documents that are tried; their inner products take 128 MB.
MOST_FREE = 4000


def fit(
    problem: Problem,
    *,
    C: Positive = 1.0,
    start: Annotated[float, Gt(0), Le(1)] = 1e-3,
    factor: Annotated[float, Gt(1), Lt(math.inf)] = 3.0,
    balance: bool = True,
    pairs: Count | None = None,
    prior: Prior = "source",
    tol: Positive = 1e-2,
    watch: Watch | None = None,
) -> Fit:
    """Fit TSVM.

    Parameters
    ----------
    C
        Weight of the labelled documents, and final weight of the unlabelled ones. SVM-light's
        default is one over the mean squared length, which is 1 for documents of length one.
    start
        The first C* as a fraction of C.
    factor
        Factor by which C* grows.
    balance
        If false, both signs have C*.
    pairs
        Largest number of pairs of signs that are switched before retraining; None switches all.
    prior
        Shares of the classes in the targets' unlabelled documents, see `class_priors`.
    tol
        Tolerance of LIBLINEAR. A C* ends when the share of signs that change is at most a tenth of
        it.

    Returns
    -------
    Fit
        Decision values (n, c) of every target, and the labels of every source. An iteration is the
        training at one C* for one class and one target.
    """
    X, y = seen_rows(problem)
    weights = seen_weights(problem)
    c = len(problem.classes)
    priors = class_priors(problem, prior, C)
    levels, classes = schedule(C, start, factor), [1] if c == 2 else np.unique(y)
    planned = len(problem.targets) * len(classes) * len(levels)
    result, trace = [domain.Y for domain in problem.domains], list[float]()
    for i, (domain, shares) in enumerate(zip(problem.domains, priors.by_domain, strict=True)):
        if domain.seen.all():
            continue
        T = domain.X[np.flatnonzero(~domain.seen)]
        scores = result[i] = np.full((len(domain.seen), c), -np.inf)
        for k in classes:
            sign = np.where(y == k, 1.0, -1.0)
            positives = round(T.shape[0] * (1 / c if shares is None else shares[k]))
            for w, objectives in transduce(
                X, sign, T, positives, C, levels, weights=weights, balance=balance, pairs=pairs,
                tol=tol,
            ):  # fmt: skip
                scores[:, k] = values(domain.X, w)
                if c == 2:
                    scores[:, 0] = -scores[:, 1]
                scores[domain.seen] = domain.Y[domain.seen]
                trace.append(objectives[-1])
                if watch:
                    watch(len(trace), planned, tuple(result))
        missing = np.isinf(scores)  # classes without labelled documents are never the best
        result[i] = np.where(missing, scores[~missing].min() - 1, scores)
    return Fit(tuple(result), tuple(trace), diagnostics=priors.diagnostics)


def schedule(C: float, start: float, factor: float) -> np.ndarray:
    """Return every C*, from start · C to C."""
    steps = math.ceil(math.log(1 / start) / math.log(factor) - 1e-9)
    return np.asarray(C * np.minimum(start * factor ** np.arange(steps + 1), 1.0))


def transduce(
    X: Matrix,
    sign: np.ndarray,
    T: Matrix,
    positives: int,
    C: float,
    levels: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    balance: bool = False,
    pairs: int | None = None,
    tol: float = 1e-4,
) -> Iterator[tuple[np.ndarray, list[float]]]:
    """Yield weights and objectives for each C*."""
    # `positives`: Number of rows of T with the sign +1.
    # `weights`: (n,) by which C of each labelled document is multiplied; None stands for 1.
    # `w`: w and b (d + 1,).
    # `objectives`: The objective after each training at this C*; the values fall.
    # Shapes: X (n, d), sign (n,), T (u, d).
    n, u = len(sign), T.shape[0]
    both = stack_matrices([X, T])
    both = stack_matrices([both, np.ones((n + u, 1))], axis=1).astype(float)  # w ends with b
    ratio = (u - positives) / positives if balance and positives else 1.0
    cost = np.full(n, C) if weights is None else C * weights
    w = artefact(_train)(both[:n], sign, cost, tol)
    target_sign = largest(values(T, w), positives)
    for level in levels:
        w, target_sign, objectives = _at_level(
            both, sign, target_sign, w, cost, level, level * ratio, pairs, tol
        )
        yield w, objectives


@artefact
def _at_level(
    both: Matrix,
    sign: np.ndarray,
    target_sign: np.ndarray,
    start: np.ndarray,
    cost: np.ndarray,
    negative: float,
    positive: float,
    pairs: int | None,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Switch signs at one C* while this lowers the objective; see `transduce`."""
    # `both`: X above T, with a column of ones: (n + u, d + 1).
    # `start`: w and b before (d + 1,).
    # `cost`: (n,) weight of each labelled document.
    # `w`: w and b (d + 1,).
    # Shapes: sign (n,), target_sign (u,).
    n = len(sign)
    best, objectives = start, list[float]()
    while True:
        y = np.append(sign, target_sign)
        weight = np.append(cost, np.where(target_sign > 0, positive, negative))
        w = _train(both, y, weight, tol, best)
        f = both @ w
        objective = float(w @ w / 2 + weight @ np.maximum(0, 1 - y * f))
        # The machine is optimal only up to a tolerance. Near the minimum the objective may
        # therefore rise a little; then stop.
        if objectives and objective >= objectives[-1]:
            break
        best = w
        objectives.append(objective)
        target_sign = _switch(target_sign, f[n:], pairs)
        if np.mean(target_sign != y[n:]) <= tol / 10:
            break
    return best, target_sign, objectives


def _switch(sign: np.ndarray, f: np.ndarray, pairs: int | None) -> np.ndarray:
    """Return signs (u,) with pairs switched towards +1 for the largest values of f."""
    # `pairs`: Pairs with the most misplaced values come first. None switches all.
    # Shapes: sign (u,), f (u,).
    target = largest(f, int((sign > 0).sum()))
    order = np.argsort(-f, kind="stable")
    up = order[(target > sign)[order]][:pairs]
    down = order[::-1][(target < sign)[order[::-1]]][:pairs]
    new = sign.copy()
    new[up], new[down] = 1, -1
    return new


def values(X: Matrix, w: np.ndarray) -> np.ndarray:
    """Return the decision values (n,) of documents X (n, d) by weights w (d + 1,)."""
    return np.asarray(X @ w[:-1] + w[-1])


def _train(
    X: Matrix, sign: np.ndarray, weight: np.ndarray, tol: float, near: np.ndarray | None = None
) -> np.ndarray:
    """Return w (d,) of a support vector machine."""
    # `weight`: (n,) weight of each document.
    # `near`: (d,) w of a machine that may be similar, if any.
    # Shapes: X (n, d), sign (n,).
    w, converged = _liblinear(X, sign, weight, tol, PASSES)
    if converged:
        return w
    exact = _pivot(X, sign, weight, tol, w if near is None else near)
    return _liblinear(X, sign, weight, tol, 100_000)[0] if exact is None else exact


def _liblinear(
    X: Matrix, sign: np.ndarray, weight: np.ndarray, tol: float, passes: int
) -> tuple[np.ndarray, bool]:
    """Return w (d,) after at most `passes` over the documents, and True if tol was reached."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    svm = LinearSVC(loss="hinge", fit_intercept=False, tol=tol, max_iter=passes, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm.fit(X, sign, sample_weight=weight)
    return np.asarray(svm.coef_[0]), svm.n_iter_ < passes


def _pivot(
    X: Matrix, sign: np.ndarray, weight: np.ndarray, tol: float, w: np.ndarray
) -> np.ndarray | None:
    """Return w (d,) by block principal pivoting (Júdice and Pires, 1994), or None if it fails."""
    # In the dual, a document's α is 0, or its weight, or between them. If it is between them, the
    # document is free and its margin is one. Given these three sets, the free α solve a linear
    # system. Documents whose α or margin contradicts their set then change their set, until there
    # are none.
    # `weight`: (n,) the largest α of each document.
    # `w`: (d,) weights of the machine that gives the first sets.
    # Shapes: X (n, d), sign (n,).
    Z = sp.csr_array(sp.diags_array(sign) @ X)
    slack = tol / 100
    margin = Z @ w
    free = np.abs(margin - 1) <= 10 * tol
    upper = ~free & (margin < 1)
    for step in range(STEPS):
        if free.sum() > min(MOST_FREE, X.shape[1]):  # more than d have no unique α
            return None
        alpha = np.where(upper, weight, 0.0)
        F = Z[free]
        K = (F @ F.T).toarray()
        K.flat[:: len(K) + 1] += slack / weight.max()  # equal documents would make it singular
        try:
            alpha[free] = np.linalg.solve(K, 1 - F @ (Z.T @ alpha))
        except np.linalg.LinAlgError:
            return None
        w = Z.T @ alpha
        margin = Z @ w
        high = free & (alpha > (1 + slack) * weight)
        leave = high | free & (alpha < -slack * weight)
        enter = ~free & np.where(upper, margin > 1 + slack, margin < 1 - slack)
        wrong = np.flatnonzero(leave | enter)
        if not len(wrong):
            return np.asarray(w)
        if step >= STEPS // 3:  # changing all at once may cycle
            wrong = wrong[-1:]
        free[wrong] = enter[wrong]
        upper[wrong] = high[wrong]
    return None


def largest(f: np.ndarray, positives: int) -> np.ndarray:
    """Return signs (u,): +1 for the `positives` largest values of f, −1 for the others."""
    sign = np.full(len(f), -1.0)
    sign[np.argsort(-f, kind="stable")[:positives]] = 1
    return sign
