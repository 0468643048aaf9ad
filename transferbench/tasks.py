"""Tasks by name: built once from verified originals, checked against their facts, cached, loaded.

The name of a task may contain options of its builder: `gtl/comp-vs-rec:weighting=tf,min_df=10`. A
transfer task also has the options of `subsample`, and every task has `order`, which
permutes the documents of each domain. An option of the builder hides one of the same name. The path
of a YAML file is the name of a task from the user's files.
"""

import hashlib
import inspect
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from transferbench import datasets, parameters
from transferbench.data import fetch
from transferbench.data.built import BuiltTask as BuiltTask
from transferbench.data.built import read as read
from transferbench.data.built import read_facts as read_facts
from transferbench.data.built import write as write
from transferbench.data.facts import Facts, key_of_files
from transferbench.data.fetch import Absent as Absent
from transferbench.data.problems import Builder
from transferbench.data.subsample import subsample
from transferbench.errors import Unavailable, UserError, unknown
from transferbench.files import user_path, writing
from transferbench.fingerprint import fingerprint, untraced
from transferbench.messages import reason
from transferbench.parameters import CountOrZero, Params
from transferbench.problem import Problem, Truth
from transferbench.settings import Settings
from transferbench.user_files import file_digests

#: Suffixes of a file that describes a task from the user's files.
YAML_SUFFIXES = (".yaml", ".yml")
#: The option that every task has: a number above 0 permutes the documents of each domain.
ORDER = parameters.Parameter("order", CountOrZero, 0)
#: Options that every transfer task has.
SUBSAMPLE = parameters.schema(subsample)
#: Options of builders that change the number of documents.
CHANGE_DOCUMENTS = {"documents", "drop_unlabelled"}
FORMAT = 4  # of the files of built tasks; a change makes every task build again


@dataclass(frozen=True)
class Task:
    """A task: a name and options."""

    # `Task.parse(str(task))` equals the task.

    base: str
    #: Options of the builder and of `subsample` that differ from the defaults, sorted.
    changed: tuple[tuple[str, Any], ...] = ()
    #: Seed that permutes the documents of each domain; 0 for the order as built.
    order: int = 0

    @classmethod
    def parse(cls, text: str, /, **options: Any) -> "Task":
        """Return the task that a text names."""
        # `text`: Name of a task, with or without options, or path of a YAML file.
        return _parse(text).with_options(options)

    def with_options(self, options: Mapping[str, Any]) -> "Task":
        """Return the task with further options."""
        for key, value in options.items():
            if isinstance(value, str) and re.search(r",\s*\w+\s*=", value):
                raise UserError(
                    f"{self.base}: {key} = {value!r} looks like several options; rename it."
                )
        if twice := sorted(dict(self.changed).keys() & options.keys()):
            raise UserError(f"{self}: {', '.join(twice)} given twice; remove one.")
        known = parameters.schema(datasets.module(self.base).build)
        known = {**SUBSAMPLE, "order": ORDER, **known}
        changed, order = dict(self.changed), self.order
        for name, value in options.items():
            if name not in known:
                raise unknown(f"option of task {self.base}", name, known)
            what = f"task {self.base}: option {name}"
            changed[name] = parameters.convert(value, known[name].type, what)
            if changed[name] == known[name].default:
                del changed[name]
        if known["order"] is ORDER:
            order = changed.pop("order", order)
        return Task(self.base, tuple(sorted(changed.items())), order)

    @cached_property
    def options(self) -> Params:
        """All options of the builder."""
        schema = parameters.schema(datasets.module(self.base).build)
        changed = dict(self.changed)
        return {name: changed.get(name, option.default) for name, option in schema.items()}

    @property
    def subsample_options(self) -> Params:
        """The options of `subsample` that differ from the defaults."""
        return {name: value for name, value in self.changed if name not in self.options}

    @property
    def has_all_documents(self) -> bool:
        """True if no option changes the number of documents."""
        return not self.subsample_options and not CHANGE_DOCUMENTS & dict(self.changed).keys()

    @property
    def labelled(self) -> int:
        """The number of documents of each target whose labels are seen; they are not scored."""
        labelled = self.subsample_options.get("labelled", 0)
        assert isinstance(labelled, int)
        return labelled

    @property
    def built(self) -> "Task":
        """The task with its documents in the order as built."""
        return replace(self, order=0)

    def __str__(self) -> str:
        """Return base and options, `order` last."""
        order = (("order", self.order),) if self.order else ()
        texts = [
            f"{name}={json.dumps(value) if isinstance(value, bool) else value}"
            for name, value in self.changed + order
        ]
        return ":".join([self.base, *([",".join(texts)] if texts else [])])

    @property
    def has_default_options(self) -> bool:
        """True if every option but `order` has its default, so that the FACTS apply."""
        return not self.changed

    def built_path(self, settings: Settings) -> Path:
        """Return the path of the built task."""
        return settings.data / "built" / self.built_name(settings)

    def built_name(self, settings: Settings) -> str:
        """Return the name of the built task, see `BuiltTask`."""
        # It has a digest of the options, the builder's code, the originals and the user's files.
        module = datasets.module(self.base)
        code = fingerprint(Path(str(module.__file__)))
        originals = [file.digest for file in original_files(self).values()]
        files = [*originals, *user_file_digests(self, settings)]
        inputs = [FORMAT, dict(self.options), code, *files]
        if self.subsample_options:
            inputs += [dict(self.subsample_options), fingerprint(Path(inspect.getfile(subsample)))]
        digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]
        return f"{self.base}-{digest}.task"


