"""A task by name: built once from verified originals, checked against its facts, cached, loaded.

A task's name may carry options of its builder: `gtl/comp-vs-rec:weighting=tf,min_df=10`. The path
of a YAML file is the name of a task of one's own.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench import parameters
from transferbench.data import datasets, fetch
from transferbench.data.facts import Facts
from transferbench.errors import UserError
from transferbench.files import writing
from transferbench.fingerprint import fingerprint
from transferbench.problem import Domain, Matrix, Problem, Truth
from transferbench.settings import Settings

#: Suffixes of a file that tells of a task of one's own.
YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class Task:
    """A task's full name (with the options that were given) and all its builder's options."""

    name: str
    base: str
    options: dict[str, Any]

    @classmethod
    def named(cls, text: str, **options: Any) -> Task:
        """The task a text names, with more options if they are given.

        Raises UserError for an unknown task or option, or a value of the wrong type.
        """
        if Path(text).suffix in YAML and "path=" not in text:
            text = f"own:path={Path(text).as_posix()}"
        name, _, given = text.partition(":")
        if Path(name).suffix in YAML:
            raise UserError(f"{text}: write the options into {name}, below the key options.")
        base = datasets.full_name(name)
        build = datasets.tasks()[base].build
        # A comma may stand in a value, too: it parts options where a name follows.
        assigned = parameters.parse(filter(None, re.split(r",(?=\s*\w+\s*=)", given)))
        resolved = parameters.resolve(build, assigned | options, f"task {base}")
        changed = ",".join(
            f"{key}={_plain(resolved[key])}"
            for key, known in sorted(parameters.schema(build).items())
            if resolved[key] != known.default
        )
        return cls(f"{base}:{changed}" if changed else base, base, resolved)

    @property
    def standard(self) -> bool:
        """Whether every option is the default, so that the dataset's facts apply."""
        return self.name == self.base

    def cache(self, settings: Settings) -> Path:
        """Where the built task lies; the name changes with all that it is built from.

        These are the options, the builder's code and the content of the user's own files.
        """
        module = datasets.tasks()[self.base]
        code = fingerprint(Path(str(module.__file__)))
        state = json.dumps([self.options, code, *contents(self, settings)], sort_keys=True)
        digest = hashlib.sha256(state.encode()).hexdigest()[:12]
        return settings.data / "built" / f"{self.base}-{digest}.task"


def load(task: Task, settings: Settings) -> tuple[Problem, Truth]:
    """The task from the cache, or fetched, built, checked and cached.

    Raises Unavailable where originals cannot be had, ValueError where facts do not hold.
    """
    path = task.cache(settings)
    if path.is_file():
        try:
            return read(path)
        except (OSError, ValueError):
            path.unlink(missing_ok=True)  # a damaged cache is rebuilt
    module = datasets.tasks()[task.base]
    files = {name: fetch.get(file, settings) for name, file in needed(task).items()}
    own = _path(task, settings)
    try:
        problem, truth = module.build(
            task.base, files, **task.options | ({"path": own} if own else {})
        )
    except ValueError as error:
        if task.standard and not own:
            raise
        remedy = "mend your files" if own else "try other options"
        raise UserError(f"{task.name}: {error}; {remedy}.") from error
    if task.standard:
        Facts.of(problem, truth).check(task.base, module.FACTS.get(task.base, {}))
    problem = Problem(task.name, problem.family, problem.classes, problem.domains)
    with writing(path) as temporary:
        write(temporary, problem, truth)
    return read(path)  # the same to the last bit as when it comes from the cache


def needed(task: Task) -> dict[str, fetch.File]:
    """The originals a task is built from; a dataset may say that a task takes only some."""
    module = datasets.tasks()[task.base]
    names = module.needed(task.base) if hasattr(module, "needed") else module.FILES
    return {name: module.FILES[name] for name in names}


