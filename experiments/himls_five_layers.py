"""HiMLS with one to five layers on a GPU: the runs of himls-table13 with five, and a check.

    pip install cupy-cuda13x                            # or the CuPy of your CUDA
    python experiments/himls_five_layers.py             # fits in gpu.csv are kept
    python experiments/himls_five_layers.py --minutes 5
    transferbench tables himls-table13                  # the tables, with the new runs

With five layers, a run takes more than two hours of a CPU's core, and minutes of a GPU. The model's
own code works on arrays of CuPy: this script replaces NumPy in its modules. The random numbers and
the order of updates stay the same, the order of sums does not. What that changes, gpu.md in
results/himls-table13 shows: fewer layers are fitted, too, in float32 and float64.

The runs of the experiment with five layers are those in float32; their `versions` name the GPU.
Both columns, as written and with at least one label, come from one fit; only the decision differs.
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import cupy
import cupyx.scipy.sparse as cusparse
import numpy
import pandas as pd
import scipy.sparse as sp
from tqdm import tqdm

from transferbench import experiments, measures, settings, tasks
from transferbench.core import hierarchy, losses, plsa, scale
from transferbench.models.multilabel import _layers, himls
from transferbench.problem import Fit, Problem
from transferbench.runs import store, worker
from transferbench.runs.record import Record

NAME = "himls-table13"
FILE = Path(__file__).parent.parent / "results" / NAME / "gpu.csv"
RUNS = FILE.with_name("runs.jsonl")
#: Clusters of five layers; fewer layers are the last of them.
SIZES = (4000, 1000, 400, 100, 40)
#: Columns of gpu.csv that name a fit.
KEY = ("device", "layers", "dtype", "seed", "one_label")
#: Processors and precisions, and the pairs of them that are compared.
KINDS = tuple(product(("CPU", "GPU"), ("float32", "float64")))
PAIRS = (
    (("GPU", "float32"), ("CPU", "float32")),
    (("GPU", "float64"), ("CPU", "float64")),
    (("CPU", "float64"), ("CPU", "float32")),
    (("GPU", "float64"), ("GPU", "float32")),
)
#: Functions that create an array from none: they do so on the GPU.
CREATE = {"empty", "eye", "full", "ones", "zeros"}
#: Numbers of a block of rows of P in `sampled_product`.
BLOCK = 2**28


def on_gpu(value: Any) -> bool:
    """True if a value is an array on the GPU, or a list or tuple with one."""
    return isinstance(value, cupy.ndarray) or (
        isinstance(value, list | tuple) and any(map(on_gpu, value))
    )


class Either:
    """NumPy or CuPy: functions of arrays on the GPU are CuPy's, all else is NumPy's."""

    ndarray = (numpy.ndarray, cupy.ndarray)  # for isinstance

    def __init__(self, host: Any, device: Any) -> None:
        self.host, self.device = host, device

    def __getattr__(self, name: str) -> Any:
        mine = getattr(self.host, name)
        if name == "linalg":
            return Either(mine, self.device.linalg)
        if name == "random":
            return Random
        if isinstance(mine, type) or not callable(mine):
            return mine

        def call(*args: Any, **kwargs: Any) -> Any:
            gpu = name in CREATE or any(map(on_gpu, (*args, *kwargs.values())))
            return (getattr(self.device, name) if gpu else mine)(*args, **kwargs)

        return call


class Random:
    """Generators of NumPy, whose arrays of random numbers go to the GPU."""

    def __init__(self, seed: Any) -> None:
        self.generator = numpy.random.default_rng(seed)

    @classmethod
    def default_rng(cls, seed: Any) -> "Random":
        """Return a generator."""
        return cls(seed)

    def random(self, *args: Any, **kwargs: Any) -> cupy.ndarray:
        """Return random numbers on the GPU."""
        return cupy.asarray(self.generator.random(*args, **kwargs))

    def permutation(self, x: Any) -> numpy.ndarray:
        """Return a permutation on the host."""
        return self.generator.permutation(x)


def to_gpu(X: Any) -> Any:
    """Return an array or sparse matrix on the GPU."""
    if not sp.issparse(X):
        return X if cusparse.issparse(X) else cupy.asarray(X)
    kind = cusparse.csc_matrix if X.format == "csc" else cusparse.csr_matrix
    return kind(tuple(map(cupy.asarray, (X.data, X.indices, X.indptr))), shape=X.shape)


def to_host(X: Any) -> Any:
    """Return an array on the host; a sparse matrix is there already."""
    return cupy.asnumpy(X) if on_gpu(X) else X


def chain_product(factors: list[Any]) -> Any:
    """Return the product of factors, in the cheapest order, as `numpy.linalg.multi_dot`."""
    sizes = [factors[0].shape[0], *(F.shape[1] for F in factors)]

    @cache
    def best(i: int, j: int) -> tuple[int, int]:
        """Return operations and cut of the product of factors i to j − 1."""
        if j == i + 1:
            return 0, i
        cuts = range(i + 1, j)
        return min(
            (best(i, k)[0] + best(k, j)[0] + sizes[i] * sizes[k] * sizes[j], k) for k in cuts
        )

    def product(i: int, j: int) -> Any:
        return factors[i] if j == i + 1 else product(i, k := best(i, j)[1]) @ product(k, j)

    return product(0, len(factors))


def sampled_product(P: Any, Q: Any, rows: Any, columns: Any) -> Any:
    """Return P Qᵀ at the positions (rows, columns) only; see `losses.sampled_product`."""
    values, step = cupy.empty(len(rows), P.dtype), max(1, BLOCK // P.shape[1])
    for part in (slice(start, start + step) for start in range(0, len(rows), step)):
        values[part] = (P[rows[part]] * Q[columns[part]]).sum(axis=1)
    return values


def entry_rows(X: Any) -> Any:
    """Return the row or column of each stored entry; see `losses.entry_rows`."""
    if on_gpu(X):
        return None
    lengths = numpy.diff(cupy.asnumpy(X.indptr))
    return cupy.asarray(numpy.repeat(numpy.arange(len(lengths)), lengths))


def entries(X: Any) -> Any:
    """Return the entries of a dense X or the stored entries of a sparse one."""
    return X.data if sp.issparse(X) or cusparse.issparse(X) else X


def inner(A: Any, B: Any) -> float:
    """Return ⟨A, B⟩, summed in float64."""
    return float((A * B).sum(dtype=numpy.float64))


def topics(views: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of PLSA of views (n, d_j), on the GPU."""
    return PLSA([to_gpu(view) for view in views], *args, **kwargs)


