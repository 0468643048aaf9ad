"""What was predicted for documents of one's own, how sure it is, and what speaks against it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.userdata.documents import Documents
from transferbench.problem import Fit, Problem

#: The largest class so many times the smallest: more is called unbalanced.
UNBALANCED = 3.0
SUFFIXES = (".csv", ".jsonl")


def shares(scores: np.ndarray) -> np.ndarray:
    """(n, c) of the scores (n, c), rows of sum one: how sure a model is of each class, in its way.

    Each score's share of its row; where scores can be negative, as distances and margins are, the
    softmax of the row. Rows of zeros become uniform. They rank documents and classes as the scores
    do, but are no probabilities: none was compared with how often it is right. Raises ValueError
    for scores that are not numbers.
    """
    c = scores.shape[1]
    S = np.asarray(scores, np.float64)
    if np.isnan(S).any():
        raise ValueError(f"{np.isnan(S).sum()} scores are not numbers")
    if (S < 0).any():
        S = np.exp(S - S.max(axis=1, keepdims=True))
    total = S.sum(axis=1, keepdims=True)
    return np.where(total > 0, S / np.where(total > 0, total, 1), 1 / c)


def rows(problem: Problem, fit: Fit, targets: Sequence[Documents]) -> Iterator[dict[str, object]]:
    """A row for each document of the targets: file, row (from 1), id, label or cluster, confidence.

    id is left out where no target has ids; confidence is the decided class's share, `shares`.
    """
    what = "label" if fit.columns == "classes" else "cluster"
    named = any(documents.ids for documents in targets)
    for documents, scores in zip(targets, fit.scores[-len(targets) :], strict=True):
        decided = zip(scores.argmax(axis=1), shares(scores), strict=True)
        for i, (best, share) in enumerate(decided):
            own = {"id": documents.ids[i] if documents.ids else ""} if named else {}
            sure = float(f"{share[best]:.6g}")
            place = {"file": str(documents.path), "row": i + 1}
            yield place | own | {what: problem.classes[best], "confidence": sure}


def write(path: Path, predicted: Iterator[dict[str, object]], suffix: str) -> None:
    """The rows as CSV or as JSON lines."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in predicted)
            return
        first = next(predicted)
        writer = csv.DictWriter(file, list(first), lineterminator="\n")
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(predicted)


def doubts(problem: Problem, targets: Sequence[Documents], fit: Fit) -> list[str]:
    """Sentences on what makes predictions doubtful: documents, graphs, sizes of classes."""
    found = []
    labels = sum(
        (domain.Y.sum(axis=0) for domain in problem.sources), np.zeros(len(problem.classes))
    )
    if labels.max() > UNBALANCED * labels.min():
        found.append(f"the source's classes are unbalanced: {_sizes(problem, labels)}; {EQUAL}")
    known = np.zeros(problem.domains[0].X.shape[1], bool)
    for domain in problem.sources:
        known[sp.csr_array(domain.X).indices] = True
    domains = problem.domains[-len(targets) :]
    for documents, domain, scores in zip(
        targets, domains, fit.scores[-len(targets) :], strict=True
    ):
        X, n = sp.csr_array(domain.X), len(documents)
        empty = int(np.sum(np.diff(X.indptr) == 0))
        alien = int(np.sum(X @ known.astype(X.dtype) == 0)) - empty if problem.sources else 0
        where = f"{documents.path}:"
        if empty:
            found.append(
                f"{where} {empty} of {n} documents have no feature left; they are guesses."
            )
        if alien:
            found.append(f"{where} {alien} of {n} documents share no feature with the source.")
        if np.bincount(X.indices, minlength=1).max() < 2:
            found.append(f"{where} no two documents share a feature: their graph is empty.")
        sizes = np.bincount(scores.argmax(axis=1), minlength=len(problem.classes))
        if sizes.max() > UNBALANCED * sizes.min():
            equal = f"; {EQUAL}" if problem.sources else "."
            found.append(f"{where} unbalanced predictions: {_sizes(problem, sizes)}{equal}")
    return found


#: Why unbalanced classes are worth a word.
EQUAL = "models such as gcmf and dtl suppose classes of about equal size."


def _sizes(problem: Problem, sizes: np.ndarray) -> str:
    order = np.argsort(-sizes, kind="stable")
    first = [f"{problem.classes[i]} {sizes[i]:.0f}" for i in order]
    return ", ".join(first if len(first) < 7 else [*first[:3], "…", *first[-3:]])
