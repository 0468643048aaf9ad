"""Predictions for the user's documents: confidences, and the table to write."""

from __future__ import annotations

import csv
import json
import random
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from transferbench.files import writing
from transferbench.measures import THRESHOLD, normalize_scores
from transferbench.messages import no_formula
from transferbench.own.dialect import DEFAULT, Dialect
from transferbench.own.documents import Documents
from transferbench.own.doubts import NO_TRANSFER
from transferbench.own.multilabel import SEPARATOR
from transferbench.own.tables import JsonNumber
from transferbench.problem import Fit, Problem

SUFFIXES = (".csv", ".tsv", ".jsonl")
#: Notes on a document: that nothing connects it with a labelled one, and that only other documents
#: of the targets do.
GUESS, INDIRECT = "a guess: no known feature", "no feature in common with the source"


def predict(
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    separator: str | None = None,
    with_scores: bool = False,
    unranked: Collection[str] = (),
) -> pd.DataFrame:
    """Return the user's table of the documents of the targets, with predictions."""
    # After the user's columns come `predicted` or `cluster`, then `confidence`, and at the end
    # `note`. They replace user's columns with these names. But a user's column `note` is kept, and
    # then ours is `predicted_note` or `cluster_note`. Documents of several files, and documents of
    # matrices, also have the columns `file` and `row`; `row` is the number in the file, from 1.
    # `fits`: The fit of each model, by name. The first gives label and confidence. If there are
    # several models, there are more columns: `agree` is the share of models with the labels of the
    # first, and `predicted_MODEL` has the labels of each other model.
    # `separator`: Text between several labels of a document; None if a document has one.
    # The confidence is the score of the label, see `normalize_scores`. It is 1 for a labelled
    # document. A document with several labels has those whose score, cut to 0 … 1, reaches the
    # threshold ½, the best first. Then label and confidence are texts with the separator between
    # the labels.
    # A document that nothing connects with the source, see `notes`, has confidence and scores of 0.
    # If the first model learns from the source alone, this also holds for a document that only
    # other documents of the targets connect with the source.
    several = problem.family == "multilabel"
    between = separator or SEPARATOR
    first, *others = fits
    kind = "predicted" if fits[first].columns == "classes" else "cluster"
    table = pd.concat([documents.table for documents in targets])
    all_notes = notes(problem)[-len(targets) :]
    for t in range(-len(targets), 0):
        if (seen := problem.domains[t].seen).any():  # of a labelled sample
            all_notes[t] = np.where(seen, "", all_notes[t])
            for model, fit in fits.items():
                fits = {**fits, model: _with_labels(fit, problem, t)}
    unknown = (GUESS, INDIRECT) if first in NO_TRANSFER else (GUESS,)
    of_user = "note" in table and any(
        value not in (GUESS, INDIRECT, "") for value in table["note"].dropna()
    )
    note = f"{kind}_note" if of_user else "note"
    parts = []
    for t in range(-len(targets), 0):
        decided = {model: _decided(fit.scores[t], several) for model, fit in fits.items()}
        labels = {
            model: [between.join(problem.classes[c] for c in row) for row in rows]
            for model, rows in decided.items()
        }
        best = fits[first].scores[t]
        scores = np.clip(best, 0, 1) if several else normalize_scores(best)
        scores = np.where(np.isin(all_notes[t], unknown)[:, None], 0, scores)
        columns: dict[str, Sequence[object]] = {kind: labels[first]}
        if several:
            columns["confidence"] = [
                between.join(f"{row[c]:.6g}" for c in classes)
                for row, classes in zip(scores, decided[first], strict=True)
            ]
        elif first not in unranked:
            columns["confidence"] = _short(scores.max(axis=1))
        if others and kind == "predicted":  # clusters of different models have nothing in common
            first_sets = [{*classes} for classes in decided[first]]
            same = [
                [
                    {*classes} == first_set
                    for classes, first_set in zip(rows, first_sets, strict=True)
                ]
                for rows in decided.values()
            ]
            columns["agree"] = _short(np.mean(same, axis=0))
        columns |= {f"{kind}_{model}": labels[model] for model in others}
        if with_scores:
            named = zip(problem.classes, scores.T, strict=True)
            columns |= {f"score_{name}": _short(values) for name, values in named}
        columns[note] = all_notes[t].tolist()
        parts.append(pd.DataFrame(columns))
    predictions = pd.concat(parts, ignore_index=True)
    table = table.drop(columns=[*predictions, "confidence"], errors="ignore")
    # Rows of a single table need no file and row.
    one_table = targets[0].kind == "texts" and table.index.get_level_values("file").nunique() == 1
    table = table.reset_index(drop=True) if one_table else _with_file_and_row(table)
    return pd.concat([table, predictions], axis=1)


def _with_labels(fit: Fit, problem: Problem, t: int) -> Fit:
    """Return the fit with the labels of the labelled documents of domain t as its scores there."""
    domain, scores = problem.domains[t], [*fit.scores]
    scores[t] = np.where(domain.seen[:, None], domain.Y, normalize_scores(scores[t]))
    return replace(fit, scores=tuple(scores))


