"""Your own task, described by a YAML file: `transferbench run ./my.yaml --model gcmf`.

    family: transfer               # or clustering, with `tasks` instead of `source` and `targets`
    source: labelled.csv           # one file or several: [one.csv, two.csv]
    targets: [mail.csv, web.csv]   # labels are used only for scoring; blank ones are not scored
    text: body                     # columns, if they are not called text and label
    label: topic
    options: {min_df: 3, weighting: tf-idf}

Paths are relative to the folder of the YAML file. Each file is a domain (task), named after the
file without its suffix. Files are tables with a text and a label for each document, in UTF-8 (.csv,
.tsv, .jsonl, .parquet), or matrices: lines "<label> <feature>:<number> …" (.svm, .svmlight,
.libsvm), or written by `scipy.sparse.save_npz` (.npz), with labels in NAME.labels.txt, one a line.
If a file changes, the task is built again.

Texts have the options of 20 Newsgroups: stop_words (none, english), token_pattern (two or more
letters or digits of any script), min_df (2), max_features (0: all), weighting (tf-idf), unit_length
(true). Matrices are used as they are, with the options min_df (1), weighting (tf: as it is) and
unit_length (false). All are computed over the documents of all files together.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from transferbench import strict_yaml
from transferbench.data.fetch import File
from transferbench.data.userdata.documents import Columns
from transferbench.data.userdata.problem import documents_problem, feature_function
from transferbench.data.userdata.read import companion_files, read
from transferbench.errors import Unavailable, UserError, brief, unknown
from transferbench.parameters import Params, resolve, schema
from transferbench.problem import Problem, Truth
from transferbench.strict_yaml import LineMap

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"own": "A task of your own, described by a YAML file: FILE.yaml or own:path=FILE.yaml"}
FACTS: dict[str, dict[str, Any]] = {"own": {}}


def own_files(path: Path) -> list[Path]:
    """Return the files that the task is built from, the YAML file first."""
    if not path.is_file():
        return []
    spec = load(path)
    data = [f for file in spec.sources + spec.targets for f in (file, *companion_files(file))]
    return [path, *data]


def build(task: str, files: dict[str, Path], *, path: str = "") -> tuple[Problem, Truth]:
    """Build the task.

    path: the YAML file. Raises UserError, in one line with the file at fault, if a file cannot be
    read or the files make no task.
    """
    if not path:
        raise Unavailable(
            "own: no file is named; describe your task in one (`transferbench describe own`), then "
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
    return documents_problem(sources, targets, spec.options, name=task)


@dataclass(frozen=True)
class Spec:
    """Content of the YAML file. Clustering tasks are targets without a source."""

    sources: list[Path]
    targets: list[Path]
    columns: Columns
    options: Params


def _keys(
    *,
    family: Literal["transfer", "clustering"] = "transfer",
    source: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    tasks: tuple[str, ...] = (),
    text: str = "text",
    label: str = "label",
) -> None:
    """Declare the keys of the YAML file, except options."""


def load(path: Path) -> Spec:
    """Read the YAML file. Raises UserError with file and line for a mistake in it."""
    content, places = strict_yaml.load(path)
    if not isinstance(content, dict):
        raise places.error((), "expected family, source, targets, …; see `describe own`.")
    options = content.pop("options", None) or {}
    values = _values(content, places)
    required = ["tasks"] if values["family"] == "clustering" else ["source", "targets"]
    for key in ("source", "targets", "tasks"):
        if bool(values[key]) != (key in required):
            verb = "needs" if key in required else "has no"
            raise places.error((key,), f"a task of {values['family']} {verb} {key}.")
    *sources, targets = (_files(values[key], key, path, places) for key in required)
    if not isinstance(options, dict):
        raise places.error(("options",), "expected NAME: VALUE for each option.")
    for name, value in options.items():
        with places.at("options", name):
            resolve(feature_function(targets[0]), {str(name): value}, "the documents")
    columns = Columns(values["text"], values["label"])
    return Spec([file for files in sources for file in files], targets, columns, options)


def _values(content: dict[Any, Any], places: LineMap) -> dict[str, Any]:
    """Return the value of every key, checked."""
    known = schema(_keys)
    for key, value in content.items():
        is_one = isinstance(value, str) and key in ("source", "targets", "tasks")
        content[key] = [value] if is_one else value
        with places.at(key):
            if key not in known:
                raise unknown("key", f"{key}", [*known, "options"])
            resolve(_keys, {key: content[key]}, "the task")
    return resolve(_keys, content, "the task")


def _files(names: Sequence[str], key: str, yaml: Path, places: LineMap) -> list[Path]:
    """Return the paths of the files, which must exist."""
    files = [yaml.parent / Path(name).expanduser() for name in names]
    for i, file in enumerate(files):
        # Path.is_file raises for very long names.
        if not os.path.isfile(file):  # noqa: PTH113
            raise places.error((key, i), f"no file {brief(str(file))}.")
    return files
