"""Predictions for the user's own documents: confidences, and rows to write."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transferbench.files import writing
from transferbench.measures import THRESHOLD, normalize_scores
from transferbench.problem import Fit, Problem
from transferbench.userdata.documents import Documents
from transferbench.userdata.multilabel import SEPARATOR

#: Values of a line of the file, by column.
Row = dict[str, object]
SUFFIXES = (".csv", ".jsonl")
#: Models whose scores do not rank documents: on some tasks of the experiment `choice` the least
#: confident tenth is right more often. They get no confidence.
NO_CONFIDENCE = ("cocc",)
#: Starts of what a spreadsheet runs.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows(
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    separator: str | None = None,
    with_scores: bool = False,
) -> Iterator[Row]:
    """Yield a row for each document of the targets: file, row, id, label or cluster, confidence.

    fits: by model; the first gives label and confidence. Of several there are also `agree`, the
    share of them with the same labels, and the label of each other one, `label_MODEL`. with_scores:
    also `score_CLASS` for each class. Rows are numbered from 1 in each file. id is omitted if no
    target has ids. confidence is the score of the label, see `normalize_scores`; models of
    NO_CONFIDENCE have none. A document with several labels has those whose score, cut to 0 … 1,
    reaches the threshold ½, best first; label and confidence are texts with the separator between
    the labels.
    """
    several = problem.family == "multilabel"
    separator = separator or SEPARATOR
    kind = "label" if next(iter(fits.values())).columns == "classes" else "cluster"
    with_ids = any(documents.ids for documents in targets)
    for t, documents in enumerate(targets, start=-len(targets)):
        scores = {
            model: np.clip(fit.scores[t], 0, 1) if several else normalize_scores(fit.scores[t])
            for model, fit in fits.items()
        }
        for i, (file, number) in enumerate(documents.rows()):
            row: Row = {"file": str(file), "row": number}
            if with_ids:
                row["id"] = documents.ids[i] if documents.ids else ""
            decided = {
                model: _labels_given(scores[model][i]) if several else [fit.scores[t][i].argmax()]
                for model, fit in fits.items()
            }
            labels = [
                separator.join(problem.classes[c] for c in classes) for classes in decided.values()
            ]
            first, *others = scores
            confidences = [_short(scores[first][i, c]) for c in decided[first]]
            row[kind] = labels[0]
            if several:
                row["confidence"] = separator.join(f"{value:.6g}" for value in confidences)
            elif first not in NO_CONFIDENCE:
                row["confidence"] = confidences[0]
            if others:
                if kind == "label":  # clusters of different models have nothing in common
                    same = [{*classes} == {*decided[first]} for classes in decided.values()]
                    row["agree"] = _short(sum(same) / len(same))
                row |= {f"{kind}_{m}": label for m, label in zip(others, labels[1:], strict=True)}
            if with_scores:
                named = zip(problem.classes, scores[first][i], strict=True)
                row |= {f"score_{name}": _short(score) for name, score in named}
            yield row


def _labels_given(scores: np.ndarray) -> list[int]:
    """Return the labels whose scores (c,) reach the threshold, best first."""
    return [int(c) for c in np.argsort(-scores, kind="stable") if scores[c] >= THRESHOLD]


def _short(value: float) -> float:
    """Return a number with six significant digits."""
    return float(f"{value:.6g}")


def as_text(value: str) -> str:
    """Return a text with ' before it if a spreadsheet would run it as a formula."""
    return f"'{value}" if value.startswith(FORMULA) else value


def write(path: Path, predicted: Iterator[Row], encoding: str = "utf-8") -> None:
    """Write the rows as CSV or JSON lines; bytes of a file name that are no text become escapes.

    Raise UserError if the file cannot be written.
    """
    form: Any = {"encoding": encoding, "errors": "backslashreplace", "newline": ""}
    with writing(path) as temporary, temporary.open("w", **form) as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in predicted)
            return
        first = next(predicted)
        writer = csv.DictWriter(file, list(first), lineterminator="\n")
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(predicted)
