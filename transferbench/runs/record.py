"""A run, its record, and the job in between: what a process needs to perform it.

The JSON of a record and the columns of runs.csv are defined here and nowhere else. Both use the
names of the fields of `Record`.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from transferbench import models
from transferbench.artefacts import Folder, stored_digest
from transferbench.data import tasks
from transferbench.data.tasks import Facts
from transferbench.errors import Doubt, Unavailable
from transferbench.files import exclusive, read_regular, write_text
from transferbench.fingerprint import PACKAGE, fingerprint
from transferbench.measures import SCORES
from transferbench.settings import Settings

Status = Literal["done", "failed", "crashed", "timeout", "memory", "unavailable"]

#: Columns of runs.csv, which has a line for each run of an experiment and each scored domain. A
#: column named after a field of `Record` holds that field (`trace` only for runs with a curve);
#: times and sizes have six digits. A text of
#: SHARED_COLUMNS stands once, after a number; the other lines have the number alone.
RUNS_COLUMNS = (
    "row", "column", "x", "task", "model", "params", "seed", "domain", "status", "reason",
    *SCORES, "objective", "iterations", "seconds", "reused_seconds", "load_seconds", "peak_mib",
    "threads", "data", "code", "versions", "finished", "key", "curve", "trace", "documents",
    "diagnostics",
)  # fmt: skip
SHARED_COLUMNS = ("params", "versions")


@dataclass(frozen=True)
class Limits:
    """Limits of a run: seconds and bytes of memory (None: no limit), and number of threads."""

    seconds: float | None = 3600.0
    memory: int | None = None
    threads: int = 1


@dataclass(frozen=True)
class Run:
    """A model to fit on a task, with its parameters and seed.

    task   : full name of the task.
    model  : name of the model.
    params : all parameters of the model, by name.
    seed   : None if the model takes no seed.
    curve  : if true, the record also holds the first measure of each domain after each iteration.
    """

    task: str
    model: str
    params: Mapping[str, Any] = field(hash=False)
    seed: int | None
    curve: bool = False

    def __str__(self) -> str:
        return f"{self.model} on {self.task}" + ("" if self.seed is None else f", seed {self.seed}")

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Task, model, parameters (as JSON) and seed as texts: they identify a run in runs.csv."""
        seed = "" if self.seed is None else str(self.seed)
        return self.task, self.model, json.dumps(self.params, sort_keys=True), seed

    @property
    def code(self) -> str:
        """Fingerprint of the model's code, including the modules of this package it imports."""
        return models.code(self.model)

    def key(self, facts: Facts | None) -> str:
        """Return a digest of the task's facts, the run, and the code of model and measures.

        facts: None if the task is unavailable. Versions of libraries are recorded but are not part
        of the key, so that a new version does not repeat finished runs.
        """
        measures = fingerprint(PACKAGE / "measures.py")
        run = [self.task, self.model, self.params, self.seed, self.curve]
        state = [facts.to_json() if facts else {}, run, self.code, measures]
        text = json.dumps(state, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Record:
    """The result of a run, finished or not.

    key           : `Run.key`, the name of the record's file.
    status        : "done" if the run finished and was scored; otherwise failed (the model raised
                    an error), crashed (its process died), timeout, memory (limit exceeded) or
                    unavailable (data or library missing).
    reason        : why the run is not done; empty otherwise.
    task, model, params, seed : the run.
    code          : fingerprint of the model's code.
    finished      : when the run ended, ISO 8601, UTC, to the second.
    limits        : limits of the run; None if it never started.
    data          : digest of the built task (`Facts.digest`).
    metrics       : domain → measure → value, as fractions.
    documents     : domain → number of scored documents.
    diagnostics   : name → value, see `Fit.diagnostics`.
    trace         : objective after each iteration.
    curve         : domain → first measure after each iteration; None if `Run.curve` is false.
    doubts        : reasons to doubt the result, from the user's own documents and the decisions.
    seconds       : wall time of the fit, as if it had made all its artefacts (`artefacts`).
    reused_seconds: the part of `seconds` that it took to make artefacts which this run reused.
    load_seconds  : wall time to load the task.
    peak_mib      : largest resident memory in MiB, of this process and of those that made the
                    artefacts it reused; None if the system does not report it.
    threads       : largest number of threads of a numerical library; None if none was loaded.
    versions      : library → version.
    machine       : operating system and processor.
    traceback     : end of the traceback of the model's error; empty otherwise.
    output        : last 16 KiB of what the run and its children printed (on Linux).
    """

    key: str
    status: Status
    reason: str
    task: str
    model: str
    params: Mapping[str, Any]
    seed: int | None
    code: str
    finished: str
    limits: Limits | None = None
    data: str = ""
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    documents: Mapping[str, int] = field(default_factory=dict)
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    trace: Sequence[float] = ()
    curve: Mapping[str, Sequence[float]] | None = None
    doubts: Sequence[Doubt] = ()
    seconds: float | None = None
    reused_seconds: float | None = None
    load_seconds: float | None = None
    peak_mib: float | None = None
    threads: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""
    traceback: str = ""
    output: str = ""

    @classmethod
    def of(
        cls, key: str, run: Run, status: Status, reason: str = "", limits: Limits | None = None
    ) -> Self:
        """Return a record of a run that ends now, without measurements."""
        planned = (run.task, run.model, run.params, run.seed, run.code)
        return cls(key, status, reason, *planned, now(), limits)

    @property
    def done(self) -> bool:
        """True if the run finished and was scored."""
        return self.status == "done"

    def to_json(self, indent: int | None = 1) -> str:
        """Return the record as JSON with a SHA-256 of its content; one line if indent is None."""
        content = asdict(self)
        content |= {"sha256": _digest(content)}
        return json.dumps(content, indent=indent, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the record of a text made by `to_json`.

        Raise ValueError if the text is not a complete, unchanged record of this version.
        """
        content = json.loads(text)
        if not isinstance(content, dict) or content.pop("sha256", "") != _digest(content):
            raise ValueError("not a record, or damaged")
        if content.keys() != {each.name for each in fields(cls)}:
            raise ValueError("a record of another version")
        if content["limits"]:
            content["limits"] = Limits(**content["limits"])
        content["doubts"] = tuple(Doubt(**each) for each in content["doubts"])
        return cls(**content | {"trace": tuple(content["trace"])})

    def rows(self, row: str, column: str, x: float | None) -> list[dict[str, str]]:
        """Return the lines of runs.csv for this row, column and x of an experiment.

        A record has a line for each scored domain; without metrics it has one line.
        """
        common = {
            "row": row,
            "column": column,
            "x": short(x),
            "seed": "" if self.seed is None else str(self.seed),
            "threads": "" if self.threads is None else str(self.threads),
            "objective": str(self.trace[-1]) if self.trace else "",
            "iterations": str(len(self.trace) or ""),
        }
        for name in ("task", "model", "status", "reason", "data", "code", "finished", "key"):
            common[name] = getattr(self, name)
        for name in ("seconds", "reused_seconds", "load_seconds", "peak_mib"):
            common[name] = short(getattr(self, name))
        for name in SHARED_COLUMNS:
            common[name] = json.dumps(getattr(self, name))
        common["diagnostics"] = json.dumps(dict(self.diagnostics)) if self.diagnostics else ""
        lines = []
        for domain, measures in (self.metrics or {"": {}}).items():
            line = common | {"domain": domain}
            line |= {measure: str(value) for measure, value in measures.items()}
            line["documents"] = str(self.documents.get(domain, ""))
            if self.curve is not None:
                line["curve"] = _numbers(self.curve.get(domain, ()))
                line["trace"] = _numbers(self.trace)
            lines.append(line)
        return lines


class Store:
    """Reads and writes records in the subfolder `records` of a folder of results."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "records"

    def path(self, key: str) -> Path:
        """Return the path of the record with this key."""
        return self.folder / key[:2] / f"{key}.json"

    def find(self, key: str) -> Record | None:
        """Return the record with this key; None if it is missing or damaged."""
        try:
            record = Record.from_json(read_regular(self.path(key)))
        except (OSError, ValueError, RecursionError, TypeError):
            return None
        return record if record.key == key else None

    def write(self, record: Record) -> Path:
        """Write a record atomically, unless it would replace a finished run by an unfinished one.

        Raise UserError if it cannot be written.
        """
        path = self.path(record.key)
        with exclusive(path.with_name(".lock"), lambda: None):  # one for all keys of the folder
            old = None if record.done else self.find(record.key)
            if not (old and old.done):
                write_text(path, record.to_json() + "\n")
        return path

    def probe(self) -> None:
        """Raise UserError if records cannot be written; called before any run starts."""
        probe = self.folder / "probe"
        write_text(probe, "")
        probe.unlink(missing_ok=True)


@dataclass(frozen=True)
class TaskFile:
    """File of a built task: the task's name, the path, the SHA-256 in the file's head, the facts.

    order: that of the documents, see `tasks.Task`; the file has them as built. Two objects are
    equal if they are the same file with the same content, read in the same order.
    """

    name: str
    path: Path
    digest: bytes
    facts: Facts = field(compare=False)
    order: int = 0

    @classmethod
    def of(cls, name: str, path: Path, facts: Facts, order: int = 0) -> Self:
        """Return the task file at `path`. Raise OSError if it cannot be read."""
        return cls(name, path.absolute(), stored_digest(path), facts, order)

    def is_current(self) -> bool:
        """True if the file at `path` still has this digest in its head.

        Damage of the content is detected when the file is read.
        """
        try:
            return stored_digest(self.path) == self.digest
        except OSError:
            return False


@dataclass(frozen=True)
class Job:
    """A run, the key of its record, the file of its task, its limits, the folder of artefacts.

    Without an existing folder of artefacts, the run makes all of them itself.
    """

    key: str
    run: Run
    task: TaskFile
    limits: Limits = field(default_factory=Limits)
    artefacts: Folder | None = None

    def record(self, status: Status, reason: str = "") -> Record:
        """Return a record of this job, without measurements, as of now."""
        return Record.of(self.key, self.run, status, reason, self.limits)

    def timed_out(self) -> Record:
        """Return the record of this job if it exceeded its time limit."""
        return self.record("timeout", f"exceeded its limit of {self.limits.seconds:g} s")


class TaskFiles:
    """Files of tasks by name; each task is fetched and built once, when it is first asked for."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._known: dict[str, TaskFile | Unavailable] = {}

    def get(self, name: str) -> TaskFile:
        """Return the file of a task. Raise Unavailable if its data cannot be obtained."""
        if name not in self._known:
            try:
                task = tasks.Task.named(name)
                facts = tasks.facts(task, self.settings)
                path = task.built_path(self.settings)
                self._known[name] = TaskFile.of(name, path, facts, task.order)
            except Unavailable as error:
                self._known[name] = error
        known = self._known[name]
        if isinstance(known, Unavailable):
            raise known
        return known

    def for_run(self, run: Run) -> TaskFile:
        """Return the file of a run's task.

        Raise Unavailable if its data cannot be obtained, UserError if the model is not made for
        tasks of its family.
        """
        file = self.get(run.task)
        models.check_family(run.model, file.facts.family)
        return file


def runs_csv(lines: Iterable[Mapping[str, str]]) -> str:
    """Return the text of a runs.csv with these lines (see `Record.rows`).

    `evidence.frame.read_lines` returns the lines.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, RUNS_COLUMNS, lineterminator="\n")
    writer.writeheader()
    numbers: dict[str, int] = {}
    for line in lines:
        shared = {}
        for name in SHARED_COLUMNS:
            text = line[name]
            shared[name] = str(numbers[text]) if text in numbers else f"{len(numbers)} {text}"
            numbers.setdefault(text, len(numbers))
        writer.writerow({**line, **shared})
    return out.getvalue()


def now() -> str:
    """Return the current time as in `Record.finished`."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def short(value: float | None) -> str:
    """Return the number with six significant digits; "" for None."""
    return "" if value is None else f"{value:.6g}"


def _numbers(values: Iterable[float]) -> str:
    return "[" + ",".join(map(short, values)) + "]"


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