def notes(problem: Problem) -> list[np.ndarray]:
    """Return a note (n,) on each document of each domain, "" for most."""
    # The label of a document is a guess if the document has no feature, or if no chain leads from
    # it to a labelled document. In a chain, each document shares a feature with the next one. If
    # there are no labelled documents, only the label of a document without a feature is a guess.
    X = sp.csr_array(
        sp.vstack([sp.hstack([*map(sp.csr_array, domain.views)]) for domain in problem.domains])
    )
    n, d = X.shape
    filled = np.diff(X.indptr) > 0
    seen = np.concatenate([domain.seen for domain in problem.domains])
    direct = connected = filled
    if seen.any():
        of_seen = np.zeros(d, bool)
        of_seen[X[np.flatnonzero(seen)].indices] = True
        direct = np.diff(X[:, of_seen].indptr) > 0
        links = sp.coo_array(X)
        graph = sp.coo_array((np.ones(X.nnz), (links.row, n + links.col)), shape=(n + d, n + d))
        _, part = connected_components(graph, directed=False)
        connected = filled & np.isin(part[:n], part[:n][seen])
    texts = np.where(connected, np.where(direct, "", INDIRECT), GUESS)
    ends = np.cumsum([len(domain.seen) for domain in problem.domains])[:-1]
    return np.split(texts, ends)


def _with_file_and_row(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its index as columns file and row."""
    # They replace the user's columns with these names.
    return table.drop(columns=["file", "row"], errors="ignore").reset_index()


def blank_texts(documents: Documents) -> list[bool]:
    """Return True for each document without a text; matrices have none."""
    if documents.kind != "texts":
        return [False] * len(documents)
    return [not str(text).strip() for text in documents.content]


def sample(targets: Sequence[Documents], count: int, label: str, seed: int = 0) -> pd.DataFrame:
    """Return rows to label, drawn at random, in the order of the files."""
    # With the same seed, a larger sample has all rows of a smaller one. Blank texts are not drawn.
    table = pd.concat([documents.table for documents in targets])
    order = list(range(len(table)))
    random.Random(seed).shuffle(order)
    blank = [is_blank for documents in targets for is_blank in blank_texts(documents)]
    drawn = [row for row in order if not blank[row]][:count]
    rows = _with_file_and_row(table.iloc[sorted(drawn)]).drop(columns=label, errors="ignore")
    rows = rows.apply(lambda cells: pd.Series([*map(no_formula, cells)], dtype=object))
    return rows.assign(**{label: ""})


def _decided(scores: np.ndarray, several: bool) -> list[list[int]]:
    """Return the best class of each row, or all classes that reach the threshold, best first."""
    if not several:
        return [[c] for c in scores.argmax(axis=1).tolist()]
    order = np.argsort(-np.clip(scores, 0, 1), axis=1, kind="stable")
    return [
        [c for c in classes if row[c] >= THRESHOLD]
        for row, classes in zip(scores, order.tolist(), strict=True)
    ]


def _short(values: Iterable[float]) -> list[float]:
    """Return numbers with six significant digits."""
    return [float(f"{value:.6g}") for value in values]


def write(path: Path, table: pd.DataFrame, dialect: Dialect = DEFAULT) -> None:
    """Write the rows as CSV, TSV or JSON lines."""
    # CSV is written in the given dialect, and TSV with tabs. JSON lines are UTF-8 without a byte
    # order mark. If the encoding lacks characters of the table, the table is written in UTF-8 with
    # a byte order mark, and a warning says so. Characters that no encoding has become escapes.
    # `path`: The file; its suffix is one of SUFFIXES.
    suffix = path.suffix.lower()
    dialect = DEFAULT if suffix == ".jsonl" else dialect
    dialect = replace(dialect, delimiter="\t") if suffix == ".tsv" else dialect
    save = _write_json if suffix == ".jsonl" else _write_csv
    errors = "strict"
    with writing(path) as temporary:
        while True:
            try:
                form: Any = {"encoding": dialect.encoding, "errors": errors, "newline": ""}
                with temporary.open("w", **form) as file:
                    file.write("\ufeff" if dialect.mark else "")
                    save(file, table, dialect)
                return
            except UnicodeEncodeError as error:
                if dialect.encoding.startswith("utf"):
                    errors = "backslashreplace"  # a half of a surrogate pair
                    continue
                what = f"{dialect.encoding.upper()} has no {error.object[error.start]!a}"
                why = "so the file is in UTF-8 with a byte order mark"
                warnings.warn(f"{path}: {what}, {why}", stacklevel=2)
                dialect = replace(dialect, encoding="utf-8", mark=True)
            except csv.Error:  # a value needs quotes
                if dialect.quoted:
                    raise
                dialect = replace(dialect, quoted=True)


def _rows(table: pd.DataFrame) -> Iterator[list[Any]]:
    """Yield the values of each row; missing values are NaN."""
    return map(list, table.itertuples(index=False, name=None))


def _write_json(file: TextIO, table: pd.DataFrame, dialect: Dialect) -> None:
    for values in _rows(table):
        row = {name: value for name, value in zip(table, values, strict=True) if value == value}
        file.write(_json(row) + "\n")


def _write_csv(file: TextIO, table: pd.DataFrame, dialect: Dialect) -> None:
    """Write CSV; raise csv.Error if a value needs quotes and the dialect has none."""
    form: Any = {"delimiter": dialect.delimiter, "lineterminator": dialect.line_end}
    if not dialect.quoted:
        form |= {"quoting": csv.QUOTE_NONE, "quotechar": None}
    writer = csv.writer(file, **form)
    writer.writerow([*table])
    writer.writerows(
        [_cell(value) if value == value else "" for value in row] for row in _rows(table)
    )


def _cell(value: object) -> object:
    """Return the value of a CSV cell: lists, objects, true and false as JSON, others unchanged."""
    return _json(value) if isinstance(value, dict | list | bool) else value


def _json(value: object) -> str:
    """Return a value as JSON; numbers of the user's file stay as they were written."""
    if isinstance(value, JsonNumber):
        return value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_json(str(k))}: {_json(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False)
