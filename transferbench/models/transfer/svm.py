"""SVM: a linear support vector machine trained on the sources, applied to the targets; no transfer.

    min over (w, b)  C Σ_i max(0, 1 − y_i (w·x_i + b)) + ½‖w‖² + ½b²,  one against the rest

The papers use LIBSVM with a linear kernel, which does not penalise b; this is LIBLINEAR's dual
coordinate descent, whose order of coordinates is fixed here, run to a tolerance at which that order
no longer moves a decision worth a tenth of a point.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC

from transferbench.core.init import seen_rows
from transferbench.parameters import Positive
from transferbench.problem import Fit, Problem, Watch


def fit(problem: Problem, *, C: Positive = 1.0, watch: Watch | None = None) -> Fit:
    """Decision values (n, c) of every domain."""
    X, y = seen_rows(problem)
    svm = LinearSVC(C=C, loss="hinge", tol=1e-5, max_iter=100_000, random_state=0).fit(X, y)
    scores = []
    for domain in problem.domains:
        values = svm.decision_function(domain.X)
        columns = np.full((len(domain.seen), len(problem.classes)), -np.inf)
        columns[:, svm.classes_] = values if values.ndim == 2 else np.c_[-values, values]
        scores.append(columns)
    return Fit(scores=tuple(scores))
