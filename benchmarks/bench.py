"""Benchmark: speed of an iteration compared with scikit-learn, all ratios within one run.

    python benchmarks/bench.py            (make bench)

Prints for comp-vs-rec on one thread: iterations of the models compared with scikit-learn's NMF of
the same size and with the least time that the machine needs, and a complete fit of GCMF.
"""

from __future__ import annotations

import sys
import time
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

import transferbench
from transferbench import settings, tasks
from transferbench.core.nmtf import NMTF
from transferbench.models.transfer import _shared

ROUNDS = 3
ITERATIONS, NMF_ITERATIONS = 100, 10
TASK = "gtl/comp-vs-rec"


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


if __name__ == "__main__":
    newsgroups = tasks.load(tasks.Task.parse(TASK), settings.load())[0]
    with threadpool_limits(1):
        iterations(newsgroups)
        whole = cpu(lambda: transferbench.fit("gcmf", newsgroups))
        print(f"GCMF whole, from the built task   {whole:7.2f} s of CPU")