@cache
def _parse(text: str) -> Task:
    name, _, assignments = text.partition(":")
    if Path(text).suffix in YAML_SUFFIXES and "path=" not in text:
        name, assignments = "own", f"path={Path(text).as_posix()}"
    if Path(name).suffix in YAML_SUFFIXES:
        raise UserError(f"{text}: write the options into {name}, below the key options.")
    # A value may contain commas: only a comma before "name=" separates options.
    options = parameters.parse(filter(None, re.split(r",(?=\s*\w+\s*=)", assignments)))
    return Task(datasets.full_name(name)).with_options(options)


def load(task: Task, settings: Settings) -> tuple[Problem, Truth]:
    """Load a task; fetch, build, check and cache it first if necessary."""
    path, _, name = ensure_built(task, settings)
    return read(path, task.order, name)


def ensure_built(task: Task, settings: Settings) -> BuiltTask:
    """Fetch, build, check and cache a task, unless the cache has a valid file of it."""
    # `task`: The task; its order does not matter.
    if why := left_out(task, settings):
        raise Unavailable(why, "see `transferbench list datasets`")
    name = task.built_name(settings)
    path = settings.data.absolute() / "built" / name
    # The name shows no change of code that the fingerprint of the builder does not cover.
    if path in _built_here or not untraced(Path(str(datasets.module(task.base).__file__))):
        with suppress(OSError, ValueError):
            return BuiltTask(path, read_facts(path, name), name)
    users = bool(users_path(task, settings))
    try:
        problem, truth = (_subsample if task.subsample_options else _build)(task, settings)
        facts = Facts.from_problem(problem, truth, user_file_digests(task, settings))
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and (users or not task.has_default_options):
            from_files = users and not task.subsample_options
            remedy = "correct your files" if from_files else "try other options"
            raise UserError(f"{task.built}: {error}; {remedy}.") from error
        dataset = datasets.of_task(task.base)
        if not dataset.is_plugin:
            raise
        what = f"dataset {dataset.name} cannot build {task.built}: {reason(error)}"
        raise UserError(f"{what}; correct its module or its files.") from error
    if task.has_default_options:
        _check_facts(task, facts)
    with writing(path, follow=False) as temporary:
        write(temporary, replace(problem, name=str(task.built)), truth, facts, name)
    _built_here.add(path)
    return BuiltTask(path, facts, name)


def _check_facts(task: Task, facts: Facts) -> None:
    """Check the facts that a dataset states; those of a plug-in are its author's to correct."""
    dataset, expected = datasets.of_task(task.base), datasets.facts(task.base)
    mistakes: list[str] = []
    for name, value in expected.items():
        if name not in Facts.__dataclass_fields__:
            raise unknown(f"fact of {task.base}:", name, Facts.__dataclass_fields__)
        try:
            facts.check(task.base, {name: value})
        except ValueError as error:
            if not dataset.is_plugin:
                raise
            mistakes.append(str(error).removeprefix(f"{task.base} was not built as expected: "))
    if mistakes:
        line = json.dumps({task.base: facts.to_json()}, ensure_ascii=False)[1:-1]
        raise UserError(
            f"{task.base} was not built as expected: {'; '.join(mistakes)}; correct "
            f"{dataset.path}, or its facts. This build has {line}"
        )


