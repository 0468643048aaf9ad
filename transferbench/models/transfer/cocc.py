"""CoCC: co-clustering based classification (Dai, Xue, Yang and Yu, KDD 2007).

    min over (D̂, Ŵ)  I(D; W) − I(D̂; Ŵ) + λ (I(C; W) − I(C; Ŵ))

I is mutual information. D are the documents of one target, and W are the words. p(d, w) (n, m) is
the target's matrix divided by its sum. C are the classes. p(c, w) (c, m) is the matrix of the
labelled documents, summed by class and divided by its sum. D̂ assigns each document to one of c
clusters, which are the classes. Ŵ assigns each word to one of k clusters. Both terms share the word
clusters, which transfer the labels. Two steps alternate:

    D̂(d) = argmin over d̂   p(d) KL(p(Ŵ|d) ‖ p(Ŵ|d̂))
    Ŵ(w) = argmin over ŵ   p(w) KL(p(D̂|w) ‖ p(D̂|ŵ)) + λ p_C(w) KL(p(C|w) ‖ p(C|ŵ))

Each step minimises an upper bound that is tight at the current clusters, so the objective never
rises. p_C(w) is the fraction of w in the labelled documents. An empty cluster has the marginal
distribution. Every target is clustered alone.

An extension of the paper: a labelled document of a target keeps its label as its cluster. It also
counts in p(c, w), where the weight of the label multiplies its words.

The paper was not available. The model is reconstructed from the objective and steps as they are
known. λ = 0.25, k = 64 and 10 iterations are believed to be the paper's settings.

Departures from the paper:
- Documents start at the decisions of logistic regression, as in the other models here; the paper
  uses naive Bayes.
- If prior is not "equal", each step assigns the unlabelled documents so that the classes have their
  shares of them (`core.priors`). The objective may then rise.
- Words start in groups of equal size, not at random. They are sorted first by the class in which
  the word has most mass, then by the excess of this mass. Labels and starting decisions have the
  same total mass.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from transferbench.core.documents import seen_rows, seen_weights
from transferbench.core.logistic import label_start
from transferbench.core.priors import class_priors, count_offsets
from transferbench.parameters import Count, Positive, Prior, Weight
from transferbench.problem import FeatureClusters, Fit, Matrix, Problem, Watch

TINY = np.finfo(np.float64).tiny
#: Scores that differ by this fraction are equal.
EQUAL = 1e-13


def fit(
    problem: Problem,
    *,
    k: Count = 64,
    lam: Weight = 0.25,
    max_iter: Count = 10,
    C: Positive = 1.0,
    prior: Prior = "equal",
    watch: Watch | None = None,
) -> Fit:
    """Fit CoCC.

    Parameters
    ----------
    k
        Number of word clusters.
    lam
        λ: weight of the labelled documents.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression.
    prior
        Shares of the classes in the targets, see `class_priors`. The scores then include offsets of
        the classes.

    Returns
    -------
    Fit
        Scores (n, c) of every target, and the objective after each iteration, summed over targets.
        A score is Σ_ŵ p(ŵ|d) log p(ŵ|d̂). It is minus the divergence that D̂ minimises, up to a
        constant of the document. The scores of a source are its labels.
    """
    X, y = seen_rows(problem)
    indicator, weights = np.eye(len(problem.classes))[y], seen_weights(problem)
    labelled = X.T @ (indicator if weights is None else indicator * weights[:, None])
    labelled = labelled / (labelled.sum() or 1.0)
    start = label_start(problem, C)
    priors = class_priors(problem, prior, C)
    clusterings = {
        i: CoClustering(domain.X, start[i], domain.seen, labelled, k, lam, priors.by_domain[i])
        for i, domain in enumerate(problem.domains)
        if not domain.seen.all()
    }
    trace = []
    for iteration in range(1, max_iter + 1):
        for clustering in clusterings.values():
            clustering.assign_documents()
            clustering.assign_words()
        trace.append(sum(clustering.objective() for clustering in clusterings.values()))
        scores = tuple(
            clusterings[i].scores if i in clusterings else P for i, P in enumerate(start)
        )
        if watch:
            watch(iteration, max_iter, scores)
    factors = tuple(
        (clusterings[i].feature_clusters(),) if i in clusterings else ()
        for i in range(len(problem.domains))
    )
    return Fit(scores=scores, trace=tuple(trace), diagnostics=priors.diagnostics, factors=factors)


@dataclass(eq=False)
class CoClustering:
    """Clusters of one target's documents and words."""

    # The clusters are in `documents` (n,), 0…c−1, and `words` (m,), 0…k−1.

    #: Documents (n, m).
    X: Matrix
    #: (n, c) the start, later the scores of the last assignment of documents.
    scores: np.ndarray
    #: (n,) True for documents with a label.
    seen: np.ndarray
    #: (m, c) p(c, w) transposed, because tables of words have words in rows.
    labelled: np.ndarray
    k: int
    #: λ: weight of the labelled documents.
    lam: float
    #: (c,) shares of the classes, None if free.
    shares: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.P = sp.csr_array(self.X, dtype=np.float64) / (self.X.sum(dtype=np.float64) or 1.0)
        self.Pt = sp.csr_array(self.P.T)
        self.documents = self.scores.argmax(axis=1)
        self.words = _word_start(self.labelled + self._by_document_cluster(), self.k)
        self.constant = _information(self.P) + self.lam * _information(self.labelled)

    def _by_document_cluster(self) -> np.ndarray:
        """Return p(w, d̂) (m, c)."""
        return np.asarray(self.Pt @ np.eye(self.scores.shape[1])[self.documents])

    def _by_word_cluster(self, table: np.ndarray) -> np.ndarray:
        """Return the rows of a table of words (m, c) summed by word cluster: (k, c)."""
        return np.asarray(_indicator(self.words, self.k).T @ table)

    def feature_clusters(self) -> FeatureClusters:
        """Return p(w|ŵ) in the target (m, k), and p(ŵ, d̂) (k, c)."""
        table = self._by_document_cluster()
        mass = table.sum(axis=1)
        U = (_indicator(self.words, self.k) * mass[:, None]).toarray()
        U /= np.maximum(U.sum(axis=0), TINY)
        return FeatureClusters("", U, self._by_word_cluster(table))

    def objective(self) -> float:
        """Return I(D; W) − I(D̂; Ŵ) + λ (I(C; W) − I(C; Ŵ)), in nats."""
        target = _information(self._by_word_cluster(self._by_document_cluster()))
        labelled = _information(self._by_word_cluster(self.labelled))
        return self.constant - target - self.lam * labelled

    def assign_documents(self) -> None:
        """Assign each unlabelled document to its best cluster; word clusters stay."""
        # On a tie a document stays in its cluster: an empty cluster may equal the only other one.
        joint = self._by_word_cluster(self._by_document_cluster())
        mixture = (self.P @ _indicator(self.words, self.k)).toarray()  # p(d, ŵ)  (n, k)
        mixture /= np.maximum(mixture.sum(axis=1, keepdims=True), TINY)
        scores = mixture @ _log_conditional(joint.T).T
        own_cluster = np.arange(len(scores)), self.documents
        scores[own_cluster] += EQUAL * np.abs(scores[own_cluster])
        if self.shares is not None:
            scores += count_offsets(scores[~self.seen], self.shares)
        self.scores = np.where(self.seen[:, None], self.scores, scores)
        self.documents = self.scores.argmax(axis=1)

    def assign_words(self) -> None:
        """Assign each word to its best cluster; document clusters stay."""
        table = self._by_document_cluster()
        gain = table @ _log_conditional(self._by_word_cluster(table)).T
        gain += self.lam * self.labelled @ _log_conditional(self._by_word_cluster(self.labelled)).T
        self.words = gain.argmax(axis=1)


