"""From documents of one's own, texts or matrices, to a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy.sparse as sp
from annotated_types import Ge

from transferbench.data.datasets._counted import assemble
from transferbench.data.text import StopWords, Weighting, count, document_frequency, select
from transferbench.data.userdata.read import MATRICES
from transferbench.errors import UserError, brief
from transferbench.parameters import Count, resolve

if TYPE_CHECKING:
    from transferbench.data.userdata.documents import Documents
    from transferbench.problem import Problem, Truth

MOST_CLASSES = 1000
#: What is kept of the documents of all files, (n, d), and how `assemble` is to weight it.
Counted = tuple[sp.csr_array, dict[str, Any]]


def problem(
    sources: Sequence[Documents],
    targets: Sequence[Documents],
    options: dict[str, Any],
    *,
    name: str = "own",
    clusters: int = 0,
) -> tuple[Problem, Truth]:
    """A transfer problem, or one of clustering where there is no source, and its truth.

    Classes are the sources' labels in alphabetical order; without sources the targets', or
    `clusters` nameless ones. Targets' documents with a label are scored. Raises UserError where the
    documents make no problem.
    """
    parts = [*sources, *targets]
    classes = [str(i + 1) for i in range(clusters)] or _classes(sources or targets)
    place = {label: i for i, label in enumerate(classes)} | {"": -1}
    indices = []
    for part in parts:
        labels = [""] * len(part) if clusters else part.labels
        unknown = next((label for label in labels if label not in place), None)
        if unknown is not None:
            raise UserError(
                f"{part.path}: label {brief(unknown)} is none of the source's "
                f"({', '.join(map(brief, classes[:10]))}); leave such documents out, or their "
                "labels blank."
            )
        indices.append(np.array([place[label] for label in labels]))
    counted = options_of(parts[0].path)
    X, weighted = counted(parts, **resolve(counted, options, "the documents"))
    if not X.shape[1]:
        raise _nothing_left(parts[0])
    ends = np.cumsum([0, *map(len, parts)])
    domains = zip(_names([part.path for part in parts]), ends, ends[1:], indices, strict=False)
    built = assemble(
        name,
        "transfer" if sources else "clustering",
        classes,
        {domain: (X[start:end], y) for domain, start, end, y in domains},
        sources=len(sources),
        **weighted,
    )
    views = [sp.csr_array(domain.X) for domain in built[0].domains]
    for part, view in zip(parts, views, strict=True):
        if not view.nnz:
            raise _nothing_left(part)
    if not all((np.isfinite(view.data) & (view.data >= 0)).all() for view in views):
        raise UserError(
            f"{parts[0].path}: weighting {weighted['weighting']} makes numbers negative or too "
            "large; log-tf is for counts of 1 or more."
        )
    return built


def _nothing_left(part: Documents) -> UserError:
    return UserError(
        f"{part.path}: no feature is left of its documents; lower min_df, or see token_pattern and "
        "stop_words."
    )


def options_of(path: Path) -> Callable[..., Counted]:
    """The function whose keyword-only arguments are the options for a file of this kind."""
    return _matrices if path.suffix.lower() in MATRICES else _texts


def _classes(parts: Sequence[Documents]) -> list[str]:
    classes = sorted({label for part in parts for label in part.labels} - {""})
    where = parts[0].path
    if len(classes) < 2:
        found = f"the one label {brief(classes[0])}" if classes else "no label"
        raise UserError(f"{where}: {found}; expected documents of two classes or more.")
    if len(classes) > MOST_CLASSES:
        raise UserError(
            f"{where}: {len(classes)} different labels, at most {MOST_CLASSES} are taken; is it "
            "the right column?"
        )
    return classes


def _texts(
    parts: Sequence[Documents],
    *,
    stop_words: StopWords = "none",
    token_pattern: str = r"\w\w+",
    min_df: Count = 2,
    max_features: Annotated[int, Ge(0)] = 0,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
) -> Counted:
    from unicodedata import normalize

    texts: list[str] = []
    for part in parts:
        if not isinstance(part.content, list):
            raise UserError(f"{part.path}: a matrix among texts; expected files of one kind.")
        # Composed, so that an accent that is a character of its own does not part a word.
        texts += (normalize("NFC", text) for text in part.content)
    try:
        counts, vocabulary = count(texts, token_pattern)
    except ValueError as error:
        raise UserError(f"{parts[0].path}: {error}; see the option token_pattern.") from None
    columns = select(
        counts, vocabulary, stop_words=stop_words, min_df=min_df, max_features=max_features or None
    )
    return counts[:, columns], {"weighting": weighting, "unit_length": unit_length}


def _matrices(
    parts: Sequence[Documents],
    *,
    min_df: Count = 1,
    weighting: Weighting = "tf",
    unit_length: bool = False,
) -> Counted:
    kind, views = parts[0].path.suffix.lower(), []
    for part in parts:
        # Features of SVMlight are numbered from one, columns of a matrix from zero.
        if isinstance(part.content, list) or (part.path.suffix.lower() == ".npz") != (
            kind == ".npz"
        ):
            raise UserError(f"{part.path}: not like {parts[0].path}; expected files of one kind.")
        views.append(part.content)
    widths = [view.shape[1] for view in views]
    for part, width in zip(parts, widths, strict=True):
        if kind == ".npz" and width != widths[0]:
            raise UserError(
                f"{part.path}: {width} features, {parts[0].path} has {widths[0]}; expected as many."
            )
    for view in views:
        view.resize(view.shape[0], max(widths))
    X = sp.csr_array(sp.vstack(views))
    kept = np.flatnonzero(document_frequency(X) >= min_df)
    return X[:, kept], {"weighting": weighting, "unit_length": unit_length}


def _names(paths: Sequence[Path]) -> list[str]:
    """Files' names without suffix, with a number where another file has the same."""
    names: list[str] = []
    for path in paths:
        name, number = path.stem, 1
        while name in names:
            number += 1
            name = f"{path.stem}-{number}"
        names.append(name)
    return names
