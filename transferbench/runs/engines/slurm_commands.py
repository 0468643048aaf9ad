"""What Slurm's commands say about jobs; a command that fails says nothing."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass

#: Largest number of jobs in an array, unless `scontrol` says otherwise: Slurm's default.
MAX_ARRAY_SIZE = 1001
#: States of a job that ended through no fault of its own: it is submitted again.
LOST = {"PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "REVOKED"}


@dataclass(frozen=True)
class State:
    """State of a job, such as RUNNING, and the reason why it is pending; `queued` until it ends."""

    name: str
    reason: str = ""
    queued: bool = True


def max_array_size() -> int:
    """Return how many jobs an array may have."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", _ask("scontrol", "show", "config") or "", re.M)
    return max(1, int(found[1])) if found else MAX_ARRAY_SIZE


def states(jobs: Collection[str]) -> dict[str, State]:
    """Return the states of jobs by id, such as 12_3; of none if `squeue` does not answer.

    A job that has left the queue has the state that `sacct` knows, or ENDED.
    """
    queue = _ask("squeue", "--noheader", "--array", f"--user={os.getuid()}", "--format=%i|%T|%r")
    if queue is None:
        return {}
    queued = {}
    for line in queue.splitlines():
        job, _, state = line.strip().partition("|")
        name, _, reason = state.partition("|")
        queued[job] = State(name, reason)
    known = {job: queued[job] for job in jobs if job in queued}
    return known | _ended([job for job in jobs if job not in queued])


def _ended(jobs: list[str]) -> dict[str, State]:
    found = {job: State("ENDED", queued=False) for job in jobs}
    for some in _parts(jobs):
        fields = "--allocations", "--noheader", "--parsable2", "--format=JobID,State"
        for line in (_ask("sacct", *fields, f"--jobs={','.join(some)}") or "").splitlines():
            job, _, state = line.partition("|")
            if job in found and state:  # "CANCELLED by 1000"
                found[job] = State(state.split()[0], queued=False)
    return found


def cancel(jobs: Collection[str]) -> None:
    """Cancel jobs; those that ended are ignored."""
    for some in _parts(jobs):
        _ask("scancel", *some)


def _parts(jobs: Collection[str], size: int = 500) -> Iterator[list[str]]:
    """Yield the jobs in parts that fit on a command line."""
    ordered = list(jobs)
    for first in range(0, len(ordered), size):
        yield ordered[first : first + size]


def _ask(*command: str) -> str | None:
    """Return the output of a command; None if it failed or does not answer for a minute."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
