"""HiMLS on a GPU, with a stand-in for CuPy on the CPU."""

import sys
from itertools import pairwise

import cupy_stand_in
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, make_multilabel

from transferbench import artefacts, models, tasks
from transferbench.artefacts import Folder
from transferbench.core import device, losses
from transferbench.core.device import use_device
from transferbench.data.facts import Facts
from transferbench.errors import Unavailable, UserError
from transferbench.models.multilabel import himls, himlsd
from transferbench.runs import store, worker
from transferbench.runs.record import Job, Limits, Record, Run
from transferbench.tasks import BuiltTask, Task

PARAMS = {
    "p": (6, 4), "q": (5, 3), "alpha": (0.01,), "pretrain": 3, "finetune": 3, "start_iter": 3,
    "dtype": "float64",
}  # fmt: skip
VARIANTS = {
    "HiMLS": (himls, {}),
    "five layers": (himls, {"p": (8, 7, 6, 5, 4), "q": (8, 7, 6, 5, 3)}),
    "HiMLS of one layer": (himls, {"p": (6,), "q": (5,)}),
    "MLS-S": (himls, {"pool_tasks": True, "pool_views": True, "columns": "sum"}),
    "random start": (himls, {"start": "random"}),
    "validation": (himls, {"alpha": (0.01, 1.0), "ensure_one_label": True}),
    "HiMLSD": (himlsd, {}),
    "HiMLSD of the paper": (himlsd, {"coupling": "paper", "start": "random"}),
}


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """Put the stand-in in place of CuPy."""
    for name, module in cupy_stand_in.modules().items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_gpu_changes_no_more_than_the_order_of_sums(name):
    model, params = VARIANTS[name]
    problem, _ = make_multilabel()
    sent = []
    expected = model.fit(problem, **PARAMS | params, seed=1)
    with use_device("cuda"):
        found = model.fit(problem, **PARAMS | params, seed=1, watch=lambda *of: sent.append(of))
    assert found.trace == pytest.approx(expected.trace, rel=1e-9)
    for scores in (found.scores, sent[-1][2]):
        assert all(type(each) is np.ndarray for each in scores)
        assert np.vstack(scores) == pytest.approx(np.vstack(expected.scores), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", [himls, himlsd])
def test_a_gpu_computes_in_the_precision_that_is_asked_for(model, monkeypatch):
    types = set()
    step = losses.flush
    monkeypatch.setattr(losses, "flush", lambda F: types.add(F.dtype.name) or step(F))
    with use_device("cuda"):
        model.fit(make_multilabel()[0], **PARAMS | {"dtype": "float32"}, seed=1)
    assert types == {"float32"}


def test_functions_of_numpy_are_refused_on_a_gpu(monkeypatch):
    monkeypatch.setattr(losses, "namespace", lambda x: np)
    with use_device("cuda"), pytest.raises(TypeError, match="GPU"):
        himls.fit(make_multilabel()[0], **PARAMS, seed=1)


@pytest.mark.parametrize("shapes", [(3, 5), (7, 2, 9, 4), (4, 30, 3, 20, 2, 5)])
def test_products_of_several_factors_on_a_gpu_take_the_fewest_operations(shapes):
    rng = np.random.default_rng(0)
    factors = [rng.random(shape) for shape in pairwise(shapes)]
    with use_device("cuda"):
        found = losses.chain_product([device.to_device(F) for F in factors])
    assert device.to_host(found) == pytest.approx(losses.chain_product(factors))


def test_a_record_names_the_gpu_and_uses_no_artefact_of_the_host(tmp_path, monkeypatch):
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0.0)
    problem, truth = make_multilabel()
    tasks.write(tmp_path / "small.task", problem, truth)
    built = BuiltTask(tmp_path / "small.task", Facts.from_problem(problem, truth))
    run = Run(Task("own/small"), "himls", PARAMS, 0)
    jobs = [
        Job(run, built, Limits(device=name), Folder(tmp_path, 2**20)) for name in ("cpu", "cuda")
    ]
    host, gpu = (Record.from_line(worker.run_job(job, lambda line: None)) for job in jobs)
    assert (host.status, gpu.status) == ("done", "done")
    assert gpu.versions == f"{host.versions}, cupy 14.2.0, Stand-in"
    assert gpu.identity == host.identity
    assert gpu.metrics == host.metrics
    assert gpu.reused_seconds == 0 < len([*tmp_path.glob("plsa-*.artefact")])


