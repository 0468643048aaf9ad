"""k-nearest-neighbour graphs: by cosine, or by distance with the heat kernel."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sparse_dot_topn import sp_matmul_topn

from transferbench.artefacts import artefact
from transferbench.core import rare_words
from transferbench.core.parallel import threads
from transferbench.core.rare_words import Edges, merged, nearest
from transferbench.core.scale import product, unit_rows
from transferbench.problem import Matrix

#: How the nearest rows are found. "auto" is exact up to `MAX_EXACT_ROWS` rows.
Search: TypeAlias = Literal["auto", "exact", "rare-words"]

#: The exact search of twice as many documents takes more than three times as long.
MAX_EXACT_ROWS = 50_000
#: Rows whose exact neighbours are compared with the found ones.
PROBE_ROWS = 200
#: Least recall without a warning.
MIN_RECALL = 0.9
#: Neighbours requested in addition to p, to include most ties at the p-th place.
EXTRA = 6
#: The first search skips cosines up to this value, which makes it much faster.
FIRST_THRESHOLD = 0.1
#: Least weight of an edge of the heat kernel, so that outliers stay connected.
LEAST_WEIGHT = 1e-12
#: Relative difference below which cosines count as equal, because float32 rounds them.
TIE = 1e-5
#: Mean entries of a row from which dense products are faster.
MANY_ENTRIES = 100
#: Memory for distances or cosines, in MiB.
MAX_MEBIBYTES = 64


@dataclass(frozen=True)
class Graph:
    """Graph over documents or features, by its weights."""

    #: (n, n), symmetric and nonnegative with an empty diagonal.
    W: sp.csr_array
    #: Share of the nearest rows that the search found, measured on a sample; 1 if exact.
    recall: float = 1.0

    @cached_property
    def degree(self) -> np.ndarray:
        """The row sums of W (n,)."""
        return np.asarray(self.W.sum(axis=1)).ravel()

    def order(self) -> np.ndarray:
        """Return the nodes in reverse Cuthill–McKee order: neighbours are near each other."""
        # Products with a matrix in this order are faster, because they read nearby rows.
        return np.asarray(reverse_cuthill_mckee(sp.csr_matrix(self.W), symmetric_mode=True))

    def reordered(self, order: np.ndarray) -> Self:
        """Return the graph with its nodes in the given order."""
        return replace(self, W=sp.csr_array(self.W[order][:, order]))


def graph_diagnostics(graphs: Iterable[Graph]) -> dict[str, float]:
    """Return the least recall of the graphs as "graph_recall"; nothing without a graph."""
    worst = min(graphs, key=lambda graph: graph.recall, default=None)
    if worst is None:
        return {}
    if worst.recall < MIN_RECALL:
        warnings.warn(
            f"the search for neighbours found {worst.recall:.0%} of the nearest of "
            f"{len(worst.degree)} documents; use search=exact to find all, which takes much longer",
            stacklevel=2,
        )
    return {"graph_recall": worst.recall}


@artefact
def cosine_graph(X: Matrix, p: int, *, search: Search = "exact") -> Graph:
    """Return the graph that joins each row of X to its p nearest rows by cosine."""
    # W_ij = cos(x_i, x_j) if one of the two is among the p nearest of the other, else 0 (GTL, eqs.
    # 3 and 5). Only positive cosines give edges. Forms no (n, n) array.
    # `X`: (n, d), sparse or dense; its rows are the nodes. A row of zeros or one without a positive
    # cosine to another has no neighbour.
    # `p`: Of ties at the p-th place the smaller index is taken.
    # `search`: "exact", or "rare-words": approximate and linear in n (see `rare_words`); its recall
    # is then measured on `PROBE_ROWS` rows.
    X = unit_rows(X)
    n = X.shape[0]
    # sparse_dot_topn rejects SciPy's newer sparse arrays.
    A, B = sp.csr_matrix(X), sp.csr_matrix(X.T)
    recall = 1.0
    if search == "exact" or (search == "auto" and n <= MAX_EXACT_ROWS):
        # Other rows keep the other search, whose sums are rounded otherwise.
        many = A.nnz > MANY_ENTRIES * n and (A.data < 0).any()
        edges = _by_blocks(X, p) if many else _exact_neighbours(A, B, np.arange(n), p)
    else:
        probe = np.sort(np.random.default_rng(0).permutation(n)[:PROBE_ROWS])
        exact = _exact_neighbours(A, B, probe, p)
        edges = rare_words.neighbours(A, B, p)
        recall = _recall(edges, exact, n)
    rows, cols, values = edges
    S = sp.csr_array((values, (rows, cols)), shape=(n, n))
    return Graph(sp.csr_array(S.maximum(S.T)), recall)


@artefact
def heat_graph(Z: np.ndarray, p: int) -> Graph:
    """Return the graph that joins each row of Z to its p nearest rows by distance."""
    # W_ij = exp(−d_ij²/2σ²) if one of the two is among the p nearest of the other, else 0. σ² is
    # the mean of d² over all rows and their p nearest. Weights are at least `LEAST_WEIGHT`. Exact,
    # and forms no (n, n) array.
    # `Z`: (n, r), dense. Without columns, there are no edges.
    from sklearn import config_context
    from sklearn.neighbors import NearestNeighbors

    n, r = Z.shape
    p = min(p, n - 1)
    if not r or not p:
        return Graph(sp.csr_array((n, n)))
    with config_context(working_memory=MAX_MEBIBYTES):
        distance, near = NearestNeighbors(n_neighbors=p).fit(Z).kneighbors()
    square = distance.ravel() ** 2
    weight = np.exp(-square / (2 * square.mean() or 1.0))
    rows = np.repeat(np.arange(n), p)
    S = sp.csr_array((np.maximum(weight, LEAST_WEIGHT), (rows, near.ravel())), shape=(n, n))
    return Graph(sp.csr_array(S.maximum(S.T)))


def spread(graph: Graph, P: np.ndarray, alpha: float | np.ndarray, steps: int) -> np.ndarray:
    """Return F (n, c) after fixed-point steps of F = α S F + (1 − α) P."""
    # S is W divided by the roots of the degrees of row and column. Label spreading of Zhou et al.,
    # NIPS 2003.
    # `graph`: The graph with weights W (n, n).
    # `alpha`: α: weight of the graph, one number or (n, 1). A row of F with 0 stays as in P.
    # Shapes: P (n, c).
    scale = sp.diags_array(1 / np.sqrt(np.where(graph.degree > 0, graph.degree, 1)))
    S = sp.csr_array(scale @ graph.W @ scale)
    F = P
    for _ in range(steps):
        F = alpha * product(S, F) + (1 - alpha) * P
    return F


def _by_blocks(X: sp.csr_array, p: int) -> Edges:
    """Return the p nearest rows of each row of X (n, d), faster if rows have many entries."""
    # Columns with an entry in every second row are multiplied as dense matrices; the cosines of a
    # block of rows with all rows are dense.
    n = X.shape[0]
    common = np.diff(sp.csc_array(X).indptr) > n / 2
    D, S = X[:, np.flatnonzero(common)].toarray(), sp.csr_array(X[:, np.flatnonzero(~common)])
    St, step = sp.csr_array(S.T), max(1, int(MAX_MEBIBYTES * 2**20 / (X.dtype.itemsize * n)))
    edges = []
    for start in range(0, n, step):
        own = np.arange(start, min(start + step, n))
        # (rows of the block, n)
        cosines = (S[own] @ St).toarray() + D[own] @ D.T
        cosines[own - start, own] = 0
        last = np.partition(cosines, -p, axis=1)[:, -p] if p < n else np.zeros(len(own))
        rows, cols = np.nonzero((cosines > 0) & (cosines >= last[:, None]))
        rows, cols, values = nearest(rows, cols, cosines[rows, cols], p)
        edges.append((own[rows], cols, values))
    return merged(edges)


def _exact_neighbours(A: sp.csr_matrix, B: sp.csr_matrix, todo: np.ndarray, p: int) -> Edges:
    """Return the p nearest rows of A (n, d) for the rows `todo`; B is the transpose of A."""
    n = A.shape[0]
    edges = []
    # p + 1, because a row is its own nearest neighbour.
    count, threshold = p + 1 + EXTRA, FIRST_THRESHOLD
    while todo.size:
        top = sp_matmul_topn(A[todo], B, count, sort=True, threshold=threshold, n_threads=threads())
        # Search again for rows with too few neighbours, and for those whose p-th ties with the
        # last: further ones with the same cosine may have been cut off.
        sizes = np.diff(top.indptr)
        again = sizes <= p if threshold else np.zeros(todo.size, bool)
        if count < n or threshold:
            full = np.flatnonzero(sizes == count)
            # Sorted by value, the p-th neighbour has index p, or p − 1 without the row itself.
            ties = top.data[top.indptr[full + 1] - 1] >= top.data[top.indptr[full] + p]
            again[full[ties]] = True
        top, owner = top[~again], todo[~again]
        rows = np.repeat(np.arange(owner.size), np.diff(top.indptr))
        other = (top.indices != owner[rows]) & (top.data > 0)
        rows, cols, values = nearest(rows[other], top.indices[other], top.data[other], p)
        edges.append((owner[rows], cols, values))
        todo, count, threshold = todo[again], 8 * count, 0.0
    return merged(edges)


def _recall(edges: Edges, exact: Edges, n: int) -> float:
    """Return the share of the exact edges of some of the n rows that were found."""
    # Of several rows with the same cosine, any counts.
    rows, _, values = exact
    wanted = np.bincount(rows, minlength=n)
    last = np.full(n, np.inf)
    np.minimum.at(last, rows, values)
    near = edges[2] >= (1 - TIE) * last[edges[0]]
    hits = np.bincount(edges[0][near], minlength=n)
    return float(np.minimum(hits, wanted).sum() / rows.size) if rows.size else 1.0
