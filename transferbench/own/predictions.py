"""Predictions for the user's documents: confidences, and the table to write."""

from __future__ import annotations

import csv
import json
import random
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from transferbench.core.documents import with_labels
from transferbench.files import writing
from transferbench.measures import THRESHOLD
from transferbench.messages import no_formula
from transferbench.own.dialect import DEFAULT, Dialect
from transferbench.own.documents import Documents
from transferbench.own.doubts import NO_TRANSFER
from transferbench.own.evidence import NO_CONFIDENCE
from transferbench.own.multilabel import SEPARATOR
from transferbench.own.sample import calibrated, sample_of
from transferbench.own.tables import JsonNumber, match
from transferbench.problem import Fit, Problem

SUFFIXES = (".csv", ".tsv", ".jsonl")
#: Columns that are written; those of texts and labels have other names.
COLUMNS = {"file", "row", "predicted", "cluster", "confidence", "second", "agree"}
#: Notes on a document: that nothing connects it with a labelled one, that only other documents of
#: the targets do, and that its label is that of the sample.
GUESS, INDIRECT = "a guess: no known feature", "no feature in common with the source"
YOURS = "your label"


def predict(
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    separator: str | None = None,
    with_scores: bool = False,
) -> pd.DataFrame:
    """Return the user's table of the documents of the targets, with predictions."""
    # After the user's columns come these. They replace user's columns with these names, but a
    # user's column `note` is kept, and then ours is `predicted_note` or `cluster_note`.
    # - predicted, or cluster: the label. A document with several labels has those whose score, cut
    #   to 0 … 1, reaches the threshold ½, the best first, with the separator between them.
    # - confidence: the score of the label, see `sample.calibrated`. It is 1 for a labelled
    #   document. It and all scores are 0 if nothing connects a document with the source, see
    #   `notes`; if the first model learns from the source alone, also if only other documents of
    #   the targets do.
    # - agree: the share of models with the labels of the first; predicted_MODEL: those of another.
    # - second, score_CLASS: the class with the second best score, and the score of each class.
    # - note: see `notes`, or that the label is the user's.
    # Documents of several files, and documents of matrices, also have the columns `file` and `row`;
    # `row` is the number in the file, from 1.
    # `fits`: The fit of each model, by name. The first gives label and confidence.
    # `separator`: Text between several labels of a document; None if a document has one.
    several, between = problem.family == "multilabel", separator or SEPARATOR
    first, *others = fits
    kind = "predicted" if fits[first].columns == "classes" else "cluster"
    unknown = (GUESS, INDIRECT) if first in NO_TRANSFER else (GUESS,)
    sure = fits[first] if several else calibrated(fits[first], sample_of(problem))
    parts = []
    for t, note in zip(range(-len(targets), 0), notes(problem)[-len(targets) :], strict=True):
        domain = problem.domains[t]
        found = {
            model: decisions(with_labels(domain, fit.scores[t]), several)
            for model, fit in fits.items()
        }
        labels = {model: _joined(problem.classes, rows, between) for model, rows in found.items()}
        scores = np.clip(with_labels(domain, sure.scores[t]), 0, 1)
        order = np.argsort(-scores, axis=1, kind="stable")
        scores[np.isin(note, unknown) & ~domain.seen] = 0
        columns: dict[str, Sequence[object]] = {kind: labels[first]}
        if several:
            columns["confidence"] = [
                between.join(f"{S[c]:.6g}" for c in row)
                for S, row in zip(scores, found[first], strict=True)
            ]
        elif first not in NO_CONFIDENCE:
            columns["confidence"] = _short(scores.max(axis=1))
        if others and kind == "predicted":  # clusters of different models have nothing in common
            by_document = zip(*found.values(), strict=True)
            same = (fmean({*row} == {*rows[0]} for row in rows) for rows in by_document)
            columns["agree"] = _short(same)
        columns |= {f"{kind}_{model}": labels[model] for model in others}
        if with_scores and not several:
            columns["second"] = _joined(problem.classes, order[:, 1:2].tolist(), between)
        if with_scores:
            named = zip(problem.classes, scores.T, strict=True)
            columns |= {f"score_{name}": _short(values) for name, values in named}
        columns["note"] = np.where(domain.seen, YOURS, note).tolist()
        parts.append(pd.DataFrame(columns))
    return _beside(targets, pd.concat(parts, ignore_index=True), kind)


def _joined(classes: Sequence[str], rows: Iterable[Iterable[int]], between: str) -> list[str]:
    """Return the names of the classes of each row as one text."""
    return [between.join(classes[c] for c in row) for row in rows]


