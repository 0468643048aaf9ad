"""A run, its record, and the job: the input of the process that performs the run.

The fields of `Record` are the keys of a line of runs.jsonl; see `runs.store`.
"""

import base64
import hashlib
import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

import numpy as np
from annotated_types import Ge, Le, Lt

from transferbench import models
from transferbench.artefacts import Folder
from transferbench.core.device import Device
from transferbench.data.facts import Facts, same_values
from transferbench.errors import Doubt
from transferbench.fingerprint import PACKAGE, fingerprint
from transferbench.ledger import first_equal
from transferbench.messages import printable
from transferbench.parameters import Positive
from transferbench.tasks import BuiltTask, Task

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Status = Literal[
    "done", "failed", "crashed", "timeout", "memory", "unavailable", "missing", "outdated"
]
#: What to do about a run that is not done, for people; the reason of the record says what happened.
ADVICE: dict[Status, str] = {
    "done": "",
    "failed": "try other parameters, or read the traceback in its line of runs.jsonl",
    "crashed": "read its output in its line of runs.jsonl, or run fewer at a time by --jobs",
    "timeout": "allow more by --time-limit, or choose parameters that take less time",
    "memory": "allow more by --memory-limit, or run fewer at a time by --jobs",
    "unavailable": "`fetch --dry-run` shows where data come from, `doctor` what is missing",
    "missing": "perform it by `transferbench run` or `reproduce`",
    "outdated": "perform it again by `transferbench reproduce`, all runs by --rerun all",
}
#: A measure; sums of the explained variance are rounded.
Score = Annotated[float, Ge(-1e-9), Le(1 + 1e-9)]
Number = Annotated[int, Ge(0), Lt(2**53)]
#: Documents of a domain: more would let a short line take much memory, see `Record.bits`.
Documents = Annotated[int, Ge(0), Le(10**7)]
#: Task, model, parameters (as JSON) and seed of a run.
Identity = tuple[str, str, str, int | None]
#: Bytes of a line at most.
MAX_LINE = 64 * 2**20
#: How `now` writes a time.
TIME = "%Y-%m-%dT%H:%M:%SZ"
#: A value of each scored document (n,), by task, digest of the data, and domain.
CorrectDocuments = Mapping[tuple[str, str, str], np.ndarray]


@dataclass(frozen=True)
class Limits:
    """Limits of a run: seconds and bytes of memory (None: no limit), and threads (None: all)."""

    # And the device that it computes on, see `core.device`.

    seconds: float | None = 3600.0
    memory: int | None = None
    threads: int | None = 1
    device: Device = "cpu"


@dataclass(frozen=True)
class Run:
    """A model to fit on a task, with its parameters and seed.

    Parameters
    ----------
    task
        The task.
    model
        Name of the model.
    params
        All parameters of the model, by name.
    seed
        None if the model takes no seed.
    curve
        If true, the record also holds the first measure of each domain after each iteration.
    """

    task: Task
    model: str
    params: Mapping[str, Any]
    seed: int | None
    curve: bool = False

    def __hash__(self) -> int:
        """Return a hash of all fields; a dataclass cannot hash the mapping of parameters."""
        return hash((self.identity, self.curve))

    def __str__(self) -> str:
        return f"{self.model} on {self.task}" + ("" if self.seed is None else f", seed {self.seed}")

    @cached_property
    def identity(self) -> Identity:
        """Identity of the run, with or without a curve."""
        return _identity(str(self.task), self.model, self.params, self.seed)

    @property
    def code(self) -> str:
        """Fingerprint of the code of the model and of `runs.perform`, and of what they import."""
        parts = models.code(self.model), fingerprint(PACKAGE / "runs" / "perform.py")
        return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]

    @property
    def equal_code(self) -> str:
        """The first fingerprint that was proved equal to `code`, or `code` itself."""
        return first_equal(self.model, self.code)


