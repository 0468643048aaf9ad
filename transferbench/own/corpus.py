"""Topics of documents without labels, and their shares in each domain.

    min ½‖X − W H‖²,  W, H ≥ 0

X (n, d) has the documents of all domains together, W (n, k) and H (k, d) are the topics. The
factorisation is scikit-learn's. Row i of W H is a sum of k parts, one for each topic. A topic's
share of document i is the sum of its part over that of all, W_ij Σ_w H_jw / Σ_l W_il Σ_w H_lw.

The squared error on weighted words was chosen by coherence: on three corpora the Kullback-Leibler
divergence, on weighted words or on counts, and LDA had less; see `benchmarks/topics.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import isnan, nan
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.stats import ttest_ind
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from transferbench.own.topics import (
    RELEVANCE,
    all_shares,
    best_words,
    coherence_of,
    diversity_of,
    largest_topics,
    mean_coherence,
    typical_rows,
    with_rows,
)
from transferbench.problem import Matrix

if TYPE_CHECKING:
    from pandas import DataFrame

#: A domain lacks a topic if its share there is at most this part of that in another domain, and the
#: interval of the difference excludes 0.
LACKING = 0.25
#: Level at which the intervals of all topics and domains hold together.
LEVEL = 0.95
#: Topics are alike from this share of common words.
ALIKE = 0.5
#: Largest number of updates, as by default in scikit-learn; it stops earlier if the error hardly
#: changes.
MAX_ITER = 200
#: A word is taken for a function word if it is an English stop word, or if so large a part of all
#: documents has it.
FREQUENT = 0.25
#: Fits that measure the stability of a number of topics, each on such a part of the documents.
REFITS, PART = 3, 0.8


class Difference(NamedTuple):
    """A topic's share in a domain less that in the first domain, and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        interval = f" [{100 * self.low:.1f}, {100 * self.high:.1f}]"
        return f"{100 * self.value:+.1f}{interval * (not isnan(self.low))}"


@dataclass(frozen=True)
class CorpusTopic:
    """A topic of documents without labels.

    Parameters
    ----------
    number
        Number of the topic, from 1, the largest first.
    words
        The most relevant words, the most relevant first.
    weights
        Shares of these words in the topic.
    coherence
        Mean normalised pointwise mutual information (NPMI) of all pairs of these words over the
        documents of the domains that do not lack the topic, see `Topic.coherence`.
    shares
        By domain: the mean share of the topic in a document.
    documents
        By domain: the share of documents in which it is the largest topic.
    differences
        By domain other than the first: the share less that in the first domain, with an interval
        that holds for all topics and domains together with a probability of 95 per cent. It is
        about other documents of the same kind, with the topics as they were found.
    typical
        By domain: the rows, from 0, of the documents with the largest shares, among those that have
        at least half as many different words as the median document of the domain.
    is_function
        True if most of the words are function words: English stop words, or words that a quarter of
        all documents have.
    """

    number: int
    words: tuple[str, ...]
    weights: tuple[float, ...]
    coherence: float
    shares: Mapping[str, float]
    documents: Mapping[str, float]
    differences: Mapping[str, Difference]
    typical: Mapping[str, tuple[int, ...]]
    is_function: bool

    @property
    def name(self) -> str:
        """The number and the three first words."""
        return f"{self.number} {', '.join(self.words[:3])}"


