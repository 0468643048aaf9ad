"""Turn runs into records: reuse finished records, perform other runs, write each when it ends."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from transferbench import models, parameters
from transferbench.artefacts import Folder
from transferbench.data import tasks
from transferbench.errors import Unavailable
from transferbench.runs.engines import Engine
from transferbench.runs.engines.local import Local
from transferbench.runs.progress import DeferInterrupt, ProgressBar
from transferbench.runs.record import Job, Limits, Record, Run, TaskFile, TaskFiles
from transferbench.runs.store import Store
from transferbench.settings import Settings

#: Which runs to perform: those without a finished record, also those whose record other data or
#: code made (or code that cannot be followed, see `untraced`), or all.
Rerun = Literal["missing", "outdated", "all"]


def untraced(run: Run) -> bool:
    """True for a model outside a package: what it imports or reads may change without its key."""
    alone = models.is_external(run.model)
    return alone or not (models.get(run.model).path.parent / "__init__.py").is_file()


def plan(task: str, model: str, given: dict[str, Any], seeds: Iterable[int]) -> list[Run]:
    """Return the runs of a model on a task: one for each seed, or one if it takes no seed.

    Raise UserError for an unknown task, model or parameter.
    """
    function = models.load(model)
    name = tasks.Task.named(task).name
    params = parameters.resolve(function, given, model)
    random = parameters.takes_seed(function)
    return [Run(name, model, params, seed) for seed in (seeds if random else (None,))]


def run(
    runs: Sequence[Run],
    settings: Settings,
    *,
    engine: Engine = Local(),
    limits: Callable[[Run], Limits] = lambda run: Limits(),
    rerun: Rerun = "outdated",
    store: Store | None = None,
    place: Callable[[Run], Path | None] = lambda run: None,
    progress: bool = True,
    expected: Mapping[Run, float] | None = None,
    on_record: Callable[[Run, Record], None] = lambda run, record: None,
    task_files: TaskFiles | None = None,
) -> list[Record]:
    """Return the record of each run, in order; perform those that `rerun` names.

    limits     : returns the limits of a run.
    store      : finished records, and where new ones go; by default that of single runs.
    place      : returns the file of a run's record, None for that of single runs.
    progress   : show how many runs have ended, see `ProgressBar`.
    expected   : seconds that runs may take, for the progress.
    on_record  : called with each run and its record, stored or new.
    task_files : files of tasks that the caller has loaded; by default none.

    A task is fetched and built when the first of its runs is due, while other runs are performed.
    Only this process writes records, each as soon as its run ends. A run that raises, crashes or
    exceeds a limit gets a record with the reason and does not affect others. If the data of a task
    cannot be obtained, its runs get `unavailable` records, which are not written.

    If interrupted, raise KeyboardInterrupt after the records of all ended runs are written. Raise
    UserError if a model is not made for its task or records cannot be written.
    """
    with (
        DeferInterrupt() as interrupt,
        closing(ProgressBar(runs, progress, expected)) as bar,
    ):
        files = task_files or TaskFiles(settings)
        size = int(settings.max_artefacts * 2**30)
        folder = Folder(settings.data.absolute() / "artefacts", size) if size else None
        with suppress(OSError):  # without it, runs make their artefacts themselves
            if folder:
                folder.path.mkdir(parents=True, exist_ok=True)
        store = store or Store(settings.results, single=True)
        batch = Batch(store, place, files, limits, rerun, on_record, interrupt, bar, folder)
        jobs = batch.jobs(dict.fromkeys(runs))
        with closing(engine.records(jobs, batch.on_progress, batch.on_done)) as records:
            for run, record in records:
                batch.finish(run, record)
    return [batch.records[run] for run in runs]


def done(
    runs: Sequence[Run],
    settings: Settings,
    store: Store,
    place: Callable[[Run], Path | None] = lambda run: None,
    rerun: Rerun = "outdated",
) -> list[bool]:
    """True for each run that `run` would not perform; none is run, fetched or built."""
    files = TaskFiles(settings)
    built = {
        name: tasks.Task.named(name).built_path(settings).is_file()
        for name in {run.task for run in runs}
    }

    def is_kept(run: Run) -> bool:
        record = store.get(run, place(run))
        if not built[run.task]:
            return _is_kept(run, record, None, rerun)
        with suppress(Unavailable):  # the file is damaged
            return _is_kept(run, record, files.for_run(run), rerun)
        return False

    return [is_kept(run) for run in runs]


def _is_kept(run: Run, record: Record | None, task: TaskFile | None, rerun: Rerun) -> bool:
    """True if the stored record of a run is its result. task: None if it is not built."""
    if rerun == "all" or not (record and record.done):
        return False
    if rerun == "missing":
        return True
    return bool(task and record.is_current(run, task.facts)) and not untraced(run)


@dataclass
class Batch:
    """State of one call of `run`, shared with the engine.

    The engine takes `jobs` and calls `on_progress` and, from any thread, `on_done`. Every record it
    yields goes to `finish`. `records` holds the results so far.
    """

    store: Store
    place: Callable[[Run], Path | None]
    task_files: TaskFiles
    limits: Callable[[Run], Limits]
    rerun: Rerun
    on_record: Callable[[Run, Record], None]
    interrupt: DeferInterrupt
    bar: ProgressBar
    artefacts: Folder | None
    records: dict[Run, Record] = field(default_factory=dict)
    _running: dict[Run, str] = field(default_factory=dict)  # the key of its job
    _written: set[Run] = field(default_factory=set)  # runs whose records `on_done` wrote

    def jobs(self, runs: Iterable[Run]) -> Iterator[Job]:
        """Yield a job for each run to perform; its task is built just before."""
        for run in runs:
            record = self.store.get(run, self.place(run))
            if record and _is_kept(run, record, None, self.rerun):
                self._skip(run, record)
                continue
            try:
                with self.interrupt.suspended():
                    task = self.task_files.for_run(run)
            except Unavailable as error:
                if record and record.done:
                    warnings.warn(f"{error.brief}; earlier results are kept", stacklevel=1)
                    self._skip(run, record)
                else:
                    self._skip(run, Record.of(run, "unavailable", error.brief))
                continue
            if record and _is_kept(run, record, task, self.rerun):
                self._skip(run, record)
                continue
            if not self._running:
                self.store.probe(self.place(run))
            job = Job(run, task, self.limits(run), self.artefacts)
            self._running[run] = job.key
            self.bar.start(job.key, run)
            yield job

    def on_progress(self, key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Update the progress bar. Raise KeyboardInterrupt if the user interrupted."""
        self.interrupt.raise_pending()
        self.bar.update(key, iteration, planned)

    def on_done(self, run: Run, record: Record) -> None:
        """Write the record of a finished run at once. Called from any thread; never raises."""
        with suppress(Exception):  # `finish` tries again, in the main thread, and raises
            self.store.append(record, self.place(run))
            self._written.add(run)

    def finish(self, run: Run, record: Record) -> None:
        """Write a record unless `on_done` has, and pass it on."""
        if run not in self._written:
            self.store.append(record, self.place(run))
        self.bar.end(self._running.pop(run))
        self._add(run, record)

    def _skip(self, run: Run, record: Record) -> None:
        self.bar.skip(run)
        self._add(run, record)

    def _add(self, run: Run, record: Record) -> None:
        self.records[run] = record
        self.on_record(run, record)
