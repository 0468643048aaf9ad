"""Decision rules, measures and units; scores are fractions between 0 and 1."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Family, Fit, Matrix, Problem, Truth

#: A document has every label with at least this score.
THRESHOLD = 0.5
#: Name of the group of all domains' documents.
ALL = "all"


def ensure_one_label(scores: np.ndarray) -> np.ndarray:
    """Return scores in which the best score of each row is at least THRESHOLD.

    Parameters
    ----------
    scores
        (n, m). Of equal best scores the first is raised.
    """
    raised = scores.copy()
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    raised[rows, best] = np.maximum(scores[rows, best], THRESHOLD)
    return raised


def normalize_scores(scores: np.ndarray) -> np.ndarray:
    """Return scores with rows of sum one: the confidence in each class.

    They rank documents and classes as the scores do, but are not calibrated probabilities.

    Parameters
    ----------
    scores
        (n, c). Each is divided by the sum of its row; if scores can be negative, as distances and
        margins are, the softmax of the row is taken. Rows of zeros become uniform.

    Returns
    -------
    numpy.ndarray
        (n, c).

    Raises
    ------
    ValueError
        For scores that are not numbers.
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
    """Return the fraction of documents with the true class.

    Parameters
    ----------
    truth
        (n,) true classes.
    decided
        (n,) decided classes.
    """
    return float(np.mean(truth == decided))


