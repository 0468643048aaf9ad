"""Runs on other machines: by any executor, and by workers of dask that are killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from transferbench import tasks
from transferbench.runs import cluster, runner, store
from transferbench.runs.record import Record

EXPERIMENT = """\
title: Two methods on made-up documents
paper: {{title: none, authors: none, venue: none, place: none}}
metric: accuracy
repeats: {repeats}
rows:
  one: {{task: "generated/clusters:documents=60"}}
  two: {{task: "generated/clusters:documents=80"}}
columns: {{{column}}}
published: {{one: {{a: 50.0}}}}
tolerance: {{value: 1.0, reason: none}}
"""
QUICK = "a: {model: kmeans}"
SLOW = """\
import time
from pathlib import Path
from transferbench.problem import Fit

FAMILY = "clustering"


def fit(problem, *, seconds: float = 1.0, seed: int):
    started = Path(__file__).with_name("started")
    started.mkdir(exist_ok=True)
    (started / f"{len(problem.domains[0].Y)}-{seed}-{time.time_ns()}").touch()
    time.sleep(seconds)
    return Fit(tuple(d.Y + 0.5 for d in problem.domains), columns="clusters")
"""
THREADS = """\
from concurrent.futures import ThreadPoolExecutor

HOST = "127.0.0.1"


def executor():
    return ThreadPoolExecutor(2)
"""


def same(records: dict) -> dict:
    """Records by run without what differs from machine to machine, and from time to time."""
    costs = {"seconds": None, "reused_seconds": 0.0, "peak_mib": None, "finished": "", "output": ""}
    return {identity: replace(record, **costs).line for identity, record in records.items()}


@pytest.fixture
def threads(tmp_path, monkeypatch) -> Path:
    """A file with an executor, whose workers have a folder of data of their own."""
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(tmp_path / "elsewhere"))
    path = tmp_path / "threads.py"
    path.write_text(THREADS)
    return path


@pytest.fixture
def quick(tmp_path) -> Path:
    path = tmp_path / "quick.yaml"
    path.write_text(EXPERIMENT.format(repeats=2, column=QUICK))
    return path


def test_any_executor_gives_the_lines_of_this_machine(call, home, quick, threads, tmp_path):
    assert call("reproduce", str(quick))[0] == 0
    here = same(store.read(home.results / "quick" / store.NAME))
    code, out, err = call("reproduce", str(quick), "--rerun", "all", "--cluster", str(threads))
    assert code == 0, err
    assert "4 of 4 runs finished" in out
    assert same(store.read(home.results / "quick" / store.NAME)) == here
    sent = list((tmp_path / "elsewhere" / "built" / "generated").glob("*.task"))
    assert len(sent) == 2, "each task is sent once"
    assert (tmp_path / "elsewhere" / "artefacts").is_dir(), "runs of a worker share artefacts"


@pytest.fixture
def order(home, monkeypatch, tmp_path) -> cluster.Order:
    """An order to a worker that nobody listens to."""
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(tmp_path / "elsewhere"))
    (run,) = runner.plan_runs("generated/clusters:documents=60", "kmeans", {}, [0])
    built = tasks.ensure_built(run.task, home)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    caller = cluster._Caller("127.0.0.1", None)  # type: ignore[arg-type]
    caller.server_close()
    caller.address = address
    return cluster._order(cluster.Job(run, built), 0, caller)


def test_a_worker_that_would_make_something_else_refuses_in_one_line(order, tmp_path):
    cases = {
        "numpy 0.1": replace(order, versions="numpy 0.1"),
        "code of kmeans is not the caller's": replace(order, code="other"),
        "cannot reach the caller at 127.0.0.1": order,
        "unknown task": replace(order, task="no-such-task"),
        "there is no file": replace(order, model=str(tmp_path / "missing.py")),
    }
    for text, given in cases.items():
        kind, why = cluster.perform_here(given)
        assert kind == "refused"
        assert text in why
        assert why.startswith(f"worker {socket.gethostname()}: ")
        assert "\n" not in why


def test_data_of_a_worker_that_differ_are_refused(order, tmp_path):
    other = tasks.Task.parse("generated/clusters:documents=70")
    elsewhere = tmp_path / "elsewhere" / "built" / order.file
    elsewhere.parent.mkdir(parents=True)
    tasks.write(elsewhere, *tasks.load(other, _settings(tmp_path)), name=order.file)
    with socket.create_server(("127.0.0.1", 0)) as caller:
        kind, why = cluster.perform_here(replace(order, address=caller.getsockname()))
    assert kind == "refused"
    assert f"{elsewhere} is of other data than the caller's; remove it" in why


def test_a_caller_that_ends_before_it_sends_the_task_is_gone(order):
    """So the run is started again, if the caller lives: it is no error of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as caller:
        ending = threading.Thread(target=lambda: caller.accept()[0].close())
        ending.start()
        assert cluster.perform_here(replace(order, address=caller.getsockname())) == ("gone", "")
        ending.join()


def _settings(folder: Path):
    from transferbench.settings import Settings

    return Settings(data=folder / "third", results=folder / "results", offline=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected a function `executor`"),
        ("def executor():\n    return 1\n", "returned int, expected an Executor"),
        ("def executor():\n    raise OSError('no licence')\n", "no licence"),
        ("def executor():\n    raise SystemExit('no cluster')\n", "no cluster"),
        ("import os\ndef executor():\n    return os.environ['NO_SUCH']\n", "NO_SUCH"),
        ("def executor(:\n", "SyntaxError"),
        (THREADS.replace("127.0.0.1", "203.0.113.7"), "cannot listen at 203.0.113.7"),
    ],
)
def test_a_file_without_an_executor_is_one_line(call, quick, tmp_path, text, expected):
    path = tmp_path / "bad.py"
    path.write_text(text)
    code, _, err = call("reproduce", str(quick), "--cluster", str(path))
    *_, last = err.splitlines()
    assert code == 2
    assert expected in last


