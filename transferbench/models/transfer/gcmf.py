"""GCMF: graph co-regularised collective matrix tri-factorisation (Long et al., AAAI 2012).

    min  Σ_π ‖X_π − U_π H V_πᵀ‖² + λ tr(U_πᵀ (D^u_π − W^u_π) U_π) + γ tr(V_πᵀ (D^v_π − W^v_π) V_π)
    s.t. U, H, V ≥ 0,  columns of U_π and V_π sum to one,  V_s ≡ Y_s (scaled in the same way)

X_π (m, n_π) holds the features × documents of domain π, divided by its Frobenius norm. U_π (m, k)
holds feature clusters. H (k, c) associates them with the classes, and all domains share it.
V_π (n_π, c) holds the classes of documents; the argmax of a row is the decision. W^u and W^v are
cosine graphs of the p nearest features and documents within a domain, with degrees D. See
eqs. 3–10. Algorithm 1 takes the domains in turn. For each one it updates U_π, V_π and H, then it
normalises U_π and V_π (normalize_at = "domain"). "update" is another reading: it normalises each
factor right after its own update. There may be any number of sources and targets.

The objective may rise, which contradicts Theorem 1. No update raises it, but the scaling of columns
after an update may. On rec vs sci (`gtl/rec-vs-sci`, one seed, float64) it is least at iteration
70. It rises in 430 of 499 steps, by .015 per cent in all. In float32 it is also least at 70.
Accuracy is 98.0 at iteration 70, 97.9 at 100 and 24.9 at 500. stop = "objective" is a reading that
returns the scores of the iteration with the least objective.

On people vs places accuracy falls from 65 at iteration 70 to 47 at iteration 300. Small details
therefore decide its value at iteration 100. Algorithm 1 gives 62.2. Scaling U_π right after its
update gives 60.3; the time at which V_π is scaled does not matter. The graphs (W + Wᵀ)/2 give 60.7.
Labels V_s that are not scaled give 63.0.

Departures from the paper:
- V_t starts at the probabilities of logistic regression. The decisions of that regression contain
  zeros, which multiplicative updates cannot change.
- U_π has no row for a feature that does not occur in domain π. The numerator of eq. 8 would be zero
  there, and the row would be zero after the first update.
- The reported objective omits the document-graph term of a source, which is constant.
- H is not rescaled when U_π is normalised; the paper does not rescale it, either. H is shared, so
  one scaling cannot fit every domain.

An extension of the paper: if a document of a target has a label, its row of V_t is fixed. The row
is the label, divided by the expected size of the class as in `label_factors`. So the document
weighs as much as a mean document of its class. Weights of labels enter only the regression that
gives the start.

Columns of V that sum to one assume classes of about equal size in the target. If prior is not
"equal", the decisions have the shares of the classes instead. In each iteration, rows of V_t are
changed so that their argmax has these shares; then columns are scaled to one. At the end, columns
are scaled so that the argmax has these shares again (`core.priors`). This is not in the paper, and
the objective may rise.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core.documents import stack_matrices
from transferbench.core.graph import Graph, Search, cosine_graph, graph_diagnostics
from transferbench.core.nmtf import NMTF, Factor, Stop, Term
from transferbench.core.priors import class_priors, match_counts
from transferbench.core.scale import SCALES, Normalize, NormalizeAt, nonempty_columns
from transferbench.models.transfer._shared import Start, label_factors
from transferbench.parameters import Count, Positive, Precision, Prior, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    k: Count = 64,
    p: Count = 10,
    lam: Weight = 100.0,
    gamma: Weight = 100.0,
    max_iter: Count = 100,
    C: Positive = 1.0,
    start: Start = "probabilities",
    scale: Literal["frobenius", "sum", "none"] = "frobenius",
    normalize: Normalize = "columns",
    normalize_at: NormalizeAt = "domain",
    neighbours: Literal["domain", "all"] = "domain",
    search: Search = "auto",
    prior: Prior = "equal",
    stop: Stop = "fixed",
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit GCMF.

    Parameters
    ----------
    k
        Number of feature clusters.
    p
        Number of neighbours in the graphs.
    lam
        λ: weight of the feature graphs.
    gamma
        γ: weight of the document graphs.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression.
    start
        V_t starts at the probabilities or at the decisions of that regression.
    scale
        Divide X by its Frobenius norm, by its sum, or by nothing.
    normalize
        The columns (eq. 7) or the rows of V sum to one.
    normalize_at
        When V is normalised; see above.
    neighbours
        Search the p nearest in the domain, or in all domains; only those in the domain count.
    search
        How nearest documents are found; "auto" is exact up to 50,000 documents. The search of
        features is always exact.
    prior
        Shares of the classes in the targets; see `class_priors`.
    stop
        Return the scores of the last iteration ("fixed") or of the iteration with the least
        objective ("objective").
    dtype
        Precision of the matrices and factors during the fit.

    Returns
    -------
    Fit
        Scores V_π (n_π, c) of every domain, and the objective after each iteration.

    Raises
    ------
    ValueError
        If a domain has no feature.
    """
    priors = class_priors(problem, prior, C, search)
    rng = np.random.default_rng(seed)
    H = Factor(rng.random((k, len(problem.classes))))
    Us, Vs, terms, graphs = [], label_factors(problem, C, normalize, start, priors=priors), [], []
    features = []  # of the rows of each U
    for i, (domain, V) in enumerate(zip(problem.domains, Vs, strict=True)):
        occurring = nonempty_columns(domain.X)
        X = domain.X[:, occurring]
        if not X.shape[1]:
            raise ValueError(f"domain {domain.name}: all its documents are empty.")
        U = Factor(rng.random((X.shape[1], k)), normalize="columns")
        if lam:
            # The order of features changes nothing but the speed of products with the graph.
            feature_graph = cosine_graph(X.T, p)
            order = feature_graph.order()
            U.graph, U.graph_weight = feature_graph.reordered(order), lam
            U.value, X, occurring = U.value[order], X[:, order], occurring[order]
        if gamma and not V.fixed:
            if neighbours == "domain":
                V.graph = cosine_graph(X, p, search=search)
            else:
                V.graph = _graph_of(problem, i, p, search)
            V.graph_weight = gamma
            graphs.append(V.graph)
        Us.append(U)
        features.append(occurring)
        terms.append(Term(SCALES[scale](X), V, ((U, H),)))
    model = NMTF(terms, normalize_at=normalize_at, dtype=dtype)

    def sweep() -> None:
        for U, V in zip(Us, Vs, strict=True):
            model.update(U, V, H)
            model.end_domain(U, V)

    def decide(scores: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return tuple(
            V if share is None else match_counts(V, share)
            for V, share in zip(scores, priors.by_domain, strict=True)
        )

    def on_iteration(iteration: int, planned: int, scores: tuple[np.ndarray, ...]) -> None:
        if watch:
            watch(iteration, planned, decide(scores))

    fit = model.solve(sweep, max_iter, Vs, watch and on_iteration, stop)
    diagnostics = {**fit.diagnostics, **graph_diagnostics(graphs), **priors.diagnostics}
    m = problem.domains[0].X.shape[1]
    factors = []
    for (clusters,), rows in zip(fit.factors, features, strict=True):
        complete = np.zeros((m, k), dtype)  # zero for the features that the domain lacks
        complete[rows] = clusters.U
        factors.append((replace(clusters, U=complete),))
    scores = decide(fit.scores)
    return replace(fit, scores=scores, diagnostics=diagnostics, factors=tuple(factors))


def _graph_of(problem: Problem, i: int, p: int, search: Search) -> Graph:
    """Return the part of the graph over the documents of all domains that joins those of one."""
    joint = cosine_graph(stack_matrices([domain.X for domain in problem.domains]), p, search=search)
    of = np.repeat(np.arange(len(problem.domains)), [len(d.seen) for d in problem.domains])
    rows = np.flatnonzero(of == i)
    return Graph(sp.csr_array(joint.W[rows][:, rows]), joint.recall)