def contents(task: Task, settings: Settings) -> list[str]:
    """Names and digests of the user's own files that a task is built from; mostly none.

    Raises UserError where one cannot be read.
    """
    path = _path(task, settings)
    if not path:
        return []
    start = Path(path).expanduser()
    folder = start if start.is_dir() else start.parent
    lines = []
    for file in datasets.tasks()[task.base].own(start):
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"{file}: cannot be read ({error.strerror}); mend that.") from error
        lines.append(f"{Path(os.path.relpath(file, folder)).as_posix()} {digest}")
    return lines


def documents(task: Task) -> dict[str, int]:
    """Documents by domain, as the dataset's facts have them; empty where they tell nothing."""
    facts = datasets.tasks()[task.base].FACTS.get(task.base, {})
    return dict(facts.get("documents", {}))


def write(path: Path, problem: Problem, truth: Truth) -> None:
    """Everything as plain arrays in one npz, the names as JSON text; no pickle.

    The SHA-256 of the npz stands before it, so that damage is seen wherever it is.
    """
    arrays: dict[str, np.ndarray] = {}
    names = {
        "name": problem.name,
        "family": problem.family,
        "classes": problem.classes,
        "domains": [[domain.name, len(domain.views)] for domain in problem.domains],
    }
    for i, domain in enumerate(problem.domains):
        for j, view in enumerate(domain.views):
            arrays |= {f"{i}/{j}/{part}": a for part, a in _parts(view).items()}
        arrays |= {f"{i}/seen": domain.seen, f"{i}/Y": domain.Y}
        arrays |= {f"{i}/truth": truth.Y[i], f"{i}/scored": truth.scored[i]}
    text = np.frombuffer(json.dumps(names).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, names=text, **arrays)  # type: ignore[arg-type]
    with path.open("wb") as file:
        file.write(hashlib.sha256(content.getbuffer()).digest())
        file.write(content.getbuffer())


def read(path: Path) -> tuple[Problem, Truth]:
    """What `write` wrote. Raises ValueError for a damaged file, OSError for an unreadable one."""
    with path.open("rb") as file:
        digest, content = file.read(32), file.read()
    if hashlib.sha256(content).digest() != digest:
        raise ValueError(f"{path} is damaged")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        names = json.loads(stored["names"].tobytes())
        domains, Y, scored = [], [], []
        for i, (name, views) in enumerate(names["domains"]):
            matrices = tuple(_matrix(stored, f"{i}/{j}") for j in range(views))
            domains.append(Domain(name, matrices, stored[f"{i}/Y"], stored[f"{i}/seen"]))
            Y.append(stored[f"{i}/truth"])
            scored.append(stored[f"{i}/scored"])
    family, classes = names["family"], tuple(names["classes"])
    labels = Truth(family, classes, tuple(d.name for d in domains), tuple(Y), tuple(scored))
    return Problem(names["name"], family, classes, tuple(domains)), labels


def _path(task: Task, settings: Settings) -> str:
    """The folder of the user's own files that a task is built from; "" where it has none.

    Where the option `path` is not given, it is own/<dataset> of the data folder, if that is there;
    the task then has the same name everywhere.
    """
    folder = settings.data / "own" / task.base.partition("/")[0]
    given = task.options.get("path")
    return given or (str(folder) if given == "" and folder.is_dir() else "")


def _parts(view: Matrix) -> dict[str, np.ndarray]:
    if not sp.issparse(view):
        return {"dense": np.asarray(view)}
    X = sp.csr_array(view)
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}


def _matrix(stored: Any, key: str) -> Matrix:
    if f"{key}/dense" in stored:
        return np.asarray(stored[f"{key}/dense"])
    data, *places = (stored[f"{key}/{part}"] for part in ("data", "indices", "indptr"))
    shape = tuple(map(int, stored[f"{key}/shape"]))
    # Some solvers take 32-bit places alone, and SciPy does not narrow an array's by itself.
    narrow = max(*shape, data.size) <= np.iinfo(np.int32).max
    indices, indptr = (place.astype(np.int32) if narrow else place for place in places)
    X = sp.csr_array((data, indices, indptr), shape=shape)
    return X


def _plain(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
