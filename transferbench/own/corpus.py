"""Topics of documents without labels, and their shares in each domain.

    min ½‖X − W H‖²,  W, H ≥ 0

X (n, d) has the documents of all domains together, W (n, k) and H (k, d) are the topics. The
factorisation is scikit-learn's. A row weighs the root of how many times the largest domain is
larger than its own, because without it a small domain would have no topic of its own, and with the
whole ratio the large one. Row i of W H is a sum of k parts, one for each topic. A topic's share of
document i is the sum of its part over that of all, W_ij Σ_w H_jw / Σ_l W_il Σ_w H_lw.

The squared error on weighted words was chosen by coherence: on three corpora the Kullback-Leibler
divergence, on weighted words or on counts, and LDA had less; see `benchmarks/topics.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isnan, nan
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.stats import t
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from transferbench.core.scale import entries, safe_scale
from transferbench.data.text import document_frequency
from transferbench.own.topics import (
    RELEVANCE,
    TINY,
    NamedShares,
    OfDocuments,
    best_words,
    coherence_of,
    diversity_of,
    mean_coherence,
    typical_rows,
    with_rows,
)
from transferbench.problem import Matrix, canonical

if TYPE_CHECKING:
    from pandas import DataFrame

#: A domain lacks a topic if its share there is at most this part of that in another domain.
LACKING = 0.25
#: Level at which the intervals of all topics and domains hold together.
LEVEL = 0.95
#: Topics are alike from this share of common words.
ALIKE = 0.5
#: A document has topics if they describe more than this part of its sum.
DESCRIBED = 1e-3
#: Largest number of updates, as by default in scikit-learn; it stops earlier if the error hardly
#: changes.
MAX_ITER = 200
#: A word is taken for a function word if it is an English stop word, or if it is one of so many in
#: the most documents, and no topic has more than this part of it.
FREQUENT, OF_ONE_TOPIC = 50, 0.5
#: A number of topics is nearly the best from this part of the best quality.
NEARLY = 0.9
#: Fits that measure the stability of a number of topics, each on such a part of the documents.
REFITS, PART = 3, 0.8


class Difference(NamedTuple):
    """A topic's share in a domain less that in the first domain, and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if isnan(self.value):
            return "–"
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
        documents of the domain with the largest share of the topic, see `Topic.coherence`.
    shares
        By domain: the part of the documents in which it is the largest topic.
    mean_shares
        By domain: the mean share of the topic in a document.
    differences
        By domain other than the first: the share less that in the first domain, with an interval
        that holds for all topics and domains together with a probability of 95 per cent. It is
        Welch's, but the variance in a domain is at least that of both domains together, because a
        small one may have missed the few documents with large shares. The topics are taken as they
        were found on the same documents.
    typical
        By domain: the rows, from 0, of the documents with the largest shares of the topic, among
        those of which it is the largest topic and that have at least half as many different words
        as the median document of the domain.
    is_function
        True if most of the words are function words: English stop words, or among the words in the
        most documents without belonging to one topic.
    """

    number: int
    words: tuple[str, ...]
    weights: tuple[float, ...] = field(repr=False)
    coherence: float
    shares: Mapping[str, float]
    mean_shares: Mapping[str, float] = field(repr=False)
    differences: Mapping[str, Difference] = field(repr=False)
    typical: Mapping[str, tuple[int, ...]] = field(repr=False)
    is_function: bool

    @property
    def name(self) -> str:
        """The number and the three first words."""
        return f"{self.number} {', '.join(self.words[:3])}"

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name; rows of typical documents count from 1."""
        differences = {domain: of._asdict() for domain, of in self.differences.items()}
        typical = {domain: [row + 1 for row in rows] for domain, rows in self.typical.items()}
        return {"name": self.name, **vars(self), "differences": differences, "typical": typical}


