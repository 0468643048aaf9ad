"""Predictions for the user's own documents: confidences, and rows to write."""

import csv
import json
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.files import writing
from transferbench.measures import THRESHOLD, normalize_scores
from transferbench.problem import Fit, Problem
from transferbench.userdata.documents import Documents
from transferbench.userdata.multilabel import SEPARATOR

#: Values of a line of the file, by column.
Row = dict[str, object]
SUFFIXES = (".csv", ".jsonl")
#: Starts of what a spreadsheet runs.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows(
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    separator: str | None = None,
    with_scores: bool = False,
    unranked: Collection[str] = (),
) -> Iterator[Row]:
    """Yield a row for each document of the targets: file, row, id, label or cluster, confidence.

    Parameters
    ----------
    fits
        By model; the first gives label and confidence. Of several there are also `agree`, the share
        of them with the same labels, and the label of each other one, `label_MODEL`.
    with_scores
        Also `score_CLASS` for each class.
    unranked
        Models that get no confidence.

    Notes
    -----
    Rows are numbered from 1 in each file. id is omitted if no target has ids. confidence is the
    score of the label, see `normalize_scores`. A document with several labels has those whose
    score, cut to 0 … 1, reaches the threshold ½, best first; label and confidence are texts with
    the separator between the labels.
    """
    several = problem.family == "multilabel"
    between = separator or SEPARATOR
    first, *others = fits
    kind = "label" if fits[first].columns == "classes" else "cluster"
    with_ids = any(documents.ids for documents in targets)
    for t, documents in enumerate(targets, start=-len(targets)):
        raw = {model: fit.scores[t] for model, fit in fits.items()}
        best = raw[first]
        scores = np.clip(best, 0, 1) if several else normalize_scores(best)
        for i, (file, number) in enumerate(documents.rows()):
            decided = {model: _decided(S[i], several) for model, S in raw.items()}
            labels = {m: between.join(problem.classes[c] for c in d) for m, d in decided.items()}
            confidences = [_short(scores[i, c]) for c in decided[first]]
            row: Row = {"file": str(file), "row": number}
            if with_ids:
                row["id"] = documents.ids[i] if documents.ids else ""
            row[kind] = labels[first]
            if several:
                row["confidence"] = between.join(f"{value:.6g}" for value in confidences)
            elif first not in unranked:
                row["confidence"] = confidences[0]
            if others and kind == "label":  # clusters of different models have nothing in common
                same = [{*classes} == {*decided[first]} for classes in decided.values()]
                row["agree"] = _short(sum(same) / len(same))
            row |= {f"{kind}_{model}": labels[model] for model in others}
            if with_scores:
                named = zip(problem.classes, scores[i], strict=True)
                row |= {f"score_{name}": _short(score) for name, score in named}
            yield row


def sample(targets: Sequence[Documents], count: int) -> list[Row]:
    """Return rows to label of `count` documents, drawn with a fixed seed, in the files' order."""
    total = sum(map(len, targets))
    drawn = {*random.Random(0).sample(range(total), min(count, total))}
    sampled = list[Row]()
    documents = ((part, i, *place) for part in targets for i, place in enumerate(part.rows()))
    for number, (part, i, file, row) in enumerate(documents):
        if number in drawn:
            line: Row = {"file": str(file), "row": row}
            line["id"] = _no_formula(part.ids[i]) if part.ids else ""
            if not sp.issparse(part.content):
                line["text"] = _no_formula(part.content[i])
            sampled.append(line | {"label": ""})
    return sampled


def _decided(scores: np.ndarray, several: bool) -> list[int]:
    """Return the class with the best score of (c,), or all that reach the threshold, best first."""
    if not several:
        return [int(scores.argmax())]
    clipped = np.clip(scores, 0, 1)
    return [int(c) for c in np.argsort(-clipped, kind="stable") if clipped[c] >= THRESHOLD]


def _short(value: float) -> float:
    """Return a number with six significant digits."""
    return float(f"{value:.6g}")


def _no_formula(value: str) -> str:
    """Return a text with ' before it if a spreadsheet would run it as a formula."""
    return f"'{value}" if value.startswith(FORMULA) else value


def write(path: Path, predicted: Iterator[Row], encoding: str = "utf-8") -> None:
    """Write the rows as CSV or JSON lines; bytes of a file name that are no text become escapes.

    Raises
    ------
    UserError
        If the file cannot be written.
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
