"""Linear SVM: a linear support vector machine for each label, one against the rest.

    min over (w_l, b_l)  C Σ_i max(0, 1 − y_il (w_l·x_i + b_l)) + ½‖w_l‖² + ½b_l²,  for each l

y_il ±1 as document i has label l or not, over the labelled documents of all domains. A control that
the HiMLS paper lacks. LIBLINEAR's dual coordinate descent, whose order of coordinates is fixed
here, run to a tolerance at which that order hardly moves a decision. Scores are 1 / (1 + e^−f) of
the decision values f: ½ is the decision, but they are no calibrated probabilities. A label that all
or none of the labelled documents have is everybody's or nobody's.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.svm import LinearSVC

from transferbench.core.views import View, hstack_views, join, split_by_domain
from transferbench.metrics import ensure_one_label
from transferbench.parameters import Positive
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    C: Positive = 1.0,
    view: View = "all",
    top1: bool = False,
    watch: Watch | None = None,
) -> Fit:
    """Squashed decision values (n, m) of every domain.

    C weight of the labelled documents; view: the first or all, side by side; top1: a document
    without a label takes its best.
    """
    views, Y, seen = join(problem, view)
    X = hstack_views(views)
    T = X[np.flatnonzero(seen)]
    scores = np.empty(Y.shape)
    for column, label in enumerate((Y[seen] > 0).T):
        if label.all() or not label.any():
            scores[:, column] = label[0]
            continue
        svm = LinearSVC(C=C, loss="hinge", tol=1e-5, max_iter=100_000, random_state=0)
        scores[:, column] = expit(svm.fit(T, label).decision_function(X))
    return Fit(scores=split_by_domain(problem, ensure_one_label(scores) if top1 else scores))
