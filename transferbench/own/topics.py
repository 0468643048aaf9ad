"""Topics: the subjects of a fit's feature clusters, in each domain.

A tri-factorisation describes a documents × features matrix by X ≈ V Hᵀ Uᵀ. V (n, c) holds classes
of the documents, U (d, k) holds clusters of the features, and H (k, c) associates both. In some
models rows of U sum to one, in others its columns or neither. So entries of U cannot be compared
between models. The share of cluster j in the entry (i, w) can be compared. It is

    P(j | i, w) = U_wj (H Vᵀ)_ji / (V Hᵀ Uᵀ)_iw

as in the E-step of PLSA (Hofmann, 1999). This share divides each entry of X among the clusters, and
a topic is described by its parts of the entries; see `core.dual_plsa.expected_counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isnan, log, nan
from statistics import fmean
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp

from transferbench.core.dual_plsa import expected_counts
from transferbench.core.losses import divide_by_product, entry_rows
from transferbench.problem import Domain, FeatureClusters, Fit, Problem

if TYPE_CHECKING:
    from pandas import DataFrame

#: Weight of a word's frequency in a topic, beside its frequency there over that in the domain, as
#: its authors advise (Sievert and Shirley, LDAvis, 2014).
RELEVANCE = 0.6
#: A word is none of a topic if its share is less than this part of the largest one: it is what a
#: factorisation leaves of a zero.
NEGLIGIBLE = 1e-9
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Topic:
    """One feature cluster in one domain.

    Parameters
    ----------
    domain
        Name of the domain.
    name
        Kind and number of the cluster, such as "common 3". Numbers start at 1.
    share
        Share of the topic in the sum of the domain's matrix.
    documents
        Share of the domain's documents in which it is the largest topic.
    classes
        (c,) shares of the classes in the topic, which sum to one.
    words
        The most relevant words, the most relevant first.
    weights
        Shares of these words in the topic.
    coherence
        Mean normalised pointwise mutual information (NPMI) of all pairs of these words over the
        documents of the domain. It is −1 if no two words occur together, 0 if they occur together
        as often as by chance, and 1 if they always occur together. It is NaN for one word.
    typical
        Rows of the documents with the largest part of this topic, the largest first. Only the half
        of the documents with the largest sums is searched, because chance decides the parts of
        short documents.
    """

    domain: str
    name: str
    share: float
    documents: float
    classes: tuple[float, ...]
    words: tuple[str, ...]
    weights: tuple[float, ...]
    coherence: float
    typical: tuple[int, ...]


@dataclass(frozen=True)
class Topics:
    """The topics of a fit.

    Parameters
    ----------
    classes
        Names of the classes. If the columns of the fit are clusters, they are the clusters'
        numbers.
    topics
        Topics by domain, the largest first. A cluster without any share is left out, and so is a
        domain without any topic.
    columns
        "clusters" if the classes are clusters, see `Fit.columns`.
    largest
        Name of the largest topic of each document and its share of the document, by domain. It is
        "" and 0 for a document without any word of a topic.
    """

    classes: tuple[str, ...]
    topics: dict[str, tuple[Topic, ...]]
    columns: Literal["classes", "clusters"] = "classes"
    largest: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    def coherence(self, domain: str) -> float:
        """Return the mean coherence of a domain's topics of two words or more, NaN without any."""
        known = [t.coherence for t in self.topics[domain] if not isnan(t.coherence)]
        return fmean(known) if known else nan

    def diversity(self, domain: str) -> float:
        """Return the share of different words among the words of a domain's topics.

        It is 1/k if all topics have the same words, and 1 if no word is in two topics (Dieng, Ruiz
        and Blei, 2020).
        """
        words = [word for topic in self.topics[domain] for word in topic.words]
        return len({*words}) / len(words)

    def effective(self, domain: str) -> float:
        """Return the effective number of a domain's topics: exp of the entropy of their shares."""
        shares = np.array([topic.share for topic in self.topics[domain]])
        return float(np.exp(-(shares * np.log(shares)).sum()))

    def to_frame(self) -> DataFrame:
        """Return a row for each topic.

        Spaces separate its words, their weights, and the rows of its documents. Columns such as
        "class rec", or "cluster 2" for a model that finds clusters, have the shares of the classes.
        """
        import pandas as pd

        kind = "cluster" if self.columns == "clusters" else "class"
        return pd.DataFrame(
            {
                "domain": topic.domain,
                "topic": topic.name,
                "share": topic.share,
                "documents": topic.documents,
                **{f"{kind} {c}": p for c, p in zip(self.classes, topic.classes, strict=True)},
                "coherence": topic.coherence,
                "words": " ".join(word.replace(" ", "_") for word in topic.words),
                "weights": " ".join(f"{weight:.3g}" for weight in topic.weights),
                "typical": " ".join(map(str, topic.typical)),
            }
            for topics in self.topics.values()
            for topic in topics
        )

    def documents_frame(self) -> DataFrame:
        """Return a row for each document: its largest topic, the topic's share and first words."""
        import pandas as pd

        rows = []
        for domain, documents in self.largest.items():
            words = {topic.name: " ".join(topic.words[:3]) for topic in self.topics[domain]}
            rows += [
                (domain, i, name, share, words.get(name, ""))
                for i, (name, share) in enumerate(documents)
            ]
        return pd.DataFrame(rows, columns=["domain", "row", "topic", "share", "words"])