def _word_start(mass: np.ndarray, k: int) -> np.ndarray:
    """Return a cluster (m,) in 0…k−1 for each word."""
    # Each class gets the same number of clusters; the classes with most words get the remaining
    # ones.
    # `mass`: (m, c) mass of each word in each class.
    c = mass.shape[1]
    mass = mass / mass.sum(axis=0).clip(TINY)
    # Smooth by the mass of a mean word: the odds of a rare word are unreliable.
    odds = mass + mass.mean()
    strength = odds.max(axis=1) / odds.sum(axis=1)
    best = np.where(mass.any(axis=1), odds.argmax(axis=1), c)  # c: a word that does not occur
    by_size = np.argsort(-np.bincount(best, minlength=c + 1)[:c], kind="stable")
    clusters = np.full(c, k // c)
    clusters[by_size[: k % c]] += 1
    words = np.zeros(len(mass), dtype=np.intp)
    for label in np.flatnonzero(clusters):
        in_class = best == label
        if in_class.any():
            edges = np.quantile(strength[in_class], np.arange(1, clusters[label]) / clusters[label])
            quantile = np.searchsorted(edges, strength[in_class], side="right")
            words[in_class] = clusters[:label].sum() + quantile
    return words


def _indicator(clusters: np.ndarray, k: int) -> sp.csr_array:
    """Return the (m, k) matrix with a 1 in each row, in the column of its cluster."""
    m = len(clusters)
    return sp.csr_array((np.ones(m), clusters, np.arange(m + 1)), shape=(m, k))


def _log_conditional(joint: np.ndarray) -> np.ndarray:
    """Return the logarithm of the rows of a joint table, each divided by its sum."""
    # An empty row becomes the marginal.
    total = joint.sum(axis=1, keepdims=True)
    rows = np.where(total > 0, joint, joint.sum(axis=0))
    rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), TINY)
    # A finite log, so that 0 · log 0 is 0.
    return np.asarray(np.log(np.maximum(rows, TINY)))


def _information(joint: Matrix) -> float:
    """Return the mutual information of a joint table, in nats."""
    values = joint.data if sp.issparse(joint) else joint
    rows, columns = (np.asarray(joint.sum(axis=axis)) for axis in (1, 0))
    return float(sum(s * xlogy(p, p).sum() for s, p in ((1, values), (-1, rows), (-1, columns))))
