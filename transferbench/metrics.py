"""Decision rules and measures; every measure is a fraction between 0 and 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Fit, Matrix, Problem, Truth

#: A document has every label with at least this score.
THRESHOLD = 0.5
#: Name of the group of all domains' documents.
ALL = "all"


def ensure_one_label(scores: np.ndarray) -> np.ndarray:
    """Return scores (n, m) in which the best score of each row is at least THRESHOLD.

    Of equal best scores the first is raised.
    """
    raised = scores.copy()
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    raised[rows, best] = np.maximum(scores[rows, best], THRESHOLD)
    return raised


def normalize_scores(scores: np.ndarray) -> np.ndarray:
    """Return (n, c) the scores (n, c) with rows of sum one: the confidence in each class.

    Each score is divided by the sum of its row; if scores can be negative, as distances and margins
    are, the softmax of the row is taken. Rows of zeros become uniform. They rank documents and
    classes as the scores do, but are not calibrated probabilities. Raises ValueError for scores
    that are not numbers.
    """
    c = scores.shape[1]
    S = np.asarray(scores, np.float64)
    if np.isnan(S).any():
        raise ValueError(f"{np.isnan(S).sum()} scores are not numbers")
    if (S < 0).any():
        S = np.exp(S - S.max(axis=1, keepdims=True))
    total = S.sum(axis=1, keepdims=True)
    return np.where(total > 0, S / np.where(total > 0, total, 1), 1 / c)


def accuracy(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return the fraction of documents with the true class; truth, decided (n,)."""
    return float(np.mean(truth == decided))


