"""A run, its record, and the job: the input of the process that performs the run.

The fields of `Record` are the keys of a line of runs.jsonl; see `runs.store`.
"""

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

import numpy as np
from annotated_types import Ge, Le, Lt

from transferbench import models
from transferbench.artefacts import Folder
from transferbench.core.device import Device
from transferbench.errors import Doubt
from transferbench.fingerprint import PACKAGE, fingerprint, first_equal
from transferbench.messages import printable
from transferbench.parameters import Positive
from transferbench.tasks import BuiltTask, Task

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Status = Literal["done", "failed", "crashed", "timeout", "memory", "unavailable", "missing"]
#: What to do about a run that is not done, for people; the reason of the record says what happened.
ADVICE: dict[Status, str] = {
    "done": "",
    "failed": "try other parameters, or read the traceback in its line of runs.jsonl",
    "crashed": "read its output in its line of runs.jsonl, or run fewer at a time by --jobs",
    "timeout": "allow more by --time-limit, or choose parameters that take less time",
    "memory": "allow more by --memory-limit, or run fewer at a time by --jobs",
    "unavailable": "`fetch --dry-run` shows where data come from, `doctor` what is missing",
    "missing": "perform it by `transferbench run` or `reproduce`",
}
#: A measure; sums of the explained variance are rounded.
Score = Annotated[float, Ge(-1e-9), Le(1 + 1e-9)]
Number = Annotated[int, Ge(0), Lt(2**53)]
#: Task, model, parameters (as JSON) and seed of a run.
Identity = tuple[str, str, str, int | None]
#: A value of each scored document (n,), by task, digest of the data, and domain.
CorrectDocuments = Mapping[tuple[str, str, str], np.ndarray]


@dataclass(frozen=True)
class Limits:
    """Limits of a run: seconds and bytes of memory (None: no limit), and threads (None: all).

    And the device that it computes on, see `core.device`.
    """

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
    params: Mapping[str, Any] = field(hash=False)
    seed: int | None
    curve: bool = False

    def __str__(self) -> str:
        return f"{self.model} on {self.task}" + ("" if self.seed is None else f", seed {self.seed}")

    @cached_property
    def identity(self) -> Identity:
        """Identity of the run, with or without a curve."""
        return _identity(str(self.task), self.model, self.params, self.seed)

    @property
    def code(self) -> str:
        """Fingerprint of the code of model and measures, and of what they import."""
        parts = models.code(self.model), fingerprint(PACKAGE / "measures.py")
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
        missing) or missing (not performed yet).
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
    data
        Digest of the task's facts, `Facts.key`.
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
    documents: Mapping[str, Number] = field(default_factory=dict)
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
    code: str = ""
    versions: str = ""
    finished: str = ""
    traceback: str = ""
    output: str = ""

    @classmethod
    def of(cls, run: Run, status: Status, reason: str = "", data: str = "") -> Self:
        """Return a record of a run that ends now, without measurements."""
        planned = (str(run.task), run.model, run.params, run.seed)
        return cls(*planned, status, reason, data=data, code=run.code, finished=now())

    @classmethod
    def from_line(cls, line: str | bytes) -> "Record":
        """Return the record of a line. Raise ValueError if it is none of this version."""
        record = _adapter().validate_json(line)
        for domain in record.right:
            record.bits(domain)
        return record

    @cached_property
    def line(self) -> str:
        """The record as a line of JSON without its empty fields."""
        return printable(_adapter().dump_json(self, exclude_defaults=True).decode())

    @property
    def equal_code(self) -> str:
        """The first fingerprint that was proved equal to `code`, or `code` itself."""
        return first_equal(self.model, self.code)

    @property
    def done(self) -> bool:
        """True if the run finished and was scored."""
        return self.status == "done"

    @property
    def failure(self) -> str:
        """Why the run is not done, and what to do; empty if it is done."""
        return "; ".join(filter(None, (self.reason.rstrip("."), ADVICE[self.status])))

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
        """Return the unpacked `right` of a domain. Raise ValueError if it is damaged."""
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


class OnProgress(Protocol):
    """Progress of a run: the iteration, and how many are planned.

    Called without arguments, at least every half second, it is a heartbeat. May raise an error to
    end all runs.
    """

    def __call__(self, run: Run | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Receive progress, or a heartbeat."""


@dataclass(frozen=True)
class Job:
    """A run, its built task, its limits, the folder of artefacts.

    Without an existing folder of artefacts, the run makes all of them itself.
    """

    run: Run
    built: BuiltTask
    limits: Limits = field(default_factory=Limits)
    artefacts: Folder | None = None

    def record(self, status: Status, reason: str = "") -> Record:
        """Return a record of this job, without measurements, as of now."""
        return Record.of(self.run, status, reason, self.built.facts.key)


def _identity(task: str, model: str, params: Mapping[str, Any], seed: int | None) -> Identity:
    return task, model, json.dumps(params, sort_keys=True), seed


def pack(right: np.ndarray) -> str:
    """Return (n,) bool as text: a bit each, the first is the highest; zlib, then base64."""
    return base64.b64encode(zlib.compress(np.packbits(right).tobytes(), 9)).decode()


def now() -> str:
    """Return the current time as in `Record.finished`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
