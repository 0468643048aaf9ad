"""HIDC: homogeneous, identical and distinct concepts (Zhuang et al., IJCAI 2013).

    min  −Σ_j Σ_r Σ_dw x_r(d, w) log P_rj(d, w)
    P_rj(d, w) = Σ_yz P_r(d|z) P_r(z) P_rj(y|z) P_rj(w|y)

x_r (n_r, m) holds the documents of domain r, divided by the sum of all domains. z are the c classes
of documents, and y are concepts (word clusters) of kind j. There are k₁ identical concepts; all
domains share their P(w|y) and P(y|z). There are k₂ homogeneous (alike) concepts; each domain has
its own P(w|y), and all share P(y|z). There are k₃ distinct concepts; each domain has its own P(w|y)
and P(y|z). Each kind describes all words by itself. P_r(d|z) and P_r(z) belong to all three kinds.
In sources P_r(d|z) is fixed, and it is equal for all documents with the label z. The decision is
the largest P(z|d), which is proportional to P_r(d|z) P_r(z). EM fits all domains at once. Every
step computes the expected counts of (w, y), (y, z) and (d, z) from the last parameters, then
normalises them. The objective never rises.

The paper was not available, so the model is reconstructed from the authors' published code. The
code has k₁ = k₂ = 20, k₃ = 10 and 100 iterations. P(w|y) of the first two kinds starts at PLSA on
the documents of all domains (20 steps). P(d|z) of a target starts proportional to (P + 1/c) / 2,
where P is from logistic regression. All other parameters start uniform. Equal distinct concepts
stay equal, so they are one. The shares of the domains in all counts are constant and change
nothing. PLSA does not stop early here.

An extension of the paper: if a document of a target has a label, its P(d|z) is 0 in the other
classes, and EM keeps zeros. Weights of labels enter only the regression that gives the start.
"""

from dataclasses import dataclass

import numpy as np

from transferbench.core.documents import with_labels
from transferbench.core.dual_plsa import expected_counts, proportions
from transferbench.core.logistic import label_start
from transferbench.core.scale import scale_to_one
from transferbench.models.transfer._shared import word_topics
from transferbench.parameters import Count, CountOrZero, Positive
from transferbench.problem import FeatureClusters, Fit, Matrix, Problem, Watch


@dataclass
class Kind:
    """Concepts of one kind: P(w|y) (m, k) and P(y|z) (k, c), shared or one for each domain."""

    name: str
    Ws: list[np.ndarray]
    Hs: list[np.ndarray]
    share_words: bool
    share_classes: bool

    def expect(self, Xs: list[Matrix], Vs: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        """Return the log-likelihood and the counts (n, c) of each domain; store the others."""
        expected = [expected_counts(*parts) for parts in zip(Xs, self.Ws, self.Hs, Vs, strict=True)]
        likelihoods, self.words, self.pairs, documents = map(list, zip(*expected, strict=True))
        return sum(likelihoods), documents

    def update(self) -> None:
        """Normalise the stored counts."""
        self.Ws = _normalized(self.words, self.share_words)
        self.Hs = _normalized(self.pairs, self.share_classes)


def _normalized(counts: list[np.ndarray], shared: bool) -> list[np.ndarray]:
    """Return the counts of each domain, with columns that sum to one."""
    # If they are shared, each domain gets the counts of all domains together.
    if shared:
        return [scale_to_one(np.sum(counts, axis=0), "columns")] * len(counts)
    return [scale_to_one(count, "columns") for count in counts]


def fit(
    problem: Problem,
    *,
    k1: CountOrZero = 20,
    k2: CountOrZero = 20,
    k3: CountOrZero = 10,
    max_iter: Count = 100,
    C: Positive = 1.0,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit HIDC.

    Parameters
    ----------
    k1, k2, k3
        Numbers of identical, homogeneous and distinct concepts. A kind without concepts is left
        out.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression.

    Returns
    -------
    Fit
        P(z|d) (n, c) of every domain, and the objective after each iteration. A document without
        words has equal probabilities.

    Raises
    ------
    ValueError
        If there are no concepts.
    """
    if not k1 + k2 + k3:
        raise ValueError("k1, k2 and k3 are all 0; expected one or more concepts")
    Xs, c = proportions(problem), len(problem.classes)
    n, m = len(Xs), Xs[0].shape[1]
    topics, _ = word_topics(problem, max(1, k1 + k2), seed=seed)
    topics = topics.astype(np.float64)
    kinds = [
        Kind(name, [W] * n, [np.full((k, c), 1 / k)] * n, share_words, share_classes)
        for name, k, W, share_words, share_classes in (
            ("identical", k1, topics[:, :k1], True, True),
            ("homogeneous", k2, topics[:, k1 : k1 + k2], False, True),
            ("distinct", k3, np.full((m, k3), 1 / m), False, False),
        )
        if k
    ]
    documents = [
        scale_to_one(np.where(domain.seen[:, None], P, (P + (P.any(axis=0) / c)) / 2), "columns")
        for domain, P in zip(problem.domains, label_start(problem, C), strict=True)
    ]
    Vs = [D / c for D in documents]  # P_r(d, z)

    def expect() -> tuple[float, list[np.ndarray]]:
        expected = [kind.expect(Xs, Vs) for kind in kinds]
        counts = zip(*(by_domain for _, by_domain in expected), strict=True)
        return -sum(likelihood for likelihood, _ in expected), [
            np.sum(by_kind, axis=0) for by_kind in counts
        ]

    trace = []
    _, counts = expect()
    for iteration in range(1, max_iter + 1):
        for kind in kinds:
            kind.update()
        Vs = [
            (D * count.sum(axis=0) if domain.seen.all() else count) / (count.sum() or 1.0)
            for domain, D, count in zip(problem.domains, documents, counts, strict=True)
        ]
        objective, counts = expect()
        trace.append(objective)
        scores = tuple(
            with_labels(domain, scale_to_one(V.copy(), "rows", fill=True))
            for domain, V in zip(problem.domains, Vs, strict=True)
        )
        if watch:
            watch(iteration, max_iter, scores)
    factors = tuple(
        tuple(
            FeatureClusters(kind.name, kind.Ws[i], kind.Hs[i] * Vs[i].sum(axis=0)) for kind in kinds
        )
        for i in range(n)
    )
    return Fit(scores, tuple(trace), factors=factors)
