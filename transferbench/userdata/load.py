"""Read the files that the user names, and build their problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transferbench.parameters import Params
from transferbench.problem import Family, Problem, Truth
from transferbench.userdata.documents import Columns, Documents, Labels
from transferbench.userdata.multilabel import SEPARATOR, check_single
from transferbench.userdata.paths import find_domains
from transferbench.userdata.problem import documents_problem, used_options
from transferbench.userdata.read import read_domain


@dataclass(frozen=True)
class Loaded:
    """The problem of the user's files, its truth, the documents, and every option of the texts."""

    problem: Problem
    truth: Truth
    sources: list[Documents]
    targets: list[Documents]
    options: dict[str, Any]


def load(
    sources: Sequence[str],
    targets: Sequence[str],
    options: Params,
    *,
    family: Family,
    labels: Labels,
    columns: Columns = Columns(),
    each_file: bool = False,
    separator: str | None = None,
    clusters: int = 0,
) -> Loaded:
    """Read the files, a name of `find_domains` for each domain, and build their problem.

    labels: those that targets must have. separator: text between the labels of a document, ""
    between none; by default it is | in a multi-label problem. The other arguments are those of
    `find_domains` and `documents_problem`. Raise UserError if the files make no problem.
    """
    source_files, target_files = (find_domains(names, each_file) for names in (sources, targets))
    labelled = [read_domain(files, columns, "all") for files in source_files]
    if family == "transfer" and separator is None:
        for documents in labelled:
            check_single(documents.labels, documents.path)
    others = [read_domain(files, columns, labels) for files in target_files]
    used = used_options([*labelled, *others], options)
    between = SEPARATOR if separator is None else separator
    problem, truth = documents_problem(
        labelled,
        others,
        used,
        clusters=clusters,
        separator=between if family == "multilabel" else None,
    )
    return Loaded(problem, truth, labelled, others, used)
