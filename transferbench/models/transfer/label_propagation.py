"""Label propagation: label spreading from the labelled documents alone, over one document graph.

    min over F  α Σ_ij W_ij ‖F_i/√d_i − F_j/√d_j‖² / 2 + (1 − α) ‖F − Y‖²

W (n, n) is a cosine graph of the labelled documents of all domains and the unlabelled ones of one
target. It joins each document to its p nearest. d are its row sums. Y (n, c) holds the labels, and
zero where there is none. F (n, c) holds scores. The solver is the fixed-point iteration of Zhou et
al., NIPS 2003. Every target is fitted alone. Labels reach a target only by edges between domains.
In `graph-only`, by contrast, each document starts with the probabilities of logistic regression.

The model equals scikit-learn's LabelSpreading with this graph as kernel. The defaults of
LabelSpreading are α = .2, 7 neighbours and 30 iterations. The defaults here are those of
`graph-only`, to compare with it.

An extension of that paper: labelled documents of a target keep their row of Y in every step. The
weight of a label multiplies its row of Y. Without fixed rows, 50 labels of 500 documents hardly
change the scores.
"""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt

from transferbench.core.documents import score_targets, seen_rows, seen_weights, stack_matrices
from transferbench.core.graph import Search, cosine_graph, graph_diagnostics, spread
from transferbench.parameters import Count
from transferbench.problem import Domain, Fit, Problem


def fit(
    problem: Problem,
    *,
    p: Count = 10,
    alpha: Annotated[float, Ge(0), Lt(1)] = 0.99,
    max_iter: Count = 100,
    search: Search = "auto",
) -> Fit:
    """Fit label propagation.

    Parameters
    ----------
    p
        Number of neighbours in the graph.
    alpha
        α: weight of the graph.
    max_iter
        Number of iterations.
    search
        How nearest documents are found; "auto" is exact up to 50,000 documents.

    Returns
    -------
    Fit
        F (n, c) of every target, and the labels of every source and every seen row.
    """
    X, y = seen_rows(problem)
    labels, weights = np.eye(len(problem.classes))[y], seen_weights(problem)
    if weights is not None:
        labels *= weights[:, None]
    of_target = np.concatenate(
        [np.full(d.seen.sum(), not d.seen.all(), bool) for d in problem.domains]
    )
    graphs = []

    def score(i: int, domain: Domain) -> np.ndarray:
        unseen = np.flatnonzero(~domain.seen)
        graph = cosine_graph(stack_matrices([X, domain.X[unseen]]), p, search=search)
        graphs.append(graph)
        start = np.vstack([labels, np.zeros((len(unseen), labels.shape[1]))])
        of_row = np.append(np.where(of_target, 0, alpha), np.full(len(unseen), alpha))[:, None]
        F = domain.Y.astype(np.float64)
        F[unseen] = spread(graph, start, of_row, max_iter)[len(y) :]
        return F

    scores = score_targets(problem, score)
    return Fit(scores, diagnostics=graph_diagnostics(graphs))