@dataclass(frozen=True)
class CorpusTopics:
    """Topics of documents without labels.

    Parameters
    ----------
    topics
        The topics, the one with the largest mean share over the domains first.
    shares
        By domain: (n, k) the share of each topic in each document. A row is zero if the document
        has no word of a topic.
    """

    topics: tuple[CorpusTopic, ...]
    shares: Mapping[str, np.ndarray]

    @property
    def coherence(self) -> float:
        """The mean coherence of the topics of two words or more, NaN without any."""
        return mean_coherence(topic.coherence for topic in self.topics)

    @property
    def diversity(self) -> float:
        """The share of different words among the words of all topics."""
        return diversity_of(topic.words for topic in self.topics)

    def only_in(self, one: str, other: str) -> list[CorpusTopic]:
        """Return the topics that one domain has and another lacks; one of both is the first."""
        first, sign = next(iter(self.shares)), 1
        if one == first:
            one, other, sign = other, one, -1
        found = []
        for topic in self.topics:
            of = topic.differences[one]
            less, more = sorted((topic.shares[one], topic.shares[first]))
            if less <= LACKING * more and (of.low > 0 if sign > 0 else of.high < 0):
                found.append(topic)
        return sorted(found, key=lambda topic: -sign * topic.differences[one].value)

    def alike(self) -> list[tuple[CorpusTopic, CorpusTopic, int]]:
        """Return pairs of topics that have half of their words in common, and the number."""
        pairs = combinations(self.topics, 2)
        common = ((one, two, len({*one.words} & {*two.words})) for one, two in pairs)
        return [
            (one, two, n) for one, two, n in common
            if n >= ALIKE * max(len(one.words), len(two.words))
        ]  # fmt: skip

    def to_frame(self) -> DataFrame:
        """Return a row for each topic.

        Spaces separate the words, their weights, and the rows of typical documents, which count
        from 1. There are columns of each domain, such as "share NAME" and "typical NAME".
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "topic": topic.number,
                "name": topic.name,
                **{f"share {d}": share for d, share in topic.shares.items()},
                **{f"documents {d}": share for d, share in topic.documents.items()},
                **{
                    f"{column} {domain}": value
                    for domain, of in topic.differences.items()
                    for column, value in zip(("difference", "low", "high"), of, strict=True)
                },
                "coherence": topic.coherence,
                "words": " ".join(word.replace(" ", "_") for word in topic.words),
                "weights": " ".join(f"{weight:.3g}" for weight in topic.weights),
                **{f"typical {d}": with_rows(rows) for d, rows in topic.typical.items()},
            }
            for topic in self.topics
        )  # fmt: skip

    def documents_frame(self) -> DataFrame:
        """Return a row for each document; see `Topics.documents_frame`."""
        return largest_topics({domain: (self._named, S) for domain, S in self.shares.items()})

    def shares_frame(self) -> DataFrame:
        """Return a row for each document; see `Topics.shares_frame`."""
        return all_shares({domain: (self._named, S) for domain, S in self.shares.items()})

    @property
    def _named(self) -> list[tuple[str, Sequence[str]]]:
        return [(str(topic.number), topic.words) for topic in self.topics]


def find_topics(
    domains: Mapping[str, Matrix],
    features: Sequence[str] | np.ndarray,
    k: int,
    *,
    words: int = 10,
    typical: int = 3,
    relevance: float = RELEVANCE,
    seed: int = 0,
) -> CorpusTopics:
    """Return the topics of documents without labels, and their shares in each domain.

        vectorizer = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2)
        X = vectorizer.fit_transform([*old_texts, *new_texts])
        n, names = len(old_texts), vectorizer.get_feature_names_out()
        found = find_topics({"old": X[:n], "new": X[n:]}, names, 20)
        found.only_in("new", "old")

    Parameters
    ----------
    domains
        (n, d) nonnegative weighted words of the documents of each domain, by name.
    features
        (d,) the words.
    k
        Number of topics. Topics without any share are left out.
    words
        Number of words of each topic.
    typical
        Number of documents of each topic and domain.
    relevance
        λ: words are ordered by λ log P(w | topic) + (1 − λ) log (P(w | topic) / P(w)). 1 orders
        them by frequency.
    seed
        Seed of the start.

    Raises
    ------
    ValueError
        If there are no documents with words, or fewer of these, or fewer words, than topics.
    """
    names, Xs = [*domains], [sp.csr_array(X) for X in domains.values()]
    X = sp.csr_array(sp.vstack(Xs), dtype=np.float64)
    W, H = _factors(X, k, seed)
    mass = W * H.sum(axis=1)  # (n, k)
    used = np.flatnonzero(mass.any(axis=0))
    sizes = mass.sum(axis=1, keepdims=True)
    shares = np.divide(mass, sizes, out=np.zeros_like(mass), where=sizes > 0)
    of_domain = dict(zip(names, _split(shares, Xs), strict=True))
    # Documents without a topic do not count.
    known = {name: S[S.any(axis=1)] for name, S in of_domain.items()}
    means = {name: S.mean(axis=0) if len(S) else np.zeros(k) for name, S in known.items()}
    order = used[np.argsort(-np.mean([*means.values()], axis=0)[used], kind="stable")]
    differences = _differences([known[name][:, order] for name in names])
    P = (H * W.sum(axis=0)[:, None]).T  # (d, k)
    occurs = [sp.csc_array(of > 0) for of in Xs]
    frequent = np.diff(sp.csc_array(X).indptr) >= FREQUENT * X.shape[0]
    frequent |= np.fromiter((word in ENGLISH_STOP_WORDS for word in features), bool, X.shape[1])
    topics = []
    for number, j in enumerate(order, start=1):
        top, weights = best_words(P[:, j], P.sum(axis=1), words, relevance)
        largest = max(mean[j] for mean in means.values())
        lives = [of for of, mean in zip(occurs, means.values(), strict=True)
                 if mean[j] > LACKING * largest]  # fmt: skip
        topics.append(
            CorpusTopic(
                number,
                tuple(str(features[w]) for w in top),
                tuple(weights),
                coherence_of(sp.csc_array(sp.vstack([of[:, top] for of in lives]))),
                {name: float(means[name][j]) for name in names},
                {name: _largest(known[name], j) for name in names},
                {n: Difference(*of[:, number - 1].tolist())
                 for n, of in zip(names[1:], differences, strict=True)},
                {n: typical_rows(of, S[:, j], typical)
                 for (n, S), of in zip(of_domain.items(), Xs, strict=True)},
                bool(2 * frequent[top].sum() > len(top)),
            )
        )  # fmt: skip
    return CorpusTopics(tuple(topics), {name: S[:, order] for name, S in of_domain.items()})


def _factors(X: sp.csr_array, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return W (n, k) and H (k, d) of X (n, d)."""
    filled = np.flatnonzero(np.diff(X.indptr))
    most = min(len(filled), len(np.unique(X.indices)))
    if k > most:
        raise ValueError(f"k = {k} topics, but there are only {most} different words or documents")
    W = np.zeros((X.shape[0], k))
    model = NMF(k, max_iter=MAX_ITER, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last digits do not matter
        W[filled] = model.fit_transform(sp.csr_matrix(X[filled]))
    return W, model.components_


def _split(values: np.ndarray, Xs: Sequence[sp.csr_array]) -> list[np.ndarray]:
    """Return the rows of each matrix."""
    ends = np.cumsum([0, *(X.shape[0] for X in Xs)])
    return [values[start:end] for start, end in pairwise(ends)]


def _largest(shares: np.ndarray, j: int) -> float:
    """Return the part of documents (n, k) of which topic j is the largest."""
    return float(np.mean(shares.argmax(axis=1) == j)) if len(shares) else 0.0


def _differences(shares: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return mean (k,) of each domain less that of the first, and both ends of the interval."""
    first, *others = shares
    level = 1 - (1 - LEVEL) / max(1, first.shape[1] * len(others))  # Bonferroni
    found = []
    for of in others:
        value = of.mean(axis=0) - first.mean(axis=0) if min(len(of), len(first)) else nan
        low, high = np.full((2, first.shape[1]), nan)
        if min(len(of), len(first)) > 1:
            with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
                warnings.simplefilter("ignore", RuntimeWarning)  # shares that are all equal
                test = ttest_ind(of, first, axis=0, equal_var=False)
                low, high = test.confidence_interval(level)
        found.append(np.stack([np.broadcast_to(value, low.shape), low, high]))
    return found


@dataclass(frozen=True)
class NumberOfTopics:
    """A number of topics, and how good the topics are.

    Parameters
    ----------
    k
        The number of topics.
    found
        The topics.
    stability
        Mean agreement of the topics with those of REFITS fits on random four fifths of the
        documents: the share of words that two topics have in common among the words of both, over
        the best matching of the topics (Greene, O'Callaghan and Cunningham, 2014).
    """

    k: int
    found: CorpusTopics
    stability: float

    @property
    def quality(self) -> float:
        """Coherence × diversity (Dieng, Ruiz and Blei, 2020); NaN counts as 0."""
        coherence = self.found.coherence
        return 0.0 if isnan(coherence) else coherence * self.found.diversity


def compare_numbers(
    domains: Mapping[str, Matrix],
    features: Sequence[str] | np.ndarray,
    ks: Iterable[int],
    *,
    words: int = 10,
    typical: int = 3,
    relevance: float = RELEVANCE,
    seed: int = 0,
) -> list[NumberOfTopics]:
    """Return the topics for each number of topics, and how good they are.

    Parameters
    ----------
    ks
        Numbers of topics.
    domains, features, words, typical, relevance, seed
        As for `find_topics`.

    Raises
    ------
    ValueError
        As by `find_topics`.
    """
    X = sp.csr_array(sp.vstack([*map(sp.csr_array, domains.values())]), dtype=np.float64)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(np.diff(X.indptr))
    parts = [np.sort(rng.permutation(rows)[: int(PART * len(rows))]) for _ in range(REFITS)]
    compared = []
    for k in ks:
        found = find_topics(
            domains, features, k, words=words, typical=typical, relevance=relevance, seed=seed
        )
        named = [{*topic.words} for topic in found.topics]
        agreements = []
        for i, part in enumerate(parts):
            W, H = _factors(X[part], k, seed + i + 1)
            P = (H * W.sum(axis=0)[:, None]).T
            tops = (best_words(p, P.sum(axis=1), words, relevance)[0] for p in P.T if p.any())
            agreements.append(
                _agreement(named, [{*map(str, np.asarray(features)[top])} for top in tops])
            )
        compared.append(NumberOfTopics(k, found, fmean(agreements)))
    return compared


def _agreement(ones: Sequence[set[str]], others: Sequence[set[str]]) -> float:
    """Return the mean share of common words over the best matching of two lists of topics."""
    common = np.array([[len(a & b) / len(a | b) for b in others] for a in ones])
    return float(common[linear_sum_assignment(-common)].sum() / max(common.shape))