#: Files of tasks that this process built.
_built_here: set[Path] = set()


def _build(task: Task, settings: Settings) -> tuple[Problem, Truth]:
    """Build a task from its originals, without the options of `subsample`."""
    originals = {name: fetch.get(file, settings) for name, file in original_files(task).items()}
    users = users_path(task, settings)
    options = dict(task.options, path=users) if users else task.options
    build = datasets.module(task.base).build
    # Only the builder of the user's files needs more than its originals: the model of embeddings.
    wanted = inspect.signature(build).parameters.get("settings")
    more = [settings] if wanted and wanted.kind is wanted.POSITIONAL_OR_KEYWORD else []
    built: tuple[Problem, Truth] = build(task.base, originals, *more, **options)
    return built


def _subsample(task: Task, settings: Settings) -> tuple[Problem, Truth]:
    """Subsample a task."""
    # If its builder has the option min_df, counts are subsampled and then weighted by
    # `text.weight`; otherwise the built weights are.
    options = task.options
    plain = {"weighting": "tf", "unit_length": False} if "min_df" in options else {}
    plain = {name: value for name, value in plain.items() if name in options}
    problem, truth = load(Task(task.base).with_options({**options, **plain}), settings)
    weights: dict[str, Any] = {name: options[name] for name in plain}
    if plain:
        weights["min_df"] = options["min_df"]
    some: Builder = subsample  # its options are checked
    return some(problem, truth, **weights, **task.subsample_options)


def original_files(task: Task) -> dict[str, fetch.File]:
    """Return the originals that a task is built from, by name."""
    module = datasets.module(task.base)
    names = module.needed(task.base) if hasattr(module, "needed") else module.FILES
    return {name: module.FILES[name] for name in names}


def documents(task: Task) -> dict[str, int]:
    """Return the number of documents of each domain that FACTS state; empty if unknown."""
    # They are unknown if options change them.
    if not task.has_all_documents:
        return {}
    return dict(datasets.facts(task.base).get("documents", {}))


def users_path(task: Task, settings: Settings | None = None) -> str:
    """Return the user's file or folder that a task is built from; "" if there is none."""
    # The default is own/<dataset> of the data folder, if it exists. A task from there has the same
    # name on every machine. Without settings there is no default.
    path = str(task.options.get("path", ""))
    if path or settings is None or "path" not in task.options:
        return path
    folder = settings.data / "own" / task.base.partition("/")[0]
    return str(folder) if folder.is_dir() else ""


def lacks_files(task: Task, settings: Settings) -> bool:
    """Return True if a task needs files that only the user has, and they are not here."""
    if "path" in task.options:
        return not users_path(task, settings)
    files = [file for file in original_files(task).values() if not file.origins]
    return any(fetch.source(file, settings) is None for file in files)


def absent(needed: Iterable[Task], settings: Settings) -> list[Absent]:
    """Return the originals of tasks that are to be downloaded, see `fetch.absent`."""
    # Files that only the user has are those of `lacks_files`.
    files = [file for task in needed for file in original_files(task).values()]
    return [one for one in fetch.absent(files, settings) if one.hosts or one.file.origins]


def left_out(task: Task, settings: Settings) -> str:
    """Return why the settings leave out the data of a task, "" if they do not."""
    terms = settings.without_terms and sorted({*settings.without_terms} & {*terms_of(task)})
    return f"data under {' and '.join(map(repr, terms))} are left out" if terms else ""


def terms_of(task: Task) -> tuple[str, ...]:
    """Return the terms of a task's dataset, and of each that declares an original of the task."""
    owners = datasets.of_task(task.base), *map(datasets.owner, original_files(task))
    return tuple(dict.fromkeys(term for owner in owners if owner for term in owner.terms))


def users_files_key(task: Task, settings: Settings | None = None) -> str:
    """Return the digest of the user's files of a task, see `Facts.files_key`."""
    # It is "" if there are none, or if one cannot be read. See `users_path` for the settings.
    with suppress(OSError, ValueError):
        return key_of_files(user_file_digests(task, settings))
    return ""


def user_file_digests(task: Task, settings: Settings | None) -> list[str]:
    """Return names and digests of the user's files that a task is built from."""
    path = users_path(task, settings)
    if not path:
        return []
    start = user_path(path)
    return file_digests(datasets.module(task.base).user_files(start), start)
