"""ARRLS: adaptation regularisation with squared loss (Long et al., IEEE TKDE 2014).

    min over W  Σ_i ‖y_i − Wᵀx_i‖² + σ ‖W‖² + λ tr(WᵀXᵀM X W) + γ tr(WᵀXᵀL X W),  i labelled

X (n, d) holds the labelled documents of all domains and the unlabelled ones of one target; each has
length one. y_i (c,) indicates the class of a labelled document. W (d, c) holds weights, and scores
are X W. M (n, n) sums squared distances (maximum mean discrepancies). It counts the distance
between the means of both parts c times, and adds the distances between the means of each class in
them; ‖M‖ = 1. Classes of the target are the decisions of logistic regression. L (n, n) is the
normalised Laplacian of the cosine graph of the p nearest documents in both parts.

The paper's solution for a kernel K is K α with α = ((E + λM + γL) K + σI)⁻¹ E Y, where E indicates
the labelled documents. For the linear kernel K = XXᵀ it is X W with W = Xᵀα, which solves

    (Xᵀ (E + λM + γL) X + σI) W = Xᵀ E Y

Conjugate gradients with sparse products solve this: M has rank c + 1, and no (n, n) array is
formed. Every target is fitted alone.

The paper was not available, so the model is reconstructed from a published copy of the authors'
code. That code gives the weight c of the marginal distributions, the scale of M, and an edge of
weight one from each document to itself. It makes one pass with fixed decisions. Its demo has
σ = .1, λ = 10, γ = 1 and p = 10.

Departures from that code: the kernel is always linear, as the code has it for text. The logistic
regression has an intercept, and takes the documents as given.

An extension of the paper: a labelled document of a target is one of the i. The weight of its label
multiplies its squared error, which is an entry of E. It also multiplies its loss in the logistic
regression.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from transferbench.core.documents import score_targets, seen_rows, seen_weights, stack_matrices
from transferbench.core.graph import Search, cosine_graph, graph_diagnostics
from transferbench.core.logistic import label_start
from transferbench.core.scale import unit_rows
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Domain, Fit, Problem

#: Largest residual of the conjugate gradients, as a fraction of the right-hand side.
TOLERANCE = 1e-8


def fit(
    problem: Problem,
    *,
    sigma: Positive = 0.1,
    lam: Weight = 10.0,
    gamma: Weight = 1.0,
    p: Count = 10,
    C: Positive = 1.0,
    search: Search = "auto",
) -> Fit:
    """Fit ARRLS.

    Parameters
    ----------
    sigma
        σ: weight of the shrinkage.
    lam
        λ: weight of the distributions.
    gamma
        γ: weight of the graph.
    p
        Number of neighbours in the graph.
    C
        Inverse regularisation of the logistic regression.
    search
        How nearest documents are found; "auto" is exact up to 50,000 documents.

    Returns
    -------
    Fit
        Scores X W (n, c) of every target, and the labels of every source. A class without labelled
        documents gets less than the least score of the others.
    """
    labelled, y = seen_rows(problem)
    weights = seen_weights(problem)
    if weights is None:
        weights = np.ones(len(y))
    decided = [P.argmax(axis=1) for P in label_start(problem, C)]
    graphs = []

    def score(i: int, domain: Domain) -> np.ndarray:
        unseen = ~domain.seen
        X = unit_rows(
            stack_matrices([labelled, domain.X[np.flatnonzero(unseen)]]).astype(np.float64)
        )
        graph = cosine_graph(X, p, search=search)
        graphs.append(graph)
        (n, d), Xt = X.shape, sp.csr_array(X.T)
        B = mean_differences(np.eye(len(problem.classes))[y], decided[i][unseen])
        W = graph.W + sp.eye_array(n)
        root = sp.diags_array(1 / np.sqrt(W.sum(axis=1)))
        L = sp.csr_array(sp.eye_array(n) - root @ W @ root)
        E = np.append(weights, np.zeros(n - len(y)))

        def matvec(w: np.ndarray) -> np.ndarray:
            f = X @ w
            return np.asarray(Xt @ (E * f + lam * (B @ (B.T @ f)) + gamma * (L @ f)) + sigma * w)

        A = LinearOperator((d, d), matvec=matvec, dtype=np.float64)
        EY = np.zeros((n, B.shape[1] - 1))
        EY[np.arange(len(y)), y] = weights
        columns = [cg(A, b, rtol=TOLERANCE)[0] for b in (Xt @ EY).T]
        F = unit_rows(domain.X) @ np.column_stack(columns)
        F[:, np.setdiff1d(np.arange(F.shape[1]), y)] = F.min() - 1
        return np.asarray(F)

    scores = score_targets(problem, score)
    return Fit(scores, diagnostics=graph_diagnostics(graphs))


def mean_differences(Y: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Return B (n, c + 1), where M = BBᵀ has length one; a class without documents has no mean."""
    # `Y`: (l, c) indicates the classes of the labelled documents.
    # `decided`: (u,) the classes of the other documents.
    T = np.eye(Y.shape[1])[decided]
    parts = [np.c_[np.sqrt(Y.shape[1]) * np.ones(len(Z)), Z] / np.r_[len(Z), Z.sum(axis=0).clip(1)]
             for Z in (Y, T)]  # fmt: skip
    B = np.vstack([parts[0], -parts[1]])
    return np.asarray(B / np.sqrt(np.linalg.norm(B.T @ B)))
