"""Dense LR: logistic regression on short dense vectors of documents; no transfer.

    min over (w, b)  C Σ_i log-loss(y_i, w·z_i + b) + ½‖w‖²,  i over the labelled documents

z_i (r,) document: coordinates of the truncated SVD of all documents, or a sentence embedding, of
length one.
"""

from __future__ import annotations

from transferbench.baselines._dense import Features, dense
from transferbench.models.transfer import lr
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    features: Features = "svd",
    components: Count = 100,
    C: Positive = 1.0,
    watch: Watch | None = None,
) -> Fit:
    """Class probabilities (n, c) of every domain, and the labels themselves where they are seen.

    features: SVD of the words, of so many components, or the task's embeddings. C: inverse
    regularisation.
    """
    return lr.fit(dense(problem, features, components), C=C)
