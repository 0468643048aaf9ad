"""Predictions for the user's own documents: confidences, and rows to write."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from transferbench.measures import normalize_scores
from transferbench.problem import Fit, Problem
from transferbench.userdata import multilabel
from transferbench.userdata.documents import Documents

SUFFIXES = (".csv", ".jsonl")


def rows(
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    separator: str = multilabel.SEPARATOR,
    with_scores: bool = False,
) -> Iterator[dict[str, object]]:
    """Yield a row for each document of the targets: file, row, id, label or cluster, confidence.

    fits: by model; the first gives label and confidence. Of several there are also `agree`, the
    share of them with the same label, and the label of each other one, `label_MODEL`. with_scores:
    also `score_CLASS` for each class. Rows are numbered from 1 in each file. id is omitted if no
    target has ids; confidence is the score of the label, see `normalize_scores`. In a multi-label
    problem label and confidence are texts with the separator between the labels, see
    `multilabel.cells`, and scores are those of the model.
    """
    models = list(fits)
    kind = "label" if fits[models[0]].columns == "classes" else "cluster"
    with_ids = any(documents.ids for documents in targets)
    for t, documents in enumerate(targets, start=-len(targets)):
        cells = [list(_cells(problem, fit.scores[t], separator)) for fit in fits.values()]
        scores = _shown_scores(problem, fits[models[0]].scores[t])
        for i, (file, number) in enumerate(documents.rows()):
            row: dict[str, object] = {"file": str(file), "row": number}
            if with_ids:
                row["id"] = documents.ids[i] if documents.ids else ""
            labels = [of_model[i][0] for of_model in cells]
            row[kind], row["confidence"] = cells[0][i]
            if len(models) > 1:
                if kind == "label":  # clusters of different models have nothing in common
                    row["agree"] = _short(labels.count(labels[0]) / len(labels))
                for model, label in zip(models[1:], labels[1:], strict=True):
                    row[f"{kind}_{model}"] = label
            if with_scores:
                for name, score in zip(problem.classes, scores[i], strict=True):
                    row[f"score_{name}"] = _short(score)
            yield row


def _shown_scores(problem: Problem, scores: np.ndarray) -> np.ndarray:
    """Return scores (n, c) from 0 to 1; those of single labels have sum one."""
    return np.clip(scores, 0, 1) if problem.family == "multilabel" else normalize_scores(scores)


def _cells(
    problem: Problem, scores: np.ndarray, separator: str
) -> Iterator[tuple[str, str | float]]:
    """Yield label and confidence of each document."""
    if problem.family == "multilabel":
        yield from multilabel.cells(problem.classes, scores, separator)
        return
    for best, confidences in zip(scores.argmax(axis=1), normalize_scores(scores), strict=True):
        yield problem.classes[best], _short(confidences[best])


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
    """Write the rows as CSV or JSON lines; bytes of a file name that are no text become escapes."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        if suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in predicted)
            return
        first = next(predicted)
        writer = csv.DictWriter(file, list(first), lineterminator="\n")
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(predicted)
