"""Turn runs into records: reuse finished records, perform other runs, write each when it ends."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from transferbench import models, parameters
from transferbench.artefacts import Folder
from transferbench.core import device
from transferbench.data import tasks
from transferbench.data.tasks import Built, Facts, Task
from transferbench.errors import Unavailable
from transferbench.runs import local
from transferbench.runs.process import block_interrupts
from transferbench.runs.progress import ProgressBar
from transferbench.runs.record import Job, Limits, Record, Run
from transferbench.runs.store import Store
from transferbench.settings import Settings

#: Which runs to perform: those without a finished record, also those whose record other data or
#: code made (or code that cannot be followed, see `untraced`), or all.
Rerun = Literal["missing", "outdated", "all"]


def untraced(run: Run) -> bool:
    """True for a model outside a package: what it imports or reads may change without its key.

    That of an estimator of scikit-learn has the version, which is enough.
    """
    alone = run.model.endswith(".py") or (":" in run.model and not run.model.startswith("sklearn."))
    return alone or not (models.get(run.model).path.parent / "__init__.py").is_file()


def plan(task: str, model: str, given: dict[str, Any], seeds: Iterable[int]) -> list[Run]:
    """Return the runs of a model on a task: one for each seed, or one if it takes no seed.

    Raise UserError for an unknown task, model or parameter.
    """
    function = models.load(model)
    value = tasks.Task.parse(task)
    params = parameters.resolve(function, given, model)
    random = parameters.takes_seed(function)
    return [Run(value, model, params, seed) for seed in (seeds if random else (None,))]


def run(
    runs: Sequence[Run],
    settings: Settings,
    *,
    n_jobs: int = 1,
    limits: Callable[[Run], Limits] = lambda run: Limits(),
    rerun: Rerun = "outdated",
    store: Store | None = None,
    place: Callable[[Run], Path | None] = lambda run: None,
    expected: Mapping[Run, float] | None = None,
    on_record: Callable[[Run, Record], None] = lambda run, record: None,
) -> list[Record]:
    """Return the record of each run, in order; perform those that `rerun` names.

    n_jobs     : runs at a time.
    limits     : returns the limits of a run.
    store      : finished records, and where new ones go; by default that of single runs.
    place      : returns the file of a run's record, None for that of single runs.
    expected   : seconds that runs may take, for the progress.
    on_record  : called with each run and its record, stored or new.

    All tasks are fetched and built before the first run starts. Only this process writes records,
    each as soon as its run ends, so that an interrupt loses none. A run that raises, crashes or
    exceeds a limit gets a record with the reason and does not affect others. If the data of a task
    cannot be obtained, its runs get `unavailable` records, which are not written.

    Raise UserError if a model is not made for its task or device, if the device is missing or if
    records cannot be written.
    """
    store = store or Store(settings.results, single=True)
    artefacts = _artefacts(settings)
    records: dict[Run, Record] = {}
    jobs: list[Job] = []

    @cache
    def build(task: Task) -> Built | Unavailable:
        bar.prepare(f"task {task}")
        try:
            return tasks.ensure_built(task, settings)
        except Unavailable as error:
            return error

    def add(run: Run, record: Record) -> None:
        records[run] = record
        on_record(run, record)

    with closing(ProgressBar(runs, expected)) as bar:
        for run in dict.fromkeys(runs):
            record = store.get(run, place(run))
            wanted = _wanted(run, store, rerun)
            if wanted != "missing" or not _is_kept(run, record, None, wanted):
                built = build(run.task)
                if isinstance(built, Built):
                    models.check_family(run.model, built.facts.family)
                    if not _is_kept(run, record, built.facts, wanted):
                        jobs.append(Job(run, built, limits(run), artefacts))
                        models.check_device(run.model, jobs[-1].limits.device)
                        continue
                elif record and record.done:
                    warnings.warn(f"{built.brief}; earlier results are kept", stacklevel=1)
                else:
                    record = Record.of(run, "unavailable", built.brief)
            assert record
            bar.skip(run)
            add(run, record)
        for name in {job.limits.device for job in jobs}:
            device.check(name)
        for path in {place(job.run) for job in jobs}:
            store.probe(path)
        with closing(local.perform(jobs, n_jobs, bar.update)) as ended:
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

    @cache
    def facts(task: Task) -> Facts | None:
        with suppress(OSError, ValueError):  # it is not built, or the file is damaged
            return tasks.read_facts(task.built_path(settings))
        return None

    return [
        _is_kept(run, store.get(run, place(run)), facts(run.task), _wanted(run, store, rerun))
        for run in runs
    ]


def _wanted(run: Run, store: Store, rerun: Rerun) -> Rerun:
    """Return what is performed again; published runs are not, unless all are."""
    return "missing" if rerun == "outdated" and store.is_published(run) else rerun


def _is_kept(run: Run, record: Record | None, facts: Facts | None, rerun: Rerun) -> bool:
    """True if the stored record of a run is its result; facts: see `Record.is_current`."""
    if rerun == "all" or not (record and record.done):
        return False
    if rerun == "missing":
        return record.has_curve(run)
    return record.is_current(run, facts) and not untraced(run)
