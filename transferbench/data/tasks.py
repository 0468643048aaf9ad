"""Tasks by name: built once from verified originals, checked against their facts, cached, loaded.

The name of a task may contain options of its builder: `gtl/comp-vs-rec:weighting=tf,min_df=10`. A
transfer task also has those of `problems.cut`, which take some of its documents, and every task has
`order`, another order of the documents of each domain. Where a builder has an option of the same
name, the builder's is meant. The path of a YAML file is the name of a task from the user's own
files.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from transferbench import datasets, parameters
from transferbench.data import fetch, problems
from transferbench.errors import UserError, unknown
from transferbench.files import open_regular, user_path, writing
from transferbench.fingerprint import fingerprint
from transferbench.npz import read_header, read_value, write_arrays
from transferbench.parameters import CountOrZero, Params
from transferbench.problem import Domain, Family, Problem, Truth
from transferbench.settings import Settings

#: Suffixes of a file that describes a task from the user's own files.
YAML_SUFFIXES = (".yaml", ".yml")
#: The option that every task has: a number above 0 permutes the documents of each domain.
ORDER = parameters.Parameter("order", CountOrZero, 0)
#: Options that every transfer task has.
CUT = parameters.schema(problems.cut)
FORMAT = 3  # of the files that `write` writes; a change makes every task build again


@dataclass(frozen=True)
class Task:
    """A task: a name and options. `str` is the text of which `parse` makes an equal task.

    base    : full name without options.
    changed : the options that differ from the defaults, sorted: of the builder and of
              `problems.cut`.
    order   : 0 for the documents in the order as built; else the seed that permutes them.
    """

    base: str
    changed: tuple[tuple[str, Any], ...] = ()
    order: int = 0

    @classmethod
    def parse(cls, text: str, /, **options: Any) -> "Task":
        """Return the task that a text names; `options` are added to those in the text.

        Raise UserError for an unknown task or option, or a value of the wrong type.
        """
        return _parse(text).with_options(options)

    def with_options(self, options: Mapping[str, Any]) -> "Task":
        """Return the task with further options. Raises as `parse` does."""
        for key, value in options.items():
            if isinstance(value, str) and re.search(r",\s*\w+\s*=", value):
                raise UserError(
                    f"{self.base}: {key} = {value!r} looks like several options; rename it."
                )
        if twice := sorted(dict(self.changed).keys() & options.keys()):
            raise UserError(f"{self}: {', '.join(twice)} given twice; remove one.")
        known = parameters.schema(datasets.tasks()[self.base].build)
        known = {**CUT, "order": ORDER, **known}
        changed, order = dict(self.changed), self.order
        for name, value in options.items():
            if name not in known:
                raise unknown(f"option of task {self.base}", name, known)
            place = f"task {self.base}: option {name}"
            changed[name] = parameters.convert(value, known[name].type, place)
            if changed[name] == known[name].default:
                del changed[name]
        if known["order"] is ORDER:
            order = changed.pop("order", order)
        return Task(self.base, tuple(sorted(changed.items())), order)

    @cached_property
    def options(self) -> Params:
        """All options of the builder."""
        schema = parameters.schema(datasets.tasks()[self.base].build)
        changed = dict(self.changed)
        return {name: changed.get(name, option.default) for name, option in schema.items()}

    @property
    def cut(self) -> Params:
        """The options of `problems.cut` that differ from the defaults."""
        return {name: value for name, value in self.changed if name not in self.options}

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
        """Return the path of the built task.

        Its name has a digest of the options, the builder's code, the originals and the user's own
        files.
        """
        module = datasets.tasks()[self.base]
        code = fingerprint(Path(str(module.__file__)))
        originals = [file.digest for file in needed(self).values()]
        files = [*originals, *_user_file_digests(self, settings)]
        inputs = [FORMAT, dict(self.options), code, *files]
        if self.cut:
            inputs += [dict(self.cut), fingerprint(Path(problems.__file__))]
        digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]
        return settings.data / "built" / f"{self.base}-{digest}.task"


@dataclass(frozen=True)
class Facts:
    """Facts about a built task.

    family    : transfer, clustering or multilabel.
    classes   : names of the classes.
    documents : documents by domain.
    per_class : documents of each class, by domain.
    features  : features of each view.
    nonzeros  : stored entries of all matrices.
    weight    : sum of all entries, to six digits.
    digest    : 16 hex digits of a SHA-256 over shapes, positions of nonzeros, labels and seen rows.
                It does not cover the values, which libraries may round differently.
    files     : names and digests of the user's own files that the task is built from; often none.
    """

    family: Family
    classes: tuple[str, ...]
    documents: dict[str, int]
    per_class: dict[str, list[int]]
    features: tuple[int, ...]
    nonzeros: int
    weight: float
    digest: str
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, problem: Problem, truth: Truth, files: Sequence[str] = ()) -> Self:
        """Compute the facts of a built task."""
        digest = hashlib.sha256()
        total, nonzeros = 0.0, 0
        for domain, Y, scored in zip(problem.domains, truth.Y, truth.scored, strict=True):
            for view in domain.views:
                X = sp.csr_array(view)
                digest.update(np.asarray(X.shape, np.int64).tobytes())
                for positions in (X.indptr, X.indices):
                    digest.update(positions.astype(np.int64).tobytes())
                total += float(X.data.sum(dtype=np.float64))
                nonzeros += X.nnz
            for labels in (np.asarray(Y, np.uint8), domain.seen, scored):
                digest.update(labels.tobytes())
        return cls(
            family=problem.family,
            classes=problem.classes,
            documents={domain.name: len(domain.seen) for domain in problem.domains},
            per_class={
                name: [int(count) for count in Y.sum(axis=0)]
                for name, Y in zip(truth.names, truth.Y, strict=True)
            },
            features=tuple(view.shape[1] for view in problem.domains[0].views),
            nonzeros=nonzeros,
            weight=float(f"{total:.6g}"),
            digest=digest.hexdigest()[:16],
            files=tuple(files),
        )

    @cached_property
    def key(self) -> str:
        """16 hex digits that change with any of the facts; see `Record.data`."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def check(self, task: str, expected: Mapping[str, Any]) -> None:
        """Raise ValueError naming the first expected fact that does not hold.

        Sequences may be lists or tuples; weights may differ by 1e-5 of their value.
        """
        facts = json.loads(json.dumps(asdict(self)))  # tuples as lists
        for name, value in expected.items():
            actual = facts[name]
            close = name == "weight" and np.isclose(actual, value, rtol=1e-5, atol=0)
            if actual != value and not close:
                raise ValueError(
                    f"{task} was not built as expected: {name} is {actual}, expected {value}"
                )

    def to_json(self) -> dict[str, Any]:
        """Return the facts as plain data, without family, and without files if there are none.

        Keys of run records are digests of this; any change of it makes finished runs run again.
        """
        return {
            name: value
            for name, value in asdict(self).items()
            if name != "family" and (name != "files" or value)
        }

    @classmethod
    def from_json(cls, family: Family, facts: Mapping[str, Any]) -> Self:
        """Return the facts from what `to_json` returned."""
        lists = ("classes", "features", "files")
        tuples = {name: tuple(facts[name]) for name in lists if name in facts}
        return cls(family, **{**facts, **tuples})


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


