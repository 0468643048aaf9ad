"""Benchmark of ML-kNN against scikit-learn's neighbour search alone, in one process.

    python tests/bench_mlknn.py

Print the seconds of ML-kNN and of the search for the same ten neighbours, on one thread, for 6000
generated sparse documents of the size of RCV1's, half of them labelled.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

import transferbench
from transferbench.core.graph import unit_rows
from transferbench.problem import Domain, Problem

ROUNDS = 5
K = 10
DOCUMENTS, FEATURES, WORDS, TOPICS = 6000, 47_236, 75, 60


def documents(seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Return rows of length one and labels; words by Zipf's law, half from the document's topic."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(TOPICS, size=DOCUMENTS)
    rows = np.repeat(np.arange(DOCUMENTS), WORDS)
    # Zipf: the index of a word is the exponential of a uniform; each topic shifts its own words.
    word = np.exp(rng.uniform(0, np.log(FEATURES), rows.size)).astype(int) - 1
    own = rng.random(rows.size) < 0.5
    word[own] = (word[own] + 700 * (1 + topic[rows[own]])) % FEATURES
    X = sp.csr_array((np.ones(rows.size), (rows, word)), shape=(DOCUMENTS, FEATURES))
    idf = np.log(DOCUMENTS / np.maximum(1, np.bincount(X.indices, minlength=FEATURES)))
    X.data = (1 + np.log(X.data)) * (0.1 + idf[X.indices])
    return unit_rows(X), np.eye(4)[topic % 4]


def seconds(call) -> float:
    """Return CPU seconds of this process, which other processes do not change."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    X, Y = documents()
    seen = np.arange(DOCUMENTS) % 2 == 0
    domain = Domain("all", (X,), np.where(seen[:, None], Y, 0), seen)
    problem = Problem("made-up", "multilabel", tuple("abcd"), (domain,))
    labelled, others = X[np.flatnonzero(seen)], X[np.flatnonzero(~seen)]

    def plain() -> None:
        search = NearestNeighbors(n_neighbors=K, metric="euclidean").fit(labelled)
        search.kneighbors()
        search.kneighbors(others)

    rounds = [
        (seconds(lambda: transferbench.fit("ml-knn", problem, k=K)), seconds(plain))
        for _ in range(ROUNDS + 1)
    ][1:]  # drop the warm-up
    ours, theirs = map(median, zip(*rounds, strict=True))
    ratio = median(a / b for a, b in rounds)
    print(f"ML-kNN {ours:.2f} s   neighbours alone {theirs:.2f} s   ratio {ratio:.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