def start_topics(self: Any, views: Any, k: int) -> Any:
    """Return the topics of views; NumPy looks for the smallest entries."""
    return START_TOPICS(self, [to_host(view) for view in views], k)


def first_layer_data(documents: Any, seen: Any, alpha: float) -> Any:
    """Return the data of the first layer and the order of its rows, on the GPU."""
    data, order = FIRST_LAYER_DATA(replace(documents, Y=to_host(documents.Y)), seen, alpha)
    return replace(data, X=tuple(map(to_gpu, data.X))), cupy.asarray(order)


def train(
    documents: Any, seen: Any, loss: Any, plan: Any, weights: Any, start: Any, on_sweep: Any = None
) -> numpy.ndarray:
    """Run Algorithm 1 on the GPU; return scores on the host."""

    def sweep(iteration: int, stack: Any, F: Any) -> None:
        first = stack.layers[0]
        assert {f.dtype for f in (*first.R, *first.C, *stack.M[0])} == {stack.data.X[0].dtype}
        on_sweep(iteration, stack, F.get())

    on_device = replace(documents, Y=cupy.asarray(documents.Y))
    scores = TRAIN(on_device, seen, loss, plan, weights, start, sweep if on_sweep else None)
    return cupy.asnumpy(scores)


PLSA, TRAIN = plsa.plsa.__wrapped__, _layers.train
START_TOPICS, FIRST_LAYER_DATA = _layers.LayerPlan._topics, _layers.first_layer_data
BOTH = Either(numpy, cupy)
REPLACED: list[tuple[Any, str, Any]] = [
    *((module, "np", BOTH) for module in (hierarchy, losses, plsa, scale, _layers)),
    (scale, "entries", entries),
    (plsa, "entry_rows", entry_rows),
    *((module, "inner", inner) for module in (losses, scale)),
    *((module, "chain_product", chain_product) for module in (losses, hierarchy)),
    (losses, "sampled_product", sampled_product),
    (_layers, "plsa", topics),
    (_layers.LayerPlan, "_topics", start_topics),
    (_layers, "first_layer_data", first_layer_data),
    (_layers, "train", train),
]