class Built(NamedTuple):
    """A built task: its file, and its facts."""

    path: Path
    facts: Facts


def load(task: Task, settings: Settings) -> tuple[Problem, Truth]:
    """Load the built task; fetch, build, check and cache it first if necessary.

    Raise Unavailable if originals cannot be obtained, ValueError if facts do not hold.
    """
    return read(ensure_built(task, settings).path, task.order)


def ensure_built(task: Task, settings: Settings) -> Built:
    """Fetch, build, check and cache a task unless the cache has it; a file there is verified.

    Raises as `load` does.
    """
    path = task.built_path(settings).absolute()
    with suppress(OSError, ValueError):
        return Built(path, read_facts(path))
    users = bool(_users_path(task, settings))
    try:
        problem, truth = (_cut if task.cut else _build)(task, settings)
    except UserError:
        raise
    except ValueError as error:
        if task.has_default_options and not users:
            raise
        remedy = "correct your files" if users and not task.cut else "try other options"
        raise UserError(f"{task.built}: {error}; {remedy}.") from error
    facts = Facts.of(problem, truth, _user_file_digests(task, settings))
    if task.has_default_options:
        facts.check(task.base, datasets.facts(task.base))
    with writing(path) as temporary:
        write(temporary, replace(problem, name=str(task.built)), truth, facts)
    return Built(path, facts)


