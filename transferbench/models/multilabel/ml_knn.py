"""ML-kNN: Bayes' rule on the number of neighbours that have a label (Zhang and Zhou, 2007).

    min over d_l ∈ {0, 1}  P(H_l ≠ d_l | C_l),  label by label

H_l is 1 if the document has label l, else 0. C_l is the number of its k nearest labelled documents
that have label l, from 0 to k. There are n labelled documents in all domains, and m_l of them have
label l. c_l[j] of these m_l documents have j neighbours with label l. c'_l[j] of the documents
without label l have j such neighbours. With smoothing s,

    P(H_l = 1) = (s + m_l) / (2s + n),  P(C_l = j | H_l = 1) = (s + c_l[j]) / (s (k + 1) + m_l)

The equations for H_l = 0 are alike. Scores are P(H_l = 1 | C_l), so the threshold is ½. If s = 0,
the products of both likelihoods with their priors may be 0. Then the score is P(H_l = 1).

The paper (Pattern Recognition 40(7)) was not available. The model is reconstructed with the
conventions of the authors' code. The distance is Euclidean. A document always has exactly k
neighbours, also if they have no common feature with it. It has fewer only if there are no more
labelled documents. A labelled document is not its own neighbour. There is one departure: each view
of a document has length one, so the distance orders documents as the cosine does.
"""

import numpy as np
import scipy.sparse as sp

from transferbench.artefacts import artefact
from transferbench.core.documents import View, hstack_views
from transferbench.models.multilabel._shared import tuned_fit
from transferbench.parameters import Count, Weight
from transferbench.problem import Fit, Problem

#: Memory for distances, in MiB.
MAX_MEBIBYTES = 64


def fit(
    problem: Problem,
    *,
    k: tuple[Count, ...] = (10,),
    s: Weight = 1.0,
    view: View = "all",
    ensure_one_label: bool = False,
) -> Fit:
    """Fit ML-kNN.

    Parameters
    ----------
    k
        Number of neighbours. If there are several values, 5-fold cross-validation on the labelled
        documents chooses one by example-based F₁.
    s
        Smoothing: number added to each count.
    view
        "first" uses the first view and "all" puts all views side by side, both with documents of
        length one. "raw" puts all views side by side as they are.
    ensure_one_label
        Give each document without a label its best label.

    Returns
    -------
    Fit
        Posterior probabilities (n, m) of every domain.
    """
    X = hstack_views(problem, view)

    def predict(k: int, Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
        return posterior(X, Y[seen] > 0, seen, k, s)

    return tuned_fit(problem, k, predict, ensure_one_label)


@artefact
def posterior(X: sp.csr_array, label: np.ndarray, seen: np.ndarray, k: int, s: float) -> np.ndarray:
    """Return P(H_l = 1 | C_l) (N, m) of all documents X (N, d)."""
    # label (n, m) bool are the labels of the n seen documents. Runs that differ only in
    # `ensure_one_label` share the result.
    C = neighbours(X, seen, k) @ label.astype(int)
    n, m = label.shape
    prior = (s + label.sum(axis=0)) / (2 * s + n)
    joint = []
    for with_label, probability in ((label, prior), (~label, 1 - prior)):
        counts = np.array([np.sum(with_label & (C[seen] == j), axis=0) for j in range(k + 1)])
        total = s * (k + 1) + with_label.sum(axis=0)
        likelihood = (s + counts) / np.where(total > 0, total, 1)
        joint.append(probability * likelihood[C, np.arange(m)])
    evidence = joint[0] + joint[1]
    scores = np.where(evidence > 0, joint[0] / np.where(evidence > 0, evidence, 1), prior)
    return np.asarray(scores)


def neighbours(X: sp.csr_array, seen: np.ndarray, k: int) -> sp.csr_array:
    """Return (N, n): 1 if a seen document is one of the k nearest of a document of X, else 0."""
    # X (N, d) holds all documents, and seen (N,) marks the n of them that are seen.
    from sklearn import config_context
    from sklearn.neighbors import NearestNeighbors

    labelled, unlabelled = np.flatnonzero(seen), np.flatnonzero(~seen)
    search = NearestNeighbors(n_neighbors=min(k, labelled.size - 1), metric="euclidean")
    search.fit(X[labelled])
    with config_context(working_memory=MAX_MEBIBYTES):
        # Without X, each labelled document is left out of its own neighbours.
        parts = [search.kneighbors_graph()]
        if unlabelled.size:
            parts.append(search.kneighbors_graph(X[unlabelled]))
    return sp.csr_array(sp.vstack(parts), dtype=int)[np.argsort(np.r_[labelled, unlabelled])]