def match(truth: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Rename clusters to classes by the best one-to-one matching (Hungarian algorithm).

    Parameters
    ----------
    truth
        (n,) true classes.
    decided
        (n,) clusters. If they are more than the classes, the unmatched ones become −1.
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
    """Return the accuracy after the best one-to-one matching of clusters with classes.

    Parameters
    ----------
    truth
        (n,) true classes.
    decided
        (n,) clusters.
    """
    return accuracy(truth, match(truth, decided))


def nmi(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return mutual information / geometric mean of the entropies.

    0 for a single class or a single cluster, whose entropy is 0. If both are single, the quotient
    is 0 / 0 and the value 1, as in scikit-learn: they are the same partition.

    Parameters
    ----------
    truth
        (n,) true classes.
    decided
        (n,) clusters.
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(truth, decided, average_method="geometric"))


def explained_variance(X: Matrix, decided: np.ndarray) -> float:
    """Return the fraction of the variance of the documents that is between the clusters.

    Needs no labels. 0 if all documents are equal.

    Parameters
    ----------
    X
        (n, d) documents. Sums are in double precision, whatever X has: in single precision they
        would cancel where entries differ little.
    decided
        (n,) clusters.
    """
    sizes = np.bincount(decided)
    sums = np.asarray((X.T @ np.eye(len(sizes))[decided]).T)
    between = float(np.sum((sums**2).sum(axis=1) / np.maximum(sizes, 1)))
    centre = float(np.sum(sums.sum(axis=0) ** 2)) / len(decided)
    entries = X.data if isinstance(X, sp.csr_array) else X
    total = float(np.sum(np.square(entries, dtype=np.float64)))
    return min(max((between - centre) / (total - centre), 0.0), 1.0) if total > centre else 0.0


def balanced_accuracy(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return the mean over the true classes of recall: the fraction of the class that is found.

    Parameters
    ----------
    truth
        (n,) true classes.
    decided
        (n,) decided classes.
    """
    recall = [np.mean(decided[truth == label] == label) for label in np.unique(truth)]
    return float(np.mean(recall))


def macro_f1(truth: np.ndarray, decided: np.ndarray) -> float:
    """Return the mean over the true classes of 2 tp / (2 tp + fp + fn).

    Parameters
    ----------
    truth
        (n,) true classes.
    decided
        (n,) decided classes.
    """
    f1 = []
    for label in np.unique(truth):
        hits = np.sum((truth == label) & (decided == label))
        f1.append(2 * hits / (np.sum(truth == label) + np.sum(decided == label)))
    return float(np.mean(f1))


def example_f1(Y: np.ndarray, D: np.ndarray) -> float:
    """Return the mean over documents of 2|Y_i ∩ D_i| / (|Y_i| + |D_i|), 1 if both are empty.

    Parameters
    ----------
    Y
        (n, c) 0/1, true labels.
    D
        (n, c) 0/1, decided labels.
    """
    both, size = np.sum(Y * D, axis=1), np.sum(Y, axis=1) + np.sum(D, axis=1)
    return float(np.mean(np.where(size > 0, 2 * both / np.maximum(size, 1), 1.0)))


def jaccard(Y: np.ndarray, D: np.ndarray) -> float:
    """Return the mean over documents of |Y_i ∩ D_i| / |Y_i ∪ D_i|, 1 if both are empty.

    Called accuracy in the multi-label papers.

    Parameters
    ----------
    Y
        (n, c) 0/1, true labels.
    D
        (n, c) 0/1, decided labels.
    """
    both = np.sum(Y * D, axis=1)
    either = np.sum(Y, axis=1) + np.sum(D, axis=1) - both
    return float(np.mean(np.where(either > 0, both / np.maximum(either, 1), 1.0)))


def hamming_loss(Y: np.ndarray, D: np.ndarray) -> float:
    """Return the fraction of wrong entries.

    Parameters
    ----------
    Y
        (n, c) 0/1, true labels.
    D
        (n, c) 0/1, decided labels.
    """
    return float(np.mean(Y != D))


@dataclass(frozen=True)
class Measure:
    """A measure of fits, for records, tables and claims.

    Parameters
    ----------
    name
        In runs.jsonl and experiment files.
    title
        For readers.
    value
        (truth, decided) → value, of classes (n,) or label indicators (n, c). Without needs_labels
        the first argument is the matrix of documents.
    lower_is_better
        True for errors and losses.
    needs_labels
        True if the measure compares with true labels.
    heading
        Of a column that a command prints, if not the name.
    """

    name: str
    title: str
    value: Callable[[Any, np.ndarray], float]
    lower_is_better: bool = False
    needs_labels: bool = True
    heading: str = ""


#: Costs of a run: fields of its record, with their units. Costs are compared as ratios.
COSTS = {"seconds": "seconds", "peak_mib": "peak memory in MiB"}
#: Measures by family of models, the main one first.
MEASURES: dict[Family, tuple[Measure, ...]] = {
    "transfer": (
        Measure("accuracy", "accuracy", accuracy),
        Measure("f1", "F1", macro_f1),
        Measure("balanced_accuracy", "balanced accuracy", balanced_accuracy, heading="balanced"),
    ),
    "clustering": (
        Measure("accuracy", "accuracy", clustering_accuracy),
        Measure("nmi", "NMI", nmi),
        Measure("explained", "explained variance", explained_variance, needs_labels=False),
    ),
    "multilabel": (
        Measure("f1", "F1", example_f1, heading="example F1"),
        Measure("accuracy", "accuracy", jaccard, heading="Jaccard"),
        Measure(
            "hamming", "Hamming loss", hamming_loss, lower_is_better=True, heading="Hamming loss"
        ),
    ),
}
_ALL = [measure for family in MEASURES.values() for measure in family]
#: Measures that a record can have for each scored domain.
SCORES = tuple(dict.fromkeys(measure.name for measure in _ALL))
#: Names for readers.
TITLES = {measure.name: measure.title for measure in _ALL} | COSTS
LOWER_IS_BETTER = {*COSTS, *(measure.name for measure in _ALL if measure.lower_is_better)}


@dataclass(frozen=True)
class Unit:
    """How tables show values.

    Parameters
    ----------
    whole
        The largest score, and the factor from a measured score.
    digits
        Number of decimals; None for three significant digits.
    sign
        Text after a value.
    words
        Name of the unit.
    differences
        Name of the unit of differences.
    """

    whole: int
    digits: int | None
    sign: str
    words: str
    differences: str

    def text(self, value: float) -> str:
        """Return a value as text, "" for NaN."""
        return significant(value) if self.digits is None else decimals(value, self.digits)


def decimals(value: float, digits: int) -> str:
    """Return a number with `digits` decimals, "" for NaN."""
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def significant(value: float) -> str:
    """Return a number with three digits, or all before the decimal point; "" for NaN."""
    return f"{value:.3g}" if abs(value) < 999.5 else decimals(value, 0)


UNITS = {
    "percent": Unit(100, 2, " %", "per cent", "points"),
    "fraction": Unit(1, 3, "", "fractions", "fractions"),
    "seconds": Unit(1, None, " s", "seconds", "seconds"),
    "MiB": Unit(1, None, " MiB", "MiB", "MiB"),
}
#: The name of a measure, for the type checker and for the schema of experiment files.
if TYPE_CHECKING:
    MeasureName = str
else:
    MeasureName = Literal[tuple(TITLES)]


def headings(family: Family) -> dict[str, str]:
    """Return the heading of a printed column by name of the measure."""
    return {m.name: m.heading or m.name for m in MEASURES[family]}


def score(
    family: Family, Y: np.ndarray, scores: np.ndarray, *, clusters: bool = False
) -> dict[str, float]:
    """Return the measures of scores of documents, by name.

    Parameters
    ----------
    family
        Family of the problem, which has the measures.
    Y
        (n, c) 0/1, true labels.
    scores
        (n, c).
    clusters
        True if the columns of the scores are clusters in any order, not classes.
    """
    if family == "multilabel":
        truth, decided = Y, (scores >= THRESHOLD).astype(Y.dtype)
    else:
        truth, decided = Y.argmax(axis=1), scores.argmax(axis=1)
        if family == "transfer" and clusters:
            decided = match(truth, decided)
    return {m.name: m.value(truth, decided) for m in MEASURES[family] if m.needs_labels}


def evaluate(fit: Fit, truth: Truth, problem: Problem | None = None) -> dict[str, dict[str, float]]:
    """Return the measures of each domain with rows to score.

    Parameters
    ----------
    fit
        The fit to score.
    truth
        Its labels.
    problem
        If given, measures that need no labels are returned, too.

    Returns
    -------
    dict
        {domain: {measure: value}}. Several multi-label tasks also get measures over all their
        documents, under the name ALL.

    Raises
    ------
    ValueError
        If scores are NaN or differ in shape from the truth.
    """
    if len(fit.scores) != len(truth.Y):
        raise ValueError(f"expected scores of {len(truth.Y)} domains, got {len(fit.scores)}")
    by_domain = {}
    for name, Y, scored, scores in zip(truth.names, truth.Y, truth.scored, fit.scores, strict=True):
        if len(scores) != len(Y) or (fit.columns == "classes" and scores.shape != Y.shape):
            raise ValueError(f"{name}: scores are {scores.shape}, expected {Y.shape}")
        if np.isnan(scores).any():
            raise ValueError(f"{name}: {np.isnan(scores).sum()} scores are not numbers")
        if scored.any():
            clusters = fit.columns == "clusters"
            by_domain[name] = score(truth.family, Y[scored], scores[scored], clusters=clusters)
    if truth.family == "multilabel" and len(by_domain) > 1:
        Y, scores, scored = map(np.concatenate, (truth.Y, fit.scores, truth.scored))
        by_domain[ALL] = score("multilabel", Y[scored], scores[scored])
    for domain, scores in zip(problem.domains if problem else (), fit.scores, strict=False):
        decided = scores.argmax(axis=1)
        for m in MEASURES[truth.family]:
            if not m.needs_labels:
                by_domain[domain.name][m.name] = m.value(domain.X, decided)
    return by_domain


def correct(fit: Fit, truth: Truth) -> dict[str, np.ndarray]:
    """Return which scored documents of each domain are decided correctly; the mean is accuracy.

    Parameters
    ----------
    fit
        The fit to score. Clusters are matched with classes.
    truth
        Its labels.

    Returns
    -------
    dict
        (n,) bool by domain. Empty for multi-label problems.
    """
    by_domain = {}
    for name, Y, scored, scores in zip(truth.names, truth.Y, truth.scored, fit.scores, strict=True):
        if scored.any() and truth.family != "multilabel":
            true, decided = Y[scored].argmax(axis=1), scores[scored].argmax(axis=1)
            if truth.family == "clustering" or fit.columns == "clusters":
                decided = match(true, decided)
            by_domain[name] = true == decided
    return by_domain
