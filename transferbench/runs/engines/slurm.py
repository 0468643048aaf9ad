"""The engine for Slurm, by submitit: one job of an array for each run, in a shared folder.

Submitit stores jobs and records as pickles in that folder, which only its owner should write to.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import submitit
from submitit.core.utils import FailedJobError

from transferbench.errors import UserError
from transferbench.files import write_text
from transferbench.runs.engines import Engine, ProgressCallback, remote
from transferbench.runs.engines.local import with_memory_limit
from transferbench.runs.job import Job
from transferbench.runs.record import Limits, Record

Result = Record | UserError
#: A run and the Slurm job that performs it.
Submitted = tuple[Job, "submitit.Job[Result]"]


@dataclass(frozen=True)
class Slurm(Engine):
    """Performs runs as Slurm jobs.

    folder  : for files of the jobs, visible from every node.
    n_jobs  : runs at a time.
    options : of sbatch, by submitit's names (partition, account, …). The option cluster=local
              starts the jobs as processes of this machine, to try it out.
    pause   : seconds between two checks of the jobs.
    """

    folder: Path
    n_jobs: int = 1
    options: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.5

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
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self.folder)).resolve()
        submitted: list[Submitted] = []
        try:
            executor = self._executor(folder / "jobs", [job.limits for job in jobs])
            for path, name in {(job.task.path, job.task.digest.hex()) for job in jobs}:
                shutil.copyfile(path, folder / name)
            # Slurm limits the jobs at a time; for cluster=local they are submitted in parts.
            size = self.n_jobs if executor.cluster == "local" else len(jobs)
            for first in range(0, len(jobs), size):
                part: list[Submitted] = []
                with executor.batch():  # one array of jobs
                    for job in jobs[first : first + size]:
                        caller = remote.identity([job.run.model])
                        part.append((job, executor.submit(_perform, job, caller, folder)))
                submitted += part
                yield from self._collect(part, folder, on_progress)
        finally:
            for _, each in submitted:
                if not each.done():
                    each.cancel(check=False)
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # not empty: another command uses it
                self.folder.rmdir()

    def _collect(
        self, submitted: Sequence[Submitted], folder: Path, on_progress: ProgressCallback
    ) -> Generator[Record, None, None]:
        """Yield the record of each job as it ends."""
        waiting = list(submitted)
        while waiting:
            for job, _ in waiting:
                with suppress(OSError):  # no progress yet
                    text = _progress_file(folder, job.key).read_text()
                    on_progress(job.key, *map(int, text.split()))
            on_progress()
            for job, each in [pair for pair in waiting if pair[1].done()]:
                waiting.remove((job, each))
                yield _record(job, each)
            time.sleep(self.pause if waiting else 0)

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
        if memory:
            parameters["mem_gb"] = ceil(memory / 2**30) + 1
        for name, value in options.items():
            parameters[name if name in parameters else f"slurm_{name}"] = value
        try:
            executor = submitit.AutoExecutor(folder, cluster=cluster)
            executor.update_parameters(**parameters)
        except (AssertionError, NameError, TypeError, ValueError) as error:
            raise UserError(f"--slurm: {str(error).splitlines()[0]}") from error
        return executor


def _perform(job: Job, caller: remote.Identity, folder: Path) -> Result:
    """Perform a job; called by submitit in the Slurm job."""
    mib = int(os.environ.get("SLURM_MEM_PER_NODE") or 0)
    job = with_memory_limit(job, 1, mib * 2**20)
    file = folder / job.task.digest.hex()
    place = f"{os.uname().nodename}, job {submitit.JobEnvironment().job_id}"

    def on_progress(key: str | None = None, iteration: int = 0, planned: int = 1, /) -> None:
        write_text(_progress_file(folder, job.key), f"{iteration} {planned}")

    try:
        return remote.perform(job, caller, file.read_bytes, on_progress, place=place)
    except UserError as error:  # if raised, only the text of its traceback would come back
        return error


def _progress_file(folder: Path, key: str) -> Path:
    return folder / f"{key}.progress"


def _record(job: Job, submitted: submitit.Job[Result]) -> Record:
    error = submitted.exception()
    if error is None:
        result = submitted.result()
        if isinstance(result, UserError):
            raise result
        return result
    reason = f"its job ended in the state {submitted.state}, without a record"
    if isinstance(error, FailedJobError):  # its text has the traceback between two lines of dashes
        reason = str(error).split("-" * 22)[1].strip().splitlines()[-1]
    return job.record("crashed", reason)