@contextmanager
def cupy_for_numpy() -> Iterator[None]:
    """Let the modules of HiMLS work on arrays of CuPy."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in REPLACED]
    for owner, name, value in REPLACED:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def fit(problem: Problem, params: dict[str, Any], seed: int, device: str = "GPU") -> Fit:
    """Return the fit of HiMLS on the GPU or the CPU."""
    with cupy_for_numpy() if device == "GPU" else nullcontext():
        return himls.fit(problem, **params, seed=seed)


def decided(found: Fit, one_label: bool) -> Fit:
    """Return the fit where, if asked, each document without a label has its best one."""
    if not one_label:
        return found
    return replace(found, scores=tuple(map(measures.ensure_one_label, found.scores)))


def page(table: pd.DataFrame, recorded: Iterable[Record]) -> str:
    """Return F1 by layers, of each processor and precision, and differences at the same seed.

    recorded: those of a CPU are taken, too.
    """
    f1: dict[tuple[Any, ...], dict[int, float]] = {}
    for run in recorded:
        if run.done and "cupy" not in run.versions and run.params["alpha"] == [0.01]:
            key = run.params["ensure_one_label"], tuple(run.params["p"]), "CPU", "float32"
            f1.setdefault(key, {})[run.seed or 0] = run.metrics[measures.ALL]["f1"]
    for line in table.itertuples():
        key = line.one_label, SIZES[-line.layers :], line.device, line.dtype
        f1.setdefault(key, {})[line.seed] = line.f1

    def mean(values: list[float]) -> str:
        spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
        return f"{fmean(values):.3f}{spread} ({len(values)})" if values else "–"

    def extremes(values: list[float]) -> str:
        values = [round(value, 3) + 0.0 for value in values]
        ends = f"{min(values):+.3f} to {max(values):+.3f}" if len(values) > 1 else ""
        text = f"{ends or f'{values[0]:+.3f}'} ({len(values)})" if values else "–"
        return text.replace("-", "−")

    kinds = [kind for kind in KINDS if any(key[2:] == kind for key in f1)]
    pairs = [(a, b) for a, b in PAIRS if a in kinds and b in kinds]
    means, differences = [], []
    for one_label, layers in product((False, True), range(1, len(SIZES) + 1)):
        of = {key[2:]: by for key, by in f1.items() if key[:2] == (one_label, SIZES[-layers:])}
        name = f"L = {layers}{' ≥ 1 label' if one_label else ''}"
        cells = [mean([*of.get(kind, {}).values()]) for kind in kinds]
        means.append(f"| {name} | {' | '.join(cells)} |")
        both = [(of.get(a, {}), of.get(b, {})) for a, b in pairs]
        cells = [extremes([a[seed] - b[seed] for seed in a if seed in b]) for a, b in both]
        differences.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(
        [
            "# himls-table13: HiMLS on a CPU and on a GPU",
            "",
            "F1 over all test documents, mean ± standard deviation (number of seeds):",
            "",
            f"|  | {' | '.join(map(', '.join, kinds))} |",
            f"|---|{'---:|' * len(kinds)}",
            *means,
            "",
            "Differences of F1 at the same seed, the least to the largest (number of seeds):",
            "",
            f"|  | {' | '.join(f'{a} {t} − {b} {u}' for (a, t), (b, u) in pairs)} |",
            f"|---|{'---:|' * len(pairs)}",
            *differences,
            "",
            "[All numbers](gpu.csv), computed by `experiments/himls_five_layers.py`",
            "",
        ]
    )


def main() -> None:
    """Fit what gpu.csv lacks, and record the runs with five layers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    configuration = settings.load()
    recorded = store.Store(configuration.results)
    runs = dict.fromkeys(planned.run for planned in experiments.load(NAME).runs())
    deep = {(r.seed, r.params["ensure_one_label"]): r for r in runs if r.params["p"] == SIZES}
    built = tasks.ensure_built(next(iter(runs)).task, configuration)
    problem, truth = tasks.read(built.path)
    scored = {name: int(rows.sum()) for name, rows in zip(truth.names, truth.scored, strict=True)}
    lines = pd.read_csv(FILE).to_dict("records") if FILE.is_file() else []
    known = {tuple(line[name] for name in KEY): line for line in lines}

    def is_known(device: str, layers: int, dtype: str, seed: int) -> bool:
        found = (device, layers, dtype, seed, True) in known
        if (device, layers, dtype) != ("GPU", len(SIZES), "float32"):
            return found
        records = [(run, recorded.get(run, RUNS)) for (s, _), run in deep.items() if s == seed]
        return found and all(record and record.is_current(run, None) for run, record in records)

    plan = [("GPU", *rest) for rest in product((5, 4, 3, 2, 1), ("float32", "float64"), range(5))]
    plan += [("CPU", 4, "float64", seed) for seed in range(3)]
    for device, layers, dtype, seed in tqdm([key for key in plan if not is_known(*key)]):
        if time.monotonic() > end:
            break
        sizes = SIZES[-layers:]
        params = deep[seed, False].params | {"p": sizes, "q": sizes, "dtype": dtype}
        begin = time.perf_counter()
        found = fit(problem, params, seed, device)
        seconds = round(time.perf_counter() - begin, 1)
        versions = ", ".join(map(" ".join, worker.versions().items()))
        if device == "GPU":
            name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
            versions += f", cupy {cupy.__version__}, {name}"
        for one_label in (False, True):
            metrics = measures.evaluate(decided(found, one_label), truth, problem)
            key = device, layers, dtype, seed, one_label
            costs = {"seconds": seconds, "versions": versions}
            known[key] = dict(zip(KEY, key, strict=True)) | metrics[measures.ALL] | costs
            if (device, sizes, dtype) == ("GPU", SIZES, "float32"):
                record = replace(
                    Record.of(deep[seed, one_label], "done", data=built.facts.key),
                    metrics=metrics,
                    documents=scored | {measures.ALL: sum(scored.values())},
                    objective=float(found.trace[-1]),
                    iterations=len(found.trace),
                    versions=versions,
                )
                recorded.append(record, RUNS)
        table = pd.DataFrame(known.values()).sort_values(list(KEY))
        table.to_csv(FILE, index=False, float_format="%.5g", lineterminator="\n")
    if known:
        text = page(pd.read_csv(FILE), store.read(RUNS).values())
        FILE.with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
