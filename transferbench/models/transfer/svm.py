"""SVM: linear support vector machine trained on the sources, applied to the targets; no transfer.

    min over (w, b)  C Σ_i max(0, 1 − y_i (w·x_i + b)) + ½‖w‖² + ½b²,  one against the rest

x_i (d,) are labelled documents; y_i is +1 for documents in a class and −1 for the others.
LIBLINEAR's dual coordinate descent solves the problem with a fixed order of coordinates. At its
tolerance another order changes accuracy by less than a tenth of a point.

An extension of the papers: a labelled document of a target is one of the i, and its scores are its
label. The weight of the label multiplies its C.

Departure from the papers: they use LIBSVM with a linear kernel, which does not penalise b.
"""

import numpy as np

from transferbench.core.documents import seen_rows, seen_weights, with_labels
from transferbench.parameters import Positive
from transferbench.problem import Fit, Problem


def fit(problem: Problem, *, C: Positive = 1.0) -> Fit:
    """Fit SVM.

    Parameters
    ----------
    C
        Weight of the documents.

    Returns
    -------
    Fit
        Decision values (n, c) of every domain. A class without labelled documents gets less than
        the least value of the others.
    """
    from sklearn.svm import LinearSVC

    X, y = seen_rows(problem)
    svm = LinearSVC(C=C, loss="hinge", tol=1e-5, max_iter=100_000, random_state=0)
    svm.fit(X, y, sample_weight=seen_weights(problem))
    scores = []
    for domain in problem.domains:
        values = svm.decision_function(domain.X)
        values = values if values.ndim == 2 else np.c_[-values, values]
        columns = np.full((len(domain.seen), len(problem.classes)), values.min() - 1)
        columns[:, svm.classes_] = values
        scores.append(with_labels(domain, columns))
    return Fit(scores=tuple(scores))
