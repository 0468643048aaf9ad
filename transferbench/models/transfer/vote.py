"""Vote: the class that most of several methods decide.

    min over classes j of document i  Σ_m [argmax_l S_m(i, l) ≠ j],  m over the members

S_m (n, c) are the scores of member m. If classes have equally many votes, the one wins that an
earlier member decides. Members have their default parameters and are deterministic.

The default members err in different ways: label spreading over the document graph, a transductive
support vector machine and co-clustering. See the experiment `choice`.
"""

from typing import Literal

import numpy as np

from transferbench.models.transfer import cocc, graph_only, lr, lr_kmeans, svm, tsvm
from transferbench.problem import Fit, Problem

MEMBERS = {
    "lr": lr.fit,
    "svm": svm.fit,
    "graph-only": graph_only.fit,
    "lr-kmeans": lr_kmeans.fit,
    "tsvm": tsvm.fit,
    "cocc": cocc.fit,
}
Member = Literal["lr", "svm", "graph-only", "lr-kmeans", "tsvm", "cocc"]


def fit(problem: Problem, *, members: tuple[Member, ...] = ("graph-only", "tsvm", "cocc")) -> Fit:
    """Return shares of votes (n, c) of every domain; the labels of every source.

    members: models that vote. Raise ValueError without members or if one is named twice.
    """
    if not members or len(set(members)) < len(members):
        raise ValueError(f"members: expected different models, got {', '.join(members) or 'none'}")
    fits = [MEMBERS[name](problem) for name in members]
    # Earlier members weigh a little more; all of these weights together are less than one vote.
    weights = 1 + 0.5 ** np.arange(2, len(members) + 2)
    scores = []
    for i, domain in enumerate(problem.domains):
        votes = [np.eye(len(problem.classes))[found.scores[i].argmax(axis=1)] for found in fits]
        share = np.tensordot(weights, votes, axes=1) / weights.sum()
        scores.append(domain.Y if domain.seen.all() else share)
    return Fit(scores=tuple(scores))
