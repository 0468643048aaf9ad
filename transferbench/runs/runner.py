"""Turn runs into records: reuse finished records, perform other runs, write each when it ends."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

from transferbench import models, parameters
from transferbench.artefacts import Folder
from transferbench.data import tasks
from transferbench.errors import Unavailable
from transferbench.runs.engines import Engine
from transferbench.runs.engines.local import Local
from transferbench.runs.process import block_interrupts
from transferbench.runs.progress import ProgressBar
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

    All tasks are fetched and built before the first run starts. Only this process writes records,
    each as soon as its run ends, so that an interrupt loses none. A run that raises, crashes or
    exceeds a limit gets a record with the reason and does not affect others. If the data of a task
    cannot be obtained, its runs get `unavailable` records, which are not written.

    Raise UserError if a model is not made for its task or records cannot be written.
    """
    store, files = store or Store(settings.results, single=True), task_files or TaskFiles(settings)
    artefacts = _artefacts(settings)
    records: dict[Run, Record] = {}
    jobs: list[Job] = []

    def add(run: Run, record: Record) -> None:
        records[run] = record
        on_record(run, record)

    with closing(ProgressBar(runs, progress, expected)) as bar:
        for run in dict.fromkeys(runs):
            record = store.get(run, place(run))
            if not _is_kept(run, record, None, rerun):
                bar.prepare(f"task {run.task}")
                try:
                    task = files.for_run(run)
                    if not _is_kept(run, record, task, rerun):
                        jobs.append(Job(run, task, limits(run), artefacts))
                        continue
                except Unavailable as error:
                    if record and record.done:
                        warnings.warn(f"{error.brief}; earlier results are kept", stacklevel=1)
                    else:
                        record = Record.of(run, "unavailable", error.brief)
            assert record
            bar.skip(run)
            add(run, record)
        for path in {place(job.run) for job in jobs}:
            store.probe(path)
        with closing(engine.records(jobs, bar.update)) as ended:
            for run, record in ended:
                with block_interrupts():
                    store.append(record, place(run))
                bar.end(run)
                add(run, record)
    return [records[run] for run in runs]


def _artefacts(settings: Settings) -> Folder | None:
    """Return the folder of artefacts; None if runs are to make all of them themselves."""
    size = int(settings.max_artefacts * 2**30)
    folder = Folder(settings.data.absolute() / "artefacts", size)
    with suppress(OSError):
        folder.path.mkdir(parents=True, exist_ok=True)
    return folder if size else None


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
