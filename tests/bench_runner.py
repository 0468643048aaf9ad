"""The overhead of a run beyond its fit, and the use of the cores by many short runs.

    python tests/bench_runner.py     (make bench)

Starts the command line in a process of its own, as a user does. "Cores busy" is the CPU time of the
command and all its processes, divided by wall time and number of jobs (Linux).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from statistics import mean

TASKS = ("generated/small", "generated/clusters")


def run(task: str, jobs: int, repeats: int) -> tuple[float, float, list[dict]]:
    """Return wall seconds of the command, CPU seconds of all its processes, and its records."""
    with tempfile.TemporaryDirectory() as results:
        call = [sys.executable, "-m", "transferbench", "--results", results, "run", task]
        call += ["--model", "kmeans", "--repeats", str(repeats), "--jobs", str(jobs), "--json"]
        before, start = cpu(), time.perf_counter()
        out = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout
        wall = time.perf_counter() - start
        with contextlib.suppress(ChildProcessError):  # wait for processes it left, too
            while True:
                os.wait()
    return wall, cpu() - before, [json.loads(line) for line in out.splitlines()]


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: adopt orphaned processes
    print(
        "task               runs  jobs   wall     fit  beyond the fit, a run   further  cores busy"
    )
    for task in TASKS:
        run(task, 1, 1)  # builds the task
        one = run(task, 1, 1)[0]
        for jobs, repeats in ((1, 1), (1, 200), (2, 200)):
            wall, used, records = run(task, jobs, repeats)
            fit = mean(record["seconds"] for record in records)
            overhead = wall * jobs / repeats - fit
            further = (wall - one) * jobs / (repeats - 1) - fit if repeats > 1 else float("nan")
            print(
                f"{task:<18} {repeats:3d} {jobs:5d} {wall:6.1f} s {fit:5.3f} s {overhead:21.3f} s"
                f" {further:7.3f} s {used / jobs / wall:10.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
