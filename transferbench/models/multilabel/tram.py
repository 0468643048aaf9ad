"""TRAM: propagate label sets over the graph of documents (Kong, Ng and Zhou, TKDE 2013).

    min over (a_u, t_u)  Σ_ij W_ij (‖a_i − a_j‖² + (t_i − t_j)²)
    s.t.  a_i = y_i / |y_i|  and  t_i = |y_i|  for each labelled document i

a_i (m,) is the composition of document i: its share of each label. t_i is its number of labels, and
u are the unlabelled documents. W (n, n) is a graph that joins each document to its k nearest
documents of all domains, labelled or not. With L = D − W the minimiser solves L_uu a_u = W_ul a_l,
and likewise for t. So an unlabelled document has the weighted mean of its neighbours. t_u is
rounded, and the document gets this number of labels, those with the largest shares of its
composition.

A score is half the composition, plus ½ if the document gets the label. So the threshold is ½, and
the composition orders the labels on either side of it. Labelled documents keep their labels.
Documents that are not connected to a labelled one get the mean of the labelled ones.

There are two graphs:

- heat is the authors' graph. MDDM (Zhang and Zhou, AAAI 2008) first reduces documents to P X. The
  rows of P are the orthonormal directions that depend most on the labels of the labelled documents.
  They are all left singular vectors of X_lᵀ(Y − mean of Y), at most m. They are exact, and no array
  of documents × features is formed. Neighbours are nearest in the reduced space. Their weights are
  W_ij = exp(−d²/2σ²), where σ² is the mean of d² over all documents and their k neighbours.
- cosine takes neighbours and weights by the cosine of all features.

The paper was not available. The model is reconstructed from its harmonic solution and from the
conventions of the authors' code.

Departures from that code: W joins two documents if one of them is a neighbour of the other; the
code's own rule for such pairs is not known. Weights are at least 1e-12, so that outliers keep their
neighbours.
"""

from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from transferbench.core.documents import View, hstack_views
from transferbench.core.graph import Graph, cosine_graph, heat_graph
from transferbench.models.multilabel._shared import tuned_fit
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem

#: Directions of MDDM are dropped if their squared singular value, relative to the largest, is less.
RANK_TOLERANCE = 1e-10


def fit(
    problem: Problem,
    *,
    k: tuple[Count, ...] = (10,),
    graph: Literal["heat", "cosine"] = "heat",
    view: View = "all",
    ensure_one_label: bool = False,
) -> Fit:
    """Fit TRAM.

    Parameters
    ----------
    k
        Number of neighbours in the graph. If there are several values, 5-fold cross-validation on
        the labelled documents chooses one by example-based F₁.
    graph
        "heat" is a heat kernel of documents reduced by MDDM. "cosine" uses cosines.
    view
        "first" uses the first view and "all" puts all views side by side, both with documents of
        length one. "raw" puts all views side by side as they are.
    ensure_one_label
        Give each document without a label its best label.

    Returns
    -------
    Fit
        Scores (n, m) of every domain. A score is half the composition, plus ½ for each label given.
        Seen rows are their labels.
    """
    X = hstack_views(problem, view)

    def predict(k: int, Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
        W = cosine_graph(X, k) if graph == "cosine" else heat_graph(X @ mddm(X, Y, seen), k)
        return propagate(W, Y, seen)

    return tuned_fit(problem, k, predict, ensure_one_label)


def propagate(graph: Graph, Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return scores (n, m), given the labels Y (n, m) of the rows that are seen (n,)."""
    size = Y.sum(axis=1, keepdims=True)
    values = np.hstack([Y / np.maximum(size, 1), size])
    solution = harmonic(graph, values, seen)
    composition, cardinality = solution[:, :-1], np.floor(solution[:, -1:] + 0.5)
    rank = (-composition).argsort(axis=1, kind="stable").argsort(axis=1)
    scores = (composition + (rank < cardinality)) / 2
    scores[seen] = Y[seen]
    return np.asarray(scores)


def mddm(X: sp.csr_array, Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the orthonormal directions (d, r) that depend most on the labels, with r ≤ m."""
    # They maximise tr(Pᵀ X_lᵀ H Y Yᵀ H X_l P) on the seen rows l of X (N, d) and Y (N, m). H
    # centres.
    rows = np.flatnonzero(seen)
    T = X[rows].T @ (Y[rows] - Y[rows].mean(axis=0))
    squares, V = np.linalg.eigh(T.T @ T)
    used = squares > RANK_TOLERANCE * max(squares[-1], np.finfo(float).tiny)
    return np.asarray(T @ (V[:, used] / np.sqrt(squares[used])))


def harmonic(graph: Graph, values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return (n, q): values of seen rows; each other row is the weighted mean of its neighbours."""
    # Only the seen rows of values (n, q) are used. Rows that are not connected to a seen row get
    # the mean of the seen rows.
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