def coherence_text(coherence: float) -> str:
    """Return a coherence with two digits, a dash if it is NaN."""
    return "–" if isnan(coherence) else f"{coherence:z.2f}"


def topics_of(
    fit: Fit,
    problem: Problem,
    *,
    words: int = 10,
    typical: int = 3,
    relevance: float = RELEVANCE,
) -> Topics:
    """Return the topics of a fit.

        problem, _ = transferbench.load_task("comp-vs-rec")
        topics = topics_of(transferbench.fit("dtl", problem), problem)
        topics.to_frame()

    Parameters
    ----------
    fit
        A fit with factors, see `Fit.factors`.
    problem
        The problem that was fitted. Features without names have numbers, from 1.
    words
        Number of words of each topic.
    typical
        Number of documents of each topic.
    relevance
        λ: words are ordered by λ log P(w | topic) + (1 − λ) log (P(w | topic) / P(w)). 1 orders
        them by frequency.

    Returns
    -------
    Topics
        Topics of each domain. Domains without feature clusters have none, such as the sources of
        models that fit a target alone.

    Raises
    ------
    ValueError
        If the fit has no factors.
    """
    if not any(fit.factors):
        raise ValueError("the fit has no feature clusters; expected one of a tri-factorisation")
    names = np.array(problem.features or range(1, problem.domains[0].X.shape[1] + 1)).astype(str)
    is_clusters = fit.columns == "clusters"
    classes = map(str, range(1, fit.scores[0].shape[1] + 1)) if is_clusters else problem.classes
    found = {
        domain.name: _of_domain(domain, V, clusters, names, words, typical, relevance)
        for domain, V, clusters in zip(problem.domains, fit.scores, fit.factors, strict=True)
        if clusters
    }
    found = {domain: of_domain for domain, of_domain in found.items() if of_domain[0]}
    if not found:
        raise ValueError("no document has any word of a cluster, so there are no topics")
    by_domain = {domain: of_domain[0] for domain, of_domain in found.items()}
    largest = {domain: of_domain[1] for domain, of_domain in found.items()}
    return Topics(tuple(classes), by_domain, fit.columns, largest)


def _of_domain(
    domain: Domain, V: np.ndarray, clusters: Sequence[FeatureClusters], names: np.ndarray,
    words: int, typical: int, relevance: float,
) -> tuple[tuple[Topic, ...], tuple[tuple[str, float], ...]]:  # fmt: skip
    """Return the topics of a domain, the largest first, and the largest one of each document."""
    X = sp.csr_array(domain.X, dtype=np.float64)
    U = np.hstack([part.U for part in clusters]).astype(np.float64)
    H = np.vstack([part.H for part in clusters]).astype(np.float64)
    labels = [
        f"{part.kind} {j}".strip() for part in clusters for j in range(1, part.U.shape[1] + 1)
    ]
    V = np.asarray(V, np.float64)
    if (V < 0).any() or not V.any():  # scores of a model with one class for each document
        V = np.eye(V.shape[1])[V.argmax(axis=1)]
    _, of_words, of_classes, _ = expected_counts(X, U, H, V)
    ratio, _ = divide_by_product(X, V, U @ H, entry_rows(X))
    of_documents = (ratio @ U) * (V @ H.T)
    sums = of_words.sum(axis=0)
    marginal = of_words.sum(axis=1) / (sums.sum() or 1)
    largest = of_documents.argmax(axis=1)[of_documents.any(axis=1)]
    nearest = np.bincount(largest, minlength=len(labels)) / max(1, len(largest))
    size = of_documents.sum(axis=1)
    long_enough = size >= (1 - 1e-9) * np.median(size)  # rounding must not exclude the median
    shares = np.where(long_enough[:, None], of_documents / np.maximum(size, TINY)[:, None], 0)
    occurs = sp.csc_array(X > 0)
    topics = []
    for j in np.argsort(-sums, kind="stable"):
        if not sums[j]:
            break
        p = of_words[:, j] / sums[j]
        log_p = np.log(np.maximum(p, TINY))
        order = log_p - (1 - relevance) * np.log(np.maximum(marginal, TINY))
        top = np.argsort(-np.where(p > 0, order, -np.inf), kind="stable")[:words]
        top = top[p[top] > NEGLIGIBLE * p.max()]
        topics.append(
            Topic(
                domain.name,
                labels[j],
                float(sums[j] / sums.sum()),
                float(nearest[j]),
                tuple((of_classes[j] / of_classes[j].sum()).tolist()),
                tuple(names[top].tolist()),
                tuple(p[top].tolist()),
                _coherence(occurs[:, top]),
                tuple(np.argsort(-shares[:, j], kind="stable")[:typical].tolist()),
            )
        )
    best = of_documents.argmax(axis=1)
    parts = of_documents[np.arange(len(best)), best] / np.maximum(size, TINY)
    named = ((labels[j] if part else "", float(part)) for j, part in zip(best, parts, strict=True))
    return tuple(topics), tuple(named)


def _coherence(occurs: sp.csc_array) -> float:
    """Return the mean NPMI of all pairs of words (n, words), see `Topic`."""
    n, m = occurs.shape
    together = (occurs.astype(np.float64).T @ occurs.astype(np.float64)).toarray() / n
    values = []
    for i, j in combinations(range(m), 2):
        both = together[i, j]
        if both in (0, 1):
            values.append(2 * both - 1)
        else:
            values.append(log(both / (together[i, i] * together[j, j])) / -log(both))
    return fmean(values) if values else nan
