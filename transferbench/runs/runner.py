"""Turn runs into records: reuse finished records, perform other runs, write each when it ends."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

from transferbench import models, parameters, tasks
from transferbench.artefacts import open_folder
from transferbench.core import device
from transferbench.errors import Unavailable, UserError, brief
from transferbench.runs import policy, pool
from transferbench.runs.policy import Reason, Rerun
from transferbench.runs.process import block_interrupts
from transferbench.runs.progress import ProgressBar
from transferbench.runs.record import Job, Limits, Record, Run
from transferbench.runs.store import Store, latest
from transferbench.settings import Settings
from transferbench.tasks import BuiltTask, Task


def plan_runs(task: str, model: str, given: dict[str, Any], seeds: Iterable[int]) -> list[Run]:
    """Return the runs of a model on a task: one for each seed, or one if it takes no seed."""
    # Raise UserError for an unknown task, model or parameter, and for a path that is not UTF-8.
    check_utf8("task", task)
    check_utf8("model", model)
    function = models.load(model)
    value = tasks.Task.parse(task)
    params = parameters.resolve(function, given, model)
    random = parameters.takes_seed(function)
    return [Run(value, model, params, seed) for seed in (seeds if random else (None,))]


def check_utf8(what: str, name: str) -> None:
    """Check that a name can be written into a record; a user's path may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        remedy = "rename it, or work in its folder"
        raise UserError(f"{what} {brief(name)}: expected a name in UTF-8; {remedy}.") from None


def run(
    runs: Sequence[Run],
    settings: Settings,
    *,
    n_jobs: int = 1,
    cluster: str = "",
    limits: Callable[[Run], Limits] = lambda run: Limits(),
    rerun: Rerun = "outdated",
    store: Store | None = None,
    file_of: Callable[[Run], Path | None] = lambda run: None,
    expected: Mapping[Run, float] | None = None,
    on_record: Callable[[Run, Record], None] = lambda run, record: None,
) -> list[Record]:
    """Return the record of each run, in order; perform those that `rerun` names."""
    # All tasks are fetched and built before the first run starts. Only this process writes records,
    # each as soon as its run ends, so that an interrupt loses none. A run that raises, crashes or
    # exceeds a limit gets a record with the reason and does not affect others. If the data of a
    # task cannot be obtained, its runs get `unavailable` records, which are not written.
    # `runs`: Of equal ones one is performed.
    # `cluster`: Where to perform the runs instead, see `cluster.engine`; "" for this machine.
    # `store`: Finished records, and where new ones go; by default that of single runs.
    # `file_of`: Returns the file of a run's record, None for that of single runs.
    store = store or Store(settings.results, single=True)
    artefacts = open_folder(settings.data, settings.max_artefacts)
    records: dict[Run, Record] = {}
    jobs: list[Job] = []

    @cache
    def build(task: Task) -> BuiltTask | Unavailable:
        bar.prepare(f"task {task}")
        try:
            return tasks.ensure_built(task, settings)
        except Unavailable as error:
            return error

    def add(run: Run, record: Record) -> None:
        records[run] = record
        on_record(run, record)

    with closing(ProgressBar(runs, expected, settings.results)) as bar:
        for run in dict.fromkeys(runs):
            record, published = store.get(run, file_of(run)), store.is_published(run)
            needs_data = rerun == "outdated" and not published
            if needs_data or policy.decide(run, record, None, rerun, published=published):
                built = build(run.task)
                if isinstance(built, BuiltTask):
                    models.check_family(run.model, built.facts.family)
                    if policy.decide(run, record, built.facts, rerun, published=published):
                        jobs.append(Job(run, built, limits(run), artefacts))
                        models.check_device(run.model, jobs[-1].limits.device)
                        continue
                else:
                    lost = Record.of(run, "unavailable", built.brief)
                    record = (
                        record if record and published else latest([*filter(None, [record]), lost])
                    )
                    if record is not lost:
                        warnings.warn(f"{built.brief}; earlier results are kept", stacklevel=1)
            assert record
            bar.skip(run)
            add(run, record)
        for name in {job.limits.device for job in jobs} if not cluster else ():
            device.check(name)
        for path in {file_of(job.run) for job in jobs}:
            store.check_writable(path)
        engine = partial(pool.local, n_jobs)
        if cluster:
            from transferbench.runs import cluster as clusters

            engine = partial(clusters.engine, cluster)
        with closing(pool.run_jobs(jobs, engine, bar.update)) as ended:
            for run, record in ended if jobs else ():
                with block_interrupts():
                    record = store.append(record, file_of(run))
                bar.end(run)
                add(run, record)
    return [records[run] for run in runs]


def reasons(
    runs: Sequence[Run],
    settings: Settings,
    store: Store,
    file_of: Callable[[Run], Path | None] = lambda run: None,
    rerun: Rerun = "outdated",
) -> list[Reason]:
    """Return why `run` would perform each run, "" if it would not; nothing is run or built."""
    present = cache(partial(policy.present, settings=settings))

    def why(run: Run) -> Reason:
        facts, files = present(run.task.built)
        record, published = store.get(run, file_of(run)), store.is_published(run)
        return policy.decide(run, record, facts, rerun, published=published, files=files)

    return [*map(why, runs)]
