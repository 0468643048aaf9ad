"""What a run costs beyond its fit, and how busy many short runs keep the cores.

    python tests/bench_runner.py     (make bench)

Starts the command line in a process of its own, as a user does. The share of cores that were busy
is the CPU time of the command and of all it began, over that of as many cores (Linux).
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
    """Seconds that the command took, CPU seconds of it and of its descendants, its records."""
    with tempfile.TemporaryDirectory() as results:
        call = [sys.executable, "-m", "transferbench", "--results", results, "run", task]
        call += ["--model", "kmeans", "--repeats", str(repeats), "--jobs", str(jobs), "--json"]
        before, start = cpu(), time.perf_counter()
        out = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout
        wall = time.perf_counter() - start
        with contextlib.suppress(ChildProcessError):  # those it left, which are ours now, end, too
            while True:
                os.wait()
    return wall, cpu() - before, [json.loads(line) for line in out.splitlines()]


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: account for what outlives its parent
    print("task             runs  jobs    wall   a fit  beyond the fit, a run  further  cores busy")
    for task in TASKS:
        run(task, 1, 1)  # builds the task
        one = run(task, 1, 1)[0]
        for jobs, repeats in ((1, 1), (1, 200), (2, 200)):
            wall, used, records = run(task, jobs, repeats)
            fit = mean(r["seconds"]["fit"] for r in records)
            beyond = wall * jobs / repeats - fit
            further = (wall - one) * jobs / (repeats - 1) - fit if repeats > 1 else float("nan")
            print(
                f"{task:<18} {repeats:3d} {jobs:5d} {wall:6.1f}s {fit:6.3f}s {beyond:20.3f} s"
                f" {further:6.3f} s {used / jobs / wall:10.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
