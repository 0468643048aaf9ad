"""Dense LR → k-means: k-means on dense vectors of each target, from logistic regression's means.

    min over (means μ, assignment a)  Σ_i ‖z_i − μ_a(i)‖²,  i over the documents of one target

z_i (r,) document: coordinates of the truncated SVD of all documents, or a sentence embedding, of
length one. μ starts at the means of the classes that logistic regression on z predicts for the
target.

Labelled documents of a target and weights of labels are used as in `lr-kmeans`.
"""

from transferbench.core.dense import Features, dense
from transferbench.models.transfer import lr_kmeans
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    features: Features = "svd",
    components: Count = 100,
    C: Positive = 1.0,
    max_iter: Count = 300,
) -> Fit:
    """Fit dense LR → k-means.

    Parameters
    ----------
    features
        Truncated SVD of the first view, or embeddings in the second view.
    components
        Coordinates of the SVD.
    C
        Inverse regularisation.
    max_iter
        Iterations of k-means.

    Returns
    -------
    Fit
        Negative distances (n, c) to the class means of every target, and labels of sources.

    Raises
    ------
    Unavailable
        If there are no embeddings.
    """
    return lr_kmeans.fit(dense(problem, features, components), C=C, max_iter=max_iter)
