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


class Array(np.ndarray):
    """An array of the stand-in, which has no more than CuPy's in what the script needs."""

    def get(self):
        return np.array(self)

    def max(self, axis=None, out=None, keepdims=False):
        return super().max(axis=axis, out=out, keepdims=keepdims)


class StandIn(ModuleType):
    """NumPy whose functions return `Array`."""

    ndarray = Array
    asnumpy = staticmethod(lambda x: np.array(x))
    linalg = SimpleNamespace(inv=lambda x: np.linalg.inv(x).view(Array))

    def __getattr__(self, name):
        function = getattr(np, name)

        def call(*args, **kwargs):
            found = function(*args, **kwargs)
            many = [part.view(Array) for part in found] if isinstance(found, list) else found
            return found.view(Array) if isinstance(found, np.ndarray) else many

        return call


@pytest.fixture
def experiment(monkeypatch):
    """Return the names of the script."""
    monkeypatch.setitem(sys.modules, "cupy", StandIn("cupy"))
    for name in ("cupyx", "cupyx.scipy"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", sp)
    return runpy.run_path(str(ROOT / "experiments" / "himls_five_layers.py"))


def test_the_substitute_for_numpy_changes_no_more_than_the_order_of_sums(experiment):
    problem, _ = make_multilabel()
    params = {"p": (6, 4), "q": (5, 3), "alpha": (0.01,), "start_iter": 3, "dtype": "float64"}
    params |= {"pretrain": 3, "finetune": 3}
    found = experiment["fit"](problem, params, 1)
    expected = himls.fit(problem, **params, seed=1)
    assert found.trace == pytest.approx(expected.trace, rel=1e-9)
    assert type(found.scores[0]) is np.ndarray
    assert np.vstack(found.scores) == pytest.approx(np.vstack(expected.scores), rel=1e-7)


def test_the_page_is_made_of_its_lines_and_of_the_runs(experiment):
    runs = store.read(experiment["RUNS"]).values()
    text = experiment["FILE"].with_suffix(".md").read_text(encoding="utf-8")
    table = pd.read_csv(experiment["FILE"])
    assert experiment["page"](table, runs) == text
    deep = table[(table.layers == 5) & (table.dtype == "float32")].set_index(["seed", "one_label"])
    gpu = [run for run in runs if "cupy" in run.versions]
    assert len(gpu) == len(deep) == 10
    for run in gpu:
        line = deep.loc[run.seed, run.params["ensure_one_label"]]
        assert run.metrics["all"]["f1"] == pytest.approx(line.f1, abs=1e-5)
