"""The engine for Slurm, by submitit: one job of an array for each run, in a shared folder.

Submitit stores jobs and records as pickles in that folder, which only its owner should write to.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import submitit
from submitit.core.utils import FailedJobError, FailedSubmissionError, pickle_load

from transferbench.errors import UserError
from transferbench.files import write_text
from transferbench.messages import reason, shorten
from transferbench.runs.engines import Engine, ProgressCallback, remote
from transferbench.runs.engines.local import with_memory_limit
from transferbench.runs.engines.slurm_commands import LOST, State, cancel, max_array_size, states
from transferbench.runs.engines.slurm_folder import Folder, take_abandoned
from transferbench.runs.job import Job
from transferbench.runs.progress import notify
from transferbench.runs.record import Limits, Record

Result = Record | UserError
#: How often a run is begun again after a preemption or the loss of its node.
RETRIES = 10
#: Seconds in which Slurm kills a job after it has sent SIGTERM.
KILL_WAIT = 600.0
#: Options of sbatch for memory: they exclude each other.
MEMORY = {"mem", "mem_gb", "mem_per_cpu", "mem_per_gpu"}


@dataclass
class Submitted:
    """A run, the Slurm job that performs it, the folder of the job, and what is known of it.

    adopted : submitted by a command that was killed.
    retries : how often it was begun again.
    state   : as of the last check of the queue; None before the first.
    ended   : number of checks in a row that found the job ended.
    """

    job: Job
    slurm: submitit.Job[Result]
    folder: Folder
    adopted: bool = False
    retries: int = 0
    state: State | None = None
    ended: int = 0

    @property
    def result(self) -> Path:
        """File of the result."""
        path: Path = self.slurm.paths.result_pickle
        return path


@dataclass(frozen=True)
class Slurm(Engine):
    """Performs runs as Slurm jobs.

    folder  : for files of the jobs, visible from every node.
    n_jobs  : runs at a time.
    options : of sbatch, by submitit's names (partition, account, …). The option cluster=local
              starts the jobs as processes of this machine, to try it out.
    pause   : seconds between two checks of the jobs' files.
    poll    : seconds between two questions to Slurm.
    remind  : seconds between two messages while no job runs.

    Jobs that a killed command left are used if they perform the same runs, and cancelled otherwise.
    """

    folder: Path
    n_jobs: int = 1
    options: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.5
    poll: float = 15.0
    remind: float = 60.0

    def records(
        self,
        jobs: Iterable[Job],
        on_progress: ProgressCallback,
        on_done: Callable[[Record], None],
    ) -> Generator[Record, None, None]:
        """See Engine; take all jobs before the first starts."""
        jobs = list(jobs)
        if not jobs:
            return
        folder = Folder.create(self.folder)
        folders, submitted = [folder], list[Submitted]()
        try:
            local = self.options.get("cluster") == "local"
            files = folder.path / "local" if local else folder.jobs
            executor = self._executor(files, [job.limits for job in jobs])
            missing = jobs.copy()
            for left in () if local else take_abandoned(self.folder):
                folders.append(left)
                adopted = _adopt(left, missing)
                submitted += adopted
                missing = [job for job in missing if job not in [each.job for each in adopted]]
            for path, name in {(job.task.path, job.task.digest.hex()) for job in jobs}:
                shutil.copyfile(path, folder.path / name)
            # The next part waits: Slurm limits the jobs at a time only within an array.
            size = self.n_jobs if local else max_array_size()
            collecting = _Collecting(self, executor, folders, on_progress)
            waiting = list(submitted)
            while missing or waiting:
                part = _submit(executor, missing[:size], folder)
                del missing[:size]
                submitted += part
                waiting += part
                yield from collecting.records(waiting, submitted)
                waiting = []
        finally:
            _cancel([each for each in submitted if not each.result.exists()])
            for each in folders:
                each.remove()

    def _executor(self, folder: Path, limits: Sequence[Limits]) -> Any:
        options: dict[str, Any] = {
            name: int(value) if value.isdecimal() else value for name, value in self.options.items()
        }
        cluster = options.pop("cluster", "slurm")
        if cluster == "slurm" and not shutil.which("srun"):
            raise UserError(
                "Slurm is not installed here (srun not found); use a machine that has it."
            )
        seconds = max(each.seconds or 24 * 3600.0 for each in limits)
        memory = max(each.memory or 0 for each in limits)
        parameters: dict[str, Any] = {
            "name": "transferbench",
            "timeout_min": ceil(seconds / 60) + 5,  # 5 minutes to start and to load the task
            "cpus_per_task": max(each.threads for each in limits),
            "slurm_array_parallelism": self.n_jobs,
        }
        if memory and not MEMORY & {name.removeprefix("slurm_") for name in options}:
            parameters["mem_gb"] = ceil(memory / 2**30) + 1
        for name, value in options.items():
            parameters[name if name in (*parameters, "mem_gb") else f"slurm_{name}"] = value
        try:
            executor = submitit.AutoExecutor(folder, cluster=cluster)
            executor.update_parameters(**parameters)
        except (AssertionError, NameError, TypeError, ValueError) as error:
            raise UserError(f"--slurm: {str(error).splitlines()[0]}") from error
        return executor


class _Collecting:
    """Waits for jobs; a job that was lost through no fault of its own is submitted again."""

    def __init__(
        self, engine: Slurm, executor: Any, folders: Sequence[Folder], on_progress: ProgressCallback
    ) -> None:
        self.engine, self.executor, self.folders = engine, executor, folders
        self.on_progress = on_progress
        self.asked = self.reminded = time.monotonic()

    def records(
        self, waiting: list[Submitted], submitted: list[Submitted]
    ) -> Generator[Record, None, None]:
        """Yield the record of each job as it ends; add those submitted again to `submitted`."""
        while waiting:
            try:
                self._report_progress(waiting)
            except KeyboardInterrupt:
                done = [_of_result(each) for each in waiting if each.result.exists()]
                yield from (record for record in done if isinstance(record, Record))
                raise
            self._ask(waiting)
            again: list[Submitted] = []
            for each in list(waiting):
                record = _record(each)
                if isinstance(record, Record):
                    waiting.remove(each)
                    yield record
                elif record:
                    waiting.remove(each)
                    again.append(each)
            for new in self._again(again):
                waiting.append(new)
                submitted.append(new)
            time.sleep(self.engine.pause if waiting else 0)

    def _report_progress(self, waiting: Sequence[Submitted]) -> None:
        for folder in self.folders:
            with suppress(OSError):  # a network file system then looks for new files
                folder.jobs.chmod(folder.jobs.stat().st_mode)
        for each in waiting:
            with suppress(OSError, ValueError):  # no progress yet
                text = _progress_file(each.folder.path, each.job.key).read_text()
                iteration, planned = map(int, text.split())
                self.on_progress(each.job.key, iteration, planned)
        self.on_progress()

    def _ask(self, waiting: Sequence[Submitted]) -> None:
        """Update the states of the jobs, at most once in `poll` seconds."""
        now = time.monotonic()
        if self.executor.cluster == "local":
            for each in waiting:
                each.ended = 2 * each.slurm.done()
                each.state = State(each.slurm.state, queued=not each.ended)
            return
        if now - self.asked < self.engine.poll:
            return
        self.asked = now
        for folder in self.folders:
            folder.beat()
        found = states([each.slurm.job_id for each in waiting])
        for each in waiting:
            if state := found.get(each.slurm.job_id):
                each.ended = 0 if state.queued else each.ended + 1
                if each.state and each.state.name == "RUNNING" and state.name == "PENDING":
                    each.retries += 1
                    notify(f"{each.job.run} was preempted; Slurm will begin it again.")
                each.state = state
        if any(state.name == "RUNNING" for state in found.values()):
            self.reminded = now
        elif found and now - self.reminded >= self.engine.remind:
            self.reminded = now
            reasons = Counter(s.reason or s.name for s in found.values() if s.queued)
            if reasons:
                why = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common(3))
                notify(f"{reasons.total()} Slurm jobs wait, none runs: {shorten(why)}.")

    def _again(self, lost: Sequence[Submitted]) -> list[Submitted]:
        """Submit jobs again."""
        new = _submit(self.executor, [each.job for each in lost], self.folders[0])
        for each, old in zip(new, lost, strict=True):
            each.retries = old.retries + 1
            why = old.state.name.lower() if old.state else "lost"
            notify(f"{each.job.run} is submitted again ({why}; {each.retries} of {RETRIES}).")
        return new


def _submit(executor: Any, jobs: Sequence[Job], folder: Folder) -> list[Submitted]:
    """Submit jobs as one array. Raise UserError if Slurm refuses them."""
    submitted = []
    if not jobs:
        return []
    try:
        with executor.batch():
            for job in jobs:
                caller = remote.identity([job.run.model])
                slurm = executor.submit(_perform, job, caller, folder.path)
                submitted.append(Submitted(job, slurm, folder))
    except (FailedJobError, FailedSubmissionError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise UserError(f"sbatch: {shorten(lines[-1] if lines else '')}; see --slurm.") from error
    return submitted


def _adopt(left: Folder, jobs: Sequence[Job]) -> list[Submitted]:
    """Return the jobs in a folder of a killed command that perform our runs; cancel the others."""
    wanted = {job.key: job for job in jobs}
    adopted: list[Submitted] = []
    others: list[str] = []
    for file in sorted(left.jobs.glob("*_submitted.pkl")):
        slurm: Any = submitit.SlurmJob(left.jobs, file.name.removesuffix("_submitted.pkl"))
        job: Job | None = None
        with suppress(Exception):  # written by another version
            job = slurm.submission().args[0]
        if job and job.key in wanted and job.limits == wanted[job.key].limits:
            adopted.append(Submitted(wanted.pop(job.key), slurm, left, adopted=True))
        else:
            others.append(slurm.job_id)
    cancel(others)
    if adopted:
        notify(f"{len(adopted)} Slurm jobs of a command that was killed are used.")
    return adopted


def _cancel(submitted: Sequence[Submitted]) -> None:
    """Cancel jobs; ignore those that ended."""
    cancel([each.slurm.job_id for each in submitted if isinstance(each.slurm, submitit.SlurmJob)])
    for each in submitted:
        if not isinstance(each.slurm, submitit.SlurmJob) and not each.slurm.done():
            each.slurm.cancel(check=False)


def _perform(job: Job, caller: remote.Identity, folder: Path) -> Result:
    """Perform a job; called by submitit in the Slurm job."""
    job = with_memory_limit(job, 1)
    file = folder / job.task.digest.hex()
    place = f"{os.uname().nodename}, job {submitit.JobEnvironment().job_id}"

    def on_progress(key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        write_text(_progress_file(folder, job.key), f"{iteration} {planned}")

    terminated: list[object] = []
    signal.signal(signal.SIGTERM, lambda *event: terminated.append(event))
    try:
        record = remote.perform(job, caller, file.read_bytes, on_progress, place=place)
    except UserError as error:  # if raised, only the text of its traceback would come back
        return error
    if terminated and not record.done:
        # Slurm ends this job, and the run is not to blame: leave no record.
        time.sleep(KILL_WAIT)
        sys.exit(1)
    return record


def _progress_file(folder: Path, key: str) -> Path:
    return folder / f"{key}.progress"


def _record(each: Submitted) -> Record | bool:
    """Return the record of a job that ended; true if it is to be submitted again, else false."""
    job, state = each.job, each.state
    if each.result.exists():
        return _of_result(each)
    if each.retries > RETRIES:
        cancel([each.slurm.job_id])
        return job.record("crashed", f"preempted or lost {each.retries} times")
    if each.ended < 2 or state is None:  # the file may arrive late
        return False
    if state.name in LOST:
        return True
    if state.name == "OUT_OF_MEMORY":
        return job.record("memory", "its Slurm job ran out of memory")
    if state.name == "TIMEOUT":
        return job.record("timeout", "its Slurm job exceeded its time")
    return job.record("crashed", f"its job ended in the state {state.name}, without a record")


def _of_result(each: Submitted) -> Record | bool:
    """Return the record of a result, or true if the job is to be submitted again.

    Raise UserError if the job could not be performed as it was submitted.
    """
    try:
        outcome, result = pickle_load(each.result)
    except Exception as error:
        return each.adopted or each.job.record("crashed", f"its result is damaged: {reason(error)}")
    if outcome == "error":  # the text of a traceback
        return each.job.record("crashed", shorten(str(result).strip().splitlines()[-1]))
    if isinstance(result, UserError):
        if each.adopted:  # the code has changed since
            return True
        raise result
    record: Record = result
    return record
