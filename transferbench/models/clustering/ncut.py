"""NCut: normalised cut of the document graph of each task or all tasks (Shi, Malik, PAMI 2000).

    min over partitions A_1 … A_c  Σ_j cut(A_j, rest) / volume(A_j)

Volumes and cuts are measured in the cosine graph of the p nearest documents. With `sigma` they are
measured in the graph that joins all documents with the weights exp(−‖x_i − x_j‖² / 2σ²), as Shi and
Malik do. scikit-learn's SpectralClustering solves the relaxed problem by the smallest eigenvectors
of the normalised Laplacian. It then rotates them to discrete clusters (Yu, Shi, ICCV 2003). This is
NCut of Gu, Li, Han, AAAI 2011. With `pool_tasks` the graph also joins documents of different tasks,
which is their All NCut. The paper does not name its graph.
"""

import warnings

import numpy as np
import scipy.sparse as sp

from transferbench.core.graph import Search, cosine_graph
from transferbench.models.clustering._shared import clusters_fit, document_groups, gaussian_kernel
from transferbench.parameters import Count, Width
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    p: Count = 10,
    pool_tasks: bool = False,
    search: Search = "auto",
    sigma: Width | None = None,
    seed: int,
) -> Fit:
    """Fit NCut.

    Parameters
    ----------
    p
        Number of neighbours in the graph.
    pool_tasks
        Cluster the documents of all tasks as those of one task.
    search
        How nearest documents are found; "auto" is exact up to 50,000 documents.
    sigma
        σ: width of the Gaussian weights that join all documents. Memory grows with the square of
        their number. None uses the graph of the p nearest.

    Returns
    -------
    Fit
        One-hot clusters (n, c).

    Raises
    ------
    ValueError
        If there are no more documents than clusters, or if the graph has no edge.
    """
    from sklearn.cluster import SpectralClustering

    c = len(problem.classes)
    scores, graphs = [], []
    for X in document_groups(problem, pool_tasks):
        if X.shape[0] <= c:
            raise ValueError(
                f"{problem.name}: {X.shape[0]} documents to cut into {c} clusters; expected more "
                "documents than clusters."
            )
        cut = SpectralClustering(
            c, affinity="precomputed", assign_labels="discretize", random_state=seed
        )
        if sigma is None:
            graph = cosine_graph(X, p, search=search)
            graphs.append(graph)
            W = sp.csr_matrix(graph.W)  # scikit-learn rejects csr_array here
            if not graph.W.nnz:
                raise ValueError(
                    f"{problem.name}: no two documents share a feature; nothing to cut."
                )
        else:
            W = gaussian_kernel(X.astype(np.float64), slice(None), sigma)
            np.fill_diagonal(W, 0)
            if not np.isfinite(W).all() or (W.sum(axis=1) > 0).sum() < c:
                raise ValueError(
                    f"{problem.name}: sigma = {sigma:g} leaves fewer than {c} documents with a "
                    "weight above 0; nothing to cut. Choose a larger sigma."
                )
        with warnings.catch_warnings():
            # Expected: a document graph often has several components, and cutting between them is
            # correct.
            warnings.filterwarnings("ignore", message="Graph is not fully connected")
            try:
                scores.append(np.eye(c)[cut.fit(W).labels_])
            except np.linalg.LinAlgError:
                larger = "p" if sigma is None else "sigma"
                raise ValueError(
                    f"{problem.name}: no eigenvectors were found. Choose a larger {larger}."
                ) from None
    return clusters_fit(problem, scores, graphs)
