"""Benchmark: speed and memory compared with scikit-learn, all ratios within one run.

    python tests/bench.py            (make bench)

Prints for comp-vs-rec on one thread: iterations of the models compared with scikit-learn's NMF of
the same size, cosine graphs compared with its brute-force search, and a complete fit of GCMF.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

import transferbench
from transferbench import settings
from transferbench.core.graph import cosine_graph
from transferbench.core.scale import drop_empty_columns
from transferbench.data import tasks

ROUNDS = 3
TASK = "gtl/comp-vs-rec"


def problem():
    return tasks.load(tasks.Task.named(TASK), settings.load())[0]


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


#: Number of feature clusters of each model in its paper; NMF uses the same number.
MODELS = {"gcmf": 64, "mtrick": 50, "dkt": 50, "dtl": 20, "tritl": 50, "mrtl": 50}


def iterations(task) -> None:
    """Compare 100 iterations of each model with ten times 10 of NMF, both float32.

    After some ten iterations entries of NMF's factors are too small for a normal number. Some
    processors then need six times as long, which would flatter our models.
    """
    stacked = sp.csr_matrix(sp.vstack([d.X for d in task.domains]), dtype=np.float32)
    print("100 iterations    k     ours  NMF(mu)  ratio  ours, whole")
    for name, k in MODELS.items():
        nmf = NMF(k, solver="mu", init="random", max_iter=10, tol=0, random_state=0)
        rounds = []
        for _ in range(ROUNDS):
            stamps: list[float] = []
            watch = partial(stamp, stamps)
            whole = seconds(
                lambda n=name, w=watch: transferbench.fit(n, task, max_iter=100, watch=w)
            )
            # 99 intervals between 100 iterations exclude graphs and starting values.
            ours = (stamps[-1] - stamps[0]) * 100 / 99
            rounds.append((ours, 10 * seconds(lambda m=nmf: m.fit_transform(stacked)), whole))
        ours, theirs, whole = map(median, zip(*rounds, strict=True))
        ratio = median(a / b for a, b, _ in rounds)
        print(
            f"{name:<14} {k:4d} {ours:7.2f}s {theirs:7.2f}s {ratio:6.2f} {whole:11.2f}s", flush=True
        )


def stamp(stamps: list[float], *_: object) -> None:
    stamps.append(time.perf_counter())


def measured(kind: str) -> tuple[float, float]:
    """Return seconds and MiB needed for the graphs of both domains, in a new process."""
    call = [sys.executable, __file__, kind]
    out = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    elapsed, size = map(float, out.split())
    return elapsed, size


def graphs(kind: str) -> None:
    """Build document and feature graphs of both domains, p = 10; print seconds and MiB."""
    matrices = []
    for domain in problem().domains:
        X = sp.csr_array(drop_empty_columns(domain.X))
        matrices += [X, sp.csr_array(X.T)]
    build_graph = {
        "ours": lambda X: cosine_graph(X, 10),
        "theirs": lambda X: kneighbors_graph(
            sp.csr_matrix(X), 10, mode="distance", metric="cosine", n_jobs=1
        ),
    }[kind]
    # Reset the high-water mark of this process, so that loading does not count.
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    elapsed = seconds(lambda: [build_graph(X) for X in matrices])
    print(elapsed, status("VmHWM") - before)


def status(field: str) -> float:
    """Return a memory size of this process from /proc/self/status, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def main() -> None:
    task = problem()
    with threadpool_limits(1):
        iterations(task)
        pairs = [(measured("ours"), measured("theirs")) for _ in range(ROUNDS)]
        ours, theirs = ([median(pair[i][j] for pair in pairs) for j in (0, 1)] for i in (0, 1))
        speed = median(b[0] / a[0] for a, b in pairs)
        memory = median(b[1] / a[1] for a, b in pairs)
        print(f"graphs of both domains, p = 10    {ours[0]:7.2f} s   {ours[1]:7.0f} MiB")
        print(
            f"scikit-learn brute force          {theirs[0]:7.2f} s   {theirs[1]:7.0f} MiB   "
            f"{speed:.1f} times the time, {memory:.1f} times the memory"
        )
        start = time.process_time()
        transferbench.fit("gcmf", problem())
        print(f"GCMF whole, from the built task   {time.process_time() - start:7.2f} s of CPU")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with threadpool_limits(1):
            graphs(sys.argv[1])
    else:
        main()