@dataclass(frozen=True)
class Record:
    """The result of a run, finished or not.

    Parameters
    ----------
    task, model, params, seed
        The run.
    status
        "done" if the run finished and was scored; otherwise failed (the model raised an error),
        crashed (its process died), timeout, memory (limit exceeded), unavailable (data or library
        missing) or missing (not performed yet). A page shows a finished run as outdated if its data
        or code are not those of the newest runs, see `policy.with_outdated`; no line says so.
    reason
        Why the run is not done; empty otherwise.
    metrics
        Domain → measure → value, as fractions.
    documents
        Domain → number of scored documents.
    right
        Domain → which of these documents are right, see `pack`. Empty for several labels a
        document, in older records, and in experiments whose claims are not tested over documents.
    diagnostics
        Name → value, see `Fit.diagnostics`.
    objective
        The last value of the objective; None if the model reports none.
    iterations
        Number of iterations that the model reports.
    trace
        Objective after each iteration, for a run with a curve.
    curve
        Domain → first measure after each iteration; None if `Run.curve` is false.
    doubts
        Reasons to doubt the result, from the user's own documents and the decisions.
    seconds
        Wall time of the fit, as if it had made all its artefacts (`artefacts`).
    reused_seconds
        The part of `seconds` that it took to make artefacts which this run reused.
    peak_mib
        Largest resident memory in MiB, of this process and of those that made the artefacts it
        reused; None if the system does not report it.
    threads
        Threads of the run.
    data, values, files
        Of the task's facts: `Facts.key`, `values`, and `files_key`, the digest of the user's files.
    code
        Fingerprint of the code of model and measures.
    versions
        Python and libraries with their versions, as "python 3.11.7, numpy 2.4.6"; the GPU that it
        computed on, too.
    finished
        When the run ended, ISO 8601, UTC, to the second.
    traceback
        End of the traceback of the model's error; empty otherwise.
    output
        Last 16 KiB of what the run and its children printed (on Linux).
    """

    task: str
    model: str
    params: Mapping[str, Any]
    seed: int | None
    status: Status
    reason: str = ""
    metrics: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    documents: Mapping[str, Documents] = field(default_factory=dict)
    right: Mapping[str, str] = field(default_factory=dict)
    diagnostics: Mapping[str, float | None] = field(default_factory=dict)
    objective: float | None = None
    iterations: Number = 0
    trace: tuple[float, ...] = ()
    curve: Mapping[str, tuple[Score, ...]] | None = None
    doubts: tuple[Doubt, ...] = ()
    seconds: Positive | None = None
    reused_seconds: Annotated[float, Ge(0)] = 0.0
    peak_mib: Positive | None = None
    threads: Number = 1
    data: str = ""
    values: tuple[float, ...] = ()
    files: str = ""
    code: str = ""
    versions: str = ""
    finished: str = ""
    traceback: str = ""
    output: str = ""

    @classmethod
    def of(cls, run: Run, status: Status, reason: str = "", facts: Facts | None = None) -> Self:
        """Return a record of a run that ends now, without measurements."""
        # `facts`: Facts of the built task; None if it is not built.
        planned = (str(run.task), run.model, run.params, run.seed)
        record = cls(*planned, status, reason, code=run.code, finished=now())
        if facts is None:
            return record
        return replace(record, data=facts.key, values=facts.values, files=facts.files_key)

    @classmethod
    def from_line(cls, line: str | bytes) -> "Record":
        """Return the record of a line."""
        # Raise ValueError if the line is no record of this version, has a key twice, or
        # contradicts itself: other domains were measured than scored, or an accuracy is not that of
        # its own `right`.
        if len(line) > MAX_LINE:
            raise ValueError(f"{len(line):,} bytes; expected at most {MAX_LINE:,}")
        record = _adapter().validate_json(line)
        # A line that we wrote has no key twice; only others are searched.
        if record._dump() != (line.encode() if isinstance(line, str) else line):
            json.loads(line, object_pairs_hook=_without_repeats)
        if record.finished:
            _check_time(record.finished)
        if record.done and record.documents and record.documents.keys() != record.metrics.keys():
            raise ValueError("documents: not of the domains that were measured")
        if record.curve and not record.curve.keys() <= record.metrics.keys():
            raise ValueError("curve: not of the domains that were measured")
        for domain in record.right:
            count = sum(map(int.bit_count, record.bits(domain)))
            accuracy = record.metrics[domain].get("accuracy")
            expected = count / max(record.documents[domain], 1)
            if accuracy is not None and abs(accuracy - expected) > 1e-6:
                raise ValueError(
                    f"right: an accuracy of {expected:.6g} in {domain}, not {accuracy:.6g}"
                )
        return record

    def _dump(self) -> bytes:
        """Return the record as JSON without its empty fields."""
        return _adapter().dump_json(self, exclude_defaults=True)

    @cached_property
    def line(self) -> str:
        """The record as a line of JSON without its empty fields."""
        return printable(self._dump().decode())

    @property
    def equal_code(self) -> str:
        """The first fingerprint that was proved equal to `code`, or `code` itself."""
        return first_equal(self.model, self.code)

    def matches_facts(self, facts: Facts) -> bool:
        """Return True if the record is of data with these facts."""
        # Records of version 1.1 and before have no `values`: they count as equal.
        return self.data == facts.key and (
            not self.values or same_values(self.values, facts.values)
        )

    def same_code_and_data(self, other: "Record") -> bool:
        """Return True if both records are of equal code and, as far as known, of equal data."""
        return self.equal_code == other.equal_code and self.same_data(other)

    def same_data(self, other: "Record") -> bool:
        """Return True unless both records state data, and these differ."""
        if not (self.data and other.data):
            return True
        known = self.values and other.values
        return self.data == other.data and (not known or same_values(self.values, other.values))

    @property
    def done(self) -> bool:
        """True if the run finished and was scored."""
        return self.status == "done"

    @property
    def failure(self) -> str:
        """Why the run is not done, and what to do; empty if it is done."""
        advice = ADVICE[self.status]
        if self.status == "failed" and models.is_external(self.model):
            advice = "correct it; `transferbench --debug run` prints the traceback"
        return "; ".join(filter(None, (self.reason.rstrip("."), advice)))

    @cached_property
    def run(self) -> Run:
        """The run, with a curve if the record has one."""
        task = Task.parse(self.task)
        return Run(task, self.model, self.params, self.seed, self.curve is not None)

    @cached_property
    def identity(self) -> Identity:
        """The identity of the run."""
        return _identity(self.task, self.model, self.params, self.seed)

    def correct(self, only: str | None = None) -> CorrectDocuments:
        """Return 1 for each right and 0 for each wrong document: of one domain, or of each."""
        return {
            (self.task, self.data, domain): np.unpackbits(
                np.frombuffer(self.bits(domain), np.uint8), count=self.documents[domain]
            )
            for domain in self.right
            if domain == (only or domain)
        }

    def bits(self, domain: str) -> bytes:
        """Return the unpacked `right` of a domain."""
        if domain not in self.documents:
            raise ValueError(f"right: no documents of {domain} were scored")
        size = math.ceil(self.documents[domain] / 8)
        packed = base64.b64decode(self.right[domain], validate=True)
        try:
            found = zlib.decompressobj().decompress(packed, size + 1)
        except zlib.error as error:
            raise ValueError(f"right: {error}") from None
        if len(found) != size:
            raise ValueError("right: not of as many documents as were scored")
        return found

    def has_curve(self, run: Run) -> bool:
        """True if the record has the curve that a run may ask for."""
        return self.curve is not None or not run.curve


