"""Benchmark: speed and memory compared with scikit-learn, all ratios within one run.

    python tests/bench.py            (make bench)

Prints for comp-vs-rec on one thread: iterations of the models compared with scikit-learn's NMF of
the same size and with the least time that the machine needs, cosine graphs compared with its
brute-force search, and a complete fit of GCMF.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

import transferbench
from transferbench import settings
from transferbench.core.graph import cosine_graph
from transferbench.core.nmtf import NMTF
from transferbench.core.scale import drop_empty_columns
from transferbench.data import tasks
from transferbench.models.transfer import _shared

ROUNDS = 3
ITERATIONS, NMF_ITERATIONS = 100, 10
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
    """Compare an iteration of each model with the first ten of NMF, and with the machine's limit.

    After some ten iterations entries of NMF's factors are too small for a normal number. Some
    processors then need six times as long, which would flatter our models.
    """
    stacked = sp.csr_matrix(sp.vstack([d.X for d in task.domains]), dtype=np.float32)
    copied, multiplied = bandwidth(), matrix_rate()
    print(f"memory {copied / 1e9:.0f} GB/s (copy), sgemm {multiplied / 1e9:.0f} GFLOP/s")
    print("one iteration     k    ours ms   / NMF(mu)   / NMF(cd)     / limit")
    for name, k in MODELS.items():
        rounds = [
            (
                iteration(name, task),
                cpu(lambda k=k: nmf(k, "mu").fit_transform(stacked)) / NMF_ITERATIONS,
                cpu(lambda k=k: nmf(k, "cd").fit_transform(stacked)) / NMF_ITERATIONS,
            )
            for _ in range(ROUNDS)
        ]
        ours, mu, cd = map(min, zip(*rounds, strict=True))
        moved, operations = least_work(name, task)
        limit = max(moved / copied, operations / multiplied)
        ratios = ours / mu, ours / cd, ours / limit
        shown = "".join(f"{ratio:12.2f}" for ratio in ratios)
        print(f"{name:<14} {k:4d} {1000 * ours:10.2f}{shown}", flush=True)


def cpu(call) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def nmf(k: int, solver: str) -> NMF:
    return NMF(k, solver=solver, init="random", max_iter=NMF_ITERATIONS, tol=0, random_state=0)


def iteration(name: str, task) -> float:
    """Return the CPU seconds of an iteration; graphs and starting values are excluded."""
    stamps: list[float] = []
    watch = lambda *_: stamps.append(time.process_time())  # noqa: E731
    transferbench.fit(name, task, max_iter=ITERATIONS + 1, watch=watch)
    return (stamps[-1] - stamps[0]) / ITERATIONS


def bandwidth() -> float:
    """Return the bytes per second that are read and written when a large array is copied."""
    source = np.ones(1 << 25, np.float32)
    target = np.zeros_like(source)
    return 2 * source.nbytes / min(cpu(lambda: np.copyto(target, source)) for _ in range(ROUNDS))


def matrix_rate() -> float:
    """Return the operations per second of a product of two large matrices in float32."""
    A = np.ones((2048, 2048), np.float32)
    return 2 * 2048**3 / min(cpu(lambda: A @ A) for _ in range(ROUNDS))


def least_work(name: str, task) -> tuple[float, float]:
    """Return the bytes that an iteration must move, and its operations.

    Bytes: each free factor is read and written once, each X and each graph read once. Operations:
    the products of `NMTF`, each formed once after each factor of it changes.
    """
    models: list[NMTF] = []

    class Observed(NMTF):
        def solve(self, *arguments, **options):
            models.append(self)
            return super().solve(*arguments, **options)

    module = sys.modules[transferbench.models.load(name).__module__]
    with patch.object(module if hasattr(module, "NMTF") else _shared, "NMTF", Observed):
        transferbench.fit(name, task, max_iter=1)
    moved = operations = 0.0
    for model in models:
        moved += 2 * sum(factor.value.nbytes for factor in model.factors if not factor.fixed)
        moved += sum(stored(X) for X in model._X.values())
        for factor, (W, _) in model._graphs.items():
            moved += stored(W)
            operations += 2 * W.nnz * factor.value.shape[1]
        for term in model.terms:
            c = term.V.value.shape[1]
            # Xᵀ V and X A, if V changes; U H, Uᵀ [Xᵀ V | A Vᵀ V], and num and den of U.
            operations += 0 if term.V.fixed else 2 * 2 * model._X[id(term.X)].nnz * c
            operations += sum(5 * 2 * U.value.size * c for U, _ in term.parts)
    return moved, operations


def stored(X: sp.csr_array) -> int:
    return X.data.nbytes + X.indices.nbytes


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
        whole = cpu(lambda: transferbench.fit("gcmf", problem()))
        print(f"GCMF whole, from the built task   {whole:7.2f} s of CPU")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with threadpool_limits(1):
            graphs(sys.argv[1])
    else:
        main()
