"""Linear SVM: a linear support vector machine for each label, one against the rest.

    min over (w_l, b_l)  C Σ_i max(0, 1 − y_il (w_l·x_i + b_l)) + ½‖w_l‖² + ½b_l²,  for each l

x_i (d,) is labelled document i of any domain, and y_il is +1 if it has label l, else −1. This
model is a control that the HiMLS paper does not have. The solver is LIBLINEAR's dual coordinate
descent with a fixed order of coordinates. It runs to a tolerance at which the order hardly changes
a decision. Scores are 1 / (1 + e^−f) for decision values f, so the threshold is ½. They are not
calibrated probabilities. If all labelled documents have a label, all documents get it. If none has
it, no document gets it.
"""

import numpy as np
from scipy.special import expit

from transferbench.core.documents import View, hstack_views
from transferbench.models.multilabel._shared import tuned_fit
from transferbench.parameters import Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    C: tuple[Positive, ...] = (1.0,),
    view: View = "all",
    ensure_one_label: bool = False,
) -> Fit:
    """Fit linear SVM.

    Parameters
    ----------
    C
        Weight of the labelled documents. If there are several values, 5-fold cross-validation on
        these documents chooses one by example-based F₁.
    view
        "first" uses the first view and "all" puts all views side by side, both with documents of
        length one. "raw" puts all views side by side as they are.
    ensure_one_label
        Give each document without a label its best label.

    Returns
    -------
    Fit
        Scores between 0 and 1 (n, m) of every domain.
    """
    from sklearn.svm import LinearSVC

    X = hstack_views(problem, view)

    def predict(C: float, Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
        X_seen = X[np.flatnonzero(seen)]
        scores = np.empty(Y.shape)
        for column, label in enumerate((Y[seen] > 0).T):
            if label.all() or not label.any():
                scores[:, column] = label[0]
                continue
            svm = LinearSVC(C=C, loss="hinge", tol=1e-5, max_iter=100_000, random_state=0)
            scores[:, column] = expit(svm.fit(X_seen, label).decision_function(X))
        return scores

    return tuned_fit(problem, C, predict, ensure_one_label)