def test_other_words_for_a_cluster_are_one_line(call, quick):
    code, _, err = call("reproduce", str(quick), "--cluster", "head:8786")
    assert code == 2
    assert "expected the address of a scheduler" in err.splitlines()[-1]


def test_nobody_without_the_token_is_answered(home):
    caller = cluster._Caller("127.0.0.1", None)  # type: ignore[arg-type]
    with caller:
        threading.Thread(target=caller.serve_forever, daemon=True).start()
        for first in (b"{}\n", b'{"token": "guess", "number": 0}\n{"fetch": true}\n', b"no json\n"):
            with socket.create_connection(caller.address, timeout=10) as stranger:
                stranger.sendall(first)
                assert stranger.recv(100) == b""
        caller.shutdown()


class Dask:
    """A scheduler and two workers, each with a folder of data of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"
        )
        self.workers = [self._worker(number) for number in (1, 2)]

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        # Without a nanny, which would start a killed worker again.
        return self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
            data=self.folder / f"worker-{number}",
        )  # fmt: skip

    def _start(self, what: str, *arguments: str, data: Path | None = None):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments],
                cwd=self.folder, stdout=log, stderr=log,
                env=kept | {"TRANSFERBENCH_DATA": str(data), "OMP_NUM_THREADS": "1"},
            )  # fmt: skip

    def close(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


@pytest.fixture
def cluster_of_two(tmp_path):
    pytest.importorskip("distributed")
    folder = tmp_path / "cluster"
    folder.mkdir()
    dask = Dask(folder)
    yield dask
    dask.close()


class Caller:
    """A reproduction of runs that sleep, on a cluster."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        (folder / "slow.py").write_text(SLOW)
        model = folder / "slow.py"
        column = f"a: {{model: {model}, params: {{seconds: {seconds}}}, random: true}}"
        (folder / "slow.yaml").write_text(EXPERIMENT.format(repeats=4, column=column))

    def start(self, *options: str) -> subprocess.Popen[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
        folders = ["--offline", "--data", "data", "--results", "results"]
        command = [*folders, "reproduce", "slow.yaml", "--rerun", "missing", *options]
        return subprocess.Popen(
            [sys.executable, "-m", "transferbench", *command],
            cwd=self.folder, env=kept, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @property
    def lines(self) -> list[Record]:
        path = self.folder / "results" / "slow" / store.NAME
        return list(store.read(path).values()) if path.is_file() else []

    def wait_for(self, what, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.1)

    @property
    def started(self) -> int:
        return len(list((self.folder / "started").glob("*")))


@pytest.mark.slow
def test_a_killed_worker_loses_no_run(cluster_of_two, tmp_path):
    caller = Caller(tmp_path, 1.5)
    process = caller.start("--cluster", cluster_of_two.address)
    caller.wait_for(lambda: caller.started >= 3)
    cluster_of_two.workers[0].kill()
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, out + err
    assert "8 of 8 runs finished" in out
    assert len(caller.lines) == 8
    text = (tmp_path / "results" / "slow" / store.NAME).read_text()
    assert len(text.splitlines()) == 8, "each run has one line"


@pytest.mark.slow
def test_a_lost_scheduler_is_one_line_and_finished_runs_stay(cluster_of_two, tmp_path):
    caller = Caller(tmp_path, 1.0)
    process = caller.start("--cluster", cluster_of_two.address)
    caller.wait_for(lambda: len(caller.lines) >= 2)
    cluster_of_two.scheduler.kill()
    _, err = process.communicate(timeout=180)
    assert process.returncode == 1
    *_, last = err.splitlines()
    assert last.startswith("Error: ")
    assert "finished runs are saved" in last
    assert "Traceback" not in err, err
    kept = len(caller.lines)
    assert kept >= 2
    before = caller.started
    process = caller.start()  # goes on without the cluster
    assert process.wait(timeout=180) == 0
    assert len(caller.lines) == 8
    assert caller.started - before == 8 - kept


@pytest.mark.slow
def test_runs_of_a_killed_caller_end(cluster_of_two, tmp_path):
    caller = Caller(tmp_path, 600)
    process = caller.start("--cluster", cluster_of_two.address)
    caller.wait_for(lambda: caller.started >= 2)
    running = sleeping(tmp_path)
    assert len(running) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    caller.wait_for(lambda: not sleeping(tmp_path), 60)


def sleeping(folder: Path) -> list[int]:
    """Processes of runs whose worker has its data below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes()
            environment = (path / "environ").read_bytes()
            threads = list((path / "task").glob("*"))
            if b"forkserver" in command and str(folder / "cluster").encode() in environment:
                children = "".join(t.joinpath("children").read_text() for t in threads).split()
                found += map(int, children)
    return found


@pytest.mark.slow
def test_no_scheduler_and_no_worker_are_one_line(call, quick, monkeypatch, tmp_path):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "PATIENCE", 3.0)
    code, _, err = call("reproduce", str(quick), "--cluster", "tcp://127.0.0.1:9")
    assert code == 2
    assert "no scheduler answers" in err.splitlines()[-1]
    (tmp_path / "alone").mkdir()
    dask = Dask(tmp_path / "alone")
    for worker in dask.workers:
        worker.kill()
        worker.wait()
    monkeypatch.setattr(cluster, "PATIENCE", 20.0)
    code, _, err = call("reproduce", str(quick), "--cluster", dask.address)
    dask.close()
    assert code == 2
    assert f"start one: dask worker {dask.address}" in err.splitlines()[-1]
