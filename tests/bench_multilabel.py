"""Benchmark of HiMLS and HiMLSD sweeps and of the sampled product, on one thread.

    python tests/bench_multilabel.py

Print the seconds for a sweep of one layer with 200 × 100 clusters with each loss. Print the seconds
for P Qᵀ at the nonzeros of X, computed there only and selected from dense blocks of
documents × features; both alternate in one run. The data are rcv1/subset1 if available, otherwise
generated documents of that size.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from transferbench import settings
from transferbench.core import hierarchy
from transferbench.core.losses import Divergence, Squares, sampled_product
from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.models.multilabel._layers import (
    Documents,
    LayerPlan,
    first_layer_data,
    make_layer,
)
from transferbench.problem import Domain, Problem

ROUNDS = 5
TASK = "rcv1/subset1"
P, Q = 200, 100


def problem() -> Problem:
    try:
        return tasks.load(tasks.Task.named(TASK), settings.load())[0]
    except UserError:
        print(f"{TASK} is unavailable; using generated documents")
        return generated()


def generated(n: int = 6000, d: int = 47236, words: int = 75) -> Problem:
    """Return one task with one view: words by Zipf's law, half of the documents labelled."""
    rng = np.random.default_rng(0)
    rate = 1 / np.arange(1, d + 1)
    columns = rng.choice(d, size=n * words, p=rate / rate.sum())
    X = sp.csr_array((rng.random(n * words), (np.repeat(np.arange(n), words), columns)), (n, d))
    seen = np.arange(n) % 2 == 0
    Y = (rng.random((n, 4)) < 0.3) * seen[:, None]
    return Problem("generated", "multilabel", tuple("abcd"), (Domain("all", (X,), Y, seen),))


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def sweeps(documents: Documents) -> None:
    plan = LayerPlan((P,), (Q,), 1, 1, "random", 1, "length", 0)
    data, _ = first_layer_data(documents, documents.seen, 1.0)
    R, C = plan.start_factors(data.X[:-1], 0)
    layer = make_layer(data, R, [*C, plan.start_C(data.X[-1], Q, len(C))])
    for loss in (Squares(), Divergence()):
        stack = hierarchy.Stack(data, [layer], loss, 1.0)
        hierarchy.pretrain_sweep(stack)
        spent = median(seconds(lambda s=stack: hierarchy.pretrain_sweep(s)) for _ in range(ROUNDS))
        print(f"one sweep, {P} × {Q}, {type(loss).__name__.lower():<10} {spent:7.3f} s")


def products(X: sp.csr_array) -> None:
    rng = np.random.default_rng(0)
    A, B = (rng.random((size, Q), dtype=np.float32) for size in X.shape)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    rounds = []
    for _ in range(ROUNDS):
        ours = seconds(lambda: sampled_product(A, B, rows, X.indices))
        rounds.append((ours, seconds(lambda: blocked(A, B, X))))
    np.testing.assert_allclose(sampled_product(A, B, rows, X.indices), blocked(A, B, X), rtol=1e-4)
    ours, dense = map(median, zip(*rounds, strict=True))
    ratio = median(b / a for a, b in rounds)
    print(f"P Qᵀ at {X.nnz} nonzeros  sampled {ours:.3f} s  dense {dense:.3f} s  {ratio:.0f} times")


def blocked(A: np.ndarray, B: np.ndarray, X: sp.csr_array, size: int = 512) -> np.ndarray:
    """Return P Qᵀ at the nonzeros of X, from dense blocks of 512 documents."""
    values = []
    for start in range(0, len(A), size):
        block, part = A[start : start + size] @ B.T, X[start : start + size]
        rows = np.repeat(np.arange(len(block)), np.diff(part.indptr))
        values.append(block[rows, part.indices])
    return np.concatenate(values)


def main() -> None:
    documents = Documents.of(problem(), False, False, "float32")
    print("views: " + ", ".join("{} × {}".format(*X.shape) for X in documents.X))
    with threadpool_limits(1):
        sweeps(documents)
        products(sp.csr_array(documents.X[0]))


if __name__ == "__main__":
    main()
