"""Jobs: what a process needs to perform a run, such as the file of its task."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from transferbench import models
from transferbench.artefacts import Folder, stored_digest
from transferbench.data import tasks
from transferbench.errors import Unavailable
from transferbench.runs.record import Limits, Record, Run, Status
from transferbench.settings import Settings


@dataclass(frozen=True)
class TaskFile:
    """File of a built task: the task's name, the path, the SHA-256 in the file's head, the facts.

    order: that of the documents, see `tasks.Task`; the file has them as built. Two objects are
    equal if they are the same file with the same content, read in the same order.
    """

    name: str
    path: Path
    digest: bytes
    facts: tasks.Facts = field(compare=False)
    order: int = 0

    @classmethod
    def of(cls, name: str, path: Path, facts: tasks.Facts, order: int = 0) -> TaskFile:
        """Return the task file at `path`. Raise OSError if it cannot be read."""
        return cls(name, path, stored_digest(path), facts, order)

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
