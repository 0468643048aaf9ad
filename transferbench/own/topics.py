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

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isnan, log, nan
from statistics import fmean
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from transferbench.core.dual_plsa import expected_counts
from transferbench.core.losses import divide_by_product, entry_positions
from transferbench.problem import Domain, FeatureClusters, Fit, Problem

if TYPE_CHECKING:
    from pandas import DataFrame

#: Weight of a word's frequency in a topic, beside its frequency there over that in the domain, as
#: its authors advise (Sievert and Shirley, LDAvis, 2014).
RELEVANCE = 0.6
#: A word is none of a topic if its share is less than this part of the largest one: it is what a
#: factorisation leaves of a zero.
NEGLIGIBLE = 1e-9
#: A document is typical from this part of the words of the median document, and from this share.
LONG_ENOUGH, LEAST_SHARE = 0.5, 0.01
TINY = float(np.finfo(np.float64).tiny)


#: Name and words of each topic, and the share (n, ·) of each in each document.
NamedShares: TypeAlias = tuple[Sequence[tuple[str, Sequence[str]]], np.ndarray]


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
        Rows, from 0, of the documents with the largest part of this topic, the largest first.
        Documents with less than half as many different words as the domain's median document are
        left out, because chance decides the parts of short documents; so are shares below 1 %.
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


class OfDocuments(ABC):
    """Tables of the topics of documents."""

    @property
    @abstractmethod
    def _named(self) -> dict[str, NamedShares]:
        """The names and words of the topics, and their shares, by domain."""

    def documents_frame(self) -> DataFrame:
        """Return a row for each document: its largest topic, the topic's share and first words.

        The columns `domain` and `row` say which document it is; rows count from 1. A document
        without any word of a topic has the topic "" and the share NaN.
        """
        import pandas as pd

        rows = []
        for domain, (topics, shares) in self._named.items():
            for row, of in enumerate(shares, start=1):
                name, words = topics[of.argmax()] if of.any() else ("", ())
                rows.append((domain, row, name, of.max() or nan, " ".join(words[:3])))
        return pd.DataFrame(rows, columns=["domain", "row", "topic", "share", "words"])

    def shares_frame(self) -> DataFrame:
        """Return a row for each document: `domain`, `row` from 1, and the share of each topic.

        A column is named "topic NAME". It is 0 in a domain without that topic, and NaN for a
        document without any word of a topic.
        """
        import pandas as pd

        frames = {
            domain: pd.DataFrame(
                shares, range(1, len(shares) + 1), [f"topic {name}" for name, _ in topics]
            )
            for domain, (topics, shares) in self._named.items()
        }
        table = pd.concat(frames, names=["domain", "row"]).fillna(0.0)
        table[~table.any(axis=1)] = nan
        return table.reset_index()


