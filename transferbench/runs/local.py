"""Perform jobs on this machine: each run in a process of its own, see `runs.process`."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path

from transferbench.runs.record import Job, OnProgress, Record, Run

#: Seconds between two checks of the processes.
PAUSE = 0.1


def run_jobs(
    jobs: Iterable[Job], n_jobs: int, on_progress: OnProgress
) -> Generator[tuple[Run, Record]]:
    """Perform `n_jobs` jobs at a time; yield the record of each as it ends, in any order.

    Jobs without a memory limit share 80 % of the memory. Closing the generator early, or an error
    in it, stops all running jobs.
    """
    from transferbench.runs.process import RunProcess

    jobs = iter(jobs)
    running: list[RunProcess] = []
    try:
        while True:
            while len(running) < n_jobs and (job := next(jobs, None)):
                running.append(RunProcess(with_memory_limit(job, n_jobs)))
                on_progress(job.run, 0, 1)
            if not running:
                return
            wait([each for process in running for each in process.handles], PAUSE)
            on_progress()
            for process in list(running):
                if record := process.poll(on_progress):
                    running.remove(process)
                    process.end()
                    yield process.job.run, record
    finally:
        for process in running:
            process.end()


def with_memory_limit(job: Job, n_jobs: int) -> Job:
    """Return the job, limited to 80 % of the memory / n_jobs unless its memory is limited."""
    if job.limits.memory is not None or (available := total_memory()) is None:
        return job
    return replace(job, limits=replace(job.limits, memory=int(available * 0.8 / n_jobs)))


def total_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may use: the machine's, or less in a container or a job.

    None if the system does not report any.

    Parameters
    ----------
    root
        Folder with `proc` and `sys`.
    """
    limits, groups = [], ""
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text()
    for line in groups.splitlines():  # number:controllers:path of a control group
        group = Path(line.split(":", 2)[2].lstrip("/"))
        # In a container the path may be that of the host: then only its parents are found.
        for folder in (group, *group.parents):
            # Files of version 2 and of version 1.
            for file in (folder / "memory.max", "memory" / folder / "memory.limit_in_bytes"):
                with suppress(OSError, ValueError):  # no such group, or "max": no limit
                    limits.append(int((root / "sys/fs/cgroup" / file).read_text()))
    return min(limits, default=None)
