"""Predictions for the user's own documents: confidences, and rows to write."""

import csv
import json
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from transferbench.files import writing
from transferbench.measures import THRESHOLD, normalize_scores
from transferbench.messages import no_formula
from transferbench.problem import Fit, Problem
from transferbench.userdata.documents import Documents, Reading
from transferbench.userdata.multilabel import SEPARATOR
from transferbench.userdata.readers import TABLES, Number, whole_rows

#: Values of a line of the file, by column.
Row = dict[str, object]
SUFFIXES = (".csv", ".jsonl")


def rows(
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    separator: str | None = None,
    with_scores: bool = False,
    unranked: Collection[str] = (),
    encoding: str = "utf-8",
) -> Iterator[Row]:
    """Yield for each document of the targets what its table has, and what the models find.

    The user's columns are followed by `predicted` or `cluster`, and `confidence`; columns of the
    user with these names are replaced. Documents of several files, and those of matrices, also
    have `file` and `row`, the number in the file from 1.

    Parameters
    ----------
    fits
        By model; the first gives label and confidence. Of several there are also `agree`, the share
        of them with the same labels, and the label of each other one, `predicted_MODEL`.
    with_scores
        Also `score_CLASS` for each class.
    unranked
        Models that get no confidence.

    Notes
    -----
    confidence is the score of the label, see `normalize_scores`. A document with several labels has
    those whose score, cut to 0 … 1, reaches the threshold ½, best first; label and confidence are
    texts with the separator between the labels.
    """
    several = problem.family == "multilabel"
    between = separator or SEPARATOR
    first, *others = fits
    kind = "predicted" if fits[first].columns == "classes" else "cluster"
    for t, documents in enumerate(targets, start=-len(targets)):
        raw = {model: fit.scores[t] for model, fit in fits.items()}
        best = raw[first]
        scores = np.clip(best, 0, 1) if several else normalize_scores(best)
        for i, row in enumerate(user_rows(documents, encoding, with_place=_needs_place(targets))):
            decided = {model: _decided(S[i], several) for model, S in raw.items()}
            labels = {m: between.join(problem.classes[c] for c in d) for m, d in decided.items()}
            confidences = [_short(scores[i, c]) for c in decided[first]]
            row = {name: row[name] for name in row if name not in (kind, "confidence")}
            row[kind] = labels[first]
            if several:
                row["confidence"] = between.join(f"{value:.6g}" for value in confidences)
            elif first not in unranked:
                row["confidence"] = confidences[0]
            if (
                others and kind == "predicted"
            ):  # clusters of different models have nothing in common
                same = [{*classes} == {*decided[first]} for classes in decided.values()]
                row["agree"] = _short(sum(same) / len(same))
            row |= {f"{kind}_{model}": labels[model] for model in others}
            if with_scores:
                named = zip(problem.classes, scores[i], strict=True)
                row |= {f"score_{name}": _short(score) for name, score in named}
            yield row


def sample(targets: Sequence[Documents], count: int, reading: Reading = Reading()) -> list[Row]:
    """Return rows to label of `count` documents, drawn with a fixed seed, in the files' order.

    They have file and row, the user's columns, and an empty column of labels.
    """
    total = sum(map(len, targets))
    drawn = {*random.Random(0).sample(range(total), min(count, total))}
    documents = (row for part in targets for row in user_rows(part, reading.encoding))
    return [
        {name: no_formula(row[name]) for name in row if name != reading.label} | {reading.label: ""}
        for number, row in enumerate(documents)
        if number in drawn
    ]


def user_rows(documents: Documents, encoding: str, *, with_place: bool = True) -> Iterator[Row]:
    """Yield what the table of each document has, after file and row; of matrices these alone.

    with_place: give file and row also to documents of tables.
    """
    for path, n in documents.files or ((documents.path, len(documents)),):
        is_table = path.suffix.lower() in TABLES
        values = whole_rows(path, encoding) if is_table else repeat(dict[str, object](), n)
        for number, row in enumerate(values, start=1):
            place: Row = {"file": str(path), "row": number} if with_place else {}
            yield place | {name: row[name] for name in row if name not in place}


def _needs_place(targets: Sequence[Documents]) -> bool:
    """True unless all documents are rows of one table."""
    files = [path for part in targets for path, _ in part.files or ((part.path, 0),)]
    return len(files) > 1 or files[0].suffix.lower() not in TABLES


def _decided(scores: np.ndarray, several: bool) -> list[int]:
    """Return the class with the best score of (c,), or all that reach the threshold, best first."""
    if not several:
        return [int(scores.argmax())]
    clipped = np.clip(scores, 0, 1)
    return [int(c) for c in np.argsort(-clipped, kind="stable") if clipped[c] >= THRESHOLD]


def _short(value: float) -> float:
    """Return a number with six significant digits."""
    return float(f"{value:.6g}")


def write(path: Path, predicted: Iterator[Row], encoding: str = "utf-8") -> None:
    """Write the rows as CSV or JSON lines, with all columns that any of them has.

    Bytes of a file name that are no text become escapes.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    form: Any = {"encoding": encoding, "errors": "backslashreplace", "newline": ""}
    with writing(path) as temporary, temporary.open("w", **form) as file:
        if path.suffix == ".jsonl":
            file.writelines(_json(row) + "\n" for row in predicted)
            return
        lines = [{name: _cell(value) for name, value in row.items()} for row in predicted]
        names = _merged({tuple(line): None for line in lines})
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def _merged(heads: Iterable[Sequence[str]]) -> list[str]:
    """Return all names in an order in which each stands before those that follow it in its head."""
    names = list[str]()
    for head in heads:
        place = len(names)
        for name in reversed(head):
            if name in names:
                place = names.index(name)
            else:
                names.insert(place, name)
    return names


def _cell(value: object) -> object:
    """Return a value of a cell of CSV; lists and objects of JSON stay JSON."""
    return _json(value) if isinstance(value, dict | list) else value


def _json(value: object) -> str:
    """Return a value as JSON: numbers of a file as it has them, dates as text."""
    if isinstance(value, Number):
        return value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_json(str(k))}: {_json(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)