@dataclass(frozen=True)
class CorpusTopics(OfDocuments):
    """Topics of documents without labels.

    Parameters
    ----------
    topics
        The topics, the one with the largest share first, in the mean over the domains.
    shares
        By domain: (n, k) the share of each topic in each document. A row is zero if the document
        has no word of a topic, so that the topics describe less than a thousandth of it.
    """

    topics: tuple[CorpusTopic, ...]
    shares: Mapping[str, np.ndarray] = field(repr=False)

    @property
    def coherence(self) -> float:
        """The mean coherence of the topics of two words or more, NaN without any."""
        return mean_coherence(topic.coherence for topic in self.topics)

    @property
    def diversity(self) -> float:
        """The share of different words among the words of all topics."""
        return diversity_of(topic.words for topic in self.topics)

    def more_in(self, one: str, other: str) -> list[CorpusTopic]:
        """Return the topics that have a larger share in one domain, the largest difference first.

        One of both domains is the first, and the interval of the difference excludes 0.

        Raises
        ------
        ValueError
            If none of both is the first domain, or if both are.
        """
        first = next(iter(self.shares))
        if not {one, other} <= {*self.shares} or (one == first) == (other == first):
            raise ValueError(
                f"{one!r}, {other!r}: expected {first!r}, the first, and another domain"
            )
        second, sign = (other, -1) if one == first else (one, 1)
        found = [
            topic for topic in self.topics
            if min(sign * topic.differences[second].low, sign * topic.differences[second].high) > 0
        ]  # fmt: skip
        return sorted(found, key=lambda topic: -sign * topic.differences[second].value)

    def only_in(self, one: str, other: str) -> list[CorpusTopic]:
        """Return the topics of `more_in` that the other domain lacks.

        Its share there is at most a quarter of that in the first.
        """
        return [t for t in self.more_in(one, other) if t.shares[other] <= LACKING * t.shares[one]]

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
                **{f"mean share {d}": share for d, share in topic.mean_shares.items()},
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

    @property
    def _named(self) -> dict[str, NamedShares]:
        names = [(str(topic.number), topic.words) for topic in self.topics]
        return {domain: (names, shares) for domain, shares in self.shares.items()}


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
        If a value is out of its range, if the matrices and words do not fit together, or if there
        are fewer documents with words, or fewer words, than topics.
    """
    Xs, X, weights = _checked(domains, features, words, typical, relevance)
    names = [*domains]
    W, H, P = _factors(X, weights, k, seed)
    mass = W * H.sum(axis=1)  # (n, k)
    used = np.flatnonzero(mass.any(axis=0))
    if not used.size:
        raise ValueError("no document has any word of a topic, so there are no topics")
    sizes = mass.sum(axis=1, keepdims=True)
    described = sizes > DESCRIBED * X.sum(axis=1)[:, None]
    shares = np.divide(mass, sizes, out=np.zeros_like(mass), where=described)
    largest = (shares.argmax(axis=1)[:, None] == np.arange(k)) & described
    ends = np.cumsum([of.shape[0] for of in Xs])[:-1]
    of_domain = dict(zip(names, np.split(shares, ends), strict=True))
    is_largest = dict(zip(names, np.split(largest, ends), strict=True))
    # Documents without a topic do not count.
    known = {name: of.any(axis=1) for name, of in is_largest.items()}
    means, parts = (
        {n: of[n][known[n]].mean(axis=0) if known[n].any() else np.zeros(k) for n in names}
        for of in (of_domain, is_largest)
    )
    sizes_of = [np.mean([*of.values()], axis=0)[used] for of in (means, parts)]
    order = used[np.lexsort([-size for size in sizes_of])]
    counted = [is_largest[name][known[name]][:, order].astype(float) for name in names]
    differences = _differences(counted)
    total = P.sum(axis=1)
    occurs = {name: sp.csc_array(of > 0) for name, of in zip(names, Xs, strict=True)}
    frequent = np.zeros(X.shape[1], bool)
    frequent[np.argsort(-document_frequency(X), kind="stable")[:FREQUENT]] = True
    frequent &= P.max(axis=1) <= OF_ONE_TOPIC * total
    frequent |= np.fromiter((word in ENGLISH_STOP_WORDS for word in features), bool, X.shape[1])
    topics = []
    for number, j in enumerate(order, start=1):
        top, of_topic = best_words(P[:, j], total, words, relevance)
        lives = max(names, key=lambda name, j=j: parts[name][j])  # type: ignore[misc]
        topics.append(
            CorpusTopic(
                number,
                tuple(str(features[w]) for w in top),
                tuple(of_topic),
                coherence_of(occurs[lives][:, top]),
                {name: float(parts[name][j]) for name in names},
                {name: float(means[name][j]) for name in names},
                {n: Difference(*of[:, number - 1].tolist())
                 for n, of in zip(names[1:], differences, strict=True)},
                {
                    n: typical_rows(of, np.where(is_largest[n][:, j], S[:, j], 0), typical)
                    for (n, S), of in zip(of_domain.items(), Xs, strict=True)
                },
                bool(2 * frequent[top].sum() > len(top)),
            )
        )  # fmt: skip
    return CorpusTopics(tuple(topics), {name: S[:, order] for name, S in of_domain.items()})


def _checked(
    domains: Mapping[str, Matrix], features: Sequence[str] | np.ndarray, words: int, typical: int,
    relevance: float,
) -> tuple[list[sp.csr_array], sp.csr_array, np.ndarray]:  # fmt: skip
    """Return the matrices of the domains, all of them together, and weights of the documents."""
    # The arguments are checked. Matrices have no entries of zero, and are scaled if entries are
    # extreme.
    try:
        widths = {X.shape[1] for X in domains.values()}
        count = len(features)
    except (AttributeError, IndexError, TypeError):
        raise ValueError(
            "expected domains as {name: matrix of weighted words}, and features as the words, such "
            "as vectorizer.get_feature_names_out()"
        ) from None
    if widths != {count}:
        found = ", ".join(map(str, sorted(widths))) or "no matrix"
        raise ValueError(f"expected matrices with {count} columns, one a word; got {found}")
    if words < 1 or typical < 0 or not 0 <= relevance <= 1:
        raise ValueError(
            f"words={words}, typical={typical}, relevance={relevance}: expected 1 or more, 0 or "
            "more, and 0 to 1"
        )
    Xs = safe_scale([canonical(sp.csr_array(X)) for X in domains.values()], "topics")
    values = np.concatenate([entries(X) for X in Xs])
    if not (np.isfinite(values).all() and values.min(initial=0) >= 0):
        raise ValueError("expected finite weights of 0 or more")
    sizes = np.array([X.shape[0] for X in Xs])
    weights = np.repeat(np.sqrt(sizes.max() / np.maximum(sizes, 1)), sizes)
    X = sp.csr_array(sp.vstack(Xs), dtype=np.float64)
    return [sp.csr_array(X) for X in Xs], X, weights


def _factors(
    X: sp.csr_array, weights: np.ndarray, k: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return W (n, k), H (k, d) of X with weighted rows, and each word's parts (d, k)."""
    filled = np.flatnonzero(np.diff(X.indptr))
    most = min(len(filled), len(np.unique(X.indices)))
    if not 1 <= k <= most:
        raise ValueError(f"k = {k} topics, but there are only {most} different words or documents")
    scales = np.sqrt(weights[filled])[:, None]
    W = np.zeros((X.shape[0], k))
    model = NMF(k, max_iter=MAX_ITER, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last digits do not matter
        W[filled] = model.fit_transform(sp.csr_matrix(X[filled].multiply(scales))) / scales
    H = model.components_
    return W, H, (H * (weights @ W)[:, None]).T


def _differences(shares: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return mean (k,) of each domain less that of the first, and both ends of the interval."""
    first, *others = shares
    k = first.shape[1]
    quantile = 1 - (1 - LEVEL) / 2 / max(1, k * len(others))  # Bonferroni
    found = []
    for of in others:
        sizes = np.array([len(first), len(of)])
        value = of.mean(axis=0) - first.mean(axis=0) if sizes.min() else np.full(k, nan)
        half = np.full(k, nan)
        if sizes.min() > 1:
            variances = np.stack([each.var(axis=0, ddof=1) for each in (first, of)])
            pooled = (sizes - 1) @ variances / (sizes.sum() - 2)
            errors = np.maximum(variances, pooled) / sizes[:, None]
            error = errors.sum(axis=0)
            freedom = error**2 / np.maximum((errors**2 / (sizes - 1)[:, None]).sum(axis=0), TINY)
            half = t.ppf(quantile, np.maximum(freedom, 1)) * np.sqrt(error)
        found.append(np.stack([value, value - half, value + half]))
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
    found: CorpusTopics = field(repr=False)
    stability: float

    @property
    def measures(self) -> dict[str, float]:
        """The coherence, the diversity, the stability, and their product, by name."""
        return {
            "coherence": self.found.coherence,
            "diversity": self.found.diversity,
            "stability": self.stability,
            "product": self.quality,
        }

    @property
    def quality(self) -> float:
        """Coherence × diversity × stability; a coherence below 0, or none, counts as 0."""
        coherence = self.found.coherence
        return (
            0.0 if isnan(coherence) else max(coherence, 0.0) * self.found.diversity * self.stability
        )


def compare_numbers(
    domains: Mapping[str, Matrix],
    features: Sequence[str] | np.ndarray,
    ks: Iterable[int],
    *,
    words: int = 10,
    typical: int = 3,
    relevance: float = RELEVANCE,
    seed: int = 0,
    progress: Callable[[list[int]], Iterable[int]] = iter,
) -> list[NumberOfTopics]:
    """Return the topics for each number of topics, and how good they are.

    Parameters
    ----------
    domains, features
        As for `find_topics`.
    ks
        Numbers of topics.
    words, typical, relevance, seed
        As for `find_topics`.
    progress
        Called with the numbers; what it returns is iterated, such as a bar of tqdm.

    Raises
    ------
    ValueError
        As by `find_topics`.
    """
    ks = [*ks]
    Xs, X, weights = _checked(domains, features, words, typical, relevance)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(np.diff(X.indptr))
    parts = [np.sort(rng.permutation(rows)[: int(PART * len(rows))]) for _ in range(REFITS)]
    if max(ks) > int(PART * len(rows)):
        why = f"a comparison fits {PART:.0%} of the {len(rows)} documents with words"
        raise ValueError(f"k = {max(ks)} topics, but {why}")
    compared, scaled = [], dict(zip(domains, Xs, strict=True))
    for k in progress(ks):
        found = find_topics(
            scaled, features, k, words=words, typical=typical, relevance=relevance, seed=seed
        )
        named = [{*topic.words} for topic in found.topics]
        agreements = []
        for part in parts:
            _, _, P = _factors(X[part], weights[part], k, int(rng.integers(2**31)))
            total = P.sum(axis=1)
            tops = (best_words(p, total, words, relevance)[0] for p in P.T if p.any())
            agreements.append(
                _agreement(named, [{*map(str, np.asarray(features)[top])} for top in tops])
            )
        compared.append(NumberOfTopics(k, found, fmean(agreements)))
    return compared


def choose_number(numbers: Sequence[NumberOfTopics]) -> NumberOfTopics:
    """Return the most topics whose quality is nearly the best, the fewest if none has any."""
    # Of nearly equal numbers the larger one: few topics mix subjects, and many are read together.
    best = max(number.quality for number in numbers)
    if not best:
        return min(numbers, key=lambda number: number.k)
    near = [number for number in numbers if number.quality >= NEARLY * best]
    return max(near, key=lambda number: number.k)


def _agreement(ones: Sequence[set[str]], others: Sequence[set[str]]) -> float:
    """Return the mean share of common words over the best matching of two lists of topics."""
    common = np.array([[len(a & b) / len(a | b) for b in others] for a in ones])
    return float(common[linear_sum_assignment(-common)].sum() / max(common.shape))
