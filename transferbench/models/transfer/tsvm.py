"""TSVM: a transductive linear support vector machine (Joachims, ICML 1999).

    min over (w, b, y_u)  ½‖w‖² + ½b² + C Σ_i max(0, 1 − y_i f(x_i)) + C* Σ_j max(0, 1 − y_j f(x_j))
    s.t.  a given share of the y_j is +1

f(x) = w·x + b; i over the labelled documents of all domains, with signs y_i; j over the unlabelled
documents of one target, with signs y_j ∈ {−1, 1} that are found. C* rises to C by doubling; at each
C* labels are switched and the machine is retrained, by turns, for as long as that lowers the
objective. More than two classes: one against the rest. Every target is transduced on its own, the
papers' setting of one target.

Reconstructed: the paper is not at hand; this follows its objective and its algorithm as known.

Departures from the paper:
- All pairs whose switch lowers the objective are switched at once, where the paper retrains after
  each; Sindhwani and Keerthi (SIGIR 2006) switch many. What a document costs more as −1 than as +1
  grows with f alone, so the best signs at fixed (w, b) are +1 for the largest f: a sort.
- LIBLINEAR solves for (w, b), and shrinks b as it does for the SVM.
- One C* for both signs, where the paper begins with two in the ratio of the classes.

The share is an assumption on the target, taken from the labelled documents unless it is given.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt
from sklearn.svm import LinearSVC

from transferbench.core.init import seen_rows, stack
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Matrix, Problem, Watch


def fit(
    problem: Problem,
    *,
    C: Positive = 1.0,
    doublings: Count = 10,
    share: Annotated[float, Gt(0), Lt(1)] | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Decision values (n, c) of every target; a source keeps its labels.

    C weight of the labelled documents, and of the others in the end: 1 is SVM-light's default, one
    over the mean squared length, for documents of length one. C* doubles so many times, from
    C/2^doublings. share of each target's unlabelled documents that are in the second of two
    classes; none: a class's share of the labelled documents. Raises ValueError for a share where
    there are more classes.
    """
    X, y = seen_rows(problem)
    c = len(problem.classes)
    if share is not None and c > 2:
        raise ValueError(f"{problem.name}: a share is for two classes, not {c}")
    levels = C * 2.0 ** np.arange(-doublings, 1)
    scores = []
    for domain in problem.domains:
        if domain.seen.all():
            scores.append(domain.Y)
            continue
        T = domain.X[np.flatnonzero(~domain.seen)]
        values = np.full((len(domain.seen), c), -np.inf)
        for k in [1] if c == 2 else np.unique(y):
            sign = np.where(y == k, 1.0, -1.0)
            positives = round(T.shape[0] * ((sign > 0).mean() if share is None else share))
            svm, _ = transduce(X, sign, T, positives, C, levels)
            values[:, k] = svm.decision_function(domain.X)
        if c == 2:
            values[:, 0] = -values[:, 1]
        scores.append(values)
    return Fit(scores=tuple(scores))


def transduce(
    X: Matrix, sign: np.ndarray, T: Matrix, positives: int, C: float, levels: np.ndarray
) -> tuple[LinearSVC, list[list[float]]]:
    """The machine for X (n, d) with signs (n,) ±1 and T (u, d), of which `positives` are to be +1.

    Also the objective after each training, a list for each C* in `levels`; within one it falls.
    """
    both = stack([X, T])
    n, u = len(sign), T.shape[0]
    best = _train(X, sign, np.full(n, C))
    objectives = []
    found = _largest(best.decision_function(T), positives)
    for level in levels:
        weight = np.repeat([C, level], [n, u])
        falling = [np.inf]
        while True:
            y = np.concatenate([sign, found])
            svm = _train(both, y, weight)
            f = svm.decision_function(both)
            w = np.append(svm.coef_, svm.intercept_)
            objective = float(w @ w / 2 + weight @ np.maximum(0, 1 - y * f))
            # Signs are the best for the last machine and the machine for the signs, up to its
            # tolerance: within that the objective may seem to rise, and then it is at its minimum.
            if objective >= falling[-1]:
                break
            best = svm
            falling.append(objective)
            found = _largest(f[n:], positives)
            if np.array_equal(found, y[n:]):
                break
        objectives.append(falling[1:])
    return best, objectives


def _train(X: Matrix, sign: np.ndarray, weight: np.ndarray) -> LinearSVC:
    svm = LinearSVC(loss="hinge", tol=1e-4, max_iter=100_000, random_state=0)
    return svm.fit(X, sign, sample_weight=weight)


def _largest(f: np.ndarray, positives: int) -> np.ndarray:
    """(u,) +1 for the so many largest of f, −1 for the others."""
    sign = np.full(len(f), -1.0)
    sign[np.argsort(-f, kind="stable")[:positives]] = 1
    return sign
