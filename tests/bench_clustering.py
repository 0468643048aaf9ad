"""Benchmark: multi-task clustering compared with dense eigensolvers and scikit-learn.

    python tests/bench_clustering.py            (make bench)

One thread; every ratio is measured within one round of one process.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.cluster import SpectralClustering
from threadpoolctl import threadpool_limits

import transferbench
from transferbench import settings
from transferbench.core import spectral
from transferbench.data import tasks

ROUNDS = 3
TASK = "mtc/rec-vs-talk"
LARGE = "generated/clusters:documents=100000"


def problem(task: str):
    return tasks.load(tasks.Task.named(task), settings.load())[0]


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def eigenproblem(given, C: float = 500.0, b: int = 30) -> None:
    """Compare the b smallest eigenpairs of L + C·S, sparse plus low rank, with a dense solver."""
    W = spectral.affinity([domain.X for domain in given.domains], 10).W
    G = spectral.mean_matching([len(domain.seen) for domain in given.domains])
    degree = np.asarray(W.sum(axis=1)).ravel()
    n = len(degree)
    dense = np.eye(n) - W.toarray() / np.sqrt(np.outer(degree, degree)) + C * G @ G.T
    rounds = []
    for _ in range(ROUNDS):
        ours, (smallest, V) = timed(lambda: spectral.smallest_eigenpairs(W, b, G=G, C=C))
        some, (values, vectors) = timed(lambda: eigh(dense, subset_by_index=[0, b - 1]))
        rounds.append((ours, some))
    every, _ = timed(lambda: np.linalg.eigh(dense))
    ours, some = map(median, zip(*rounds, strict=True))
    ratio = median(theirs / mine for mine, theirs in rounds)
    overlap = np.linalg.norm(V.T @ vectors) ** 2
    print(f"{b} eigenpairs, n = {n}: {ours:.3f} s; dense, the same pairs {some:.2f} s "
          f"({ratio:.0f} times), all pairs {every:.2f} s ({every / ours:.0f} times)")  # fmt: skip
    print(f"largest difference of eigenvalues {abs(smallest - values).max():.1e}, "
          f"of the subspaces {abs(overlap - b):.1e}")  # fmt: skip


def whole(given) -> None:
    """Compare LSKMTC with scikit-learn's spectral clustering of the same documents."""
    stacked = sp.csr_matrix(sp.vstack([domain.X for domain in given.domains]))
    cut = SpectralClustering(
        2, affinity="nearest_neighbors", n_neighbors=10, n_init=1, random_state=0
    )
    rounds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the graph is not connected
        for _ in range(ROUNDS):
            ours, _ = timed(lambda: transferbench.fit("lskmtc", given, seed=0))
            rounds.append((ours, timed(lambda: cut.fit(stacked))[0]))
    ours, theirs = map(median, zip(*rounds, strict=True))
    ratio = median(b / a for a, b in rounds)
    print(f"LSKMTC whole {ours:.2f} s; SpectralClustering {theirs:.2f} s ({ratio:.1f} times)")


def large() -> None:
    """Print times and peak memory of LNKMTC at n = 100,000."""
    given = problem(LARGE)
    views, sizes = [d.X for d in given.domains], [len(d.seen) for d in given.domains]
    graph, W = timed(lambda: spectral.affinity(views, 10).W)
    G = spectral.mean_matching(sizes)
    pairs, _ = timed(lambda: spectral.smallest_eigenpairs(W, 30, G=G, C=100.0))
    fit, _ = timed(lambda: transferbench.fit("lnkmtc", given, seed=0))
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20
    print(f"n = {sum(sizes):,}: graphs {graph:.1f} s, 30 eigenpairs {pairs:.1f} s, LNKMTC whole "
          f"{fit:.1f} s, peak {peak:.2f} GiB")  # fmt: skip


def main() -> None:
    given = problem(TASK)
    eigenproblem(given)
    whole(given)
    problem(LARGE)  # build and cache the task, so that the next process only loads it
    subprocess.run([sys.executable, __file__, "large"], check=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        large() if len(sys.argv) > 1 else main()
