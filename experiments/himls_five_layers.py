"""HiMLS with one to five layers on a GPU: the runs of himls-table13 with five, and a check.

    pip install cupy-cuda13x                            # or the CuPy of your CUDA
    python experiments/himls_five_layers.py             # about 20 minutes; fits in gpu.csv are kept
    python experiments/himls_five_layers.py --minutes 5

With five layers, a run takes about 80 minutes of a CPU's core; a GPU takes one. The model's own
code works on arrays of CuPy: this script replaces NumPy in its modules. The random numbers and the
order of updates stay the same, the order of sums does not. In float64, both agree to nine digits
after a few sweeps; over a hundred sweeps rounding grows. So fewer layers are fitted, too, in
float32 and float64, and stand beside the recorded runs in results/himls-table13/gpu.md.

The runs of the experiment with five layers are those in float32; their `versions` name the GPU.
Both columns, as written and with at least one label, are decisions of one fit.
"""

import argparse
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import cupy
import cupyx.scipy.sparse as cusparse
import numpy
import pandas as pd
import scipy.sparse as sp
from tqdm import tqdm

from transferbench import experiments, measures, settings
from transferbench.core import hierarchy, losses, plsa, scale
from transferbench.data import tasks
from transferbench.models.multilabel import _layers, himls
from transferbench.problem import Fit, Problem
from transferbench.runs import store
from transferbench.runs.record import Record

NAME = "himls-table13"
FILE = Path(__file__).parent.parent / "results" / NAME / "gpu.csv"
RUNS = FILE.with_name("runs.jsonl")
#: Clusters of five layers; fewer layers are the last of them.
SIZES = (4000, 1000, 400, 100, 40)
SEEDS = range(5)
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


def train(documents: Any, *args: Any) -> numpy.ndarray:
    """Run Algorithm 1 on the GPU; return scores on the host."""
    *args, on_sweep = args

    def sweep(iteration: int, stack: Any, F: Any) -> None:
        assert all(C.dtype == stack.data.X[0].dtype for C in stack.layers[0].C)
        on_sweep(iteration, stack, F.get())

    return TRAIN(replace(documents, Y=cupy.asarray(documents.Y)), *args, sweep).get()


PLSA, TRAIN = plsa.plsa.__wrapped__, _layers.train
START_TOPICS, FIRST_LAYER_DATA = _layers.LayerPlan._topics, _layers.first_layer_data
BOTH = Either(numpy, cupy)
REPLACED: list[tuple[Any, str, Any]] = [
    *((module, "np", BOTH) for module in (hierarchy, losses, plsa, scale, _layers)),
    *((module, "entries", entries) for module in (losses, plsa, scale)),
    *((module, "entry_rows", entry_rows) for module in (losses, plsa)),
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


def fit(problem: Problem, params: dict[str, Any], seed: int) -> Fit:
    """Return the fit of HiMLS on the GPU."""
    with cupy_for_numpy():
        return himls.fit(problem, **params, seed=seed)


def decided(found: Fit, one_label: bool) -> Fit:
    """Return the fit where, if asked, each document without a label has its best one."""
    if not one_label:
        return found
    return replace(found, scores=tuple(map(measures.ensure_one_label, found.scores)))


def page(table: pd.DataFrame, recorded: Iterable[Record]) -> str:
    """Return F1 by layers: of recorded runs on a CPU, and of the fits on the GPU."""

    def cell(values: list[float]) -> str:
        spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
        return f"{fmean(values):.3f}{spread} ({len(values)})" if values else "–"

    rows = []
    for (one_label, layers), part in table.groupby(["one_label", "layers"]):
        wanted = {"p": list(SIZES[-layers:]), "alpha": [0.01], "ensure_one_label": one_label}
        cpu = [
            run.metrics[measures.ALL]["f1"]
            for run in recorded
            if run.done and "cupy" not in run.versions and wanted.items() <= run.params.items()
        ]
        gpu = [list(part.f1[part.dtype == dtype]) for dtype in ("float32", "float64")]
        name = f"L = {layers}{' ≥ 1 label' if one_label else ''}"
        rows.append(f"| {name} | {' | '.join(map(cell, (cpu, *gpu)))} |")
    return "\n".join(
        [
            "# himls-table13: HiMLS on a GPU",
            "",
            "F1, mean ± standard deviation (number of seeds). The experiment's runs with five "
            "layers are those on the GPU in float32, its others those on a CPU.",
            "",
            "|  | CPU, float32 | GPU, float32 | GPU, float64 |",
            "|---|---:|---:|---:|",
            *rows,
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
    experiment = experiments.load(NAME)
    recorded = store.Store(configuration.results)
    lines = pd.read_csv(FILE).to_dict("records") if FILE.is_file() else []
    known = {(line["layers"], line["dtype"], line["seed"]) for line in lines}
    runs = dict.fromkeys(planned.run for planned in experiment.runs())
    deep = {(r.seed, r.params["ensure_one_label"]): r for r in runs if r.params["p"] == SIZES}
    built = tasks.ensure_built(next(iter(runs)).task, configuration)
    problem, truth = tasks.read(built.path)
    scored = {name: int(rows.sum()) for name, rows in zip(truth.names, truth.scored, strict=True)}
    gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    versions = f"python {platform.python_version()}, numpy {numpy.__version__}"
    versions += f", cupy {cupy.__version__}, {gpu}"
    plan = [(n, t, s) for n in (5, 4, 3, 2, 1) for t in ("float32", "float64") for s in SEEDS]
    for layers, dtype, seed in tqdm([key for key in plan if key not in known]):
        if time.monotonic() > end:
            break
        sizes = SIZES[-layers:]
        found = fit(
            problem, deep[seed, False].params | {"p": sizes, "q": sizes, "dtype": dtype}, seed
        )
        for one_label in (False, True):
            metrics = measures.evaluate(decided(found, one_label), truth, problem)
            place = {"layers": layers, "dtype": dtype, "seed": seed, "one_label": one_label}
            lines.append(place | metrics[measures.ALL])
            if (sizes, dtype) == (SIZES, "float32"):
                record = replace(
                    Record.of(deep[seed, one_label], "done", data=built.facts.key),
                    metrics=metrics,
                    documents=scored | {measures.ALL: sum(scored.values())},
                    objective=float(found.trace[-1]),
                    iterations=len(found.trace),
                    versions=versions,
                )
                recorded.append(record, RUNS)
        table = pd.DataFrame(lines).sort_values(["layers", "dtype", "seed", "one_label"])
        table.to_csv(FILE, index=False, float_format="%.5g", lineterminator="\n")
    text = page(pd.read_csv(FILE), store.read(RUNS).values())
    FILE.with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
