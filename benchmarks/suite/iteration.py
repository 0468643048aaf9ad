"""How long does an iteration take, compared with scikit-learn's NMF and with the machine?

All on comp-vs-rec, in CPU seconds of one thread. NMF has as many clusters and float32, too. Our
iterations and those of NMF are measured in turn; a value is the median of the rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

import transferbench
from transferbench.core import nmtf, subnormal
from transferbench.core.nmtf import NMTF
from transferbench.core.parallel import use_threads
from transferbench.problem import Problem, Truth

TASK = "gtl/comp-vs-rec"
ROUNDS = 3
ITERATIONS = 50
#: After some ten iterations entries of NMF's factors are too small for a normal number. Some
#: processors then need six times as long, which would flatter our models.
NMF_ITERATIONS = 10
#: Number of feature clusters of each model in its paper, and the model's other parameters.
#: HiMLS has one layer, so that a sweep is what its paper calls an iteration.
MODELS: dict[str, tuple[int, dict[str, object]]] = {
    "gcmf": (64, {}),
    "mtrick": (50, {}),
    "dkt": (50, {}),
    "dtl": (20, {}),
    "tritl": (50, {}),
    "mrtl": (50, {}),
    "himls": (50, {"p": (50,), "q": (50,), "alpha": (0.1,), "start": "random"}),
}
#: The argument of `fit` that has the number of iterations, if not max_iter.
ITERATIONS_OF = {"himls": "pretrain"}


class Iteration:
    """An iteration of each model beside one of NMF, and the least time that the machine needs."""

    params = tuple(MODELS)
    param_names = ("model",)

    def setup_cache(self) -> dict[str, dict[str, float]]:
        problem, truth = transferbench.load_task(TASK)
        machine = memory_rate(), product_rate()
        return {
            name: measure(name, problem, truth, machine=machine, rounds=ROUNDS) for name in MODELS
        }

    setup_cache.timeout = 900

    def track_iteration_over_nmf(self, found, model: str) -> float:
        """Ratio to an iteration of NMF(solver="mu")."""
        return found[model]["over nmf mu"]

    track_iteration_over_nmf.unit = "ratio"

    def track_iteration_over_nmf_cd(self, found, model: str) -> float:
        """Ratio to an iteration of NMF(solver="cd")."""
        return found[model]["over nmf cd"]

    track_iteration_over_nmf_cd.unit = "ratio"

    def track_iteration_over_limit(self, found, model: str) -> float:
        """Ratio to the time to read the matrices and to multiply; no number for HiMLS."""
        return found[model].get("over limit", np.nan)

    track_iteration_over_limit.unit = "ratio"

    def track_iteration_seconds(self, found, model: str) -> float:
        """CPU seconds of an iteration, which depend on the machine."""
        return found[model]["seconds"]

    track_iteration_seconds.unit = "seconds"


class Ratios:
    """Ratios of times: of a fit that flushes subnormal numbers, and of one with two threads."""

    params = tuple(MODELS)
    param_names = ("model",)
    timeout = 600

    def setup(self, model: str) -> None:
        self.problem = problem_of(model, *transferbench.load_task(TASK))

    def track_flush(self, model: str) -> float:
        """CPU time of a fit of which subnormal numbers count as zero, over one without."""
        return flush_ratio(model, self.problem)

    def track_two_threads(self, model: str) -> float:
        """Wall time of a fit with two threads, over one with one."""
        return threads_ratio(model, self.problem)

    track_flush.unit = track_two_threads.unit = "ratio"


class Machine:
    """What the limit of an iteration is computed from."""

    def track_memory_rate(self) -> float:
        """Rate at which a large array is copied, read and written."""
        return memory_rate() / 1e9

    track_memory_rate.unit = "GB/s"

    def track_product_rate(self) -> float:
        """Rate of a product of two large matrices in float32."""
        return product_rate() / 1e9

    track_product_rate.unit = "GFLOP/s"


class Fit:
    """A complete fit from the built task, with graphs and starting values."""

    params = tuple(MODELS)
    param_names = ("model",)
    timeout = 300

    def setup(self, model: str) -> None:
        self.problem = problem_of(model, *transferbench.load_task(TASK))
        self.kept = threadpool_limits(1)

    def teardown(self, model: str) -> None:
        self.kept.restore_original_limits()

    def track_fit_seconds(self, model: str) -> float:
        """CPU seconds of one fit with 100 iterations."""
        return cpu(lambda: fit(model, self.problem, 100))

    track_fit_seconds.unit = "seconds"

    def peakmem_fit(self, model: str) -> None:
        """Largest memory of a process with the task, the libraries and a few iterations."""
        fit(model, self.problem, 3)


def measure(
    name: str,
    problem: Problem,
    truth: Truth,
    *,
    machine: tuple[float, float],
    rounds: int,
    iterations: int = ITERATIONS,
) -> dict[str, float]:
    """Return seconds of an iteration and their ratios.

    Parameters
    ----------
    name
        Name of the model.
    problem, truth
        The task.
    machine
        Bytes and operations a second.
    rounds
        Number of times that each fit is measured.
    iterations
        Iterations of a fit.
    """
    k, _ = MODELS[name]
    stacked = sp.csr_matrix(sp.vstack([d.X for d in problem.domains]), dtype=np.float32)
    problem = problem_of(name, problem, truth)

    def nmf(solver: str) -> float:
        model = NMF(k, solver=solver, init="random", max_iter=NMF_ITERATIONS, tol=0, random_state=0)
        return cpu(lambda: model.fit_transform(stacked)) / NMF_ITERATIONS

    with threadpool_limits(1):
        measured = [
            (iteration(name, problem, iterations), nmf("mu"), nmf("cd")) for _ in range(rounds)
        ]
        work = least_work(name, problem)
    ours, mu, cd = map(median, zip(*measured, strict=True))
    found = {"seconds": ours, "over nmf mu": ours / mu, "over nmf cd": ours / cd}
    if any(work):
        limit = max(part / rate for part, rate in zip(work, machine, strict=True))
        found["over limit"] = ours / limit
    return found


def flush_ratio(
    name: str, problem: Problem, rounds: int = ROUNDS, iterations: int = 2 * ITERATIONS
) -> float:
    """Return the CPU time of a fit with subnormal numbers flushed to zero, over one without."""

    def measured() -> float:
        with use_threads(1):
            return cpu(lambda: fit(name, problem, iterations))

    ratios = []
    for _ in range(rounds):
        flushed = measured()
        with (
            patch.object(subnormal, "_can_switch", lambda: False),
            patch.object(nmtf, "SINK_EVERY", iterations + 1),
        ):
            ratios.append(flushed / measured())
    return median(ratios)


def threads_ratio(
    name: str, problem: Problem, rounds: int = ROUNDS, iterations: int = 2 * ITERATIONS
) -> float:
    """Return the wall time of a fit with two threads, over one with one."""

    def measured(count: int) -> float:
        with use_threads(count):
            start = time.perf_counter()
            fit(name, problem, iterations)
            return time.perf_counter() - start

    return median(measured(2) / measured(1) for _ in range(rounds))


def problem_of(name: str, problem: Problem, truth: Truth) -> Problem:
    """Return the problem for a model; for HiMLS with the labels of every second document."""
    if name != "himls":
        return problem
    domains = []
    for domain, Y in zip(problem.domains, truth.Y, strict=True):
        seen = np.arange(len(Y)) % 2 == 0
        domains.append(replace(domain, Y=Y * seen[:, None], seen=seen))
    return replace(problem, family="multilabel", domains=tuple(domains))


def fit(name: str, problem: Problem, iterations: int, watch=None) -> transferbench.Fit:
    """Fit a model with a number of iterations."""
    _, params = MODELS[name]
    count = {ITERATIONS_OF.get(name, "max_iter"): iterations}
    return transferbench.fit(name, problem, watch=watch, **params, **count)


def iteration(name: str, problem: Problem, iterations: int) -> float:
    """Return the CPU seconds of an iteration; graphs and starting values are excluded."""
    stamps: list[float] = []
    fit(name, problem, iterations + 1, lambda *_: stamps.append(time.process_time()))
    return (stamps[-1] - stamps[0]) / iterations


def cpu(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def memory_rate() -> float:
    """Return the bytes per second that are read and written when a large array is copied."""
    source = np.ones(1 << 25, np.float32)
    target = np.zeros_like(source)
    with threadpool_limits(1):
        return 2 * source.nbytes / min(cpu(lambda: np.copyto(target, source)) for _ in range(3))


def product_rate() -> float:
    """Return the operations per second of a product of two large matrices in float32."""
    A = np.ones((2048, 2048), np.float32)
    with threadpool_limits(1):
        return 2 * 2048**3 / min(cpu(lambda: A @ A) for _ in range(3))


def least_work(name: str, problem: Problem) -> tuple[float, float]:
    """Return the bytes that an iteration must move, and its operations; 0 for HiMLS.

    Bytes: each free factor is read and written once, each X and each graph read once. Operations:
    the products of `NMTF`, each formed once after each factor of it changes.
    """
    models: list[NMTF] = []
    solve = NMTF.solve

    def observed(self: NMTF, *arguments, **options):
        models.append(self)
        return solve(self, *arguments, **options)

    with patch.object(NMTF, "solve", observed):
        fit(name, problem, 1)
    moved = operations = 0.0
    for model in models:
        moved += 2 * sum(factor.value.nbytes for factor in model.factors if not factor.fixed)
        moved += sum(map(stored, model._X.values()))
        for factor, (blocks, _) in model._graphs.items():
            moved += sum(map(stored, blocks))
            operations += sum(2 * W.nnz * factor.value.shape[1] for W in blocks)
        for term in model.terms:
            c = term.V.value.shape[1]
            # Xᵀ V and X A, if V changes; U H, Uᵀ [Xᵀ V | A Vᵀ V], and num and den of U.
            operations += 0 if term.V.fixed else 2 * 2 * model._X[id(term.X)].nnz * c
            operations += sum(5 * 2 * U.value.size * c for U, _ in term.parts)
    return moved, operations


def stored(X: sp.sparray) -> int:
    """Return the bytes of the entries of a sparse matrix, and of their places."""
    return X.data.nbytes + X.indices.nbytes
