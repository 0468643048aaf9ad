"""LR views: logistic regression on all views side by side, trained on the labelled documents.

    min over (w, b)  C Σ_i v_i log-loss(y_i, w·x_i + b) + ½‖w‖²

i runs over the labelled documents of all domains. x_i (Σ d,) holds the rows of all views side by
side, each of length one. y_i are classes, v_i are the weights of the labels, and w and b are
weights and intercepts. With one view it is `lr` on rows of length one. This model is a control. It
shows the accuracy of a few lines of scikit-learn on words, n-grams of characters and sentence
embeddings. It also trains on labelled documents of a target, each with the weight of its label.
"""

from transferbench.core.documents import joined
from transferbench.core.logistic import label_start
from transferbench.parameters import Positive
from transferbench.problem import Fit, Problem


def fit(problem: Problem, *, C: Positive = 10.0) -> Fit:
    """Fit LR views.

    Parameters
    ----------
    C
        Inverse regularisation. With labels of weight 10, 10 is about the best of 1, 10 and 100.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every domain; seen rows have their labels.
    """
    return Fit(label_start(joined(problem), C))
