"""Graph only: label spreading over the document graph of each target.

    min over F  α Σ_ij W_ij ‖F_i/√d_i − F_j/√d_j‖² / 2 + (1 − α) ‖F − P‖²

W (n, n) cosine graph of the p nearest documents, d its row sums; P (n, c) probabilities of logistic
regression; F (n, c) scores. Fixed-point iteration of Zhou et al., NIPS 2003. A control that shows
the effect of GCMF's document graph without any factorisation. As in GCMF, columns are scaled to sum
one before the argmax, which assumes classes of about equal size.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import scipy.sparse as sp
from annotated_types import Ge, Lt

from transferbench.core.graph import Search, cosine_graph, graph_diagnostics
from transferbench.core.init import label_start
from transferbench.core.scale import scale_to_one
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    p: Count = 10,
    alpha: Annotated[float, Ge(0), Lt(1)] = 0.99,
    max_iter: Count = 100,
    C: Positive = 1.0,
    search: Search = "auto",
) -> Fit:
    """Return F (n, c) of every target, and the labels of every source.

    p: neighbours in the graph. alpha (α): weight of the graph. max_iter: iterations. C: inverse
    regularisation of the logistic regression. search: how nearest documents are found; "auto" is
    exact up to 50,000 of them.
    """
    scores, graphs = [], []
    for domain, P in zip(problem.domains, label_start(problem, C), strict=True):
        if domain.seen.all():
            scores.append(P)
            continue
        graph = cosine_graph(domain.X, p, search=search)
        graphs.append(graph)
        scale = sp.diags_array(1 / np.sqrt(np.where(graph.degree > 0, graph.degree, 1)))
        S = sp.csr_array(scale @ graph.W @ scale)
        F = P
        for _ in range(max_iter):
            F = alpha * (S @ F) + (1 - alpha) * P
        scores.append(scale_to_one(F, "columns"))
    return Fit(scores=tuple(scores), diagnostics=graph_diagnostics(graphs))
