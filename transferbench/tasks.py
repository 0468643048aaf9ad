"""A task by name: built once from verified originals, checked against its facts, cached, loaded.

A task's name may carry options of its builder: `gtl/comp-vs-rec:weighting=tf,min_df=10`.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench import datasets, fetch, parameters
from transferbench.errors import UserError
from transferbench.files import writing
from transferbench.problem import Domain, Matrix, Problem, Truth
from transferbench.settings import Settings
from transferbench.source import fingerprint


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
        name, _, given = text.partition(":")
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
        state = [self.options, fingerprint(Path(str(module.__file__)))]
        if path := _path(self, settings):
            state += _contents(module, Path(path).expanduser())
        text = json.dumps(state, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
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
        check(task.base, facts(problem, truth), module.FACTS.get(task.base, {}))
    problem = Problem(task.name, problem.family, problem.classes, problem.domains)
    with writing(path) as temporary:
        write(temporary, problem, truth)
    return read(path)  # the same to the last bit as when it comes from the cache


def needed(task: Task) -> dict[str, fetch.File]:
    """The originals a task is built from; a dataset may say that a task takes only some."""
    module = datasets.tasks()[task.base]
    names = module.needed(task.base) if hasattr(module, "needed") else module.FILES
    return {name: module.FILES[name] for name in names}


def documents(task: Task) -> dict[str, int]:
    """Documents by domain, as the dataset's facts have them; empty where they tell nothing."""
    facts = datasets.tasks()[task.base].FACTS.get(task.base, {})
    return dict(facts.get("documents", {}))


def facts(problem: Problem, truth: Truth) -> dict[str, Any]:
    """Counts that identify a built task, and a digest of its structure (not of rounded weights).

    documents and per-class counts by domain; features by view; nonzeros; weight: sum of all
    entries; digest: sha256 over the places of the nonzeros, the labels and what is seen.
    """
    sha = hashlib.sha256()
    total, nonzeros = 0.0, 0
    for domain, Y, scored in zip(problem.domains, truth.Y, truth.scored, strict=True):
        for view in domain.views:
            X = sp.csr_array(view)
            sha.update(np.asarray(X.shape, np.int64).tobytes())
            sha.update(X.indptr.astype(np.int64).tobytes() + X.indices.astype(np.int64).tobytes())
            total += float(X.data.sum(dtype=np.float64))
            nonzeros += X.nnz
        sha.update(np.asarray(Y, np.uint8).tobytes() + domain.seen.tobytes() + scored.tobytes())
    return {
        "classes": list(problem.classes),
        "documents": {d.name: len(d.seen) for d in problem.domains},
        "per_class": {
            n: [int(s) for s in Y.sum(axis=0)] for n, Y in zip(truth.names, truth.Y, strict=True)
        },
        "features": [view.shape[1] for view in problem.domains[0].views],
        "nonzeros": nonzeros,
        "weight": float(f"{total:.6g}"),
        "digest": sha.hexdigest()[:16],
    }


def check(task: str, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raises ValueError naming the first fact that does not hold; weights may differ by 1e-5."""
    for name, value in expected.items():
        close = name == "weight" and np.isclose(found[name], value, rtol=1e-5, atol=0)
        if found[name] != value and not close:
            raise ValueError(
                f"{task} was not built as expected: {name} is {found[name]}, expected {value}"
            )


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


def _contents(module: Any, folder: Path) -> list[str]:
    """Names and digests of the user's own files that a builder reads.

    Raises UserError where one cannot be read.
    """
    lines = []
    for path in module.own(folder):
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}); mend that.") from error
        lines.append(f"{path.relative_to(folder).as_posix()} {digest}")
    return lines


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
