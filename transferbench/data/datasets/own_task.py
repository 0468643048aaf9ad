"""A task of your own, told by a YAML file: `transferbench run ./my.yaml --model gcmf`.

    family: transfer               # or clustering, which has `tasks` for `source` and `targets`
    source: labelled.csv           # a file, or several: [one.csv, two.csv]
    targets: [mail.csv, web.csv]   # their labels are for scoring alone; a blank one is not scored
    text: body                     # columns, if they are not called text and label
    label: topic
    options: {min_df: 3, weighting: tf-idf}

Files are found from the folder of the YAML file; each is a domain (task), called by the file's name
without suffix. They are tables with a text and a label for each document, in UTF-8 (.csv, .tsv,
.jsonl, .parquet), or matrices: lines "<label> <feature>:<number> …" (.svm, .svmlight, .libsvm), or
what `scipy.sparse.save_npz` writes (.npz), with labels in NAME.labels.txt, one on each line. A
changed file makes the task anew.

Options for texts are those of 20 Newsgroups' texts: stop_words (none, english), token_pattern (two
letters or digits of any script, or more), min_df (2), max_features (0: all), weighting (tf-idf),
unit_length (true). Matrices are taken as they are; they have min_df (1), weighting (tf: as it is)
and unit_length (false). All are over the documents of all files together.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from transferbench import strict_yaml
from transferbench.data.fetch import File
from transferbench.errors import Unavailable, UserError, brief, unknown
from transferbench.parameters import resolve, schema

if TYPE_CHECKING:
    from transferbench.data.userdata.documents import Columns
    from transferbench.problem import Problem, Truth

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"own": "A task of your own, told by a YAML file: FILE.yaml or own:path=FILE.yaml"}
FACTS: dict[str, dict[str, Any]] = {"own": {}}


def own(path: Path) -> list[Path]:
    """The files that the task is built from, the YAML file first."""
    from transferbench.data.userdata.read import beside

    if not path.is_file():
        return []
    spec = load(path)
    return [path, *(f for file in spec.sources + spec.targets for f in (file, *beside(file)))]


def build(task: str, files: dict[str, Path], *, path: str = "") -> tuple[Problem, Truth]:
    """The task as a Problem and its Truth.

    path: the YAML file. Raises UserError, in one line with the file at fault, for what cannot be
    read or makes no task.
    """
    from transferbench.data.datasets._documents import problem
    from transferbench.data.userdata.read import read

    if not path:
        raise Unavailable(
            "own: no file is named; tell of your task in one (`transferbench describe own`), then "
            "name it: own:path=FILE.yaml."
        )
    spec = load(Path(path).expanduser())
    sources = [read(file, spec.columns, "all") for file in spec.sources]
    targets = [read(file, spec.columns, "some") for file in spec.targets]
    for documents in targets:
        if not any(documents.labels):
            raise UserError(
                f"{documents.path}: no document has a label, so that nothing can be scored; "
                "`transferbench predict` needs none."
            )
    return problem(sources, targets, spec.options, name=task)


@dataclass(frozen=True)
class Spec:
    """What a YAML file tells; clustering tasks are targets without a source."""

    sources: list[Path]
    targets: list[Path]
    columns: Columns
    options: dict[str, Any]


def _keys(
    *,
    family: Literal["transfer", "clustering"] = "transfer",
    source: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    tasks: tuple[str, ...] = (),
    text: str = "text",
    label: str = "label",
) -> None:
    """The keys of a YAML file, but for the options."""


def load(path: Path) -> Spec:
    """What a YAML file tells. Raises UserError with file and line where it does not hold."""
    from transferbench.data.datasets._documents import options_of
    from transferbench.data.userdata.documents import Columns

    data, where = strict_yaml.load(path)
    if not isinstance(data, dict):
        raise where.error((), "expected family, source, targets, …; see `describe own`.")
    options = data.pop("options", None) or {}
    for key, value in data.items():
        one = isinstance(value, str) and key in ("source", "targets", "tasks")
        data[key] = [value] if one else value
        with where.at(key):
            if key not in (known := [*schema(_keys), "options"]):
                raise unknown("key", f"{key}", known)
            resolve(_keys, {key: data[key]}, "the task")
    found: dict[str, Any] = resolve(_keys, data, "the task")
    needed = ["tasks"] if found["family"] == "clustering" else ["source", "targets"]
    for key in ("source", "targets", "tasks"):
        if bool(found[key]) != (key in needed):
            verb = "needs" if key in needed else "has no"
            raise where.error((key,), f"a task of {found['family']} {verb} {key}.")
    files = {key: [path.parent / Path(f).expanduser() for f in found[key]] for key in needed}
    isfile = os.path.isfile  # unlike Path.is_file it never raises, however long the name
    for key, paths in files.items():
        for i, file in enumerate(paths):
            if not isfile(file):
                raise where.error((key, i), f"no file {brief(str(file))}.")
    if not isinstance(options, dict):
        raise where.error(("options",), "expected NAME: VALUE for each option.")
    *sources, targets = files.values()
    for name, value in options.items():
        with where.at("options", name):
            resolve(options_of(targets[0]), {str(name): value}, "the documents")
    columns = Columns(found["text"], found["label"])
    return Spec([file for paths in sources for file in paths], targets, columns, options)