@dataclass(frozen=True)
class Topics(OfDocuments):
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
    shares
        By domain: (n, topics) the share of each topic in each document, in the order of `topics`.
        A row is zero for a document without any word of a topic.
    components
        By domain: (topics, d) the share of each feature in each topic, in the order of `topics`.
    """

    classes: tuple[str, ...]
    topics: dict[str, tuple[Topic, ...]]
    columns: Literal["classes", "clusters"] = "classes"
    shares: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    components: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def coherence(self, domain: str) -> float:
        """Return the mean coherence of a domain's topics of two words or more, NaN without any."""
        return mean_coherence(topic.coherence for topic in self.topics[domain])

    def diversity(self, domain: str) -> float:
        """Return the share of different words among the words of a domain's topics.

        It is 1/k if all topics have the same words, and 1 if no word is in two topics (Dieng, Ruiz
        and Blei, 2020).
        """
        return diversity_of(topic.words for topic in self.topics[domain])

    def effective(self, domain: str) -> float:
        """Return the effective number of a domain's topics: exp of the entropy of their shares."""
        shares = np.array([topic.share for topic in self.topics[domain]])
        return float(np.exp(-(shares * np.log(shares)).sum()))

    def to_frame(self) -> DataFrame:
        """Return a row for each topic.

        Spaces separate its words, their weights, and the rows of its documents, which count from 1.
        Columns such as "class rec", or "cluster 2" for a model that finds clusters, have the shares
        of the classes.
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
                "typical": with_rows(topic.typical),
            }
            for topics in self.topics.values()
            for topic in topics
        )

    @property
    def _named(self) -> dict[str, NamedShares]:
        return {
            domain: ([(topic.name, topic.words) for topic in self.topics[domain]], shares)
            for domain, shares in self.shares.items()
        }


def with_rows(rows: Sequence[int]) -> str:
    """Return row numbers, from 0, as text that counts from 1."""
    return " ".join(str(row + 1) for row in rows)


def diversity_of(topics: Iterable[Sequence[str]]) -> float:
    """Return the share of different words among the words of topics."""
    words = [word for of_topic in topics for word in of_topic]
    return len({*words}) / len(words)


def mean_coherence(values: Iterable[float]) -> float:
    """Return the mean of the coherences that are no NaN, NaN without any."""
    known = [value for value in values if not isnan(value)]
    return fmean(known) if known else nan


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
    topics = dict[str, tuple[Topic, ...]]()
    shares, components = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for domain, V, clusters in zip(problem.domains, fit.scores, fit.factors, strict=True):
        if clusters:
            found = _of_domain(domain, V, clusters, names, words, typical, relevance)
            if found[0]:
                topics[domain.name], shares[domain.name], components[domain.name] = found
    if not topics:
        raise ValueError("no document has any word of a cluster, so there are no topics")
    return Topics(tuple(classes), topics, fit.columns, shares, components)


def _of_domain(
    domain: Domain, V: np.ndarray, clusters: Sequence[FeatureClusters], names: np.ndarray,
    words: int, typical: int, relevance: float,
) -> tuple[tuple[Topic, ...], np.ndarray, np.ndarray]:  # fmt: skip
    """Return the topics, the largest first, their shares (n, ·), and their words' (·, d)."""
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
    ratio, _ = divide_by_product(X, V, U @ H, entry_positions(X))
    of_documents = (ratio @ U) * (V @ H.T)
    sums, total = of_words.sum(axis=0), of_words.sum(axis=1)
    largest = of_documents.argmax(axis=1)[of_documents.any(axis=1)]
    nearest = np.bincount(largest, minlength=len(labels)) / max(1, len(largest))
    size = of_documents.sum(axis=1)
    shares = of_documents / np.maximum(size, TINY)[:, None]
    occurs = sp.csc_array(X > 0)
    order = [j for j in np.argsort(-sums, kind="stable") if sums[j]]
    topics = []
    for j in order:
        top, weights = best_words(of_words[:, j], total, words, relevance)
        topics.append(
            Topic(
                domain.name,
                labels[j],
                float(sums[j] / sums.sum()),
                float(nearest[j]),
                tuple((of_classes[j] / of_classes[j].sum()).tolist()),
                tuple(names[top].tolist()),
                tuple(weights),
                coherence_of(occurs[:, top]),
                typical_rows(X, shares[:, j], typical),
            )
        )
    return tuple(topics), shares[:, order], (of_words[:, order] / sums[order]).T


def best_words(
    of_topic: np.ndarray, of_all: np.ndarray, most: int, relevance: float
) -> tuple[np.ndarray, list[float]]:
    """Return the columns of the most relevant words of a topic, and their shares in it."""
    # `of_topic`, `of_all`: (d,) the parts of each word in the topic, and in all of them together.
    p = of_topic / of_topic.sum()
    marginal = of_all / (of_all.sum() or 1)
    order = np.log(np.maximum(p, TINY)) - (1 - relevance) * np.log(np.maximum(marginal, TINY))
    top = np.argsort(-np.where(p > 0, order, -np.inf), kind="stable")[:most]
    top = top[p[top] > NEGLIGIBLE * p.max()]
    return top, p[top].tolist()


def typical_rows(X: sp.csr_array, shares: np.ndarray, most: int) -> tuple[int, ...]:
    """Return the rows with the largest shares (n,) of a topic among documents (n, d), from 0."""
    # Chance decides the shares of short documents.
    words = np.diff(X.indptr)
    rows = np.flatnonzero((words >= LONG_ENOUGH * np.median(words)) & (shares >= LEAST_SHARE))
    return tuple(rows[np.argsort(-shares[rows], kind="stable")][:most].tolist())


def coherence_of(occurs: sp.csc_array) -> float:
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