def _build(task: Task, settings: Settings) -> tuple[Problem, Truth]:
    """Build a task that is not cut, from its originals."""
    originals = {name: fetch.get(file, settings) for name, file in needed(task).items()}
    users = _users_path(task, settings)
    options = dict(task.options, path=users) if users else task.options
    build: problems.Builder = datasets.tasks()[task.base].build
    return build(task.base, originals, **options)


def _cut(task: Task, settings: Settings) -> tuple[Problem, Truth]:
    """Cut the whole task: its counts, which are weighted anew, or else its weights.

    A builder with the option min_df weights by `text.weight`; of another the weights stay.
    """
    options = task.options
    plain = {"weighting": "tf", "unit_length": False} if "min_df" in options else {}
    plain = {name: value for name, value in plain.items() if name in options}
    problem, truth = load(Task(task.base).with_options({**options, **plain}), settings)
    weights: dict[str, Any] = {name: options[name] for name in plain}
    if plain:
        weights["min_df"] = options["min_df"]
    cut: problems.Builder = problems.cut
    return cut(problem, truth, **weights, **task.cut)


def needed(task: Task) -> dict[str, fetch.File]:
    """Return the originals that a task is built from, by name."""
    module = datasets.tasks()[task.base]
    names = module.needed(task.base) if hasattr(module, "needed") else module.FILES
    return {name: module.FILES[name] for name in names}


def documents(task: Task) -> dict[str, int]:
    """Return the documents by domain that FACTS state; empty if they state none, and if cut."""
    if task.cut:
        return {}
    return dict(datasets.facts(task.base).get("documents", {}))


def write(path: Path, problem: Problem, truth: Truth, facts: Facts | None = None) -> None:
    """Write a built task, see `artefacts`."""
    facts = facts or Facts.of(problem, truth)
    header = {"family": problem.family, "facts": facts.to_json()}
    write_arrays(path, header, (problem, truth))


def read(path: Path, order: int = 0) -> tuple[Problem, Truth]:
    """Read a built task, with its documents in an order; see `Task`.

    Raise ValueError for a damaged file, OSError for an unreadable one.
    """
    problem, truth = read_value(path, {cls.__name__: cls for cls in (Domain, Problem, Truth)})
    return permuted(problem, truth, order) if order else (problem, truth)


def permuted(problem: Problem, truth: Truth, seed: int) -> tuple[Problem, Truth]:
    """Return the task with the documents of each domain in a random order."""
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(domain.seen)) for domain in problem.domains]
    domains = [
        replace(domain, views=tuple(X[p] for X in domain.views), Y=domain.Y[p], seen=domain.seen[p])
        for domain, p in zip(problem.domains, orders, strict=True)
    ]
    Y, scored = (
        tuple(rows[p] for rows, p in zip(each, orders, strict=True))
        for each in (truth.Y, truth.scored)
    )
    return replace(problem, domains=tuple(domains)), replace(truth, Y=Y, scored=scored)


def read_facts(path: Path) -> Facts:
    """Read the facts of a built task without its matrices. Raises as `read` does."""
    header = read_header(path)
    return Facts.from_json(header["family"], header["facts"])


def _users_path(task: Task, settings: Settings) -> str:
    """Return the file or folder of the user that a task is built from; "" if there is none.

    The default is own/<dataset> of the data folder, if it exists: the task then has the same name
    on every machine.
    """
    path = str(task.options.get("path", ""))
    folder = settings.data / "own" / task.base.partition("/")[0]
    return str(folder) if not path and "path" in task.options and folder.is_dir() else path


def _user_file_digests(task: Task, settings: Settings) -> list[str]:
    """Return names and digests of the user's own files that a task is built from."""
    path = _users_path(task, settings)
    if not path:
        return []
    start = user_path(path)
    folder = start if start.is_dir() else start.parent
    lines = []
    for file in datasets.tasks()[task.base].user_files(start):
        try:
            with open_regular(file) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"{file}: cannot be read ({error.strerror}); correct that.") from error
        lines.append(f"{Path(os.path.relpath(file, folder)).as_posix()} {digest}")
    return lines
