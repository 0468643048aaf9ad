"""LR views: logistic regression on all views side by side, trained on the labelled documents.

    min over (w, b)  C Σ_i v_i log-loss(y_i, w·x_i + b) + ½‖w‖²

i over the labelled documents of all domains; x_i (Σ d,) the rows of all views side by side, each of
length one; y_i classes, v_i the weights of the labels, w and b weights and intercepts. With one
view it is `lr` on rows of length one. A control: what a few lines of scikit-learn make of words,
n-grams of characters and sentence embeddings. Labelled documents of a target train it, each with
the weight of its label.
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
        Inverse regularisation; with labels of weight 10, 10 is about the best of 1, 10 and 100.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every domain; seen rows have their labels.
    """
    return Fit(label_start(joined(problem), C))
