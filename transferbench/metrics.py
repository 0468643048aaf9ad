"""Scores against truth: pure functions, fractions between 0 and 1 unless said otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from transferbench.problem import Fit, Matrix, Problem, Truth


def accuracy(truth: np.ndarray, decided: np.ndarray) -> float:
    """Share of documents whose class is the true one; truth, decided (n,)."""
    return float(np.mean(truth == decided))


def contingency(truth: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """(classes, clusters): how many documents of each class are in each cluster."""
    table = np.zeros(
        (int(truth.max(initial=0)) + 1, int(decided.max(initial=0)) + 1), dtype=np.int64
    )
    np.add.at(table, (truth, decided), 1)
    return table


def match(truth: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Clusters (n,) renamed to classes by the one-to-one matching with most agreements (Hungarian).

    Clusters left over where there are more clusters than classes become −1.
    """
    classes, clusters = linear_sum_assignment(contingency(truth, decided), maximize=True)
    name = np.full(int(decided.max(initial=0)) + 1, -1)
    name[clusters] = classes
    return np.asarray(name[decided])


def clustering_accuracy(truth: np.ndarray, decided: np.ndarray) -> float:
    """Accuracy after the best one-to-one matching of clusters with classes."""
    return accuracy(truth, match(truth, decided))


def nmi(truth: np.ndarray, decided: np.ndarray) -> float:
    """Mutual information over the geometric mean of the entropies; 0 where either entropy is 0."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(truth, decided, average_method="geometric"))


def explained(X: Matrix, decided: np.ndarray) -> float:
    """Share of the variance of the documents X (n, d) that lies between the clusters (n,).

    It needs no labels. 0 where all documents are alike.
    """
    sizes = np.bincount(decided)
    sums = np.asarray((X.T @ np.eye(len(sizes))[decided]).T)
    between = float(np.sum((sums**2).sum(axis=1) / np.maximum(sizes, 1)))
    centre = float(np.sum(sums.sum(axis=0) ** 2)) / len(decided)
    square = float(np.sum(np.square(X.data if isinstance(X, sp.csr_array) else X)))
    return (between - centre) / (square - centre) if square > centre else 0.0


def macro_f1(truth: np.ndarray, decided: np.ndarray) -> float:
    """Mean over the true classes of 2 tp / (2 tp + fp + fn)."""
    each = []
    for label in np.unique(truth):
        hit = np.sum((truth == label) & (decided == label))
        each.append(2 * hit / (np.sum(truth == label) + np.sum(decided == label)))
    return float(np.mean(each))


def example_f1(Y: np.ndarray, D: np.ndarray) -> float:
    """Mean over documents of 2|Y_i ∩ D_i| / (|Y_i| + |D_i|), 1 where both are empty.

    Y true, D decided labels, (n, c) 0/1.
    """
    both, size = np.sum(Y * D, axis=1), np.sum(Y, axis=1) + np.sum(D, axis=1)
    return float(np.mean(np.where(size > 0, 2 * both / np.maximum(size, 1), 1.0)))


def jaccard(Y: np.ndarray, D: np.ndarray) -> float:
    """Mean over documents of |Y_i ∩ D_i| / |Y_i ∪ D_i|, 1 where both are empty; Y, D (n, c) 0/1.

    What the multi-label papers call accuracy.
    """
    both = np.sum(Y * D, axis=1)
    either = np.sum(Y, axis=1) + np.sum(D, axis=1) - both
    return float(np.mean(np.where(either > 0, both / np.maximum(either, 1), 1.0)))


def hamming_loss(Y: np.ndarray, D: np.ndarray) -> float:
    """Share of wrong entries; Y, D (n, c) 0/1."""
    return float(np.mean(Y != D))


def _transfer(Y: np.ndarray, scores: np.ndarray, clusters: bool) -> dict[str, float]:
    truth, decided = Y.argmax(axis=1), scores.argmax(axis=1)
    if clusters:
        decided = match(truth, decided)
    return {"accuracy": accuracy(truth, decided), "f1": macro_f1(truth, decided)}


def _clustering(Y: np.ndarray, scores: np.ndarray, clusters: bool) -> dict[str, float]:
    truth, decided = Y.argmax(axis=1), scores.argmax(axis=1)
    return {"accuracy": clustering_accuracy(truth, decided), "nmi": nmi(truth, decided)}


def _multilabel(Y: np.ndarray, scores: np.ndarray, clusters: bool) -> dict[str, float]:
    D = (scores >= 0.5).astype(Y.dtype)
    return {"f1": example_f1(Y, D), "accuracy": jaccard(Y, D), "hamming": hamming_loss(Y, D)}


#: What the documents of all domains together are called.
ALL = "all"

#: How scores become decisions, and which measures a family reports.
FAMILIES: dict[str, Callable[[np.ndarray, np.ndarray, bool], dict[str, float]]] = {
    "transfer": _transfer,
    "clustering": _clustering,
    "multilabel": _multilabel,
}


def evaluate(fit: Fit, truth: Truth, problem: Problem | None = None) -> dict[str, dict[str, float]]:
    """Measures of each domain that has rows to score, by domain name and measure.

    With the problem, those of clusterings have the explained variance, too. Multi-label tasks are
    scored document by document, so where there are several they have their measures over the
    documents of all of them, as ALL.
    Raises ValueError where scores are NaN or not of the shape of the truth.
    """
    if len(fit.scores) != len(truth.Y):
        raise ValueError(f"expected scores of {len(truth.Y)} domains, got {len(fit.scores)}")
    found = {}
    for name, Y, scored, scores in zip(truth.names, truth.Y, truth.scored, fit.scores, strict=True):
        if len(scores) != len(Y) or (fit.columns == "classes" and scores.shape != Y.shape):
            raise ValueError(f"{name}: scores are {scores.shape}, expected {Y.shape}")
        if np.isnan(scores).any():
            raise ValueError(f"{name}: {np.isnan(scores).sum()} scores are not numbers")
        if scored.any():
            clusters = fit.columns == "clusters"
            found[name] = FAMILIES[truth.family](Y[scored], scores[scored], clusters)
    if truth.family == "multilabel" and len(found) > 1:
        Y, scores, scored = map(np.concatenate, (truth.Y, fit.scores, truth.scored))
        found[ALL] = _multilabel(Y[scored], scores[scored], False)
    if problem is not None and truth.family == "clustering":
        for domain, scores in zip(problem.domains, fit.scores, strict=True):
            found[domain.name]["explained"] = explained(domain.X, scores.argmax(axis=1))
    return found
