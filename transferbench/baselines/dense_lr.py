"""Dense LR: logistic regression on short dense document vectors; no transfer.

    min over (w, b)  C Σ_i log-loss(y_i, w·z_i + b) + ½‖w‖²,  i over the labelled documents

z_i (r,) document: coordinates of the truncated SVD of all documents, or a sentence embedding, of
length one.

Labelled documents of a target and weights of labels are used as in `lr`.
"""

from transferbench.core.dense import Features, dense
from transferbench.models.transfer import lr
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem, *, features: Features = "svd", components: Count = 100, C: Positive = 1.0
) -> Fit:
    """Fit dense LR.

    Parameters
    ----------
    features
        Truncated SVD of the first view, or embeddings in the second view.
    components
        Coordinates of the SVD.
    C
        Inverse regularisation.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every domain, and labels of seen rows.

    Raises
    ------
    Unavailable
        If there are no embeddings.
    """
    return lr.fit(dense(problem, features, components), C=C)
