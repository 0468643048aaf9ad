"""Your own files as a task, described by a YAML file: `transferbench run ./my.yaml --model gcmf`.

    family: transfer               # or multilabel; or clustering, with `tasks` instead of `source`
                                   # and `targets`
    source: labelled.csv           # one domain or several: [one.csv, two.csv]
    targets: [mail.csv, web.csv]   # labels are used only for scoring; blank ones are not scored
    text: body                     # columns, if they are not called text and label
    label: topic
    options: {min_df: 3, weighting: tf-idf}

Labels are texts, compared character for character. A target that has the documents of a source is
refused. Labels such as `a, b` and `a` look like several of a document: name `separator`, "" if each
is one label.

Paths are relative to the folder of the YAML file. Each name is a domain (task): a file, or several
files, given as a list within the list ([[a.csv, b.csv], web.csv]), as "a.csv,b.csv", as a folder or
as a pattern ("mails/*.csv"). Their documents are in alphabetical order of the files' paths. A
domain is named after its file or folder, else after its first file, without suffix.

In a task of the family multilabel the label column holds several labels, `a|b`, or `|` for none;
`separator: ","` names another text between them. Each source is a task (of multi-task learning),
with its name. The documents of a target belong to the task of the source with the most similar mean
(with one source, to that one), and are scored there.

Files are tables with a text and a label for each document, in UTF-8 (.csv with commas or
semicolons, .tsv, .jsonl, .parquet), or matrices: lines "<label> <feature>:<number> …" (.svm,
.svmlight, .libsvm), or written by `scipy.sparse.save_npz` (.npz), with labels in NAME.labels.txt,
one a line. If a file changes, the task is built again. A file of more than 1 GiB is refused, unless
the setting max_size (GiB), or TRANSFERBENCH_MAX_SIZE, is larger.

Texts have the options tokens (words; characters: pairs of neighbouring ones; auto: characters if
most are of a script without spaces between words), stop_words (none, english), token_pattern (two
or more letters or digits of any script), min_df (2), max_features (0: all), weighting (tf-idf),
unit_length (true). Matrices have min_df (1), weighting and unit_length. The defaults are those of
texts if all numbers of the files are whole, as counts are; else tf and false, which leave the
matrix as it is. All are computed over the documents of all files together.

Several views of the same documents are a folder, `own:path=FOLDER` or `multilabel/own:path=FOLDER`;
without a path, `multilabel/own` is the folder `own/multilabel` of the data folder. It has

    views/        one file for each view, documents × features, in alphabetical order: matrices as
                  above, without labels (a line of SVMlight needs a first word, which is not used),
                  or NAME.csv, a line of feature names, then a line of numbers for each document
    labels.csv    a line of label names, then a line of 0 and 1 for each document
    tasks.csv     optional: the word "task", then the name of the task (domain) of each document
    train.csv     optional: the word "train", then 1 if a method may see the labels, else 0

Documents are in the same order in all files; entries of views are 0 or more. Without tasks.csv
there is one task. Without train.csv a fraction `train` of the documents is drawn at random,
differently for each `split`; no other task uses these two options.

The proprietary AL-SMELT data of the multi-label paper (174 process variables in 4 views, smelters
in 5 groups, 2 labels) fit this layout: four files in views/, two columns in labels.csv, the group
of the smelter in tasks.csv.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from transferbench import strict_yaml
from transferbench.core.scale import safe_scale
from transferbench.data.fetch import File
from transferbench.data.problems import TrainFraction, problem_from_views, train_mask
from transferbench.errors import Unavailable, UserError, brief, unknown
from transferbench.files import user_path
from transferbench.parameters import CountOrZero, Params, convert, resolve, schema
from transferbench.problem import Family, Matrix, Problem, Truth
from transferbench.strict_yaml import LineMap
from transferbench.userdata.documents import (
    MATRICES,
    DomainFiles,
    Reading,
    check_unique,
    file_kind,
    find_files,
    labels_file,
)
from transferbench.userdata.load import feature_function, load, warn_of_alike
from transferbench.userdata.multilabel import pool
from transferbench.userdata.readers import check_size, numbers, read, rows

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {
    "own": "A task of your own, described by a YAML file: FILE.yaml or own:path=FILE.yaml",
    "multilabel/own": "Your own multi-label data: multilabel/own:path=FOLDER",
}
FACTS: dict[str, dict[str, Any]] = {"own": {}, "multilabel/own": {}}
LAYOUT = "use the layout that `transferbench describe multilabel/own` shows"


def user_files(path: Path) -> list[Path]:
    """Return the files that the task is built from, the YAML file first."""
    if path.is_dir():
        parts = [path / f"{name}.csv" for name in ("labels", "tasks", "train")]
        return [*_views(path), *(part for part in parts if part.is_file())]
    if not path.is_file():
        return []
    task = read_yaml(path)
    files = [file for domain in task.sources + task.targets for file in domain.files]
    return [path, *(f for file in files for f in (file, labels_file(file)) if f)]


def build(
    task: str,
    files: dict[str, Path],
    *,
    path: str = "",
    train: TrainFraction = 0.5,
    split: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Build the task.

    path: the YAML file or the folder. train, split: for a folder without train.csv. Raises
    Unavailable without a path, UserError, in one line with the file at fault, if a file cannot be
    read or the files make no task.
    """
    if task == "own" and not path:
        raise Unavailable(
            "own: no file is named",
            "describe your task in one (`transferbench describe own`), then name it: "
            "own:path=FILE.yaml.",
        )
    if task == "own" and not user_path(path).is_dir():
        described = vars(read_yaml(user_path(path)))
        loaded = load(**described, labels="some", name=task)
        return pool(loaded.problem, loaded.truth)
    folder = user_folder(path, task, f"{task}: there is no folder", LAYOUT)
    return _from_folder(task, folder, train, split)


