"""Turn runs into records: reuse finished records, perform other runs, write each when it ends."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

from transferbench import models, parameters
from transferbench.artefacts import Folder
from transferbench.data import tasks
from transferbench.errors import Unavailable
from transferbench.runs.engines import Engine
from transferbench.runs.engines.local import Local
from transferbench.runs.progress import DeferInterrupt, ProgressBar
from transferbench.runs.record import Job, Limits, Record, Run, Store, TaskFiles
from transferbench.settings import Settings


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
    repeats: Callable[[Run], bool] = untraced,
    progress: bool = True,
    expected: Mapping[Run, float] | None = None,
    on_record: Callable[[Run, Record], None] = lambda run, record: None,
    task_files: TaskFiles | None = None,
) -> list[Record]:
    """Return the record of each run, in order; perform runs that have no finished record.

    limits     : returns the limits of a run.
    repeats    : true for runs to perform although they have a finished record.
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
        store = Store(settings.results)
        batch = Batch(store, files, limits, repeats, on_record, interrupt, bar, folder)
        jobs = batch.jobs(dict.fromkeys(runs))
        with closing(engine.records(jobs, batch.on_progress, batch.on_done)) as records:
            for record in records:
                batch.finish(record)
    return [batch.records[run] for run in runs]


def done(runs: Sequence[Run], settings: Settings, repeats: Callable[[Run], bool]) -> list[bool]:
    """True for each run with a finished record that `run` keeps; none is run, fetched or built."""
    store, files = Store(settings.results), TaskFiles(settings)
    names = {run.task for run in runs}
    built = {name: tasks.Task.named(name).built_path(settings).is_file() for name in names}

    def finished(run: Run) -> bool:
        try:
            record = built[run.task] and store.find(run.key(files.for_run(run).facts))
        except Unavailable:  # the file is damaged
            return False
        return bool(record and record.done)

    return [not repeats(run) and finished(run) for run in runs]


@dataclass
class Batch:
    """State of one call of `run`, shared with the engine.

    The engine takes `jobs` and calls `on_progress` and, from any thread, `on_done`. Every record it
    yields goes to `finish`. `records` holds the results so far.
    """

    store: Store
    task_files: TaskFiles
    limits: Callable[[Run], Limits]
    repeats: Callable[[Run], bool]
    on_record: Callable[[Run, Record], None]
    interrupt: DeferInterrupt
    bar: ProgressBar
    artefacts: Folder | None
    records: dict[Run, Record] = field(default_factory=dict)
    _running: dict[str, Run] = field(default_factory=dict)  # by key
    _written: set[str] = field(default_factory=set)  # keys of records that `on_done` wrote

    def jobs(self, runs: Iterable[Run]) -> Iterator[Job]:
        """Yield a job for each run without a finished record; its task is built just before."""
        for run in runs:
            try:
                with self.interrupt.suspended():
                    task = self.task_files.for_run(run)
            except Unavailable as error:
                self._skip(run, Record.of(run.key(None), run, "unavailable", error.brief))
                continue
            key = run.key(task.facts)
            record = None if self.repeats(run) else self.store.find(key)
            if record and record.done:
                self._skip(run, record)
                continue
            if not self._running:
                self.store.probe()
            self._running[key] = run
            self.bar.start(key, run)
            yield Job(key, run, task, self.limits(run), self.artefacts)

    def on_progress(self, key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        """Update the progress bar. Raise KeyboardInterrupt if the user interrupted."""
        self.interrupt.raise_pending()
        self.bar.update(key, iteration, planned)

    def on_done(self, record: Record) -> None:
        """Write the record of a finished run at once. Called from any thread; never raises."""
        with suppress(Exception):  # `finish` tries again, in the main thread, and raises
            self.store.write(record)
            self._written.add(record.key)

    def finish(self, record: Record) -> None:
        """Write a record unless `on_done` has, and pass it on."""
        if record.key not in self._written:
            self.store.write(record)
        self.bar.end(record.key)
        self._add(self._running.pop(record.key), record)

    def _skip(self, run: Run, record: Record) -> None:
        self.bar.skip(run)
        self._add(run, record)

    def _add(self, run: Run, record: Record) -> None:
        self.records[run] = record
        self.on_record(run, record)
