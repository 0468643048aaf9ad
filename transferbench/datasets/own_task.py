"""Your own task, described by a YAML file: `transferbench run ./my.yaml --model gcmf`.

    family: transfer               # or multilabel; or clustering, with `tasks` instead of `source`
                                   # and `targets`
    source: labelled.csv           # one domain or several: [one.csv, two.csv]
    targets: [mail.csv, web.csv]   # labels are used only for scoring; blank ones are not scored
    text: body                     # columns, if they are not called text and label
    label: topic
    options: {min_df: 3, weighting: tf-idf}

Paths are relative to the folder of the YAML file. Each name is a domain (task): a file, or several
files, given as a list within the list ([[a.csv, b.csv], web.csv]), as "a.csv,b.csv", as a folder or
as a pattern ("mails/*.csv"). Their documents are in alphabetical order of the files' paths. With
`each_file: true` each file is a domain of its own. A domain is named after its file or folder, else
after its first file, without suffix.

In a task of the family multilabel the label column holds several labels, `a|b`, or `|` for none;
`separator: ","` names another text between them. Each source is a task (of multi-task learning),
with its name. The documents of a target belong to the task of the source with the most similar mean
(with one source, to that one), and are scored there. `multilabel/own` has several views.

Files are tables with a text and a label for each document, in UTF-8 (.csv, .tsv, .jsonl, .parquet),
or matrices: lines "<label> <feature>:<number> …" (.svm, .svmlight, .libsvm), or written by
`scipy.sparse.save_npz` (.npz), with labels in NAME.labels.txt, one a line. If a file changes, the
task is built again. A file of more than 1 GiB is refused, unless the setting max_size (GiB), or
TRANSFERBENCH_MAX_SIZE, is larger.

Texts have the options tokens (words; characters: pairs of neighbouring ones; auto: characters if
most are of a script without spaces between words), stop_words (none, english), token_pattern (two
or more letters or digits of any script), min_df (2), max_features (0: all), weighting (tf-idf),
unit_length (true). Matrices are used as they are, with the options min_df (1), weighting (tf: as it
is) and unit_length (false). All are computed over the documents of all files together.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from transferbench import strict_yaml
from transferbench.data.fetch import File
from transferbench.errors import Unavailable, UserError, brief, unknown
from transferbench.files import user_path
from transferbench.parameters import Params, resolve, schema
from transferbench.problem import Problem, Truth
from transferbench.strict_yaml import LineMap
from transferbench.userdata import multilabel
from transferbench.userdata.documents import Columns, DomainFiles
from transferbench.userdata.multilabel import SEPARATOR
from transferbench.userdata.paths import check_twice, find_files
from transferbench.userdata.problem import documents_problem, feature_function
from transferbench.userdata.read import companion_files, read_domain

FILES: dict[str, File] = {}  # nothing to fetch
TASKS = {"own": "A task of your own, described by a YAML file: FILE.yaml or own:path=FILE.yaml"}
FACTS: dict[str, dict[str, Any]] = {"own": {}}


def own_files(path: Path) -> list[Path]:
    """Return the files that the task is built from, the YAML file first."""
    if not path.is_file():
        return []
    spec = load(path)
    files = [file for domain in spec.sources + spec.targets for file in domain.files]
    data = [f for file in files for f in (file, *companion_files(file))]
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
    spec = load(user_path(path))
    sources = [read_domain(domain, spec.columns, "all") for domain in spec.sources]
    targets = [read_domain(domain, spec.columns, "some") for domain in spec.targets]
    for documents in targets:
        if not any(documents.labels):
            raise UserError(
                f"{documents.path}: no document has a label, so that nothing can be scored; "
                "`transferbench predict` needs none."
            )
    problem, truth = documents_problem(
        sources, targets, spec.options, name=task, separator=spec.separator
    )
    return multilabel.pool(problem), multilabel.pool_truth(problem, truth)


@dataclass(frozen=True)
class Spec:
    """Content of the YAML file. Clustering tasks are targets without a source.

    separator: between the labels of a document; None if each has one.
    """

    sources: list[DomainFiles]
    targets: list[DomainFiles]
    columns: Columns
    options: Params
    separator: str | None


def _keys(
    *,
    family: Literal["transfer", "clustering", "multilabel"] = "transfer",
    source: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    tasks: tuple[str, ...] = (),
    text: str = "text",
    label: str = "label",
    separator: str = SEPARATOR,
    each_file: bool = False,
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
    *sources, targets = (
        _domains(values[key], key, path, places, values["each_file"]) for key in required
    )
    if not isinstance(options, dict):
        raise places.error(("options",), "expected NAME: VALUE for each option.")
    for name, value in options.items():
        with places.at("options", name):
            resolve(feature_function(targets[0].files[0]), {str(name): value}, "the documents")
    columns = Columns(values["text"], values["label"])
    separator = values["separator"] if values["family"] == "multilabel" else None
    return Spec(sources[0] if sources else [], targets, columns, options, separator)


def _values(content: dict[Any, Any], places: LineMap) -> dict[str, Any]:
    """Return the value of every key, checked."""
    known = schema(_keys)
    for key, value in content.items():
        if key in ("source", "targets", "tasks"):
            names = [value] if isinstance(value, str) else value
            content[key] = [*map(_name, names)] if isinstance(names, list) else names
        with places.at(key):
            if key not in known:
                raise unknown("key", f"{key}", [*known, "options"])
            resolve(_keys, {key: content[key]}, "the task")
    return resolve(_keys, content, "the task")


def _name(item: object) -> object:
    """Return a list of names as one name, with commas; anything else unchanged."""
    is_list = isinstance(item, list) and item and all(isinstance(name, str) for name in item)
    return ",".join(item) if is_list else item  # type: ignore[arg-type]


def _domains(
    names: Sequence[str], key: str, yaml: Path, places: LineMap, each_file: bool
) -> list[DomainFiles]:
    """Return the domains that the names stand for; their files must exist."""
    domains = []
    for i, name in enumerate(names):
        with places.at(key, i):
            found = find_files(name, yaml.parent, each_file)
        for file in (file for domain in found for file in domain.files):
            # Path.is_file raises for very long names.
            if not os.path.isfile(file):  # noqa: PTH113
                raise places.error((key, i), f"no file {brief(str(file))}.")
        domains += found
    with places.at(key):
        check_twice(domains)
    return domains
