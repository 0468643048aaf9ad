"""One fit over several workers: the same numbers for any number of them, also if one is lost."""

from __future__ import annotations

import csv
import gc
import os
import random
import re
import signal
import time
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem

import transferbench
from transferbench import distributed
from transferbench.core.products import Held, hold
from transferbench.errors import EngineLost, UserError
from transferbench.messages import install_hint
from transferbench.runs import engines

pytestmark = pytest.mark.skipif(not engines.installed("dask"), reason="no [dask] here")

MODELS = {
    "gcmf": {"k": 8, "p": 5},
    "dtl": {"k": 8, "kappa": 4},
    "mtrick": {"k": 8, "start_features": "random"},
    "tritl": {"k1": 4, "k2": 4, "k3": 4},
}
F32, F64 = np.dtype("float32"), np.dtype("float64")


@pytest.fixture(autouse=True)
def _cut_small_matrices(monkeypatch):
    monkeypatch.setattr(distributed, "MIN_ROWS", 100)


@pytest.fixture
def cluster():
    """Starts workers, by default in threads of this process: start(workers) → cluster."""
    from distributed import LocalCluster

    started = []

    def start(workers: int, *, processes: bool = False) -> LocalCluster:
        options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
        cluster = LocalCluster(n_workers=workers, processes=processes, silence_logs=60, **options)
        started.append(cluster)
        return cluster

    yield start
    for each in started:
        each.close()


@pytest.fixture(scope="module")
def problem():
    return make_problem(documents=150, targets=2)[0]


def fit(model: str, problem, **options):
    return transferbench.fit(model, problem, max_iter=6, **MODELS[model], **options)