def match(truth: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Rename clusters (n,) to classes by the best one-to-one matching (Hungarian algorithm).

    If there are more clusters than classes, the unmatched ones become −1.
    """
    from scipy.optimize import linear_sum_assignment

    # Documents of each class in each cluster.
    counts = np.zeros((truth.max(initial=0) + 1, decided.max(initial=0) + 1), dtype=np.int64)
    np.add.at(counts, (truth, decided), 1)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    class_of_cluster = np.full(counts.shape[1], -1)
    class_of_cluster[clusters] = classes
    return np.asarray(class_of_cluster[decided])


def clustering_accuracy(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return the accuracy after the best one-to-one matching of clusters with classes."""
    return accuracy(truth, match(truth, decided))


def nmi(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return mutual information / geometric mean of the entropies; 0 if either entropy is 0."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(truth, decided, average_method="geometric"))


def explained_variance(X: Matrix, decided: np.ndarray) -> float:
    """Return the fraction of the variance of X (n, d) that is between the clusters (n,).

    Needs no labels. 0 if all documents are equal.
    """
    sizes = np.bincount(decided)
    sums = np.asarray((X.T @ np.eye(len(sizes))[decided]).T)
    between = float(np.sum((sums**2).sum(axis=1) / np.maximum(sizes, 1)))
    centre = float(np.sum(sums.sum(axis=0) ** 2)) / len(decided)
    total = float(np.sum(np.square(X.data if isinstance(X, sp.csr_array) else X)))
    return (between - centre) / (total - centre) if total > centre else 0.0


def balanced_accuracy(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return the mean over the true classes of recall: the fraction of the class that is found."""
    recall = [np.mean(decided[truth == label] == label) for label in np.unique(truth)]
    return float(np.mean(recall))


def macro_f1(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return the mean over the true classes of 2 tp / (2 tp + fp + fn)."""
    f1 = []
    for label in np.unique(truth):
        hits = np.sum((truth == label) & (decided == label))
        f1.append(2 * hits / (np.sum(truth == label) + np.sum(decided == label)))
    return float(np.mean(f1))


def example_f1(Y: np.ndarray, D: np.ndarray) -> float:
    """Return the mean over documents of 2|Y_i ∩ D_i| / (|Y_i| + |D_i|), 1 if both are empty.

    Y true, D decided labels, (n, c) 0/1.
    """
    both, size = np.sum(Y * D, axis=1), np.sum(Y, axis=1) + np.sum(D, axis=1)
    return float(np.mean(np.where(size > 0, 2 * both / np.maximum(size, 1), 1.0)))


def jaccard(Y: np.ndarray, D: np.ndarray) -> float:
    """Return the mean over documents of |Y_i ∩ D_i| / |Y_i ∪ D_i|, 1 if both are empty.

    Y true, D decided labels, (n, c) 0/1. Called accuracy in the multi-label papers.
    """
    both = np.sum(Y * D, axis=1)
    either = np.sum(Y, axis=1) + np.sum(D, axis=1) - both
    return float(np.mean(np.where(either > 0, both / np.maximum(either, 1), 1.0)))


def hamming_loss(Y: np.ndarray, D: np.ndarray) -> float:
    """Return the fraction of wrong entries; Y, D (n, c) 0/1."""
    return float(np.mean(Y != D))


def _transfer(Y: np.ndarray, scores: np.ndarray, clusters: bool) -> dict[str, float]:
    truth, decided = Y.argmax(axis=1), scores.argmax(axis=1)
    if clusters:
        decided = match(truth, decided)
    return {
        "accuracy": accuracy(truth, decided),
        "f1": macro_f1(truth, decided),
        "balanced_accuracy": balanced_accuracy(truth, decided),
    }


def _clustering(Y: np.ndarray, scores: np.ndarray, clusters: bool) -> dict[str, float]:
    truth, decided = Y.argmax(axis=1), scores.argmax(axis=1)
    return {"accuracy": clustering_accuracy(truth, decided), "nmi": nmi(truth, decided)}


def _multilabel(Y: np.ndarray, scores: np.ndarray, clusters: bool) -> dict[str, float]:
    D = (scores >= THRESHOLD).astype(Y.dtype)
    return {"f1": example_f1(Y, D), "accuracy": jaccard(Y, D), "hamming": hamming_loss(Y, D)}


#: Measures of each family: (Y, scores, True if columns are clusters) → value by name.
FAMILIES: dict[str, Callable[[np.ndarray, np.ndarray, bool], dict[str, float]]] = {
    "transfer": _transfer,
    "clustering": _clustering,
    "multilabel": _multilabel,
}


def evaluate(fit: Fit, truth: Truth, problem: Problem | None = None) -> dict[str, dict[str, float]]:
    """Return the measures of each domain with rows to score: {domain: {measure: value}}.

    If the problem is given, clusterings also get "explained", the explained variance. Several
    multi-label tasks also get measures over all their documents, under the name ALL. Raises
    ValueError if scores are NaN or differ in shape from the truth.
    """
    if len(fit.scores) != len(truth.Y):
        raise ValueError(f"expected scores of {len(truth.Y)} domains, got {len(fit.scores)}")
    measures = {}
    for name, Y, scored, scores in zip(truth.names, truth.Y, truth.scored, fit.scores, strict=True):
        if len(scores) != len(Y) or (fit.columns == "classes" and scores.shape != Y.shape):
            raise ValueError(f"{name}: scores are {scores.shape}, expected {Y.shape}")
        if np.isnan(scores).any():
            raise ValueError(f"{name}: {np.isnan(scores).sum()} scores are not numbers")
        if scored.any():
            clusters = fit.columns == "clusters"
            measures[name] = FAMILIES[truth.family](Y[scored], scores[scored], clusters)
    if truth.family == "multilabel" and len(measures) > 1:
        Y, scores, scored = map(np.concatenate, (truth.Y, fit.scores, truth.scored))
        measures[ALL] = _multilabel(Y[scored], scores[scored], False)
    if problem is not None and truth.family == "clustering":
        for domain, scores in zip(problem.domains, fit.scores, strict=True):
            decided = scores.argmax(axis=1)
            measures[domain.name]["explained"] = explained_variance(domain.X, decided)
    return measures
