"""The experiment that fits HiMLS on a GPU, with a stand-in for CuPy on the CPU."""

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import make_multilabel

from transferbench.models.multilabel import himls
from transferbench.runs import store

ROOT = Path(__file__).parents[2]
PARAMS = {
    "p": (6, 4), "q": (5, 3), "alpha": (0.01,), "pretrain": 3, "finetune": 3, "start_iter": 3,
    "dtype": "float64",
}  # fmt: skip


def host(x):
    """Return the arrays on the GPU as NumPy's; refuse others, as CuPy does."""
    if isinstance(x, list | tuple):
        return type(x)(map(host, x))
    if type(x) is np.ndarray and x.ndim:
        raise TypeError("an array on the host meets one on the GPU")
    return x.view(np.ndarray) if isinstance(x, Array) else x


def device(x):
    if isinstance(x, list):
        return [*map(device, x)]
    return x.view(Array) if isinstance(x, np.ndarray) else x


class Array(np.ndarray):
    """An array on the GPU: functions of NumPy refuse it."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        options |= {"out": tuple(map(host, out))} if out else {}
        found = device(getattr(ufunc, method)(*map(host, inputs), **options))
        return out[0] if out else found

    def __array_function__(self, function, *_):
        raise TypeError(f"numpy.{function.__name__} of an array on the GPU")

    def get(self):
        return np.array(self.view(np.ndarray))

    def max(self, axis=None, out=None, keepdims=False):
        return super().max(axis=axis, out=out, keepdims=keepdims)


class Csr:
    """A sparse matrix on the GPU."""

    format = "csr"

    def __init__(self, parts, shape):
        self.data, self.indices, self.indptr = parts
        if not all(type(part) is Array for part in parts):
            raise TypeError("arrays on the host make no matrix on the GPU")
        self.shape, self.dtype = shape, self.data.dtype

    @staticmethod
    def of(X):
        kind = Csc if X.format == "csc" else Csr
        return kind(tuple(map(device, (X.data, X.indices, X.indptr))), X.shape)

    def on_host(self):
        kind = sp.csc_array if self.format == "csc" else sp.csr_array
        return kind(tuple(map(host, (self.data, self.indices, self.indptr))), shape=self.shape)

    @property
    def T(self):
        return Csr.of(self.on_host().T)

    def tocsc(self):
        return Csr.of(self.on_host().tocsc())

    def astype(self, dtype):
        return Csr.of(self.on_host().astype(dtype))

    def sum(self, axis):
        return device(self.on_host().sum(axis=axis)[:, None])

    def __getitem__(self, rows):
        return Csr.of(self.on_host()[rows])

    def __matmul__(self, B):
        return device(self.on_host() @ host(B))


class Csc(Csr):
    format = "csc"


class StandIn(ModuleType):
    """Functions of NumPy that take and return arrays on the GPU alone."""

    ndarray = Array
    asnumpy = staticmethod(lambda x: np.array(x.view(np.ndarray)))
    asarray = staticmethod(lambda x, *dtype: device(np.asarray(np.asarray(x), *dtype)))
    linalg = SimpleNamespace(inv=lambda x: device(np.linalg.inv(host(x))))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args, out=None, **options):
            places = args[1:] if name == "split" else host(args[1:])
            options |= {} if out is None else {"out": host(out)}
            found = device(getattr(np, name)(host(args[0]), *places, **options))
            return found if out is None else out

        return call


@pytest.fixture
def experiment(monkeypatch):
    """Return the names of the script."""
    monkeypatch.setitem(sys.modules, "cupy", StandIn("cupy"))
    for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sparse = sys.modules["cupyx.scipy.sparse"]
    sparse.csr_matrix, sparse.csc_matrix = Csr, Csc
    sparse.issparse = lambda X: isinstance(X, Csr)
    return runpy.run_path(str(ROOT / "experiments" / "himls_five_layers.py"))


def test_the_substitute_for_numpy_changes_no_more_than_the_order_of_sums(experiment):
    problem, _ = make_multilabel()
    found, expected = experiment["fit"](problem, PARAMS, 1), himls.fit(problem, **PARAMS, seed=1)
    assert found.trace == pytest.approx(expected.trace, rel=1e-9)
    assert type(found.scores[0]) is np.ndarray
    assert np.vstack(found.scores) == pytest.approx(np.vstack(expected.scores), rel=1e-7)


def test_without_the_substitute_arrays_on_the_gpu_are_refused(experiment):
    replaced = experiment["REPLACED"]
    replaced[:] = [each for each in replaced if each[1] != "np"]
    with pytest.raises(TypeError, match="GPU"):
        experiment["fit"](make_multilabel()[0], PARAMS, 1)


def test_the_page_is_made_of_its_lines_and_of_the_runs(experiment):
    runs = store.read(experiment["RUNS"]).values()
    text = experiment["FILE"].with_suffix(".md").read_text(encoding="utf-8")
    table = pd.read_csv(experiment["FILE"])
    assert experiment["page"](table, runs) == text
    deep = table[(table.layers == 5) & (table.dtype == "float32") & (table.device == "GPU")]
    deep = deep.set_index(["seed", "one_label"])
    gpu = [run for run in runs if "cupy" in run.versions]
    assert len(gpu) == len(deep) == 10
    for run in gpu:
        line = deep.loc[run.seed, run.params["ensure_one_label"]]
        assert run.metrics["all"]["f1"] == pytest.approx(line.f1, abs=1e-5)
