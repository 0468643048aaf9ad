"""From the names of a user's files to a problem: find the files, read them, build.

A name is a file, a folder, a pattern with * ? [ ], or several of these with commas between them.
All files of a name are one domain, or each is a domain of its own. They are in alphabetical order
of their paths, however they are named. The labels of an npz, NAME.labels.txt, are no document file.
"""

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transferbench.errors import UserError, brief
from transferbench.files import user_path
from transferbench.parameters import Params
from transferbench.problem import Family, Problem, Truth
from transferbench.userdata import matrices, tables
from transferbench.userdata.documents import Documents, DomainFiles, Labels, Reading, check_size
from transferbench.userdata.multilabel import SEPARATOR, check_single
from transferbench.userdata.problem import documents_problem, used_options


@dataclass(frozen=True)
class Loaded:
    """The problem of the user's files, its truth, the documents, and every option of the texts."""

    problem: Problem
    truth: Truth
    sources: list[Documents]
    targets: list[Documents]
    options: dict[str, Any]


def load(
    sources: Sequence[DomainFiles],
    targets: Sequence[DomainFiles],
    *,
    family: Family,
    labels: Labels,
    options: Params,
    reading: Reading = Reading(),
    name: str = "own",
    clusters: int = 0,
) -> Loaded:
    """Read the files of the domains, see `find_domains`, and build their problem.

    labels: those that targets must have. options: of the features. name, clusters: see
    `documents_problem`. Raise UserError if the files make no problem.
    """
    labelled = [read_domain(files, reading, "all") for files in sources]
    if family == "transfer" and reading.separator is None:
        for documents in labelled:
            check_single(documents.labels, documents.path)
    others = [read_domain(files, reading, labels) for files in targets]
    for documents in others:
        if labels == "some" and not any(documents.labels):
            raise UserError(
                f"{documents.path}: no document has a label, so that nothing can be scored; "
                "`transferbench predict` needs none."
            )
    used = used_options([*labelled, *others], options)
    separator = SEPARATOR if reading.separator is None else reading.separator
    problem, truth = documents_problem(
        labelled,
        others,
        used,
        name=name,
        clusters=clusters,
        separator=separator if family == "multilabel" else None,
    )
    return Loaded(problem, truth, labelled, others, used)


def read_domain(
    domain: DomainFiles, reading: Reading = Reading(), labels: Labels = "none"
) -> Documents:
    """Read the documents of all files of a domain.

    Raises UserError as `read` does, and for texts and matrices in one domain.
    """
    parts = [read(file, reading, labels) for file in domain.files]
    if len(parts) == 1:
        return replace(parts[0], name=domain.name)
    texts = [part.content for part in parts if isinstance(part.content, tables.Texts)]
    if 0 < len(texts) < len(parts):
        raise UserError(f"{domain.path}: texts and matrices; expected files of one kind.")
    return Documents(
        domain.path,
        tables.Texts(tuple(file for part in texts for file in part.files), reading.text)
        if texts
        else matrices.stack(parts),
        [label for part in parts for label in part.labels],
        [id_ for part in parts for id_ in part.ids or [""] * len(part)]
        if any(part.ids for part in parts)
        else None,
        domain.name,
        tuple((part.path, len(part)) for part in parts),
    )


def read(path: Path, reading: Reading = Reading(), labels: Labels = "none") -> Documents:
    """Read the documents of a CSV, TSV, JSONL, Parquet, SVMlight or npz file.

    Raises UserError for a file that cannot be read, with the line at fault if there is one.
    """
    check_size(path)
    suffix = path.suffix.lower()
    if suffix in tables.READERS:
        return tables.read(path, reading, labels)
    if suffix in matrices.SUFFIXES:
        return matrices.read(path, labels)
    known = ", ".join([*tables.READERS, *matrices.SUFFIXES])
    raise UserError(f"{path}: unknown kind of file; expected {known}.")


def find_domains(names: Sequence[str], each_file: bool = False) -> list[DomainFiles]:
    """Return the domains that the names stand for.

    each_file: make each file a domain. Raises UserError for a name without files, a folder with
    anything but files, or a file given twice. A file that does not exist is no error here.
    """
    domains = [domain for name in names for domain in find_files(name, each_file=each_file)]
    check_twice(domains)
    return domains


def find_files(name: str, folder: Path = Path(), each_file: bool = False) -> list[DomainFiles]:
    """Return the domains of one name, a single one unless each_file. Paths start at the folder."""
    # Path.is_file raises for very long names.
    is_file = os.path.isfile(folder / name)  # noqa: PTH113
    parts = [name] if is_file else [part.strip() for part in name.split(",")]
    if not all(parts):
        raise UserError(f"{brief(name)}: an empty file name; expected paths of documents.")
    # As text: the order of Path objects depends on the version of Python.
    files = sorted((file for part in parts for file in _expand(part, folder)), key=Path.as_posix)
    if each_file or files == [folder / user_path(name)]:
        return [DomainFiles(file.stem, file, (file,)) for file in files]
    whole = folder / name
    named = whole if os.path.isdir(whole) else files[0]  # noqa: PTH112
    return [DomainFiles(named.stem, whole, tuple(files))]


def check_twice(domains: Iterable[DomainFiles]) -> None:
    """Raise UserError if a file occurs twice."""
    known = set()
    for domain in domains:
        for file in domain.files:
            absolute = os.path.abspath(file)  # noqa: PTH100 (resolve raises for very long names)
            if absolute in known:
                raise UserError(f"{file}: given twice; name each file once.")
            known.add(absolute)


def _expand(name: str, folder: Path) -> list[Path]:
    """Return the files of a file name, folder or pattern."""
    path = user_path(name)
    if os.path.isdir(folder / path):  # noqa: PTH112
        matches = list((folder / path).iterdir())
    elif any(sign in name for sign in "*?[") and not os.path.isfile(folder / path):  # noqa: PTH113
        matches = [folder / match for match in glob.glob(str(path), root_dir=folder)]  # noqa: PTH207
    else:
        return [folder / path]
    for file in sorted(matches):
        if file.is_dir() or file.name.startswith("."):
            kind = "folder" if file.is_dir() else "hidden file"
            remedy = "remove it, or give a pattern that matches files only: '*.csv'"
            raise UserError(f"{file}: a {kind} among documents; {remedy}.")
    companions = {matrices.labels_file(file) for file in matches}
    files = [file for file in matches if file not in companions]
    if not files:
        raise UserError(f"{folder / name}: no file there; expected files of documents.")
    return files