@dataclass(frozen=True)
class TaskFile:
    """Content of the YAML file: arguments of `load`. For clustering there is no source."""

    family: Family
    sources: list[DomainFiles]
    targets: list[DomainFiles]
    reading: Reading
    options: Params


#: Names of files; a list in the list is one domain.
Names = tuple[str | tuple[str, ...], ...]


def _keys(
    *,
    family: Literal["transfer", "clustering", "multilabel"] = "transfer",
    source: Names = (),
    targets: Names = (),
    tasks: Names = (),
) -> None:
    """Declare the keys of the YAML file, except options and those of `Reading`."""


def read_yaml(path: Path) -> TaskFile:
    """Read the YAML file. Raise UserError with file and line for a mistake in it."""
    content, places = strict_yaml.load(path)
    if not isinstance(content, dict):
        raise places.error((), "expected family, source, targets, …; see `describe own`.")
    options = content.pop("options", None) or {}
    if not isinstance(options, dict):
        raise places.error(("options",), "expected NAME: VALUE for each option.")
    known = {**schema(_keys), **schema(Reading.__init__)}
    values: dict[str, Any] = {key: parameter.default for key, parameter in known.items()}
    for key, value in content.items():
        with places.at(key):
            if key not in known:
                raise unknown("key", f"{key}", [*known, "options"])
            # A text is one name: commas in it are not between domains.
            names = [value] if known[key].type == Names and isinstance(value, str) else value
            values[key] = convert(names, known[key].type, f"the task: {key}")
    reading = Reading(**{key: values[key] for key in schema(Reading.__init__)})
    required = ["tasks"] if values["family"] == "clustering" else ["source", "targets"]
    domains: dict[str, list[DomainFiles]] = {}
    for key in ("source", "targets", "tasks"):
        if bool(values[key]) != (key in required):
            verb = "needs" if key in required else "has no"
            raise places.error((key,), f"a task of {values['family']} {verb} {key}.")
        domains[key] = _domains(values[key], key, path, places)
    targets = domains["targets"] or domains["tasks"]
    function = feature_function(file_kind(targets[0].files[0]))
    for name, value in options.items():
        with places.at("options", name):
            resolve(function, {str(name): value}, "the documents")
    return TaskFile(values["family"], domains["source"], targets, reading, options)


def _domains(names: Names, key: str, yaml: Path, places: LineMap) -> list[DomainFiles]:
    """Return the domains that the names stand for; their files must exist."""
    domains = []
    for i, name in enumerate(names):
        with places.at(key, i):
            domain = find_files(name if isinstance(name, str) else ",".join(name), yaml.parent)
            for file in domain.files:
                # Path.is_file raises for very long names.
                if not os.path.isfile(file):  # noqa: PTH113
                    raise UserError(f"no file {brief(str(file))}.")
        domains.append(domain)
    with places.at(key):
        check_unique(domains)
    return domains


def _from_folder(task: str, folder: Path, train: float, split: int) -> tuple[Problem, Truth]:
    """Build the task of a folder with several views."""
    for file in (folder / "labels.csv", *user_files(folder)):
        check_size(file)
    classes, Y = numbers(folder / "labels.csv", binary=True)
    warn_of_alike(classes, folder / "labels.csv")
    views = {f"views/{file.name}": _view(file) for file in _views(folder)}
    tasks, seen = ["all"] * len(Y), train_mask(len(Y), train, split)
    if (folder / "tasks.csv").is_file():
        tasks = [(row.get("task") or "").strip() for _, row in rows(folder / "tasks.csv")]
    if (folder / "train.csv").is_file():
        columns, flags = numbers(folder / "train.csv", binary=True)
        if columns != ["train"]:
            raise UserError(f"{folder / 'train.csv'}:1: expected the one column train; {LAYOUT}.")
        seen = flags[:, 0] > 0
    sizes = {"tasks.csv": len(tasks), "train.csv": len(seen)}
    for name, size in (sizes | {name: X.shape[0] for name, X in views.items()}).items():
        if size != len(Y):
            raise UserError(f"{folder}: {name} has {size} documents, labels.csv has {len(Y)}.")
    if not views or not all([*tasks, *classes]) or seen.all() or not seen.any():
        raise UserError(
            f"{folder}: expected files in views/, a name for each label, and for each document in "
            f"the column task, and some documents for training and some not; {LAYOUT}."
        )
    names = list(dict.fromkeys(tasks))
    assigned = np.array([names.index(name) for name in tasks], np.intp)
    return problem_from_views(task, classes, list(views.values()), Y, assigned, seen, names)


def _views(folder: Path) -> list[Path]:
    return sorted(folder.glob("views/[!.]*"))


def _view(file: Path) -> Matrix:
    if file.suffix != ".csv" and file_kind(file) == "texts":
        raise UserError(f"{file}: expected the ending .csv, {', '.join(MATRICES)}.")
    X = numbers(file)[1] if file.suffix == ".csv" else sp.csr_array(read(file).content)
    return safe_scale([X], f"{file}")[0].astype(np.float32)


def user_folder(path: str, task: str, problem: str, remedy: str) -> Path:
    """Return the user's folder.

    Raise Unavailable, with `problem` and `remedy`, if none is given; UserError if it does not
    exist.
    """
    place = f"own/{task.partition('/')[0]} of the data folder"
    if not path:
        raise Unavailable(problem, f"{remedy}, in {place} or one you name: {task}:path=FOLDER.")
    folder = user_path(path)
    if not folder.is_dir():
        raise UserError(f"{task}: {folder} is no folder; {remedy}, in {place} or one you name.")
    return folder