@cache
def _adapter() -> "TypeAdapter[Record]":
    from pydantic import ConfigDict, TypeAdapter

    Record.__pydantic_config__ = ConfigDict(  # type: ignore[attr-defined]
        extra="forbid", strict=True, allow_inf_nan=False, ser_json_inf_nan="null"
    )
    return TypeAdapter(Record)


def _check_time(text: str) -> None:
    """Raise ValueError if a text is no time as `now` writes it."""
    with suppress(ValueError):
        if datetime.fromisoformat(text).strftime(TIME) == text:
            return
    raise ValueError("finished: expected a time such as 2026-01-31T23:59:59Z")


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> None:
    """Raise ValueError if an object of JSON has a key twice."""
    if repeated := [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]:
        raise ValueError(f"{repeated[0]}: twice in an object")


class OnProgress(Protocol):
    """Progress of a run: the iteration, and how many are planned."""

    # Called without arguments, at least every half second, it is a heartbeat. May raise an error to
    # end all runs.

    def __call__(self, run: Run | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Receive progress, or a heartbeat."""


@dataclass(frozen=True)
class Job:
    """A run, its built task, its limits, the folder of artefacts."""

    # Without an existing folder of artefacts, the run makes all of them itself.

    run: Run
    built: BuiltTask
    limits: Limits = field(default_factory=Limits)
    artefacts: Folder | None = None

    def record(self, status: Status, reason: str = "") -> Record:
        """Return a record of this job, without measurements, as of now."""
        return Record.of(self.run, status, reason, self.built.facts)


_SORTED = json.JSONEncoder(sort_keys=True)


def newest_stated(by_time: Sequence[Record]) -> list[Record]:
    """Return the newest record that states data, and the newest of these data with values."""
    # Others are of the same data if they are of those of both: a line of 1.1 has no values.
    stated = [record for record in by_time if record.data][-1:]
    return stated + [r for r in by_time if stated and r.values and r.data == stated[0].data][-1:]


def _identity(task: str, model: str, params: Mapping[str, Any], seed: int | None) -> Identity:
    return task, model, _SORTED.encode(params), seed


def pack(right: np.ndarray) -> str:
    """Return (n,) bool as text: a bit each, the first is the highest; zlib, then base64."""
    return base64.b64encode(zlib.compress(np.packbits(right).tobytes(), 9)).decode()


def now() -> str:
    """Return the current time as in `Record.finished`."""
    return datetime.now(UTC).strftime(TIME)
