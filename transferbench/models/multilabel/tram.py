"""TRAM: label sets propagated over the graph of documents (Kong, Ng and Zhou, TKDE 2013).

    min over (a_u, t_u)  Σ_ij W_ij (‖a_i − a_j‖² + (t_i − t_j)²)
    s.t.  a_i = y_i / |y_i|  and  t_i = |y_i|  for each labelled document i

a_i (m,) composition of document i, its share of each label; t_i its number of labels; u are the
unlabelled documents. W (n, n) cosine graph of the k nearest documents, labelled or not, of all
domains. With L = D − W the minimiser solves L_uu a_u = W_ul a_l, and likewise for t: an unlabelled
document has the weighted mean of its neighbours. It gets the t_u labels, rounded, with the largest
shares of its composition.

A score is half the composition, plus ½ if the document gets the label. So the threshold is ½, and
the composition orders the labels on either side of it. Labelled documents keep their labels.
Documents that are not connected to a labelled one get the mean of the labelled ones.

Reconstructed from its harmonic solution as known: the paper was not available, so departures from
it are unknown. The cosine weights are an assumption.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from transferbench.core.graph import Graph, cosine_graph
from transferbench.core.views import View, hstack_views, join
from transferbench.models.multilabel._shared import scores_by_domain
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem, *, k: Count = 10, view: View = "all", ensure_one_label: bool = False
) -> Fit:
    """Return scores (n, m) of every domain: half the composition, plus ½ for each label given.

    Seen rows are their labels. k: neighbours in the graph. view: the first view, or all side by
    side. ensure_one_label: give a document without a label its best one.
    """
    views, Y, seen = join(problem, view)
    size = Y.sum(axis=1, keepdims=True)
    values = np.hstack([Y / np.maximum(size, 1), size])
    solution = harmonic(cosine_graph(hstack_views(views), k), values, seen)
    composition, cardinality = solution[:, :-1], np.floor(solution[:, -1:] + 0.5)
    rank = (-composition).argsort(axis=1, kind="stable").argsort(axis=1)
    scores = (composition + (rank < cardinality)) / 2
    scores[seen] = Y[seen]
    return Fit(scores_by_domain(problem, scores, ensure_one_label))


def harmonic(graph: Graph, values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return (n, q): values of seen rows; each other row is the weighted mean of its neighbours.

    values (n, q), used at seen rows only. Rows that are not connected to a seen row get the mean of
    the seen rows. Raise FloatingPointError if conjugate gradients do not converge.
    """
    part = connected_components(graph.W, directed=False)[1]
    free = ~seen & np.isin(part, part[seen])
    solution = np.where(seen[:, None], values, values[seen].mean(axis=0))
    rows = np.flatnonzero(free)
    W = graph.W[rows]
    # Solve D^½ (I − D⁻¹W) D^−½ x = b with x = D^½ F: it is better conditioned than L.
    root = np.sqrt(graph.degree[rows])[:, None]
    scale = sp.diags_array(1 / root[:, 0])
    A = sp.csr_array(sp.eye_array(rows.size) - scale @ W[:, rows] @ scale)
    B = (W[:, np.flatnonzero(seen)] @ values[seen]) / root
    for column, b in enumerate(B.T):
        x, failed = cg(A, b, rtol=1e-10, maxiter=10 * rows.size)
        if failed:
            raise FloatingPointError("conjugate gradients did not converge on the graph")
        solution[rows, column] = x / root[:, 0]
    return solution
