"""LR self-training: logistic regression that adds its confident decisions to its labels.

    min over (w, b)  C Σ_i log-loss(y_i, w·x_i + b) + ½‖w‖²,  i over documents with a label

x_i (d,) are documents. At first the labelled documents of all domains have a label y_i. After each
training, some unlabelled documents of one target get their decided class as label: those whose
largest class probability is above the threshold. This repeats until no label is added. Labels once
given stay. The method is Yarowsky's (ACL 1995), and scikit-learn's SelfTrainingClassifier gives the
implementation and the values. Every target is fitted alone. This model is a control without any
model of the difference between domains.

An extension: the weight of a label multiplies the loss of its document. Labels that are added have
weight 1.
"""

import numpy as np

from transferbench.core.documents import score_targets, seen_rows, seen_weights, stack_matrices
from transferbench.core.logistic import class_scores, logistic_regression
from transferbench.parameters import Count, Fraction, Positive
from transferbench.problem import Domain, Fit, Matrix, Problem

#: scikit-learn's mark of a document without a label.
UNLABELLED = -1


def fit(
    problem: Problem, *, threshold: Fraction = 0.75, max_iter: Count = 10, C: Positive = 1.0
) -> Fit:
    """Fit LR self-training.

    Parameters
    ----------
    threshold
        Largest class probability above which a decision becomes a label.
    max_iter
        Number of rounds in which labels are added.
    C
        Inverse regularisation.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every target, and the labels of every source.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    X, y = seen_rows(problem)
    classifier = logistic_regression(X, C)
    if (weights := seen_weights(problem)) is not None:
        given = weights

        class Weighted(LogisticRegression):  # type: ignore[misc]
            """Weigh the first documents, whose labels are given; scikit-learn's loop does not."""

            def fit(self, X: Matrix, y: np.ndarray) -> "Weighted":
                super().fit(X, y, np.append(given, np.ones(X.shape[0] - len(given))))
                return self

        classifier = Weighted(**classifier.get_params())

    def score(i: int, domain: Domain) -> np.ndarray:
        T = domain.X[np.flatnonzero(~domain.seen)]
        model = SelfTrainingClassifier(classifier, threshold=threshold, max_iter=max_iter)
        model.fit(stack_matrices([X, T]), np.concatenate([y, np.full(T.shape[0], UNLABELLED)]))
        return class_scores(model, domain.X, model.classes_, len(problem.classes))

    return Fit(score_targets(problem, score))
