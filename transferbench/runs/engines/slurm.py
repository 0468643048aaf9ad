"""The engine of Slurm, by submitit: one job of an array for each run, in a folder that jobs see.

Submitit carries runs and records as pickles in that folder, which only its owner should write.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any

import submitit
from submitit.core.utils import FailedJobError

from transferbench.errors import UserError
from transferbench.files import write_text
from transferbench.runs.engines import Say, remote
from transferbench.runs.record import Limits, Record
from transferbench.runs.worker import Job, ended

Result = Record | UserError


@dataclass(frozen=True)
class Slurm:
    """`jobs` runs at a time; options: of sbatch, as submitit calls them (partition, account, …).

    folder: where jobs and their files lie meanwhile, seen by every node. The option cluster=local
    starts jobs as processes of this machine, to try it out.
    """

    folder: Path
    jobs: int = 1
    options: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.5  # seconds between looks at the jobs

    def records(
        self, runs: Iterable[Job], say: Say, keep: Callable[[Record], None]
    ) -> Generator[Record, None, None]:
        """See Engine; all runs are made before the first begins."""
        runs = list(runs)
        if not runs:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self.folder)).resolve()
        started: list[submitit.Job[Result]] = []
        try:
            executor = self._executor(folder / "jobs", [run.limits for run in runs])
            for path, name in {(run.task.path, run.task.digest.hex()) for run in runs}:
                shutil.copyfile(path, folder / name)
            # Slurm keeps to `jobs` itself; without it there is nobody to hold jobs back.
            size = self.jobs if executor.cluster == "local" else len(runs)
            for first in range(0, len(runs), size):
                part = runs[first : first + size]
                with executor.batch():
                    jobs = [
                        executor.submit(_perform, run, remote.identity([run.run.model]), folder)
                        for run in part
                    ]
                started += jobs
                of = {job.job_id: run for job, run in zip(jobs, part, strict=True)}
                while jobs:
                    for job in jobs:
                        with suppress(OSError):  # nothing is told yet
                            key = of[job.job_id].key
                            say(key, *map(int, _progress(folder, key).read_text().split()))
                    say()
                    for job in [job for job in jobs if job.done()]:
                        jobs.remove(job)
                        yield _record(of[job.job_id], job)
                    time.sleep(self.pause if jobs else 0)
        finally:
            for job in started:
                if not job.done():
                    job.cancel(check=False)
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another command's files are there
                self.folder.rmdir()

    def _executor(self, folder: Path, limits: Sequence[Limits]) -> Any:
        options: dict[str, Any] = {
            name: int(value) if value.isdecimal() else value for name, value in self.options.items()
        }
        cluster = options.pop("cluster", "slurm")
        if cluster == "slurm" and not shutil.which("srun"):
            raise UserError(
                "no Slurm here (srun is not found); give this command on a machine that has it."
            )
        seconds = max(each.seconds or 24 * 3600.0 for each in limits)
        memory = max((each.memory or 0 for each in limits), default=0)
        known: dict[str, Any] = {
            "name": "transferbench",
            "timeout_min": ceil(seconds / 60) + 5,  # for the start of the job and the task
            "cpus_per_task": max(each.threads for each in limits),
            "slurm_array_parallelism": self.jobs,
        }
        if memory:
            known["mem_gb"] = ceil(memory / 2**30) + 1
        try:
            executor = submitit.AutoExecutor(folder, cluster=cluster)
            given = {name if name in known else f"slurm_{name}": v for name, v in options.items()}
            executor.update_parameters(**known | given)
        except (AssertionError, NameError, TypeError, ValueError) as error:
            raise UserError(f"--slurm: {str(error).splitlines()[0]}") from error
        return executor


def _perform(run: Job, caller: remote.Identity, folder: Path) -> Result:
    """In the job: a run in a process of its own."""
    given = os.environ.get("SLURM_MEM_PER_NODE")  # in MiB
    if run.limits.memory is None and given:
        share = int(int(given) * 2**20 * 0.8)
        run = replace(run, limits=replace(run.limits, memory=share))
    file = folder / run.task.digest.hex()
    place = f"{os.uname().nodename}, job {submitit.JobEnvironment().job_id}"

    def tell(iteration: int, planned: int) -> None:
        write_text(_progress(folder, run.key), f"{iteration} {planned}")

    try:
        return remote.perform(run, caller, file.read_bytes, tell, place=place)
    except UserError as error:  # raised, it would come back as the text of a traceback
        return error


def _progress(folder: Path, key: str) -> Path:
    """Where a job notes how far its run has come."""
    return folder / f"{key}.progress"


def _record(run: Job, job: submitit.Job[Result]) -> Record:
    error = job.exception()
    if error is None:
        result = job.result()
        if isinstance(result, UserError):
            raise result
        return result
    reason = f"its job ended in the state {job.state}, without a record"
    if isinstance(error, FailedJobError):  # whose text has the traceback between two rules
        reason = str(error).split("-" * 22)[1].strip().splitlines()[-1]
    return ended(run, "crashed", reason)