def _beside(targets: Sequence[Documents], predictions: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the user's table of the documents, with the predictions."""
    table = pd.concat([documents.table for documents in targets])
    if "note" in table and not table["note"].dropna().isin((GUESS, INDIRECT, YOURS, "")).all():
        predictions = predictions.rename(columns={"note": f"{kind}_note"})
    table = table.drop(columns=[*predictions, "confidence"], errors="ignore")
    # Rows of a single table need no file and row.
    one_table = targets[0].kind == "texts" and table.index.get_level_values("file").nunique() == 1
    table = table.reset_index(drop=True) if one_table else _with_file_and_row(table)
    return pd.concat([table, predictions], axis=1)


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


def beside_columns(
    rows: pd.DataFrame, files: Mapping[str, Documents], texts: Mapping[str, str]
) -> pd.DataFrame:
    """Return rows of documents with their file, their row there, and the user's other columns."""
    # `rows`: With the columns domain and row; all documents of a domain in their order. A user's
    # column with the name of one of ours is called "your NAME".
    # `files`: The documents of each domain; empty for a task.
    # `texts`: The name of the column of texts in each domain, which is left out.
    ours = rows.apply(lambda of: _short(of) if of.dtype == float else of.map(no_formula))
    if not files:
        return ours
    tables = []
    for domain in rows["domain"].unique():
        table = files[domain].table
        text = match(texts[domain], table)
        tables.append(table.drop(columns=[] if text is None else text))
    table = pd.concat(tables)
    table = table.rename(columns={name: f"your {name}" for name in [*rows, "file"]}).reset_index()
    ours = ours.drop(columns="row")
    return pd.concat([ours[["domain"]], table, ours.drop(columns="domain")], axis=1)


def blank_texts(documents: Documents) -> list[bool]:
    """Return True for each document without a text; matrices have none."""
    if documents.kind != "texts":
        return [False] * len(documents)
    return [not str(text).strip() for text in documents.content]


def sample(targets: Sequence[Documents], count: int, label: str, seed: int = 0) -> pd.DataFrame:
    """Return rows to label, drawn at random, in random order."""
    # So whoever labels the first ones has a random sample. With the same seed, a larger sample
    # begins with a smaller one. Blank texts are not drawn. The user's column of labels is emptied.
    table = pd.concat([documents.table for documents in targets])
    order = list(range(len(table)))
    random.Random(seed).shuffle(order)
    blank = [is_blank for documents in targets for is_blank in blank_texts(documents)]
    drawn = [row for row in order if not blank[row]][:count]
    rows = _with_file_and_row(table.iloc[drawn])
    column = match(label, rows) or label
    rows = rows.drop(columns=column, errors="ignore")
    rows = rows.apply(lambda cells: pd.Series([*map(no_formula, cells)], dtype=object))
    return rows.assign(**{column: ""})


def decisions(scores: np.ndarray, several: bool) -> list[list[int]]:
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
    if suffix == ".jsonl":
        dialect = DEFAULT
        values = table.itertuples(index=False, name=None)  # missing ones are NaN
        rows = (zip(table, row, strict=True) for row in values)
        text = "".join(f"{_json({k: v for k, v in row if v == v})}\n" for row in rows)
    else:
        text = _csv_text(table, replace(dialect, delimiter="\t") if suffix == ".tsv" else dialect)
    try:
        text.encode(dialect.encoding)
    except UnicodeEncodeError as error:
        if not dialect.encoding.startswith("utf"):
            what = f"{dialect.encoding.upper()} has no {error.object[error.start]!a}"
            why = "so the file is in UTF-8 with a byte order mark"
            warnings.warn(f"{path}: {what}, {why}", stacklevel=2)
            dialect = replace(dialect, encoding="utf-8", mark=True)
    with writing(path) as temporary:
        marked = "\ufeff" * dialect.mark + text
        # Half of a surrogate pair becomes an escape.
        temporary.write_bytes(marked.encode(dialect.encoding, "backslashreplace"))


def _csv_text(table: pd.DataFrame, dialect: Dialect) -> str:
    """Return the rows as CSV, with quotes if a value needs them or the dialect has them."""
    lines = list[str]()
    # With this end of a row, values with any end of a line are in quotes.
    form: Any = {"delimiter": dialect.delimiter, "lineterminator": "\r\n"}
    if not dialect.quoted:
        form |= {"quoting": csv.QUOTE_NONE, "quotechar": None}
    ended = SimpleNamespace(write=lambda row: lines.append(row[:-2] + dialect.line_end))
    writer = csv.writer(ended, **form)
    try:
        writer.writerow([*table])
        rows = table.itertuples(index=False, name=None)
        writer.writerows([_cell(v) if v == v else "" for v in row] for row in rows)
    except csv.Error:  # a value needs quotes
        if dialect.quoted:
            raise
        return _csv_text(table, replace(dialect, quoted=True))
    return "".join(lines)


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
