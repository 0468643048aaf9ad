"""The files of built tasks, as the runner needs them."""

from __future__ import annotations

from transferbench import models
from transferbench.data import tasks
from transferbench.errors import Unavailable
from transferbench.runs.job import TaskFile
from transferbench.runs.record import Run
from transferbench.settings import Settings


def is_built(name: str, settings: Settings) -> bool:
    """True if there is a built file of the task."""
    return tasks.Task.named(name).cache(settings).is_file()


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
                self._known[name] = TaskFile.of(name, task.cache(self.settings), facts)
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
