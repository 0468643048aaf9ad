"""Predictions for the user's own documents: confidences, and rows to write."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from transferbench.data.userdata.documents import Documents
from transferbench.metrics import normalize_scores
from transferbench.problem import Fit, Problem

SUFFIXES = (".csv", ".jsonl")


def rows(
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    with_scores: bool = False,
) -> Iterator[dict[str, object]]:
    """Yield a row for each document of the targets: file, row, id, label or cluster, confidence.

    fits: by model; the first gives label and confidence. Of several there are also `agree`, the
    share of them with the same label, and the label of each other one, `label_MODEL`. with_scores:
    also `score_CLASS` for each class, whose sum is one. Rows are numbered from 1 in each file. id
    is omitted if no target has ids; confidence is the score of the label, see `normalize_scores`.
    """
    models = list(fits)
    kind = "label" if fits[models[0]].columns == "classes" else "cluster"
    with_ids = any(documents.ids for documents in targets)
    for t, documents in enumerate(targets, start=-len(targets)):
        decided = np.stack([fit.scores[t].argmax(axis=1) for fit in fits.values()])  # (models, n)
        confidences = normalize_scores(fits[models[0]].scores[t])
        for i, (file, number) in enumerate(documents.rows()):
            row: dict[str, object] = {"file": str(file), "row": number}
            if with_ids:
                row["id"] = documents.ids[i] if documents.ids else ""
            best = decided[0, i]
            row[kind] = problem.classes[best]
            row["confidence"] = _short(confidences[i, best])
            if len(models) > 1:
                if kind == "label":  # clusters of different models have nothing in common
                    row["agree"] = _short(np.mean(decided[:, i] == best))
                for model, other in zip(models[1:], decided[1:, i], strict=True):
                    row[f"{kind}_{model}"] = problem.classes[other]
            if with_scores:
                for name, score in zip(problem.classes, confidences[i], strict=True):
                    row[f"score_{name}"] = _short(score)
            yield row


def _short(value: float) -> float:
    """Return a number with six significant digits."""
    return float(f"{value:.6g}")


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
