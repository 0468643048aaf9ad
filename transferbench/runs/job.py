"""A job: a run with all that a process needs to perform it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from transferbench.data.facts import Facts
from transferbench.runs.record import Limits, Record, Run, Status


@dataclass(frozen=True)
class TaskFile:
    """File of a built task: the task's name, the path, the SHA-256 in the file's head, the facts.

    Two objects are equal if they are the same file with the same content.
    """

    name: str
    path: Path
    digest: bytes
    facts: Facts = field(compare=False)

    @classmethod
    def of(cls, name: str, path: Path, facts: Facts) -> TaskFile:
        """Return the task file at `path`. Raise OSError if it cannot be read."""
        return cls(name, path, _head(path), facts)

    def is_current(self) -> bool:
        """True if the file at `path` still has this digest in its head.

        Damage of the content is detected when the file is read.
        """
        try:
            return _head(self.path) == self.digest
        except OSError:
            return False


@dataclass(frozen=True)
class Job:
    """A run, the key of its record, the file of its task, and its limits."""

    key: str
    run: Run
    task: TaskFile
    limits: Limits = field(default_factory=Limits)

    def record(self, status: Status, reason: str = "") -> Record:
        """Return a record of this job, without measurements, as of now."""
        return Record.of(self.key, self.run, status, reason, self.limits)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(32)
