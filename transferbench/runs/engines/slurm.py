"""The engine for Slurm: dask workers in Slurm jobs, submitted by dask-jobqueue.

The scheduler lives in this process. Connections are encrypted; the keys, made anew for each
command, are in a folder that all nodes see and that only its owner can read.
"""

import signal
import subprocess
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import dask
from distributed import Client
from distributed.core import Status

from transferbench.errors import UserError
from transferbench.messages import shorten
from transferbench.runs.engines import Options
from transferbench.runs.engines.dask import QUIET, Dask, Scheduler
from transferbench.runs.progress import notify
from transferbench.runs.record import Job

_handler = signal.getsignal(signal.SIGINT)
from dask_jobqueue.slurm import SLURMCluster, SLURMJob  # noqa: E402 (it replaces the handler)

signal.signal(signal.SIGINT, _handler)

#: Seconds for a job to start its worker, and for the worker to load a task.
STARTING = 300.0
#: Most seconds for the cluster to close. Without a limit, dask may wait forever if a signal ends a
#: worker meanwhile.
CLOSING = 30.0


@dataclass
class Slurm(Dask):
    """Performs runs in Slurm jobs, each of which takes one run after the other.

    options : options for the jobs, see `Options`.
    poll    : seconds between two checks of the jobs.
    remind  : seconds between two messages while no job runs.
    """

    options: Options = field(default_factory=Options)
    poll: float = 5.0
    remind: float = 60.0

    def connect(self, stack: ExitStack, jobs: list[Job]) -> Client:
        """Submit Slurm jobs and return a client of their scheduler; `stack` cancels them."""
        parent = self.options.folder.absolute()
        parent.mkdir(parents=True, exist_ok=True)
        self._folder = Path(
            stack.enter_context(TemporaryDirectory(dir=parent, ignore_cleanup_errors=True))
        )
        _Job.errors.clear()
        self._size = min(self.options.n_jobs, len(jobs))
        self._checked = self._reminded = time.monotonic()
        self._cluster = self._submit(jobs)
        stack.callback(self._close)
        client: Client = stack.enter_context(Client(self._cluster))
        return client

    def _close(self) -> None:
        with suppress(TimeoutError):
            self._cluster.close(timeout=CLOSING)

    def check_workers(self) -> None:
        """Submit a lost job again. Raise UserError if Slurm refused a job or none is left."""
        now = time.monotonic()
        if _Job.errors:
            raise UserError(
                f"sbatch: {shorten(_Job.errors[0])}; see --slurm, or use a machine that has Slurm."
            )
        if now - self._checked < self.poll:
            return
        self._checked = now
        self._cluster.scale(self._size)
        if self._cluster.scheduler_info["workers"]:
            self._reminded = now
        elif now - self._reminded >= self.remind:
            self._reminded = now
            self._report_waiting()

    def _report_waiting(self) -> None:
        """Print why no job runs. Raise UserError if all have ended."""
        ids = ",".join(job.job_id for job in self._cluster.workers.values() if job.job_id)
        queue = ["squeue", "--noheader", "--format=%r", f"--jobs={ids}"]
        asked = subprocess.run(queue, capture_output=True, text=True, check=False)
        reasons = Counter(asked.stdout.split("\n")[:-1])
        if reasons.pop("None", 0):  # one has begun
            return
        if reasons:
            why = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common(3))
            notify(f"{reasons.total()} Slurm jobs wait, none runs: {shorten(why)}.")
        elif asked.returncode == 0:
            logs = [path.read_text(errors="replace") for path in self._folder.glob("*.err")]
            said = [log.strip().splitlines()[-1] for log in logs if log.strip()]
            raise UserError(
                f"the Slurm jobs ended before they took a run ({shorten(said[0]) if said else ''});"
                " check --slurm and that this folder and Python are visible from every node."
            )

    def _submit(self, jobs: list[Job]) -> SLURMCluster:
        """Return a cluster whose jobs are submitted; each has room for any of the runs."""
        limits = [job.limits for job in jobs]
        seconds = max(each.seconds or 24 * 3600.0 for each in limits)
        memory = max((each.memory or 0 for each in limits), default=0)
        given = {name.replace("_", "-"): value for name, value in self.options.slurm.items()}
        own_memory = not memory or any(name.startswith("mem") for name in given)
        return SLURMCluster(
            self._size,
            job_cls=_Job,  # type: ignore[arg-type]
            job_name="transferbench",
            cores=1,  # threads of the worker: one run at a time
            processes=1,
            nanny=False,
            memory=f"{memory}B",
            job_cpu=max(each.threads for each in limits),
            job_mem=f"{ceil(memory / 2**30) + 1}G",
            walltime=str(ceil((seconds * ceil(len(jobs) / self._size) + STARTING) / 60)),  # minutes
            job_directives_skip=["--mem="] if own_memory else [],
            job_extra_directives=[f"--{name}={value}" for name, value in given.items()],
            worker_extra_args=["--worker-class", "transferbench.runs.engines.dask.Worker"],
            scheduler_cls=Scheduler,
            scheduler_options=dask.config.get("jobqueue.slurm.scheduler-options", {})
            | {"dashboard": False},
            security=True,
            shared_temp_directory=str(self._folder.parent),  # deletes its files itself
            log_directory=str(self._folder),
            silence_logs=QUIET,
        )


def create(options: Options) -> Slurm:
    """Return the engine; see `engines.choose`."""
    return Slurm(options=options)


class _Job(SLURMJob):
    """A Slurm job. Errors of `sbatch`, which occur in a thread of dask, are collected."""

    errors: ClassVar[list[str]] = []

    async def start(self) -> None:
        """Submit the job."""
        try:
            await super().start()  # type: ignore[no-untyped-call]
        except (OSError, RuntimeError, ValueError) as error:
            self.errors.append((str(error).strip() or type(error).__name__).splitlines()[-1])
            self.status = Status.running

    async def close(self) -> None:
        """Cancel the job."""
        await super().close()  # type: ignore[no-untyped-call]
        self.status = Status.closed