def test_a_machine_without_a_gpu_is_refused_in_one_line(call, monkeypatch):
    command = (
        "run",
        "generated/transfer:documents=60",
        "-m",
        "lr",
        "--no-reference",
        "--device",
        "cuda",
    )
    code, _, err = call(*command)
    assert (code, err.count("\n")) == (2, 1)
    assert "lr cannot compute on device cuda; expected one of himls, himlsd. Perform" in err
    monkeypatch.setattr(models, "check_device", lambda name, device: None)
    for gpus in (0, None):
        monkeypatch.setitem(sys.modules, "cupy", cupy_stand_in.StandIn("cupy", gpus))
        if gpus is None:
            monkeypatch.delitem(sys.modules, "cupy")
            monkeypatch.setattr(device, "find_spec", lambda name: None)
        code, _, err = call(*command)
        assert (code, err.count("\n")) == (2, 1)
        why = "there is no GPU" if gpus == 0 else "needs CuPy, which is not installed"
        assert why in err
        assert "; leave out --device, or install CuPy" in err


def test_a_driver_that_does_not_fit_is_refused(monkeypatch):
    def fail():
        raise RuntimeError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "getDeviceCount", fail)
    with pytest.raises(Unavailable, match=r"cannot be used .*InsufficientDriver.*; leave out"):
        device.check("cuda")
    with pytest.raises(UserError, match=r"unknown device 'cdua'\. Did you mean 'cuda'"):
        device.check("cdua")


def test_the_page_of_processors_is_what_its_lines_and_the_runs_say():
    folder = ROOT / "results" / "himls-table13"
    columns = ["one_label", "layers", "device", "dtype", "seed", "f1"]
    fits = pd.read_csv(folder / "gpu.csv")[columns].set_index(columns[:-1])["f1"]
    for run in store.read(folder / "runs.jsonl").values():
        where = run.params["ensure_one_label"], len(run.params["p"])
        if "cupy" in run.versions:  # gpu.csv has it, too
            line = fits[(*where, "GPU", "float32", run.seed)]
            assert run.metrics["all"]["f1"] == pytest.approx(line, abs=1e-5)
        elif run.done and run.params["alpha"] == [0.01]:
            fits[(*where, "CPU", "float32", run.seed)] = run.metrics["all"]["f1"]
    shown = {}
    for line in (folder / "gpu.md").read_text(encoding="utf-8").splitlines():
        head, *cells = line.strip("|").replace("−", "-").split("|")
        if not head.strip():
            names = cells
        for name, cell in zip(names, cells, strict=True) if head.startswith(" L") else ():
            shown[" ≥ 1 label" in head, int(head.split()[2]), name.strip()] = cell.strip()

    none = pd.Series(dtype=float)
    for where, of_layers in fits.unstack("seed").groupby(level=["one_label", "layers"]):
        kinds = {" ".join(key[2:]): f1.dropna() for key, f1 in of_layers.iterrows()}
        for name in [name for *of, name in shown if tuple(of) == where]:
            first, _, second = name.replace(",", "").partition(" - ")
            f1 = kinds.get(first, none)
            if second:
                f1 = (f1 - kinds.get(second, none)).dropna().round(3) + 0.0
                text = " to ".join(f"{end:+.3f}" for end in (f1.min(), f1.max())[: len(f1)])
            else:
                text = f"{f1.mean():.3f}" + (f" ± {f1.std():.3f}" if len(f1) > 1 else "")
            assert shown[*where, name] == (f"{text} ({len(f1)})" if len(f1) else "–")
    assert len(shown) == 10 * (4 + 4)
