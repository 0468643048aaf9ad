"""TRAM: label sets propagated over the graph of documents (Kong, Ng and Zhou, TKDE 2013).

    min over (a_u, t_u)  Σ_ij W_ij (‖a_i − a_j‖² + (t_i − t_j)²)
    s.t.  a_i = y_i / |y_i|  and  t_i = |y_i|  where document i is labelled

a_i (m,) is the composition of document i, how much of it belongs to each label, and t_i the number
of its labels; u are the unlabelled documents. W: cosine graph of the k nearest documents, labelled
or not, over all domains. With L = D − W the minimiser solves L_uu a_u = W_ul a_l, and likewise for
t: each unlabelled document has the weighted mean of its neighbours. It gets t_u labels, rounded:
those of which its composition has most.

A score is half the composition, and half more where the label is decided: ½ is the decision, and
the composition the order among the decided and among the others. Labelled documents keep their
labels. Documents from which no labelled one can be reached get the mean of the labelled.

Reconstructed: the paper is not at hand; this follows its harmonic solution as known. Cosines are
the weights where it may have had others.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from transferbench.core.graph import Graph, cosine_graph
from transferbench.core.views import View, hstack_views, join, split_by_domain
from transferbench.metrics import ensure_one_label
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 10,
    view: View = "all",
    top1: bool = False,
    watch: Watch | None = None,
) -> Fit:
    """Compositions (n, m) of every domain, raised by the labels decided; labels where seen.

    k neighbours in the graph; view: the first or all, side by side; top1: a document without a
    label takes its best.
    """
    views, Y, seen = join(problem, view)
    size = Y.sum(axis=1, keepdims=True)
    known = np.hstack([Y / np.maximum(size, 1), size])
    found = harmonic(cosine_graph(hstack_views(views), k), known, seen)
    composition, cardinality = found[:, :-1], np.floor(found[:, -1:] + 0.5)
    rank = (-composition).argsort(axis=1, kind="stable").argsort(axis=1)
    scores = (composition + (rank < cardinality)) / 2
    scores[seen] = Y[seen]
    return Fit(scores=split_by_domain(problem, ensure_one_label(scores) if top1 else scores))


def harmonic(graph: Graph, known: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Known (n, q) where seen; elsewhere each row the weighted mean of its neighbours.

    Rows out of reach of any seen one get the mean of the seen.
    """
    part = connected_components(graph.W, directed=False)[1]
    free = ~seen & np.isin(part, part[seen])
    found = np.where(seen[:, None], known, known[seen].mean(axis=0))
    rows = np.flatnonzero(free)
    W = graph.W[rows]
    # D^½ (I − D⁻¹W) D^−½, better conditioned than L; the rows of F come scaled by D^½, too.
    root = np.sqrt(graph.degree[rows])[:, None]
    scale = sp.diags_array(1 / root[:, 0])
    A = sp.csr_array(sp.eye_array(rows.size) - scale @ W[:, rows] @ scale)
    B = (W[:, np.flatnonzero(seen)] @ known[seen]) / root
    for column, b in enumerate(B.T):
        x, failed = cg(A, b, rtol=1e-10, maxiter=10 * rows.size)
        if failed:
            raise FloatingPointError("conjugate gradients did not converge on the graph")
        found[rows, column] = x / root[:, 0]
    return found
