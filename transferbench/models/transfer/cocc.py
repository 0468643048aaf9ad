"""CoCC: co-clustering based classification (Dai, Xue, Yang and Yu, KDD 2007).

    min over (D̂, Ŵ)  I(D; W) − I(D̂; Ŵ) + λ (I(C; W) − I(C; Ŵ))

I is mutual information. D the documents of one target and W the words, p(d, w) (n, m) the target's
matrix divided by its sum; C the classes, p(c, w) (c, m) the labelled documents' matrix summed by
class and divided by its sum. D̂ puts each document into one of c clusters, which are the classes, Ŵ
each word into one of k; the word clusters, shared by both terms, carry the labels. By turns, each
the exact minimiser of a bound that touches the objective, so that none can raise it:

    D̂(d) = argmin over d̂   p(d) KL(p(Ŵ|d) ‖ p(Ŵ|d̂))
    Ŵ(w) = argmin over ŵ   p(w) KL(p(D̂|w) ‖ p(D̂|ŵ)) + λ p_C(w) KL(p(C|w) ‖ p(C|ŵ))

p_C(w) is the share of w in the labelled documents. A cluster with nothing in it takes the marginal.
Every target is clustered on its own; rows of it with labels keep them.

Reconstructed: the paper is not at hand. Its objective and steps are as known; λ = 0.25, k = 64 and
10 iterations are its settings to the best of knowledge, unconfirmed.

Departures from the paper:
- Documents start at logistic regression's decisions, in place of naive Bayes's, as all models here.
- Words start in groups of equal size: by the class that has most of the word, then by how much
  more. Labels and starting documents count for this with the same mass. No random start.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from transferbench.core.init import label_start, seen_rows
from transferbench.parameters import Count, Positive, Weight
from transferbench.problem import Fit, Matrix, Problem, Watch

TINY = np.finfo(np.float64).tiny


def fit(
    problem: Problem,
    *,
    k: Count = 64,
    lam: Weight = 0.25,
    max_iter: Count = 10,
    C: Positive = 1.0,
    watch: Watch | None = None,
) -> Fit:
    """Scores (n, c) of every target, and the objective, summed over targets, after each iteration.

    A score is Σ_ŵ p(ŵ|d) log p(ŵ|d̂), which is minus the divergence that D̂ is chosen by, up to
    what is the same for all classes. A source keeps its labels.

    k word clusters; lam (λ) weight of the labelled documents; max_iter iterations; C inverse
    regularisation of the logistic regression.
    """
    X, y = seen_rows(problem)
    labelled = X.T @ np.eye(len(problem.classes))[y]
    start = label_start(problem, C)
    clusterings = {
        i: CoClustering(domain.X, start[i], domain.seen, labelled / labelled.sum(), k, lam)
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
    return Fit(scores=scores, trace=tuple(trace))


class CoClustering:
    """One target's documents and words, and the cluster of each.

    documents (n,) in 0…c−1 and words (m,) in 0…k−1; scores (n, c) that the documents were last
    assigned by; labelled (m, c) is p(c, w) transposed, as tables of words have words in rows.
    """

    def __init__(
        self,
        X: Matrix,
        start: np.ndarray,
        seen: np.ndarray,
        labelled: np.ndarray,
        k: int,
        lam: float,
    ) -> None:
        self.P = sp.csr_array(X, dtype=np.float64) / X.sum(dtype=np.float64)
        self.Pt = sp.csr_array(self.P.T)
        self.scores, self.seen, self.labelled, self.k, self.lam = start, seen, labelled, k, lam
        self.documents = start.argmax(axis=1)
        self.words = _word_start(labelled + self._by_document_cluster(), k)
        self.whole = _information(self.P) + lam * _information(labelled)

    def _by_document_cluster(self) -> np.ndarray:
        """p(w, d̂)  (m, c)."""
        return np.asarray(self.Pt @ np.eye(self.scores.shape[1])[self.documents])

    def _by_word_cluster(self, table: np.ndarray) -> np.ndarray:
        """Rows of a table of words (m, c) summed by the words' clusters: (k, c)."""
        return np.asarray(_indicator(self.words, self.k).T @ table)

    def objective(self) -> float:
        """I(D; W) − I(D̂; Ŵ) + λ (I(C; W) − I(C; Ŵ)), in nats."""
        target = _information(self._by_word_cluster(self._by_document_cluster()))
        return self.whole - target - self.lam * _information(self._by_word_cluster(self.labelled))

    def assign_documents(self) -> None:
        """Each document without a label to its best cluster, with the words' clusters fixed."""
        joint = self._by_word_cluster(self._by_document_cluster())
        share = (self.P @ _indicator(self.words, self.k)).toarray()  # p(d, ŵ)  (n, k)
        share /= np.maximum(share.sum(axis=1, keepdims=True), TINY)
        free = share @ _log_conditional(joint.T).T
        self.scores = np.where(self.seen[:, None], self.scores, free)
        self.documents = self.scores.argmax(axis=1)

    def assign_words(self) -> None:
        """Each word to its best cluster, with the documents' clusters fixed."""
        table = self._by_document_cluster()
        gain = table @ _log_conditional(self._by_word_cluster(table)).T
        gain += self.lam * self.labelled @ _log_conditional(self._by_word_cluster(self.labelled)).T
        self.words = gain.argmax(axis=1)


def _word_start(mass: np.ndarray, k: int) -> np.ndarray:
    """(m,) a cluster in 0…k−1 for each word, given its mass (m, c) in each class.

    Clusters are shared out evenly among the classes, what is left over to those of most words.
    """
    c = mass.shape[1]
    mass = mass / mass.sum(axis=0).clip(TINY)
    # A word of few documents says little: its odds are drawn to even ones by a mean word's mass.
    odds = mass + mass.mean()
    strength = odds.max(axis=1) / odds.sum(axis=1)
    best = np.where(mass.any(axis=1), odds.argmax(axis=1), c)  # c: a word that does not occur
    most = np.argsort(-np.bincount(best, minlength=c + 1)[:c], kind="stable")
    clusters = np.full(c, k // c)
    clusters[most[: k % c]] += 1
    words = np.zeros(len(mass), dtype=np.intp)
    for label in np.flatnonzero(clusters):
        own = best == label
        if own.any():
            edges = np.quantile(strength[own], np.arange(1, clusters[label]) / clusters[label])
            place = np.searchsorted(edges, strength[own], side="right")
            words[own] = clusters[:label].sum() + place
    return words


def _indicator(clusters: np.ndarray, k: int) -> sp.csr_array:
    """(m, k) with a one in each row."""
    m = len(clusters)
    return sp.csr_array((np.ones(m), clusters, np.arange(m + 1)), shape=(m, k))


def _log_conditional(joint: np.ndarray) -> np.ndarray:
    """Logarithms of the rows of a joint table, each divided by its sum; of an empty row, of p's."""
    total = joint.sum(axis=1, keepdims=True)
    rows = np.where(total > 0, joint, joint.sum(axis=0))
    rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), TINY)
    # Finite, so that 0 · log 0 is 0; elsewhere as good as −∞.
    return np.asarray(np.log(np.maximum(rows, TINY)))


def _information(joint: Matrix) -> float:
    """Mutual information of a joint table, in nats."""
    values = joint.data if sp.issparse(joint) else joint
    rows, columns = (np.asarray(joint.sum(axis=axis)) for axis in (1, 0))
    return float(sum(s * xlogy(p, p).sum() for s, p in ((1, values), (-1, rows), (-1, columns))))