def assert_same(found, expected):
    assert found.trace == expected.trace
    for ours, theirs in zip(found.scores, expected.scores, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_results_do_not_depend_on_the_number_of_workers(cluster, problem):
    local = {model: fit(model, problem) for model in MODELS}
    found = {}
    for workers in (1, 2, 3):
        address = cluster(workers).scheduler_address
        for model in MODELS:
            with distributed.on_workers(address) as usage:
                found[workers, model] = fit(model, problem)
            assert usage.workers == workers
            # The graphs of the two targets, too; MTrick fits each target with the source.
            assert usage.cut == {"gcmf": 5, "mtrick": 4}.get(model, 3)
    for model in MODELS:
        for workers in (2, 3):
            assert_same(found[workers, model], found[1, model])
        np.testing.assert_allclose(found[1, model].trace, local[model].trace, rtol=1e-5)
        for ours, theirs in zip(found[1, model].scores, local[model].scores, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["sparse", "dense", "few columns"])
def test_products_are_those_of_a_local_matrix_and_what_is_sent_is_counted(cluster, kind):
    rng = np.random.default_rng(0)
    X = rng.random((130, 40)) * (rng.random((130, 40)) < 0.3)
    if kind == "few columns":  # each half of the rows uses half of the columns
        X[:65, 20:] = 0
        X[65:, :20] = 0
    matrix = X if kind == "dense" else sp.csr_array(X)
    A, V = rng.random((40, 2)), rng.random((130, 2))
    local = Held(matrix, F64)
    with distributed.on_workers(cluster(2).scheduler_address) as usage:
        spread = hold.get()(matrix, F64)
        for _ in range(2):  # the second time into the array of the first
            out = np.full((130, 2), np.nan)
            assert spread.times(A, out) is out
            if kind == "dense":
                np.testing.assert_allclose(out, X @ A, rtol=1e-12)
            else:
                np.testing.assert_array_equal(out, local.times(A))
        np.testing.assert_allclose(spread.transposed_times(V), X.T @ V, rtol=1e-12)
        assert spread.norm2 == pytest.approx(local.norm2, rel=1e-12)
        columns = 20 if kind == "few columns" else 40
        # A twice to two workers, V once; X A twice, and sums of Xᵀ V over 8 + 4 and 4 + 8 blocks.
        assert usage.sent == (2 * 2 * columns * 2 + 130 * 2) * 8
        assert usage.received == (2 * 130 * 2 + 4 * columns * 2) * 8
    assert hold.get() is Held


@pytest.mark.parametrize("cuts", [[24], [7, 24], [12, 24], [1, 2, 3, 11, 24]])
def test_a_sum_over_blocks_does_not_depend_on_who_sums_which_blocks(cuts):
    rng = np.random.default_rng(0)
    blocks = [(b, 1, rng.random(50).astype("float32")) for b in range(24)]
    whole = distributed.add_up(blocks)
    assert [(start, size) for start, size, _ in whole] == [(0, 16), (16, 8)]
    np.testing.assert_allclose(sum(a for _, _, a in whole), sum(a for *_, a in blocks), rtol=1e-6)
    shares = [blocks[i:j] for i, j in zip([0, *cuts], cuts, strict=False)]
    found = distributed.add_up(node for share in shares for node in distributed.add_up(share))
    for ours, theirs in zip(found, whole, strict=True):
        assert ours[:2] == theirs[:2]
        np.testing.assert_array_equal(ours[2], theirs[2])


def test_blocks_depend_on_the_number_of_rows_only(cluster, monkeypatch):
    monkeypatch.setattr(distributed, "BLOCKS", {0: 4, 200: 6})
    for workers in (1, 3):
        with distributed.on_workers(cluster(workers).scheduler_address):
            for n, expected in ((101, [0, 25, 50, 75]), (200, [0, 33, 66, 100, 133, 166])):
                spread = hold.get()(np.ones((n, 2)), F32)
                starts = [rows.start for part in spread._parts for rows in part.blocks]
                assert (starts, len(spread._parts)) == (expected, workers)
            assert isinstance(hold.get()(np.ones((99, 2)), F32), Held)


def wait_until_workers_hold_nothing(cluster):
    deadline = time.monotonic() + 20
    while any(worker.state.actors for worker in cluster.workers.values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_workers_drop_the_rows_after_a_fit(cluster, problem):
    workers = cluster(2)
    with distributed.on_workers(workers.scheduler_address):
        fit("dtl", problem)
        gc.collect()
        wait_until_workers_hold_nothing(workers)


def test_workers_drop_the_rows_after_ctrl_c_and_can_be_used_again(cluster, problem):
    def interrupt(iteration: int, *_: object) -> None:
        assert any(worker.state.actors for worker in workers.workers.values())
        raise KeyboardInterrupt

    workers = cluster(2)
    on = partial(distributed.on_workers, workers.scheduler_address)
    with pytest.raises(KeyboardInterrupt), on():
        fit("dtl", problem, watch=interrupt)
    assert hold.get() is Held
    wait_until_workers_hold_nothing(workers)
    with on():
        fit("dtl", problem)


def test_the_rows_of_a_lost_worker_move_to_another(cluster, problem):
    workers = cluster(2, processes=True)

    def kill(iteration: int, *_: object) -> None:
        if iteration == 3:
            os.kill(workers.workers[0].process.pid, signal.SIGKILL)

    with distributed.on_workers(workers.scheduler_address) as usage:
        whole = fit("gcmf", problem)
        assert usage.moved == 0
        assert_same(fit("gcmf", problem, watch=kill), whole)
    assert usage.moved > 0
    assert "parts moved from lost workers" in usage.summary(12)


def test_if_all_workers_are_lost_the_error_names_the_scheduler(cluster, problem):
    workers = cluster(1)

    def close(iteration: int, *_: object) -> None:
        if iteration == 3:
            workers.scale(0)
            while workers.workers:
                time.sleep(0.05)

    address = workers.scheduler_address
    message = f"workers of the scheduler at {address} were lost during the fit .no worker is left"
    with pytest.raises(EngineLost, match=message), distributed.on_workers(address):
        fit("dtl", problem, watch=close)
    assert hold.get() is Held


def test_rows_that_are_lost_again_and_again_end_the_fit(cluster, problem, monkeypatch):
    def add(*_: object) -> float:
        raise ConnectionError  # as if the worker died of every block that it receives

    monkeypatch.setattr(distributed.Shard, "add", add)
    address = cluster(2).scheduler_address
    with (
        pytest.raises(EngineLost, match="the same rows were lost 4 times"),
        distributed.on_workers(address),
    ):
        fit("dtl", problem)


def test_a_missing_extra_is_one_line_with_the_remedy(monkeypatch):
    monkeypatch.setitem(engines.NAMES, "dask", "a_package_that_does_not_exist")
    remedy = re.escape(f"--scheduler needs distributed; {install_hint('dask')}.")
    with (
        pytest.raises(UserError, match=f"^{remedy}$"),
        distributed.on_workers("tcp://127.0.0.1:9"),
    ):
        pass


WORDS = {"cat": "cat kitten purr whisker mouse mat", "sea": "ship sail boat wave sailor anchor"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The current folder, with a labelled source and target of 120 documents."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    for name in ("s.csv", "t.csv"):
        labels = [("cat", "sea")[i % 2] for i in range(120)]
        rows = [(" ".join(rng.choices(WORDS[label].split(), k=5)), label) for label in labels]
        with open(name, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            csv.writer(file).writerows([("text", "label"), *rows])
    return ["--source", "s.csv", "--target", "t.csv"]


def test_predict_and_evaluate_on_workers(call, cluster, files, tmp_path):
    on = ["--scheduler", cluster(2).scheduler_address]
    model = ["-m", "gcmf", "--set", "k=4", "--set", "p=5"]
    labels = {}
    for name, how in {"local": [], "workers": on}.items():
        code, out, err = call("predict", *files, *model, *how, "--out", f"{name}.csv")
        assert code == 0, err
        assert out == f"{name}.csv: 120 documents\n"
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            labels[name] = [row["label"] for row in csv.DictReader(file)]
    assert labels["workers"] == labels["local"]
    (note,) = [line for line in err.splitlines() if line.startswith("note: 2 workers held ")]
    assert "an iteration" in note
    code, out, err = call("evaluate", *files, *model, *on)
    assert (code, out.splitlines()[1].split()[:3]) == (0, ["t.csv", "gcmf", "120"])
    assert "\nnote: 2 workers held " in err


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        ("lr", 100, "this model does not use the factorisation engine"),
        ("dtl", 1000, "every domain has fewer than 1,000 documents"),
    ],
)
def test_workers_that_were_not_used_are_noted(
    call, cluster, files, monkeypatch, model, rows, message
):
    monkeypatch.setattr(distributed, "MIN_ROWS", rows)
    on = ["--scheduler", cluster(1).scheduler_address]
    code, _, err = call("predict", *files, "-m", model, *on, "--out", "a.csv")
    assert code == 0
    assert err.endswith(f"\nnote: the workers were not used: {message}\n")


def test_a_scheduler_that_does_not_answer_is_one_line_before_files_are_read(call, files):
    given = ["--source", "absent.csv", "--target", "t.csv", "-m", "dtl", "--out", "a.csv"]
    code, out, err = call("predict", *given, "--scheduler", "tcp://127.0.0.1:9")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no dask scheduler answers at tcp://127.0.0.1:9" in err
