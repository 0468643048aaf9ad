"""Predictions for the user's own documents: confidences, rows to write, and warnings."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.userdata import multilabel
from transferbench.data.userdata.documents import Documents
from transferbench.problem import Domain, Fit, Problem

#: Classes are unbalanced if the largest is more than so many times the smallest.
UNBALANCED = 3.0
#: Why unbalanced classes deserve a warning.
BALANCE_NOTE = "models such as gcmf and dtl assume classes of about equal size."
SUFFIXES = (".csv", ".jsonl")


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


def rows(
    problem: Problem,
    fit: Fit,
    targets: Sequence[Documents],
    separator: str = multilabel.SEPARATOR,
) -> Iterator[dict[str, object]]:
    """Yield a row for each document of the targets: file, row, id, label or cluster, confidence.

    Rows are numbered from 1 in each file. id is omitted if no target has ids; confidence is that of
    the predicted class, see `normalize_scores`. In a multi-label problem both are texts with the
    separator between the labels, see `multilabel.cells`.
    """
    column = "label" if fit.columns == "classes" else "cluster"
    with_ids = any(documents.ids for documents in targets)
    for documents, scores in zip(targets, fit.scores[-len(targets) :], strict=True):
        places = enumerate(documents.rows())
        predicted = _cells(problem, scores, separator)
        for (i, (file, number)), (label, confidence) in zip(places, predicted, strict=True):
            row: dict[str, object] = {"file": str(file), "row": number}
            if with_ids:
                row["id"] = documents.ids[i] if documents.ids else ""
            yield row | {column: label, "confidence": confidence}


def _cells(
    problem: Problem, scores: np.ndarray, separator: str
) -> Iterator[tuple[str, str | float]]:
    """Yield label and confidence of each document."""
    if problem.family == "multilabel":
        yield from multilabel.cells(problem.classes, scores, separator)
        return
    for best, confidences in zip(scores.argmax(axis=1), normalize_scores(scores), strict=True):
        yield problem.classes[best], float(f"{confidences[best]:.6g}")


def formula(problem: Problem, targets: Sequence[Documents]) -> str | None:
    """Return a value that `rows` yields and that a spreadsheet would run, or None."""
    files = (str(file) for documents in targets for file, _ in documents.rows())
    ids = (id_ for documents in targets for id_ in documents.ids or ())
    return next(filter(_is_formula, chain(problem.classes, ids, files)), None)


def without_formulas(predicted: Iterator[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Yield the rows with ' before each text that a spreadsheet would run."""
    for row in predicted:
        yield {name: f"'{value}" if _is_formula(value) else value for name, value in row.items()}


def _is_formula(value: object) -> bool:
    """True for a text that begins as a formula does and is no number."""
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def write(path: Path, predicted: Iterator[dict[str, object]], suffix: str) -> None:
    """Write the rows as CSV or as JSON lines."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in predicted)
            return
        first = next(predicted)
        writer = csv.DictWriter(file, list(first), lineterminator="\n")
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(predicted)


def prediction_warnings(problem: Problem, targets: Sequence[Documents], fit: Fit) -> list[str]:
    """Return reasons to doubt the predictions: documents, graphs, sizes of classes."""
    warnings = []
    per_class = sum(
        (domain.Y.sum(axis=0) for domain in problem.sources), np.zeros(len(problem.classes))
    )
    if problem.family != "multilabel" and _unbalanced(per_class):
        sizes = _sizes(problem, per_class)
        warnings.append(f"the source's classes are unbalanced: {sizes}; {BALANCE_NOTE}")
    last = slice(-len(targets), None)
    for documents, domain, scores in zip(
        targets, problem.domains[last], fit.scores[last], strict=True
    ):
        reasons = [*_feature_warnings(problem, domain), *_balance_warnings(problem, scores)]
        warnings += [f"{documents.path}: {reason}" for reason in reasons]
    return warnings


def _feature_warnings(problem: Problem, target: Domain) -> Iterator[str]:
    X, n = sp.csr_array(target.X), target.X.shape[0]
    empty = int(np.sum(np.diff(X.indptr) == 0))
    if empty:
        yield f"{empty} of {n} documents have no feature left; they are guesses."
    if problem.sources:
        in_source = np.zeros(X.shape[1], X.dtype)
        for domain in problem.sources:
            in_source[sp.csr_array(domain.X).indices] = 1
        unrelated = int(np.sum(X @ in_source == 0)) - empty
        if unrelated:
            yield f"{unrelated} of {n} documents share no feature with the source."
    if np.bincount(X.indices, minlength=1).max() < 2:
        yield "no two documents share a feature: their graph is empty."


def _balance_warnings(problem: Problem, scores: np.ndarray) -> Iterator[str]:
    if problem.family == "multilabel":
        yield from multilabel.label_warnings(scores)
        return
    predicted = np.bincount(scores.argmax(axis=1), minlength=len(problem.classes))
    if _unbalanced(predicted):
        note = f"; {BALANCE_NOTE}" if problem.sources else "."
        yield f"unbalanced predictions: {_sizes(problem, predicted)}{note}"


def _unbalanced(sizes: np.ndarray) -> bool:
    return bool(sizes.max() > UNBALANCED * sizes.min())


def _sizes(problem: Problem, sizes: np.ndarray) -> str:
    order = np.argsort(-sizes, kind="stable")
    parts = [f"{problem.classes[i]} {sizes[i]:.0f}" for i in order]
    return ", ".join(parts if len(parts) < 7 else [*parts[:3], "…", *parts[-3:]])
